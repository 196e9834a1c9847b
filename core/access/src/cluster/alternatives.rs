//! What the servers of a cluster advertise, and what its clients know of it.

use super::ClusterAccess;
use crate::address_book::Lookup;
use crate::alt_svc::Rules;
use crate::alt_svc::advertiser::Advertiser;
use crate::alt_svc::alternatives::{Alternative, Alternatives as Listed, Block};
use crate::alt_svc::client::Client as Selector;
use crate::client::Address;
use crate::ctx::AccessCtx;
use crate::server::Server;
use zonefall_kernel::time::Duration;
use zonefall_kube::ctx::ApiClient;
use zonefall_network::{HostId, Network};
use zonefall_scenario::access::Alternatives;
use zonefall_scenario::kube::KubeClusterSpec;

/// Shutdown delay of API servers that have none of their own (OpenShift: `shutdown-delay-duration`).
const SHUTDOWN_DELAY: Duration = Duration::from_secs(70);

/// Shutdown delay of a cluster's API servers: the longest that a client of the document uses a list.
fn shutdown_delay(spec: &KubeClusterSpec) -> Duration {
    spec.shutdown_delay.unwrap_or(SHUTDOWN_DELAY)
}

/// How API servers advertise alternatives by these rules.
pub(super) fn advertiser(rules: Option<Alternatives>, spec: &KubeClusterSpec) -> Advertiser<u32> {
    match rules {
        Some(Alternatives::Text) => Advertiser::document(shutdown_delay(spec)),
        Some(_) | None => Advertiser::prototype(),
    }
}

/// How a client uses the addresses that it reads itself; `None`: it reads none.
pub(super) const fn lookup(way: Alternatives) -> Option<Lookup> {
    match way {
        Alternatives::Text | Alternatives::Code | Alternatives::Configured => None,
        Alternatives::CustomDialer => Some(Lookup::CustomDialer),
        Alternatives::InMemoryDns => Some(Lookup::InMemoryDns),
    }
}

impl ClusterAccess {
    /// A client that knows no alternatives, or at the start all. What it is configured with was written when its node was set up: the
    /// control plane of the start, or on a host added to it, of now. `None`: it uses no alternative services.
    pub(super) fn selector(
        &self,
        way: Alternatives,
        (id, host): (ApiClient, HostId),
        hosts_now: &[u32],
        ctx: &AccessCtx<'_>,
    ) -> Option<Selector<Address>> {
        let spec = &ctx.scenario.kube.clusters[self.cluster];
        let rules = match way {
            Alternatives::Text => Rules::Text { keep: shutdown_delay(spec) },
            Alternatives::Code => Rules::Code,
            Alternatives::Configured => Rules::Configured,
            Alternatives::CustomDialer | Alternatives::InMemoryDns => return None,
        };
        let (hosts, at_start) = (&spec.control_plane, spec.hosts_at_start().len() as u32);
        let known: Vec<u32> = match rules {
            Rules::Configured if matches!(id, ApiClient::Candidate(_, key) if key >= at_start) => hosts_now.to_vec(),
            Rules::Configured => (0..at_start).collect(),
            // One that has been there for long knows what servers add to their answers.
            Rules::Text { .. } | Rules::Code if self.is_new => {
                self.servers.values().map(Server::list).find(|list| !list.is_empty()).unwrap_or_default().to_vec()
            }
            Rules::Text { .. } | Rules::Code => Vec::new(),
        };
        let known = known.into_iter().map(|key| Alternative {
            authority: Address::Server(key),
            local: Network::host_of(hosts[key as usize]) == host,
            block: Block::Free,
        });
        Some(Selector::new(rules, Listed::new(known.collect(), ctx.now), None))
    }
}
