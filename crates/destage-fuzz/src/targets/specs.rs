//! Any text where policies, or a drive with keys that differ, are named.

use crate::Target;
use destage_engine::spec::PolicySpec;
use destage_keys::IfAbsent;
use destage_policies::params::Param;
use destage_policies::{Info, POLICIES};
use destage_ssd::Drive;

pub const TARGET: Target = Target {
    name: "specs",
    takes: "a list of policies as -p takes it, or a drive as -d does",
    holds: "what is taken is named so that it is read again as the same",
    run,
    samples,
};

fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for spec in PolicySpec::parse_list(text).unwrap_or_default() {
        let label = spec.label();
        let again = PolicySpec::parse(&label).unwrap_or_else(|e| panic!("{label}: {e}"));
        assert_eq!(again.label(), label);
    }
    // A file may be named too: nothing beyond the presets.
    if let Some(preset) = destage_ssd::PRESETS.iter().find(|p| text.starts_with(p.name))
        && text[preset.name.len()..].starts_with('[')
    {
        let _ = Drive::from_spec(text);
    }
}

/// Each policy with all its parameters at their defaults, and some drives.
fn samples() -> Vec<Vec<u8>> {
    let policy = |info: &&'static Info| {
        let pairs: Vec<_> = info.params.iter().filter_map(pair).collect();
        format!("{}[{}]", info.name, pairs.join(";")).into_bytes()
    };
    let others = ["lru,arc,cflru", "ace[base=cflru[window_fraction=0.5];writes=8]"];
    let drives = ["small[gc_mode=background;channels=4]", "tlc-client[handles=2]", "ecr[ftl=fast]"];
    let named = others.into_iter().chain(drives).map(|text| text.as_bytes().to_vec());
    POLICIES.iter().map(policy).chain(named).collect()
}

fn pair(param: &Param) -> Option<String> {
    let value = match param.default {
        IfAbsent::Int(value) => value.to_string(),
        IfAbsent::Real(value) => format!("{value:?}"),
        IfAbsent::Bool(value) => value.to_string(),
        IfAbsent::Word(word) => word.to_string(),
        IfAbsent::None(_) => "none".to_string(),
        _ => return None,
    };
    Some(format!("{}={value}", param.name))
}
