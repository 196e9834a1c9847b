//! What waits in the queue for the ways of a cluster. Events carry the generation of their timer.

use zonefall_kernel::timer::Generation;
use zonefall_kube::ctx::ApiClient;

/// An event of the ways of one cluster.
#[derive(Clone, Copy, Debug)]
pub enum AccessEvent {
    /// A check of a target starts, or has gone without an answer for too long.
    Check {
        /// Node of the balancer, by its place.
        node: u8,
        /// The target: key of the server.
        target: u32,
        /// Generation of the timer.
        generation: Generation,
    },
    /// A client gives a connection or an attempt up, or tries again.
    Client {
        /// The client.
        client: ApiClient,
        /// Generation of the timer.
        generation: Generation,
    },
    /// A server reads the endpoints of the Service `kubernetes` again.
    Refresh {
        /// Key of the server.
        server: u32,
        /// Generation of the timer.
        generation: Generation,
    },
    /// The lease of a server that is gone is over.
    Endpoints {
        /// Generation of the timer.
        generation: Generation,
    },
}

// An event of the queue must not grow by this one.
const _: () = assert!(size_of::<AccessEvent>() <= 16);
