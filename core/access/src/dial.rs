//! Times of a dial. One of the original host tries its addresses one after the other, each for an equal share of the time that is left, at
//! least 2 s (Go's `net.Dialer`, `dialSerial` and `partialDeadline`). SYNs to an address are repeated after 1, 3, 7 and 15 s: a path that is
//! repaired meanwhile is found at the next of them.

use zonefall_kernel::time::{Duration, Time};

/// A dial fails after this time (`client-go/transport/cache.go`, `net.Dialer.Timeout`).
pub(crate) const DIAL: Duration = Duration::from_secs(30);

/// A TLS handshake fails after this time (`k8s.io/client-go/transport/cache.go`, `TLSHandshakeTimeout`).
pub(crate) const TLS_HANDSHAKE: Duration = Duration::from_secs(10);

/// The shortest time for one address of several (`saneMinimum` of `partialDeadline`).
const LEAST_DIAL: Duration = Duration::from_secs(2);

/// Time for the first of several addresses that are still to be dialled within `left`.
pub(crate) fn dial_share(left: Duration, addresses: usize) -> Duration {
    if addresses > 1 { (left / addresses as u64).max(LEAST_DIAL).min(left) } else { left }
}

/// Times at which SYNs are repeated (`tcp_syn_retries`: after 1, 2, 4, 8 and 16 s).
fn syns(since: Time) -> impl Iterator<Item = Time> {
    (1..6).map(move |k| since + Duration::from_secs((1 << k) - 1))
}

/// Whether a SYN is repeated now.
pub(crate) fn is_syn(since: Time, now: Time) -> bool {
    syns(since).any(|syn| syn == now)
}

/// When the next SYN is repeated.
pub(crate) fn next_syn(since: Time, now: Time) -> Option<Time> {
    syns(since).find(|syn| *syn > now)
}
