//! Integration tests: whole runs against the reference model of the device, FTLs under every
//! policy, vectors of the host interface, two tiers, requests of language models.

mod device_reference;
mod ftls;
mod host_interface_vectors;
mod kv;
mod tiers;
