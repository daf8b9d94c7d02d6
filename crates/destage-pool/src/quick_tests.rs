//! Tests of `quick`, whose model is in `../loom`: there these would be outside of a schedule.

use crate::quick::{Arrived, Place, Quick};
use std::ptr;

fn place_of(arrived: Option<Arrived<u8>>) -> Option<Place> {
    arrived.map(|(Arrived::Reads(_, place) | Arrived::Strays(_, place))| place)
}

#[test]
fn readers_come_while_the_entry_is_open_and_are_counted_when_it_is_closed() {
    let (quick, frame) = (Quick::new(4), 1_u8);
    let place = quick.claim(7, &raw const frame, ptr::null_mut()).expect("it is empty");
    assert!(quick.arrive(7).is_none());
    quick.open(place);
    assert_eq!(place_of(quick.arrive(7)), Some(place));
    assert_eq!(place_of(quick.arrive(7)), Some(place));
    assert!(quick.arrive(8).is_none());
    assert!(quick.leave(place));
    assert_eq!(quick.close(place), 1);
    assert!(!quick.leave(place) && quick.arrive(7).is_none());
    assert_eq!(quick.close(place), 0);
}

#[test]
fn a_page_has_an_entry_until_its_neighbourhood_is_full_and_those_of_no_page_are_found_by_none() {
    let (quick, frame) = (Quick::new(4), 1_u8);
    let claim = |page| quick.claim(page, &raw const frame, ptr::null_mut());
    let places: Vec<Place> = (0..8).map(|page| claim(page).expect("an empty one")).collect();
    assert!(claim(8).is_none());
    quick.hide(places[3]);
    assert!(quick.place_of(3, &raw const frame).is_none() && claim(3).is_none());
    quick.free(places[3]);
    assert_eq!(claim(8), Some(places[3]));
    assert_eq!(quick.place_of(8, &raw const frame), Some(places[3]));
    assert!(quick.arrive(u64::MAX).is_none() && quick.arrive(u64::MAX - 1).is_none());
}
