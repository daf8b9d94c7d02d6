//! Integration tests: every policy of the table.

mod blocks;
mod common;
mod declared;
mod next_victims;
mod reference;
mod shapes;
mod trims;
mod vectors;
