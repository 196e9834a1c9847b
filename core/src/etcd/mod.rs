//! etcd: raft, members, clients' requests.

pub mod options;
