//! Leader election as client-go has it (kubernetes/client-go@32ce75a7 `tools/leaderelection/leaderelection.go`): attempts to take a
//! lease, rounds of renewals, and a leader's own health check. Which timings are valid: [`crate::spec::leader_election`].

pub mod acquire;
pub mod health;
pub mod renew;
