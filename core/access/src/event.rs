//! Events of API access. Events carry the generation of their timer.

use zonefall_kernel::timer::Generation;
use zonefall_kube::ctx::ApiClient;
use zonefall_scenario::ids::BalancerId;

/// An event of one cluster's API access.
#[derive(Clone, Copy, Debug)]
pub enum AccessEvent {
    /// A check of a target starts, or times out.
    Check {
        /// The balancer.
        balancer: BalancerId,
        /// Node of the balancer, by its place.
        node: u16,
        /// The target: key of the server.
        target: u32,
        /// Generation of the timer.
        generation: Generation,
    },
    /// A timer of a client fires.
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
    /// Responses have been waiting for long at the balancer.
    Backlog {
        /// Generation of the timer.
        generation: Generation,
    },
    /// A server whose lease has expired is removed from the endpoints.
    Endpoints {
        /// Generation of the timer.
        generation: Generation,
    },
}

// An event of the queue must not grow by this one.
const _: () = assert!(size_of::<AccessEvent>() <= 16);
