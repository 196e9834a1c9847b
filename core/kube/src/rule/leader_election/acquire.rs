//! One attempt of a candidate to take or renew a lease (`tryAcquireOrRenew`). Ages of leases are measured by the candidate's own clock,
//! from the moment at which it first saw the record as it is.

use zonefall_kernel::time::{Duration, Time};

/// The record of a lease, with names of holders of type `H`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease<H> {
    /// The process that holds it; `None`: it was released.
    pub holder: Option<H>,
    /// Time without a change after which others may take it.
    pub duration: Duration,
    /// How often it has passed to another holder.
    pub transitions: u64,
}

/// What comes of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Another process holds the lease.
    Refused,
    /// The candidate holds it.
    Acquired {
        /// Transitions of the record from now on.
        transitions: u64,
    },
}

/// When a candidate saw the record change to what it is: now, if it has changed since the candidate saw it last (`seen`: when that record
/// was new).
pub fn last_change(seen: Option<Time>, changed: bool, now: Time) -> Time {
    seen.filter(|_| !changed).unwrap_or(now)
}

/// Whether a lease has lasted. It is over when it is exactly as old as its duration.
pub fn is_over(last_change: Time, duration: Duration, now: Time) -> bool {
    last_change + duration <= now
}

/// An attempt of the candidate `me` on a lease; `None`: there is no record, and it creates one.
pub fn attempt<H: PartialEq>(me: &H, lease: Option<&Lease<H>>, last_change: Time, now: Time) -> Outcome {
    let Some(lease) = lease else { return Outcome::Acquired { transitions: 0 } };
    match &lease.holder {
        Some(holder) if holder == me => Outcome::Acquired { transitions: lease.transitions },
        Some(_) if !is_over(last_change, lease.duration, now) => Outcome::Refused,
        Some(_) | None => Outcome::Acquired { transitions: lease.transitions + 1 },
    }
}
