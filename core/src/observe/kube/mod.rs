//! What happened to pods, nodes, machines and APIs, for the report.

pub mod recovery;
pub mod serving;
