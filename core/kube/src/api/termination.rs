//! How an API server ends that was asked to (`k8s.io/apiserver/pkg/server/genericapiserver.go`, the diagram of its shutdown).
//!
//! ```text
//!  SIGTERM --/readyz fails at once--> drains --shutdown delay--> closed --requests in flight are answered--> gone
//! ```
//!
//! While it drains it serves: clients that are connected to it stay, and new ones are sent elsewhere, because its endpoint is not ready. When
//! it closes, its clients are asked to leave (GOAWAY) and connect to another one. A pod's grace period cuts all of that short.
//!
//! Without a delay in the scenario a server drains until it is gone, as if the time that its process takes to stop were its shutdown delay.

use super::{Api, Server};
use crate::ctx::ClusterCtx;
use crate::record::{KubeRecord, ServerFact};
use zonefall_kernel::time::Time;
use zonefall_kernel::timer::Generation;

/// Where a server is on the way to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nobody has asked it to stop.
    Serves,
    /// It was asked to stop and still serves.
    Drains {
        /// It closes then; `None`: it drains until it is gone.
        until: Option<Time>,
    },
    /// It accepts no connection, and only ends what it has begun.
    Closed,
}

impl Phase {
    /// It accepts connections.
    pub(super) const fn listens(self) -> bool {
        matches!(self, Self::Serves | Self::Drains { .. })
    }

    /// When it goes on by itself.
    pub(super) const fn next(self) -> Option<Time> {
        match self {
            Self::Drains { until } => until,
            Self::Serves | Self::Closed => None,
        }
    }
}

impl Server {
    /// It was asked to stop.
    pub(super) const fn stops(&self) -> bool {
        !matches!(self.phase, Phase::Serves)
    }

    /// What it says of itself.
    pub(super) const fn readyz(&self) -> bool {
        self.checked.0 && !self.stops()
    }
}

impl Api {
    /// A server was asked to stop.
    pub fn stop(&mut self, key: u32, ctx: &mut ClusterCtx<'_>) {
        if let Some(server) = self.servers.get_mut(&key) {
            server.phase = Phase::Drains { until: ctx.spec.shutdown_delay.map(|delay| ctx.now + delay) };
            ctx.record(KubeRecord::ApiServer(server.replica, ServerFact::Stops));
            server.arm(key, ctx);
        }
    }

    /// The shutdown delay of a server is over.
    pub fn close(&mut self, key: u32, generation: Generation, ctx: &mut ClusterCtx<'_>) {
        if let Some(server) = self.servers.get_mut(&key)
            // Another process with this key may have queued the event.
            && server.phase.next() == Some(ctx.now)
            && server.close_timer.fires(generation)
        {
            server.phase = Phase::Closed;
            if std::mem::take(&mut server.ready) {
                ctx.answers_probe(key, server.replica, server.host, false);
            }
            ctx.record(KubeRecord::ApiServer(server.replica, ServerFact::Closes));
            server.arm(key, ctx);
        }
    }

    /// Those of `servers` (keys) that new connections are sent to: none that was asked to stop, unless all were (Kubernetes, KEP-1669).
    pub fn for_new_connections(&self, servers: &[u32]) -> Vec<u32> {
        let serves = |key: &u32| !self.servers[key].stops();
        let some: Vec<u32> = servers.iter().copied().filter(serves).collect();
        if some.is_empty() { servers.to_vec() } else { some }
    }
}
