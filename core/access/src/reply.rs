//! What the other side of a connection replies.

/// How the other side replies to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply<T> {
    /// The connection is accepted, or open.
    Accepted(T),
    /// The connection is refused or reset (RST) at once: the kernel of a living host replies for a process that does not run.
    Refused,
    /// The connection is accepted and then closed: by the client, for its certificate is wrong, or by a load balancer that has not
    /// reached a target. The client dials no other address of the same name.
    Closed,
    /// No packet comes back.
    Silence,
}
