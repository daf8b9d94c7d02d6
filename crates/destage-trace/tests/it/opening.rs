//! Compression and archives: what is unpacked, what is selected and left out, and what is said of
//! streams that are cut off, damaged, too deep or followed by something else. The records are the
//! same whatever the packing, the line ends or the byte-order mark.

use std::io::Write;

use crate::support::{self, Read, TEXT_SAMPLES, options, read, read_bytes, sample, told};
use destage_trace::{Record, TraceError};

type Pack = fn(&[u8]) -> Vec<u8>;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const PACKS: &[(&str, Pack)] = &[("gzip", gzip), ("bzip2", bzip2), ("xz", xz), ("zstd", zstd)];

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        if name.ends_with('/') {
            header.set_entry_type(tar::EntryType::Directory);
        }
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    zip_by(members, zip::CompressionMethod::Deflated)
}

fn zip_by(members: &[(&str, &[u8])], method: zip::CompressionMethod) -> Vec<u8> {
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A trace of many lines, so that packed streams are longer than a block.
fn long_trace(lines: usize) -> String {
    (0..lines)
        .map(|i| {
            format!(
                "{},h,0,Read,{},4096,{}\n",
                128166372000000000 + i * 977,
                (i * 7919 % 100_003) * 4096,
                i % 977
            )
        })
        .collect()
}

fn ok(name: &str, bytes: &[u8], settings: &[(&str, &str)]) -> Read {
    read_bytes(name, bytes, &options(settings)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn error(name: &str, bytes: &[u8], settings: &[(&str, &str)]) -> TraceError {
    let error = read_bytes(name, bytes, &options(settings)).unwrap_err();
    assert_eq!(error.exit_status(), 65, "{error}");
    error
}

#[test]
fn a_cut_stream_is_an_error_with_its_offset_and_the_records_so_far() {
    let text = long_trace(60_000);
    for (name, pack) in PACKS {
        let packed = pack(text.as_bytes());
        for cut in [packed.len() / 2, packed.len() - 1] {
            let found = error("t.csv", &packed[..cut], &[]);
            let TraceError::Truncated { layer, offset, records, .. } = &found else {
                panic!("{name}: {found}")
            };
            assert_eq!((*layer, *offset), (*name, cut as u64));
            // bzip2's blocks and the others' buffers come out whole or not at all.
            assert!(*records > 0 || cut < packed.len() - 1, "{name}: {records}");
            assert!(found.to_string().contains("--allow-truncated"), "{found}");
            assert!(!found.to_string().contains("after 0 records"), "{found}");
            match read_bytes("t.csv", &packed[..cut], &options(&[("allow_truncated", "true")])) {
                Ok(part) => {
                    assert!(part.summary.truncated && part.records.len() <= 60_000, "{name}");
                    assert!(part.summary.warnings.iter().any(|w| w.contains("ends early")));
                    let whole = ok("t.csv", text.as_bytes(), &[]);
                    assert_eq!(
                        part.records,
                        whole.records[..part.records.len()],
                        "{name}: a line in part is no record"
                    );
                }
                Err(nothing) => {
                    assert!(nothing.to_string().contains("0 requests"), "{name}: {nothing}")
                }
            }
        }
    }
}

#[test]
fn small_packed_files_cut_at_every_byte_never_panic() {
    let text = std::fs::read(sample("spc.spc")).unwrap();
    let whole = ok("t", &text, &[]).records.len();
    for (name, pack) in PACKS {
        let packed = pack(&text);
        for cut in 0..packed.len() {
            for allow in ["false", "true"] {
                let settings = [("allow_truncated", allow), ("format", "spc")];
                match read_bytes("t", &packed[..cut], &options(&settings)) {
                    Ok(part) => assert!(
                        allow == "true" && part.records.len() <= whole,
                        "{name} cut at {cut}"
                    ),
                    Err(error) => {
                        assert_eq!(error.exit_status(), 65, "{name} cut at {cut}: {error}")
                    }
                }
            }
        }
    }
    for archive in
        [tar(&[("a.spc", &text)]), gzip(&tar(&[("a.spc", &text)])), zip(&[("a.spc", &text)])]
    {
        for cut in 0..archive.len() {
            if let Ok(part) = read_bytes("t", &archive[..cut], &options(&[("format", "spc")])) {
                // Only what stands behind the last member may be missing.
                assert_eq!(part.records.len(), whole, "cut at {cut}");
            }
        }
    }
}

#[test]
fn what_follows_a_stream_is_another_one_or_zeros_or_an_error_with_its_offset() {
    let text = long_trace(500);
    for (name, pack) in PACKS {
        let packed = pack(text.as_bytes());
        let padded = [packed.as_slice(), &[0; 1000]].concat();
        assert_eq!(ok("t", &padded, &[]).records.len(), 500, "{name}");
        let trailing = [packed.as_slice(), b"trailing garbage"].concat();
        let message = error("t", &trailing, &[]).to_string();
        assert!(
            message.contains(&format!("byte {} of the {name} stream", packed.len())),
            "{name}: {message}"
        );
        let behind_zeros = [packed.as_slice(), &[0; 10], b"x"].concat();
        let message = error("t", &behind_zeros, &[]).to_string();
        assert!(
            message.contains(&format!("byte {} of the {name} stream", packed.len() + 10)),
            "{name}: {message}"
        );
    }
}

#[test]
fn a_damaged_stream_is_an_error() {
    let text = long_trace(60_000);
    for (name, pack) in PACKS {
        let mut packed = pack(text.as_bytes());
        let middle = packed.len() / 2;
        for byte in &mut packed[middle..middle + 8] {
            *byte ^= 0x55;
        }
        let message = error("t", &packed, &[]).to_string();
        // The checks of a packed stream come behind its bytes: a line may be wrong before.
        assert!(
            message.contains(&format!("the {name} stream")) || message.contains("t:"),
            "{name}: {message}"
        );
    }
    let mut archive = zip(&[("a.csv", text.as_bytes())]);
    archive[5000] ^= 0x55;
    error("t.zip", &archive, &[]);
}

#[test]
fn layers_are_peeled_up_to_four_deep() {
    let text = long_trace(20);
    let four = gzip(&xz(&bzip2(&zstd(text.as_bytes()))));
    assert_eq!(ok("t", &four, &[]).records.len(), 20);
    assert!(error("t", &gzip(&four), &[]).to_string().contains("more than 4 layers"));
    let mixed = xz(&tar(&[("in.tar", &tar(&[("a.csv.gz", &gzip(text.as_bytes()))]))]));
    let found = ok("t.tar.xz", &mixed, &[]);
    assert!(
        found.summary.files[0].name.ends_with("t.tar.xz!in.tar!a.csv.gz"),
        "{:?}",
        found.summary.files
    );
    assert!(error("t", &gzip(&mixed), &[]).to_string().contains("more than 4 layers"));
}

#[test]
fn traces_of_an_archive_come_in_natural_order_and_the_rest_is_listed() {
    let line = |i: usize| format!("12816637200000{i:04},h,0,Read,{},4096,1\n", i * 4096);
    let parts: Vec<(String, String)> =
        [10, 2, 1].iter().map(|i| (format!("part{i}.csv"), line(*i))).collect();
    let mut members: Vec<(&str, &[u8])> =
        parts.iter().map(|(n, b)| (n.as_str(), b.as_bytes())).collect();
    members.extend([
        ("README.txt", b"about this trace".as_slice()),
        ("data.md5", b"0f0f  part1.csv\n"),
        ("__MACOSX/part1.csv", b"x"),
        ("._part1.csv", b"x"),
        ("notes", b"nothing but words in here\nand more\n"),
        ("device_size.csv", b"device_id,capacity_bytes\n1,5\n"),
        ("empty.csv", b""),
    ]);
    let with_folder = [members.as_slice(), &[("folder/", b"".as_slice())]].concat();
    for (name, archive) in [
        ("t.tar", tar(&with_folder)),
        ("t.tar.gz", gzip(&tar(&with_folder))),
        ("t.zip", zip(&members)),
    ] {
        let found = ok(name, &archive, &[]);
        let names: Vec<&str> =
            found.summary.files.iter().map(|f| f.name.rsplit('!').next().unwrap()).collect();
        assert_eq!(names, ["part1.csv", "part2.csv", "part10.csv"], "{name}");
        let left_out = found.summary.left_out.join("\n");
        for part in [
            "README.txt (no trace by its name)",
            "data.md5",
            "__MACOSX/part1.csv (of macOS)",
            "._part1.csv",
            "notes (not recognised",
            "device_size.csv (",
            "empty.csv (empty)",
        ] {
            assert!(left_out.contains(part), "{name}: {part} in {left_out}");
        }
        assert_eq!(left_out.contains("folder/ (not a regular file)"), name != "t.zip");
    }
}

#[test]
fn a_glob_selects_members() {
    let text = long_trace(3);
    let archive = tar(&[
        ("d/a_0.csv", text.as_bytes()),
        ("d/a_1.csv", text.as_bytes()),
        ("d/b_0.csv", text.as_bytes()),
    ]);
    let (_folder, path) = support::file("t.tar", &archive);
    let with = |glob: &str| read(&[format!("{}!{glob}", path.display()).into()], &options(&[]));
    assert_eq!(with("d/a_*.csv").unwrap().summary.files.len(), 2);
    assert_eq!(with("*_0.csv").unwrap().summary.files.len(), 2);
    assert_eq!(with("b_?.csv").unwrap().summary.files.len(), 1);
    let none = with("c*").unwrap_err();
    assert!(none.exit_status() == 65 && none.to_string().contains("0 requests"), "{none}");
    let there = "no member is called c*; there are d/a_0.csv, d/a_1.csv, d/b_0.csv";
    assert!(none.to_string().contains(there), "{none}");
}

#[test]
fn a_pattern_of_many_stars_ends_at_once() {
    let member = "a".repeat(60);
    let (_folder, path) = support::file("t.zip", &zip(&[(&member, long_trace(3).as_bytes())]));
    let with = |glob: &str| read(&[format!("{}!{glob}", path.display()).into()], &options(&[]));
    let none = with(&format!("{}b", "a*".repeat(20))).unwrap_err();
    assert!(none.to_string().contains("no member is called"), "{none}");
    assert_eq!(with(&format!("{}a", "a*".repeat(20))).unwrap().records.len(), 3);
}

#[test]
#[cfg(unix)]
fn archives_come_through_a_pipe_and_out_of_compressions_as_from_a_file() {
    let text = long_trace(50_000);
    let members = [("a.csv", text.as_bytes()), ("b.csv", text.as_bytes())];
    let whole = ok("t.tar", &tar(&members), &[]).records;
    assert_eq!(whole.len(), 100_000);
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
    for bytes in [tar(&members), zip(&members), gzip(&tar(&members)), xz(&zip(&members))] {
        assert_eq!(ok("t", &bytes, &[]).records, whole);
        let into = pipe.clone();
        let writer = std::thread::spawn(move || std::fs::write(into, bytes));
        assert_eq!(read(std::slice::from_ref(&pipe), &options(&[])).unwrap().records, whole);
        writer.join().unwrap().unwrap();
    }
}

#[test]
fn an_archive_without_files_is_called_so_also_inside_another() {
    let text = long_trace(3);
    for (name, bytes) in [("t.tar", tar(&[])), ("t.tar.gz", gzip(&tar(&[]))), ("t.zip", zip(&[]))] {
        assert!(error(name, &bytes, &[]).to_string().contains("holds no files"), "{name}");
        let outer = tar(&[("a.csv", text.as_bytes()), (name, &bytes)]);
        let left_out = ok("outer.tar", &outer, &[]).summary.left_out.join("\n");
        assert!(left_out.ends_with(&format!("!{name} (an archive without files)")), "{left_out}");
    }
}

#[test]
#[cfg(unix)]
fn paths_are_shown_on_one_line_and_an_empty_one_is_called_so() {
    let (_folder, path) = support::file("a\nb\x1b[31m.csv", b"");
    let empty = read(std::slice::from_ref(&path), &options(&[])).unwrap_err().to_string();
    let missing = read(&[path.join("c")], &options(&[])).unwrap_err().to_string();
    let gone = path.with_file_name("x\ny");
    let gone = read(&[gone], &options(&[])).unwrap_err().to_string();
    for text in [&empty, &missing, &gone] {
        assert!(text.contains("\\x0a") && !text.chars().any(char::is_control), "{text}");
    }
    let none = read(&["".into()], &options(&[])).unwrap_err();
    assert_eq!(none.exit_status(), 2);
    assert!(none.to_string().contains("found an empty one"), "{none}");
}

#[test]
fn an_archive_without_a_trace_and_an_encrypted_member_are_errors() {
    let text = error("t.tar", &tar(&[("README", b"x".as_slice()), ("notes", b"just words")]), &[])
        .to_string();
    assert!(
        text.contains("no trace among its members") && text.contains("notes (not recognised"),
        "{text}"
    );
    assert!(error("t.zip", &zip(&[]), &[]).to_string().contains("holds no files"));
    // Bit 0 of the flags, in the local header and in the central directory.
    let mut archive = zip(&[("a.csv", long_trace(3).as_bytes())]);
    archive[6] |= 1;
    let central = archive.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    archive[central + 8] |= 1;
    let text = error("t.zip", &archive, &[]).to_string();
    assert!(text.contains("t.zip!a.csv: this member is encrypted"), "{text}");
}

#[test]
fn messages_name_the_member() {
    let bad = format!("{}128166372000000000,h,0,Read,x,1,1\n", long_trace(20));
    let text =
        error("outer.tar", &tar(&[("inner.csv.gz", &gzip(bad.as_bytes()))]), &[]).to_string();
    assert!(text.contains("outer.tar!inner.csv.gz:21:29: Offset"), "{text}");
}

#[test]
fn missing_files_and_folders_are_named() {
    let error = read(&["no/such/file.csv".into()], &options(&[])).unwrap_err();
    assert_eq!(
        (error.exit_status(), error.to_string().as_str()),
        (66, "no/such/file.csv: no such file")
    );
    let error = read(&[sample("")], &options(&[])).unwrap_err();
    assert!(error.exit_status() == 66 && error.to_string().contains("is a folder"), "{error}");
}

/// Records with names instead of indices: what must not change with the packing.
fn content(found: &Read) -> (Vec<Record>, Vec<String>) {
    (found.records.clone(), found.devices.clone())
}

#[test]
fn line_ends_marks_and_missing_final_newlines_change_nothing() {
    for (file, _) in TEXT_SAMPLES {
        let plain = std::fs::read(sample(file)).unwrap();
        let expected = content(&read_bytes(file, &plain, &told()).unwrap());
        let text = String::from_utf8(plain.clone()).unwrap();
        let crlf = text.replace('\n', "\r\n");
        let mixed = crlf.replacen("\r\n", "\n", 2);
        let blank = text.replacen('\n', "\n\n  \n", 1) + "\n\n";
        for changed in [
            crlf.clone(),
            mixed,
            format!("\u{feff}{text}"),
            format!("\u{feff}{crlf}"),
            text.trim_end().to_owned(),
            blank,
        ] {
            let found = read_bytes(file, changed.as_bytes(), &told()).unwrap();
            assert_eq!(content(&found), expected, "{file}");
        }
    }
}

fn thirds(bytes: &[u8], pack: Pack) -> Vec<u8> {
    let (a, b) = (bytes.len() / 3, bytes.len() * 2 / 3);
    [pack(&bytes[..a]), pack(&bytes[a..b]), pack(&bytes[b..])].concat()
}

#[test]
fn every_packing_gives_identical_records() {
    let mut files: Vec<String> = std::fs::read_dir(sample(""))
        .unwrap()
        .map(Result::unwrap)
        .filter(|e| e.file_type().unwrap().is_file())
        .map(|e| e.file_name().into_string().unwrap())
        .collect();
    files.retain(|f| f != "README.md" && !f.contains("blktrace") && !f.ends_with(".toml"));
    assert!(files.len() >= TEXT_SAMPLES.len());
    for file in &files {
        let plain = std::fs::read(sample(file)).unwrap();
        let (expected, settings) = match read_bytes(file, &plain, &options(&[])) {
            Ok(found) => (content(&found), options(&[])),
            // Samples that need options (csv, parquet, object ids) have tests of their own.
            Err(_) => continue,
        };
        let without_checksum = zstd::encode_all(plain.as_slice(), 3).unwrap();
        let skippable = [b"\x52\x2a\x4d\x18\x03\0\0\0abc".as_slice(), &without_checksum].concat();
        let padded = [xz(&plain), vec![0; 512]].concat();
        let inner = format!("{file}.gz");
        let packed: Vec<(&str, Vec<u8>)> = vec![
            ("gz", gzip(&plain)),
            ("gz x3", thirds(&plain, gzip)),
            ("bz2", bzip2(&plain)),
            ("bz2 x3", thirds(&plain, bzip2)),
            ("xz", xz(&plain)),
            ("xz x3", thirds(&plain, xz)),
            ("xz padded", padded),
            ("zst", zstd(&plain)),
            ("zst x3", thirds(&plain, zstd)),
            ("zst skippable", skippable),
            ("zip stored", zip_by(&[(file, &plain)], zip::CompressionMethod::Stored)),
            ("zip deflated", zip(&[(file, &plain)])),
            ("tar", tar(&[(file, &plain)])),
            ("tar.gz", gzip(&tar(&[(file, &plain)]))),
            ("tar.gz of gz", gzip(&tar(&[(&inner, &gzip(&plain))]))),
            ("tar.xz of zip", xz(&tar(&[("in.zip", &zip(&[(file, &plain)]))]))),
        ];
        for (how, bytes) in packed {
            // The file keeps its name, whatever it holds: content decides.
            let found = read_bytes(file, &bytes, &settings)
                .unwrap_or_else(|e| panic!("{file} as {how}: {e}"));
            assert_eq!(content(&found), expected, "{file} as {how}");
        }
    }
}
