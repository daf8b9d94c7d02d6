//! Tests of the rules at the head of `ecr_over.rs`.

use super::*;
use crate::arc::Arc;
use crate::cflru::Cflru;
use crate::check_params;
use crate::ecr::Ecr;
use crate::params::Value;
use crate::testing::{Chips, drive, drive_on, mixed, reads, victims};
use crate::two_q::TwoQ;
use destage_core::{Dense, Op, Op::*};

fn over(base: &str, cqct: &str, frames: u32) -> EcrOver<Dense> {
    let (base, cqct) = (Value::from(base), Value::from(cqct));
    let params = check_params(INFO.name, [("base", &base), ("cqct", &cqct)]).expect("parameters");
    let setup = Setup { params, ..Setup::new(frames) };
    EcrOver::build(&setup, Dense::new(64)).expect("a base")
}

/// Devices of three chips on which candidates cost different amounts.
fn devices() -> [Chips; 4] {
    let busy = Chips::new(&[300, 0, 0]);
    let collecting = Chips { gc_cost_ns: vec![0, 900, 50], ..Chips::new(&[100, 0, 100]) };
    let dynamic = Chips { dynamic: Some(1), ..Chips::new(&[200, 100, 0]) };
    [Chips::new(&[0, 0, 0]), busy, collecting, dynamic]
}

#[test]
fn over_lru_it_is_ecr_without_a_clean_list() {
    let trace = mixed(3000, 48);
    for chips in devices() {
        for (frames, cqct) in [(1, "backlog"), (7, "backlog"), (24, "wait"), (24, "eq1")] {
            let params = check_params("ecr-e", [("cqct", &Value::from(cqct))]).unwrap();
            let setup = Setup { params, ..Setup::new(frames) };
            let mut ecr_e = Ecr::<_, false>::new(&setup, Dense::new(64));
            let expected = drive_on(&mut ecr_e, &chips, &trace);
            let found = drive_on(&mut over("lru", cqct, frames), &chips, &trace);
            assert_eq!(found, expected, "{frames} frames, {cqct}, {chips:?}");
        }
    }
}

#[test]
fn on_one_chip_it_is_its_base() {
    let trace = mixed(3000, 48);
    let chips = Chips::new(&[500]);
    for frames in [1, 2, 7, 24] {
        let setup = |name| Setup {
            params: check_params(name, []).expect("defaults"),
            ..Setup::new(frames)
        };
        let of = |base| drive_on(&mut over(base, "backlog", frames), &chips, &trace);
        let arc = drive(&mut Arc::new(&setup("arc"), Dense::new(64)), &trace);
        let two_q = drive(&mut TwoQ::new(&setup("2q"), Dense::new(64)), &trace);
        let cflru = drive(&mut Cflru::new(&setup("cflru"), Dense::new(64)), &trace);
        assert!(of("arc") == arc && of("2q") == two_q && of("cflru") == cflru, "{frames} frames");
    }
}

#[test]
fn the_chip_with_the_shortest_queue_gives_up_what_its_base_would() {
    // Chip 0: 0d 2c 4d; chip 1: 1c 3d. CFLRU with half of the pages in its region: of chip 0 the
    // oldest two (1.5 rounds up), so that its clean page 2 goes before 0.
    let trace: [(Op, u64); 6] =
        [(Write, 0), (Read, 2), (Write, 4), (Read, 1), (Write, 3), (Read, 7)];
    let mut of_chip_0 = over("cflru", "backlog", 5);
    assert_eq!(victims(&drive_on(&mut of_chip_0, &Chips::new(&[0, 90]), &trace)), [2]);
    let mut of_chip_1 = over("cflru", "backlog", 5);
    assert_eq!(victims(&drive_on(&mut of_chip_1, &Chips::new(&[90, 0]), &trace)), [1]);
}

#[test]
fn a_chip_has_as_many_frames_and_ghosts_as_its_pages_allow() {
    // All on chip 0, then a page on chip 1: of the four pages of chip 0 the first leaves as a
    // ghost of A1out (half of three frames is two), and comes back into Am.
    let chips = Chips::new(&[0, 50]);
    let mut p = over("2q", "backlog", 4);
    let steps = drive_on(&mut p, &chips, &reads(&[0, 2, 4, 6, 1]));
    assert_eq!(victims(&steps), [0]);
    assert_eq!((p.chips[0].resident(), p.chips[1].resident()), (3, 1));
    // Page 2 goes for it, from A1in; then 4, with A1in down to one of three, a share of 0.25.
    assert_eq!(victims(&drive_on(&mut p, &chips, &reads(&[0]))), [2]);
    assert_eq!(victims(&drive_on(&mut p, &chips, &reads(&[8]))), [4]);
    let Chip::TwoQ(two_q) = &p.chips[0] else { panic!("over 2Q") };
    let lists = two_q.inside().iter().map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!((lists, two_q.frames()), (vec!["A1in", "Am", "A1out"], 3));
}

#[test]
fn a_base_with_a_fixed_number_of_frames_is_an_error_that_names_the_others() {
    let error = |base: &str| {
        check_params(INFO.name, [("base", &Value::from(base))]).expect_err("no base").to_string()
    };
    assert!(error("clock").contains("clock has a fixed number of frames"), "{}", error("clock"));
    assert!(error("clock").contains("expected one of lru, cflru, 2q, arc"), "{}", error("clock"));
    assert!(error("acr").contains("unknown policy \"acr\""), "{}", error("acr"));
}
