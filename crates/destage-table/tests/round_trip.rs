//! Tables written and read again; files that are none.

use destage_table::{Column, Columns, counts_bytes, read_table, table_bytes};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A file that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn of(bytes: &[u8]) -> Scratch {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("destage-table-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        Scratch(path)
    }

    fn read(&self, names: Option<Vec<String>>) -> (Columns, BTreeMap<String, String>) {
        read_table(&self.0, names).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

fn named(columns: Vec<Column>) -> Columns {
    columns.into_iter().enumerate().map(|(at, column)| (format!("c{at}"), column)).collect()
}

fn column(rows: usize) -> BoxedStrategy<Column> {
    use prop::collection::vec;
    use prop::option::of;
    prop_oneof![
        vec(of(any::<bool>()), rows).prop_map(Column::Bool),
        vec(of(any::<i64>()), rows).prop_map(Column::Int),
        vec(of(-1e300..1e300), rows).prop_map(Column::Real),
        vec(of(".{0,200}"), rows).prop_map(Column::Text),
    ]
    .boxed()
}

proptest! {
    #[test]
    fn a_table_comes_back(
        columns in (0..60usize).prop_flat_map(|rows| prop::collection::vec(column(rows), 1..8)),
    ) {
        let columns = named(columns);
        let metadata = BTreeMap::from([("made by".to_string(), "a test".to_string())]);
        let file = Scratch::of(&table_bytes(&columns, metadata.clone()).unwrap());
        let (read, about) = file.read(None);
        // A table without rows has no row group, hence no types.
        if columns.iter().any(|(_, column)| column_len(column) > 0) {
            prop_assert_eq!(&read, &columns);
        }
        prop_assert_eq!(about.get("made by"), metadata.get("made by"));
        let last = columns.last().unwrap().0.clone();
        let (some, _) = file.read(Some(vec![last.clone(), "none".into(), "c0".into()]));
        let names: Vec<&str> = some.iter().map(|(name, _)| name.as_str()).collect();
        prop_assert_eq!(names, [last.as_str(), "c0"]);
    }
}

fn column_len(column: &Column) -> usize {
    match column {
        Column::Bool(values) => values.len(),
        Column::Int(values) => values.len(),
        Column::Real(values) => values.len(),
        Column::Text(values) => values.len(),
    }
}

#[test]
fn a_file_that_is_cut_is_an_error() {
    let columns = named(vec![Column::Int((0..3000).map(Some).collect())]);
    let whole = table_bytes(&columns, BTreeMap::new()).unwrap();
    for kept in [0, 1, 4, whole.len() / 2, whole.len() - 1] {
        assert!(read_table(&Scratch::of(&whole[..kept]).0, None).is_err(), "{kept} bytes");
    }
    assert!(read_table(Path::new("/nowhere/at/all"), None).is_err());
}

#[test]
fn counts_stand_under_each_other() {
    let bytes = |counts: &[u64]| counts.iter().flat_map(|count| count.to_le_bytes()).collect();
    let sizes = 40_000; // more than are converted at a time
    let falling: Vec<u64> = (0..sizes).map(|size| 1_000_000 - size).collect();
    let misses: Vec<Option<Vec<u8>>> = vec![Some(bytes(&falling)), Some(bytes(&[7, 5]))];
    let writes = vec![None, Some(bytes(&[3, 2]))];
    let curves = [("lru".to_string(), falling.len()), ("min".to_string(), 2)];
    let columns = [("misses".to_string(), misses), ("writes".to_string(), writes)];
    let file = Scratch::of(&counts_bytes(&curves, &columns, BTreeMap::new()).unwrap());
    let (read, _) = file.read(None);
    let column = |name: &str| read.iter().find(|(one, _)| one == name).unwrap().1.clone();
    let Column::Text(policies) = column("policy") else { panic!("a text") };
    assert_eq!(policies.iter().filter(|one| one.as_deref() == Some("min")).count(), 2);
    let Column::Int(pages) = column("cache_pages") else { panic!("a number") };
    assert_eq!((pages.len(), pages[39_999], pages[40_000]), (40_002, Some(40_000), Some(1)));
    let Column::Int(misses) = column("misses") else { panic!("a number") };
    assert_eq!((misses[39_999], misses[40_001]), (Some(960_001), Some(5)));
    let Column::Int(writes) = column("writes") else { panic!("a number") };
    assert_eq!((writes[0], writes[39_999], writes[40_001]), (None, None, Some(2)));
}
