//! Integration tests: whole runs against the reference model of the device, FTLs under every
//! policy, vectors of the host interface.

mod device_reference;
mod ftls;
mod host_interface_vectors;
