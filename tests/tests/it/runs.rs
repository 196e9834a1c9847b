//! Whole runs: tests that look at a simulation and its report together.

mod causes;
mod druid;
mod etcd;
mod flow;
mod kube;
mod vantages;
