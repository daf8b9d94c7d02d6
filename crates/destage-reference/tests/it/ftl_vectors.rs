//! The FTL reference models against the conformance vectors.

use destage_reference::ftl;
use serde_json::Value;
use std::path::Path;

#[test]
fn every_ftl_vector_is_counted_as_written() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/ftl.jsonl");
    let text = std::fs::read_to_string(path).expect("the vectors");
    let mut seen = Vec::new();
    for line in text.lines() {
        let vector: Value = serde_json::from_str(line).expect("JSON");
        let (name, ftl) = (&vector["name"], vector["ftl"].as_str().expect("a name"));
        let ops: Vec<(bool, u64)> = vector["ops"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|op| (op[0] == "w", op[1].as_u64().expect("a page")))
            .collect();
        let params = vector["params"].as_object().expect("an object");
        let outcome = ftl::run(ftl, params, &ops).expect("a known FTL");
        let steps: Vec<[u64; 3]> =
            serde_json::from_value(vector["steps"].clone()).expect("triples");
        assert_eq!(outcome.steps, steps, "{ftl}: {name}");
        for (counter, expected) in vector["counters"].as_object().expect("an object") {
            let got = outcome.counters.get(counter.as_str()).copied().unwrap_or(0);
            assert_eq!(got, expected.as_u64().expect("a count"), "{ftl}: {name}: {counter}");
        }
        seen.push(ftl.to_string());
    }
    for ftl in ftl::NAMES {
        assert!(seen.iter().any(|seen| seen == ftl), "{ftl} has vectors");
    }
}
