//! Workloads from and to keys and values.

use destage_trace::Result;
use serde_json::{Map, Value};

use super::description::{Workload, usage};
use super::parameters;

impl Workload {
    /// Parses keys and values: `kind` or `preset`, and any parameter of that kind. Numbers may be
    /// texts.
    ///
    /// # Errors
    ///
    /// `Usage` for an unknown key (naming the nearest), a key of another kind, and a value out of
    /// its range.
    pub fn from_map(map: &Map<String, Value>) -> Result<Self> {
        let text = |key: &str| map.get(key).and_then(Value::as_str);
        let mut workload = match (text("kind"), text("preset")) {
            (Some(kind), None) => Workload::new(parameters::kind(kind)?),
            (None, Some(preset)) => Workload::preset(preset)?,
            _ => {
                return Err(usage("a workload is named by either kind or preset".into()));
            }
        };
        for (key, value) in
            map.iter().filter(|(key, _)| !["kind", "preset"].contains(&key.as_str()))
        {
            workload.set(key, value)?;
        }
        workload.check()?;
        Ok(workload)
    }

    /// Kind and all of its parameters, as [`from_map`](Self::from_map) reads them.
    pub fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("kind".into(), self.kind.name().into());
        for parameter in parameters::of(self.kind) {
            map.insert(
                parameter.key.name.into(),
                serde_json::to_value(parameter.get(self)).unwrap_or_default(),
            );
        }
        map
    }
}

impl serde::Serialize for Workload {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        self.to_map().serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Workload {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Self, D::Error> {
        let map = Map::deserialize(deserializer)?;
        Workload::from_map(&map).map_err(serde::de::Error::custom)
    }
}
