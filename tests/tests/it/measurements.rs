//! Measurements of a real etcd, simulated.
