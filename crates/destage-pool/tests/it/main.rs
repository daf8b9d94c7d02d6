//! The pool from outside: bytes, durability, threads, and counters equal to the simulator's.

mod behaviour;
#[cfg(feature = "device")]
mod device;
mod durability;
mod equality;
mod files;
mod kill;
mod model;
mod own;
mod support;
mod threads;
