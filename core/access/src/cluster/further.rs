//! Further clients of a cluster's API: which run, and what their requests make of the load balancer's queues.

use std::collections::BTreeSet;

use super::{ApiView, ClusterAccess};
use crate::client::{Client, RequestTimings};
use crate::ctx::AccessCtx;
use crate::event::AccessEvent;
use crate::queue::Queue;
use crate::record::{AccessRecord, RequestResult};
use crate::requests::Requests;
use zonefall_kernel::dist::scale;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::ctx::ApiClient;
use zonefall_network::{HostId, Network};
use zonefall_scenario::Scenario;
use zonefall_scenario::access::ApiClientSpec;
use zonefall_scenario::ids::{ApiClientId, KubeClusterId, NodeId};

/// Time-out of requests that have none: longer than any run.
const ENDLESS: Duration = Duration::from_secs(100 * 366 * 86_400);

/// Responses that wait for so long at the balancer may come too late for kubelets and components.
const BACKLOG: Duration = Duration::from_millis(500);

/// How often clients are looked at while responses wait.
const BACKLOG_PERIOD: Duration = Duration::from_secs(1);

impl ClusterAccess {
    /// Requests of a further client that are not over.
    pub fn in_flight(&self, client: ApiClientId) -> u64 {
        let own = |id: &ApiClient| matches!(id, ApiClient::Further(other, _) if *other == client);
        self.requests.iter().filter(|(id, _)| own(id)).map(|(_, requests)| requests.in_flight() as u64).sum()
    }

    /// Looks at clients again while responses wait for so long at the balancer that requests may time out, or new clients give up.
    pub(super) fn watch_backlog(&mut self, ctx: &mut AccessCtx<'_>) {
        if self.longest_wait(ctx.now) >= BACKLOG.min(ctx.scenario.probe.deadline / 2) {
            self.look_again(ctx.now + BACKLOG_PERIOD, ctx);
        }
    }

    /// Looks at clients once more when the last response has left the balancer.
    pub(super) fn watch_rest_of_backlog(&mut self, ctx: &mut AccessCtx<'_>) {
        let wait = self.longest_wait(ctx.now);
        if wait > Duration::ZERO {
            self.look_again(ctx.now + wait, ctx);
        }
    }

    /// The longest time that a response waits at a balancer.
    fn longest_wait(&self, now: Time) -> Duration {
        self.balancers().iter().map(|balancer| balancer.longest_wait(now)).max().unwrap_or(Duration::ZERO)
    }

    fn look_again(&mut self, at: Time, ctx: &mut AccessCtx<'_>) {
        if self.backlog_timer.deadline().is_none() {
            let generation = self.backlog_timer.arm(at);
            ctx.out.schedule(at, (self.cluster, AccessEvent::Backlog { generation }));
        }
    }

    /// Queues the starts of further clients that do not run from the start.
    pub(super) fn expect_starts(&mut self, ctx: &mut AccessCtx<'_>) {
        for (client, spec) in ctx.scenario.kube.clusters[self.cluster].api_clients.iter_enumerated() {
            if spec.start > Duration::ZERO {
                for node in &spec.nodes {
                    let (id, at) = (ApiClient::Further(client, *node), Time::ZERO + spec.start);
                    let generation = self.client_timers.entry(id).or_default().arm(at);
                    ctx.out.schedule(at, (self.cluster, AccessEvent::Client { client: id, generation }));
                }
            }
        }
    }

    /// Further clients that run: on nodes of the cluster while those do.
    pub(super) fn further_clients(&self, view: &ApiView, ctx: &AccessCtx<'_>) -> Vec<(ApiClient, HostId)> {
        let cluster = &ctx.scenario.kube.clusters[self.cluster];
        if cluster.api_clients.is_empty() {
            return Vec::new();
        }
        let nodes: BTreeSet<NodeId> = cluster.nodes.iter().map(|node| node.node).collect();
        let kubelets = view.clients.iter().filter(|(id, _)| matches!(id, ApiClient::Kubelet(_)));
        let kubelets: BTreeSet<HostId> = kubelets.map(|(_, host)| *host).collect();
        let runs = |node: NodeId| {
            let host = Network::host_of(node);
            ctx.net.is_powered(host) && (!nodes.contains(&node) || kubelets.contains(&host))
        };
        let started = cluster.api_clients.iter_enumerated().filter(|(_, spec)| Time::ZERO + spec.start <= ctx.now);
        let all = started.flat_map(|(client, spec)| spec.nodes.iter().map(move |node| (client, *node)));
        let running = all.filter(|(client, node)| !self.done.contains(&ApiClient::Further(*client, *node)) && runs(*node));
        running.map(|(client, node)| (ApiClient::Further(client, node), Network::host_of(node))).collect()
    }
}

/// Requests of a further client move on with its connection.
pub(super) fn update_requests(
    (cluster, id): (KubeClusterId, ApiClient),
    client: &mut Client,
    (spec, requests): (&ApiClientSpec, &mut Requests),
    queues: &mut [Queue],
    ctx: &mut AccessCtx<'_>,
) {
    let now = ctx.now;
    let connection = (client.link(), client.is_at_alternative(), client.ended());
    let expired = requests.update(spec, connection, queues, now, &mut |result, after| {
        if result == RequestResult::Answered {
            client.answered(now);
        }
        ctx.out.record((cluster, AccessRecord::Request { client: id, result, after }));
    });
    if expired {
        client.request_expired(now);
    }
}

/// Requests of a program: a kubelet renews the lease of its node (`pkg/kubelet/kubelet.go`: the time-out of its lease client is the
/// interval), a component its own (`resourcelock/interface.go`: half the renew deadline).
pub(super) fn request_timings(client: ApiClient, cluster: KubeClusterId, scenario: &Scenario) -> RequestTimings {
    let cluster = &scenario.kube.clusters[cluster];
    let (period, timeout) = match client {
        ApiClient::Kubelet(_) => (cluster.timers.lease_renewal, cluster.timers.lease_renewal),
        ApiClient::Candidate(..) => (cluster.timers.retry_period, cluster.timers.renewal_timeout()),
        ApiClient::Further(id, _) => {
            let spec = &cluster.api_clients[id];
            (spec.rate.interval(), spec.timeout.unwrap_or(ENDLESS))
        }
    };
    let chance = cluster.access.map_or(0.0, |access| access.goaway_chance);
    RequestTimings { period, timeout, goaway: (chance > 0.0).then(|| scale(period, 1.0 / chance)) }
}

/// What the file says of a further client.
pub(super) fn further(id: ApiClient, cluster: KubeClusterId, scenario: &Scenario) -> Option<&ApiClientSpec> {
    let ApiClient::Further(client, _) = id else { return None };
    Some(&scenario.kube.clusters[cluster].api_clients[client])
}
