//! Policies and trace formats, from their tables.

use destage_core::Requirements;
use destage_engine::run::requirements;
use destage_engine::spec::PolicySpec;
use destage_engine::stepped::Stepped;
use destage_policies::{COMPARED, Info, POLICIES, StackOrder};
use destage_trace::FORMATS;
use serde_json::{Value, json};

/// Frames of the smallest cache that every policy accepts.
const FRAMES: u32 = 8;

/// All that can be chosen, and the version that answers.
pub(crate) fn all() -> Value {
    let policies: Vec<Value> = POLICIES.iter().map(|info| describe(info)).collect();
    let formats: Vec<Value> =
        FORMATS.iter().map(|f| json!({ "name": f.name, "title": f.title })).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "policies": policies,
        "formats": formats,
        "compared": COMPARED,
    })
}

fn describe(info: &Info) -> Value {
    let bare = PolicySpec::new(info.name, Vec::new());
    let needs = bare.as_ref().map_or(Requirements::NONE, requirements);
    let params: Vec<Value> = info
        .params
        .iter()
        .map(|p| {
            let (values, default) = (p.kind.to_string(), p.default.to_string());
            json!({ "name": p.name, "values": values, "default": default, "about": p.about })
        })
        .collect();
    json!({
        "name": info.name,
        "title": info.title,
        "about": info.about,
        "family": info.family(needs),
        "offline": needs.contains(Requirements::NEXT_USE),
        "runs": !needs.device() && info.over.is_none(),
        "steps": bare.is_ok_and(|spec| Stepped::new(spec, FRAMES, Default::default()).is_ok()),
        "one_pass": info.stack_order == Some(StackOrder::Recency) || info.multi_size.is_some(),
        "every_size": info.stack_order.is_some(),
        "params": params,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_says_whether_it_runs_and_whether_it_steps() {
        let all = all();
        let flag = |name: &str, key: &str| {
            let policies = all["policies"].as_array().unwrap();
            let policy = policies.iter().find(|policy| policy["name"] == name);
            policy.unwrap_or_else(|| panic!("{name}"))[key].as_bool().unwrap()
        };
        assert_eq!(all["policies"].as_array().unwrap().len(), POLICIES.len());
        assert!(all["formats"].as_array().unwrap().len() >= 34);
        for (name, runs, steps) in
            [("lru", true, true), ("min", true, false), ("ecr", false, false), ("fab", true, true)]
        {
            assert_eq!((flag(name, "runs"), flag(name, "steps")), (runs, steps), "{name}");
        }
        assert!(flag("min", "offline") && !flag("arc", "offline"));
    }
}
