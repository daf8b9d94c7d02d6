//! The table of device names: a record carries an index, messages and results carry the name.
//!
//! Identity is by bytes. A name may hold bytes that are not UTF-8 (`docs/spec/trace-formats.md`
//! section 2); it is shown escaped, and never an error there.

use destage_keys::printable;
use rustc_hash::FxHashMap;

/// Every device met so far, in the order met.
#[derive(Clone, Debug, Default)]
pub struct DeviceTable {
    names: Vec<Vec<u8>>,
    index: FxHashMap<Vec<u8>, u32>,
}

impl DeviceTable {
    /// No device yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Index of `name`, given one if it is new.
    pub fn index(&mut self, name: &[u8]) -> u32 {
        if let Some(&index) = self.index.get(name) {
            return index;
        }
        let index = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_vec());
        self.index.insert(name.to_vec(), index);
        index
    }

    /// Index of `name` if it was met.
    pub fn find(&self, name: &[u8]) -> Option<u32> {
        self.index.get(name).copied()
    }

    /// Bytes of the name of device `index`; empty if there is no such device.
    pub fn bytes(&self, index: u32) -> &[u8] {
        self.names.get(index as usize).map_or(&[], Vec::as_slice)
    }

    /// Name of device `index` for people, bytes that are not printable UTF-8 escaped.
    pub fn name(&self, index: u32) -> String {
        printable(self.bytes(index))
    }

    /// Number of devices.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no device was met.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Names for people, in index order.
    pub fn names(&self) -> Vec<String> {
        self.names.iter().map(|n| printable(n)).collect()
    }

    /// Indices in name order, runs of digits compared as numbers (`hm_2` before `hm_10`), the order
    /// in which `devices = "stack"` places them.
    pub fn in_name_order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.names.len() as u32).collect();
        order.sort_by(|&a, &b| natural_cmp(self.bytes(a), self.bytes(b)));
        order
    }
}

/// Compares names with runs of digits as numbers of any length; equal numbers with different
/// leading zeros fall back to bytes, so that the order is total.
pub fn natural_cmp(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i].is_ascii_digit() && b[j].is_ascii_digit() {
            let (x, y) = (digits(a, i), digits(b, j));
            let (p, q) = (strip_zeros(&a[i..x]), strip_zeros(&b[j..y]));
            let order = p.len().cmp(&q.len()).then_with(|| p.cmp(q));
            if order.is_ne() {
                return order;
            }
            (i, j) = (x, y);
        } else if a[i] != b[j] {
            return a[i].cmp(&b[j]);
        } else {
            (i, j) = (i + 1, j + 1);
        }
    }
    (a.len() - i).cmp(&(b.len() - j)).then_with(|| a.cmp(b))
}

fn digits(text: &[u8], from: usize) -> usize {
    text[from..].iter().position(|c| !c.is_ascii_digit()).map_or(text.len(), |n| from + n)
}

fn strip_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|&&c| c == b'0').count();
    &digits[zeros.min(digits.len().saturating_sub(1))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_compare_as_numbers() {
        let mut table = DeviceTable::new();
        for name in ["part10", "part2", "b", "part02", "a", "part", "8,16", "8,2"] {
            table.index(name.as_bytes());
        }
        let order: Vec<String> = table.in_name_order().into_iter().map(|i| table.name(i)).collect();
        assert_eq!(order, ["8,2", "8,16", "a", "b", "part", "part02", "part2", "part10"]);
    }

    #[test]
    fn a_name_is_given_one_index_and_shown_escaped() {
        let mut table = DeviceTable::new();
        let index = table.index(b"disk\xff\t1");
        assert_eq!(table.index(b"disk\xff\t1"), index);
        assert_eq!(table.name(index), "disk\\xff\\x091");
        assert_eq!(table.len(), 1);
    }
}
