//! The example runs, and its FIFO decides as the built-in one.

use std::process::Command;

#[test]
fn the_example_has_the_counts_of_the_built_in_policy() {
    let trace = std::env::temp_dir().join(format!("own-policy-{}.csv", std::process::id()));
    let line = |k: u64| {
        let page = k * k % 211 * (1 + k % 3);
        let op = if k.is_multiple_of(3) { "Write" } else { "Read" };
        format!("{},host,0,{op},{},4096,100\n", 128_166_372_003_061_629 + 1000 * k, 4096 * page)
    };
    std::fs::write(&trace, (0..3000).map(line).collect::<String>()).expect("a temporary file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_own-policy"));
    let done = command.arg(&trace).arg("40").output().expect("it starts");
    std::fs::remove_file(&trace).expect("it was written");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let said = String::from_utf8(done.stdout).expect("UTF-8");
    let (mine, built_in) = said.trim().split_once('\n').expect("two lines");
    assert_eq!(mine.strip_prefix("my-fifo "), built_in.strip_prefix("fifo "));
    let counts: Vec<u64> = mine.split(' ').skip(1).map(|n| n.parse().expect("a number")).collect();
    assert!(counts.iter().all(|&count| count > 100), "{said}");
}
