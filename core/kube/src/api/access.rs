//! What clients get from the API servers of a cluster, and whether that is in time.

use super::Api;
use crate::ctx::ClusterCtx;
use crate::record::{KubeRecord, Verb};
use zonefall_kernel::time::Duration;
use zonefall_network::vantage::Change;
use zonefall_network::{HostId, Network};
use zonefall_scenario::Vantage;

/// A request that takes longer fails (`request-timeout`).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// What clients ask for, by their places in [`Api::views`].
const VERBS: [Verb; 2] = [Verb::Read, Verb::Write];

/// How long requests take, made now; `None`: none is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// One that asks.
    pub read: Option<Duration>,
    /// One that changes something.
    pub write: Option<Duration>,
}

impl Access {
    const fn of(self, verb: Verb) -> Option<Duration> {
        match verb {
            Verb::Read => self.read,
            Verb::Write => self.write,
        }
    }

    fn sooner(self, other: Self) -> Self {
        let least = |a: Option<Duration>, b: Option<Duration>| a.into_iter().chain(b).min();
        Self { read: least(self.read, other.read), write: least(self.write, other.write) }
    }

    pub(super) fn after(self, way: Duration) -> Self {
        let longer = |time: Option<Duration>| time.map(|time| time + way).filter(|time| *time <= REQUEST_TIMEOUT);
        Self { read: longer(self.read), write: longer(self.write) }
    }
}

impl Api {
    /// What a client on a host gets.
    pub fn access(&self, from: HostId, net: &Network) -> Access {
        let ready = self.servers.values().filter(|server| server.ready && net.is_open(from, server.host));
        ready.map(|server| server.access.after(net.round_trip(from, server.host))).fold(Access::default(), Access::sooner)
    }

    /// What a client gets from the server on its own host.
    pub fn access_on(&self, host: HostId) -> Access {
        let ready = self.servers.values().filter(|server| server.ready && server.host == host);
        ready.map(|server| server.access).fold(Access::default(), Access::sooner)
    }

    /// What clients at a vantage get.
    fn access_from(&self, vantage: Vantage, net: &Network) -> Access {
        let ready = self.servers.values().filter(|server| server.ready);
        let access = ready.filter_map(|server| Some(server.access.after(net.reach_from(vantage, server.host)?)));
        access.fold(Access::default(), Access::sooner)
    }

    /// Whether the best server answers sooner or later than before, and tells whether the API is up, and for whom.
    pub fn publish_access(&mut self, ctx: &mut ClusterCtx<'_>) {
        let best = self.servers.values().filter(|server| server.ready).map(|server| server.access);
        self.latency = best.fold(Access::default(), Access::sooner).write.unwrap_or(self.latency);
        let probe = ctx.scenario.probe;
        let mut views = std::mem::take(&mut self.views);
        let have = |vantage: Vantage| {
            let access = self.access_from(vantage, ctx.net);
            VERBS.map(|verb| access.of(verb).is_some_and(|time| time <= probe.deadline))
        };
        let vantages = ctx.storage.vantages(ctx.spec.etcd, ctx.net);
        for change in views.look(probe, vantages, ctx.net, have) {
            ctx.record(match change {
                Change::Counted { service, up } => KubeRecord::ApiAvailability { verb: VERBS[service], up },
                Change::Apart { from, service, up } => KubeRecord::ApiAvailabilityFrom { from, verb: VERBS[service], up },
            });
        }
        self.views = views;
    }
}
