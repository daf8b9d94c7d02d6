//! Columns whose names give a role that their values do not fit, and names that are not unique.

use super::Places;
use super::names::role_of;
use super::table::{Table, is_date, is_number};

/// Gives each open role the column that is named after it, and returns a sentence for each: the
/// first value that does not fit. Read by the flags, that value is an error with its place.
pub(super) fn take_named(table: &Table, places: &mut Places) -> Vec<String> {
    let whole: (&dyn Fn(&str) -> bool, _) = (&|v| Table::whole_of(v).is_some(), "a whole number");
    let time: (&dyn Fn(&str) -> bool, _) = (&|v| is_number(v), "a decimal number");
    let date: (&dyn Fn(&str) -> bool, _) = (&is_date, "a date");
    let mut found = Vec::new();
    for role in ["time", "offset", "length"] {
        let place = match role {
            "time" => &mut places.time,
            "offset" => &mut places.offset,
            _ => &mut places.length,
        };
        let named = (0..table.width()).filter_map(|k| match role_of(&table.words(k)) {
            Some((of, rank)) if of == role => Some((rank, k)),
            _ => None,
        });
        let Some((_, k)) = named.min().filter(|_| place.is_none()) else { continue };
        let dates = table.columns[k].first().is_some_and(|value| is_date(value));
        let (fits, expected) = match role {
            "time" if dates => date,
            "time" => time,
            _ => whole,
        };
        // A flush may have no address.
        let wrong = |value: &String| !fits(value) && (role == "time" || !value.is_empty());
        let Some(row) = table.columns[k].iter().position(wrong) else { continue };
        let (name, value) = (&table.names[k], &table.columns[k][row]);
        let line = table.lines[row];
        let meant = if name == role { String::new() } else { format!(" ({role})") };
        found.push(format!(
            "column {name}{meant}: line {line} has \"{value}\", expected {expected}"
        ));
        *place = Some(k);
    }
    found
}

/// A sentence for a name of several columns, of which one has a role.
pub(super) fn named_alike(table: &Table, places: &Places) -> Option<String> {
    let chosen = [places.time, places.op, places.offset, places.length, places.response];
    chosen.into_iter().flatten().chain(places.device.iter().copied()).find_map(|k| {
        let name = table.names.get(k)?;
        let count = table.names.iter().filter(|other| *other == name).count();
        (count > 1).then(|| {
            format!(
                "{count} columns are named {name}: column {k} is taken, by its number from 0 on"
            )
        })
    })
}
