//! The micro-examples of `docs/spec/device-today.md` 8, and the future as it is recorded.

use super::*;
use crate::config::Steps;

const NO_HINT: WriteHint = WriteHint { bytes: 0, label: 0 };

#[test]
fn a_request_has_as_many_thresholds_at_or_below_its_size_as_its_handle_says() {
    let mut by_size = BySize::new(vec![8192, 65536]);
    let mut class = |bytes| by_size.written(0, WriteHint { bytes, label: 7 }, 1);
    assert_eq!([0, 8191, 8192, 65535, 65536].map(&mut class), [0, 0, 1, 1, 2]);
}

#[test]
fn a_label_beyond_the_handles_is_the_last_one() {
    let mut by_cache = ByCache::new(2);
    let mut class = |label| by_cache.written(0, WriteHint { bytes: 4096, label }, 1);
    assert_eq!([0, 1, 5].map(&mut class), [0, 1, 1]);
}

#[test]
fn the_example_of_sepbit_has_its_classes() {
    let mut sepbit = Sepbit::new(2, 6, 4);
    assert_eq!(sepbit.written(0, NO_HINT, 1), 1, "never written before");
    assert_eq!(sepbit.written(0, NO_HINT, 90), 0, "l is infinite");
    sepbit.collected(Victim { point: 0, opened: 95 }, 100);
    sepbit.collected(Victim { point: 1, opened: 0 }, 100);
    assert_eq!(sepbit.sum, None, "a window is two blocks of class 0");
    sepbit.collected(Victim { point: 0, opened: 93 }, 100);
    assert_eq!(sepbit.sum, Some(12));
    for (gap, class) in [(5, 0), (6, 1)] {
        sepbit.last.set(1, 200 - gap);
        assert_eq!(sepbit.written(1, NO_HINT, 200), class, "written {gap} writes ago");
    }
    let other = Victim { point: 3, opened: 0 };
    for (age, class) in [(5, 3), (23, 3), (24, 4), (95, 4), (96, 5), (5000, 5)] {
        sepbit.last.set(2, 10_000 - age);
        assert_eq!(sepbit.moved(2, other, 10_000), class, "age {age}");
    }
    assert_eq!(sepbit.moved(2, Victim { point: 0, opened: 0 }, 10_000), 2);
    sepbit.trimmed(1, 201);
    assert_eq!(sepbit.written(1, NO_HINT, 202), 1, "what was trimmed was never written");
}

#[test]
fn clocks_beyond_32_bits_are_kept_as_they_are() {
    let mut sepbit = Sepbit::new(1, 6, 2);
    let many = u64::from(u32::MAX);
    sepbit.written(0, NO_HINT, 7);
    sepbit.collected(Victim { point: 0, opened: 1 }, 11);
    assert_eq!(sepbit.written(1, NO_HINT, many), 1, "never written before");
    assert_eq!(sepbit.written(1, NO_HINT, many + 3), 0, "3 writes ago, and l is 10");
    assert_eq!(sepbit.written(1, NO_HINT, many + 15), 1, "12 writes ago");
    assert_eq!(sepbit.written(0, NO_HINT, many + 16), 1, "as many ago as it lived");
}

#[test]
fn data_die_at_the_next_write_or_at_a_trim() {
    let mut first = Recorder::default();
    for (clock, slot) in (1..).zip([4, 2, 4, 2, 2]) {
        first.written(slot, NO_HINT, clock);
        if clock == 3 {
            first.trimmed(4, 3);
        }
    }
    first.trimmed(2, 5);
    first.trimmed(2, 5); // it holds no data by then
    let mut fk = Fk::new((Steps::Linear, 2, 1), 4, 5);
    fk.foresee(first.future());
    let classes = (1..).zip([4, 2, 4, 2, 2]).map(|(clock, slot)| fk.written(slot, NO_HINT, clock));
    assert_eq!(classes.collect::<Vec<_>>(), [2, 2, 0, 1, 0]);
}

#[test]
fn steps_grow_by_the_base_or_not_at_all() {
    let class = |steps, left| Fk::new((steps, 4, 10), 4, 0).class(100 + left, 100);
    let of = |steps| [0, 9, 10, 19, 20, 39, 40, 159, 160, 9999].map(|left| class(steps, left));
    assert_eq!(of(Steps::Geometric), [0, 0, 1, 1, 1, 1, 2, 2, 3, 3]);
    assert_eq!(of(Steps::Linear), [0, 0, 1, 1, 2, 3, 3, 3, 3, 3]);
    assert_eq!(class(Steps::Linear, super::fk::NEVER - 100), 3);
}
