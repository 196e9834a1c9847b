//! The two readings of alternative services.

use zonefall_kernel::time::Duration;

/// Which reading a client follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The prototype (openshift/kubernetes@f9e4430a `client-go/transport/patch_round_trippers.go`): it stays with an address that
    /// answered even if that is blocked or not listed any more, keeps a list until the next one, and forgets blocks with their entries.
    Code,
    /// The document (Resilient Control Plane Networking, section Client-go): it stays with an address as long as that is listed and free,
    /// drops a list of this age, and remembers blocks: an address that failed for a time, one with a wrong certificate for ever.
    Text {
        /// The longest that a list is used: the `shutdown-delay-duration` of the API servers.
        keep: Duration,
    },
    /// The document with a list that the client is configured with (`AlternativeHosts`): it neither expires nor changes.
    Configured,
}
