//! Integration tests: the reference models against the conformance vectors, and rules that no
//! vector reaches.

mod ace;
mod block_vectors;
mod choices;
mod combinations;
mod common;
mod corners;
mod device_vectors;
mod ftl_device;
mod ftl_vectors;
mod gc_steps;
mod gcar_bplru;
mod lists;
mod map_cache;
mod tier_vectors;
mod tiers_alru;
mod tiers_clean;
mod tiers_device;
mod tiers_disk;
mod tiers_feed;
mod tiers_pin;
mod vectors;
mod writer;
