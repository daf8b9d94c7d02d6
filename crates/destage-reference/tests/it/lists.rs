//! The worked micro-traces of the specification: the lists that their tables end with.
//!
//! Decisions alone would not notice a list that is printed wrongly, and a failure is read by its
//! lists. The traces are the `micro` vectors.

use destage_reference::{NAMES, Op, model};
use serde_json::Value;

const VECTORS: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/page-policies.jsonl"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/further-policies.jsonl"),
];

/// Policy, and the last row of its table (`docs/spec/page-policies.md`, 3.1 to 3.19, and
/// `docs/spec/further-policies.md`, 3.1 to 3.14).
const LAST_ROWS: &[(&str, &str)] = &[
    ("lru", "lru[2 1 4]"),
    ("fifo", "fifo[2 4 3]"),
    ("clock", "queue[2/0 1/0 4/0]"),
    ("lru-k", "resident[2(9,4) 3(11,10) 4(12,6)]"),
    ("2q", "A1in[8] Am[5 1 2] A1out[7 6]"),
    ("arc", "T1[6] T2[1 2] B1[5] B2[4 3] p=1"),
    ("lirs", "S[7H 5G 2L 1G 3L 6G 4L] Q[7]"),
    ("mq", "Q0[7 3] Q2[1] Qout[5 2 6]"),
    ("min", "resident[3 4 5]"),
    ("dual-queue", "first[1/0] second[3/0 8/0 2/0]"),
    ("cflru", "lru[1 7 9 5]"),
    ("lru-wsr", "lru[1/C/0 8/D/1 9/D/0]"),
    ("ccf-lru", "cold_clean[9] mixed[2/D/0 1/C/0 8/D/1]"),
    ("ad-lru", "cold[9/D/1 7/D/0] hot[1/C/1 2/D/1]"),
    ("cfdc", "working[27 2 26] clean[] clusters[#0{1}@11 #1{6}@9! #2{10}@9] globaltime=12"),
    ("acr-c", "L_CT[9] L_CB[] L_DT[2 4 8] L_DB[] L_CH[7] L_DH[1] delta_C=0 delta_D=0"),
    ("acr-o", "L_CT[] L_CB[2] L_DT[8] L_DB[1 4] L_CH[9] L_DH[6] delta_C=1 delta_D=2"),
    ("acr-h", "L_CT[9] L_CB[2] L_DT[] L_DB[8 1] L_CH[3] L_DH[4] delta_C=1 delta_D=2"),
    ("s3-fifo", "small[4/0] main[3/0 2/2 1/0] ghost[8 7]"),
    ("sieve", "queue[2/0 4/0 1/1] hand=4"),
    ("w-tinylfu", "window[4] probation[5] protected[2 1] counts[1:4 2:3 3:1 4:2 5:3 6:1 7:1]"),
    ("casa", "C[9 3] D[8 2] tau=1.75"),
    ("watt", "frames[1/{4 3 1 0}/{4} 4/{4}/{} 2/{4 3 2}/{3 2}] epoch=4"),
    ("larc", "Q[7 5 6 4] Qr[2 8 1] Cr=3.6"),
    ("car", "T1[6/0] T2[1/0 3/0] B1[5] B2[2 4] p=1"),
    ("clock-sweep", "frames[4/1 1/0 2/1] hand=0"),
    ("lfu", "order[4/1 2/2 3/3]"),
    ("lfu-da", "order[1/1/4 3/1/5 4/1/5] L=4"),
    ("slru", "S2[1] S1[2] S0[3 7]"),
    ("hyperbolic", "frames[4/1/12 6/1/11 1/1/10]"),
    ("lecar", "lru[3/3 1/4 5/1] H_LRU[] H_LFU[] w_LRU=0.480115"),
    ("random", "frames[2 1 5]"),
    ("clock-pro", "list[1T 3T 6T 8H* 4H*] m_c=2"),
    ("sampled-lru", "frames[2/9 1/10 4/12]"),
    ("sampled-lfu", "frames[1/4/10 6/1/11 4/1/12]"),
    ("pgdsf", "order[5/2/4 4/1/4 1/4/7] Clock=3"),
];

#[test]
fn micro_traces_end_with_the_lists_of_the_tables() {
    let read = |path| std::fs::read_to_string(path).expect("the vectors are in the repository");
    let files = VECTORS.map(read).concat();
    let vectors: Vec<Value> =
        files.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(LAST_ROWS.len(), NAMES.len());
    for (policy, expected) in LAST_ROWS {
        let micro = vectors.iter().find(|vector| vector["name"] == format!("{policy}/micro"));
        let micro = micro.expect("every policy has a micro-trace");
        let trace: Vec<(Op, u64)> = micro["accesses"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|access| {
                let op = if access[0] == "w" { Op::Write } else { Op::Read };
                (op, access[1].as_u64().expect("a page"))
            })
            .collect();
        let frames = micro["frames"].as_u64().expect("an integer") as usize;
        let params = micro["params"].as_object().expect("an object");
        let mut model = model(policy, frames, params, &trace).expect("a known policy");
        for &(op, page) in &trace {
            model.access(op, page);
        }
        assert_eq!(model.lists(), *expected, "{policy}");
    }
}
