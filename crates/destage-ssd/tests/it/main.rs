//! Integration tests: the device and its FTLs.

mod collectors;
mod combinations;
mod devices_doc;
mod drawn;
mod ftls;
mod ftls_on_a_drive;
mod gc_steps;
mod host_interface;
mod laws;
mod map_cache;
mod precondition;
mod prepare;
mod prepared;
mod validity;
mod validity_host_interface;
mod vectors;
