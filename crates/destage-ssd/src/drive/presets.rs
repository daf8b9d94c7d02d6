//! The presets: one TOML file each, and one line here.

use serde::Serialize;

/// A drive that comes with the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Preset {
    /// Name on a command line.
    pub name: &'static str,
    /// One-line description of the device.
    pub about: &'static str,
    /// Source of its values; the file marks key by key those that we chose.
    pub source: &'static str,
    /// It is the drive of a paper's experiments.
    pub paper: bool,
    /// The file.
    pub toml: &'static str,
}

macro_rules! presets {
    // Name, whether it is a paper's, one line, source.
    ($($name:literal, $paper:literal, $about:literal, $source:literal;)*) => {
        &[$(Preset {
            name: $name,
            about: $about,
            source: $source,
            paper: $paper,
            toml: include_str!(concat!("../../presets/", $name, ".toml")),
        }),*]
    };
}

/// All presets, in the order of a catalogue.
pub static PRESETS: &[Preset] = presets! {
    "small", false,
        "16 GiB TLC, 8 channels of one die: the demo's, full, GC running",
        "chosen; page times as tlc-nvme";
    "ecr", true,
        "64 GiB raw SLC, 64 chips: the SSD of the ECR paper",
        "ECR, table 2";
    "sac", true,
        "32 GiB raw, 8 channels with a queue each: the SSD of the SAC paper",
        "SAC, section 5.1";
    "bpac", true,
        "4 GiB SLC, one chip: the SSD of the BPAC paper",
        "BPAC, table II";
    "aalru", true,
        "4 GiB of 2-KiB pages, one chip: the SSD of the AALRU paper",
        "AALRU, table 3";
    "acr", true,
        "64 MiB, one chip, a read costs 1 and a write 118: the cost model of the ACR paper",
        "ACR, its experiments";
    "tlc-sata", false,
        "240 GB TLC, 4 channels of one die: a SATA SSD",
        "ISSCC 2018 (Toshiba and Western Digital, 96 layers), as tabulated by AnandTech 2021";
    "tlc-nvme", false,
        "500 GB TLC, 8 channels of one die: an NVMe SSD",
        "ISSCC 2021 (SK hynix, 176 layers), as tabulated by AnandTech 2021";
    "qlc-nvme", false,
        "1 TB QLC, 4 channels of two dies, 16-KiB pages: an NVMe SSD",
        "ISSCC 2021 (Intel, 144 layers)";
    "tlc-client", false,
        "500 GB TLC with an SLC cache, write buffer and link: a client SSD like the 970 EVO",
        "reviews of the Samsung 970 EVO, nvmevirt's fit of the 970 PRO; flash as tlc-nvme";
    "qlc-client", false,
        "1 TB QLC with an SLC cache, write buffer and link: a client SSD like the 660p",
        "reviews of the Intel 660p; flash as qlc-nvme";
    "tlc-dramless", false,
        "500 GB TLC without DRAM, a map cache in 64 MiB of the host: a client SSD like the 980",
        "reviews of the Samsung 980; flash as tlc-nvme";
    "tlc-dc", false,
        "960 GB TLC, 8 channels of 2 dies, a large write buffer: a data-centre SSD like the PM9A3",
        "published limits of the Samsung PM9A3; flash as tlc-nvme";
    "fdp", false,
        "15 GiB TLC with two placement handles, 60 reclaim units: a data-centre SSD, scaled",
        "LMCache, pull request 4016: a Samsung PM9D3a, 1/64; timing as small";
};
