//! Columns of a run that options fill: what makes two runs of different options differ as rows.

use serde::Serialize;

/// Type of the values of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnKind {
    /// Whole numbers.
    Int,
    /// Text.
    Text,
    /// True or false.
    Bool,
}

/// A column of a run that an option fills, from the configuration in the run's result.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OptionColumn {
    /// Name of the column.
    pub name: &'static str,
    /// Type of its values.
    pub kind: ColumnKind,
    /// Key in the run's configuration, a dot before a key within.
    pub key: &'static str,
    /// Value where the configuration has none, as text; empty: unknown.
    pub default: &'static str,
    /// Key of the device's `host` table whose value comes before the default; empty without one.
    pub host: &'static str,
    /// Keys of the configuration without which the column has no value.
    pub needs: &'static [&'static str],
}

impl OptionColumn {
    const fn new(name: &'static str, kind: ColumnKind) -> OptionColumn {
        OptionColumn { name, kind, key: name, default: "", host: "", needs: &[] }
    }

    pub(crate) const fn key(self, key: &'static str) -> OptionColumn {
        OptionColumn { key, ..self }
    }

    pub(crate) const fn or(self, default: &'static str) -> OptionColumn {
        OptionColumn { default, ..self }
    }

    pub(crate) const fn or_of_host(self, host: &'static str) -> OptionColumn {
        OptionColumn { host, ..self }
    }

    pub(crate) const fn needs(self, needs: &'static [&'static str]) -> OptionColumn {
        OptionColumn { needs, ..self }
    }
}

pub(crate) const fn int(name: &'static str) -> OptionColumn {
    OptionColumn::new(name, ColumnKind::Int)
}

pub(crate) const fn text(name: &'static str) -> OptionColumn {
    OptionColumn::new(name, ColumnKind::Text)
}

pub(crate) const fn truth(name: &'static str) -> OptionColumn {
    OptionColumn::new(name, ColumnKind::Bool).or("false")
}
