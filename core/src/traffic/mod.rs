//! What control planes send, as rates: constant from one change to the next, and integrated exactly between them.
//!
//! ```text
//!  requests (scenario) -> Plan: bytes per second between parts of a control plane (legs: layouts of messages)
//!                           |
//!  who serves, leads, is linked to whom, and where --> Flow: between endpoints and zones --settle--> totals
//! ```
//!
//! Whatever may change who sends what to whom is a record, or a cluster that is disturbed (`sim::invalidate`,
//! [`Traffic::service_changed`]); the flows of that cluster are found anew at the end of the event. What flows takes no time of etcd and wakes no
//! group at rest: a month costs as many steps as something changes in it. While nobody answers, nothing is asked.
//! What is asked one by one ([`Requests::one_by_one`](crate::scenario::kube::usage::Requests::one_by_one), and while an etcd is disturbed
//! [`Requests::while_disturbed`](crate::scenario::kube::usage::Requests::while_disturbed)) does not flow.

pub mod legs;
pub mod plan;
mod routes;
mod situation;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::etcd::cluster::EtcdCluster;
use crate::etcd::database::Growth;
use crate::etcd::write_rate::WriteRate;
use crate::gardener::garden::Garden;
use crate::ids::{Endpoint, EtcdId, KubeClusterId, MemberId, TiSlice, WorkloadId, ZoneId};
use crate::kernel::time::Time;
use crate::kube::Kube;
use crate::network::ledger::{Class, Ledger};
use crate::network::{HostId, Network};
use crate::scenario::Scenario;
use crate::scenario::kube::Role;
use crate::scenario::kube::usage::{Caller, Each, Objects, Requests, WATCHER};
use legs::Point;
use plan::{Amount, Asked, CallerGroup, OneByOne, Plan, Rate};
use routes::Found;
use situation::{Present, Situation};

/// What flows are found from.
#[derive(Clone, Copy, Debug)]
pub struct TrafficCtx<'a> {
    /// The current time.
    pub now: Time,
    /// What is simulated.
    pub scenario: &'a Scenario,
    /// Hosts and paths.
    pub net: &'a Network,
    /// etcd clusters.
    pub etcd: &'a TiSlice<EtcdId, Arc<EtcdCluster>>,
    /// Kubernetes clusters.
    pub kube: &'a Kube,
    /// Which seed each shoot is bound to.
    pub garden: &'a Garden,
}

/// One of the things that flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Who sends it.
    pub from: Endpoint,
    /// To whom.
    pub to: Endpoint,
    /// Where they are.
    pub zones: (ZoneId, ZoneId),
    /// What it is; ACKs are of the class of what they answer.
    pub class: Class,
}

impl Key {
    /// Number that orders keys by their ends, zones and class: it is compared faster than the fields.
    fn rank(self) -> u128 {
        let end = |endpoint: Endpoint| -> u128 {
            let (kind, id) = match endpoint {
                Endpoint::Member(MemberId { cluster, index }) => (0, u128::from(cluster.0) << 8 | u128::from(index)),
                Endpoint::Client(client) => (1, client.0.into()),
                Endpoint::Servers(cluster) => (2, cluster.0.into()),
                Endpoint::Components(cluster) => (3, cluster.0.into()),
                Endpoint::Outside(cluster) => (4, cluster.0.into()),
                Endpoint::Users(cluster) => (5, cluster.0.into()),
            };
            kind << 24 | id
        };
        let (from, to) = self.zones;
        let zones = u128::from(from.0) << 16 | u128::from(to.0);
        end(self.from) << 72 | end(self.to) << 40 | zones << 8 | self.class as u128
    }
}

/// What flows in and around a cluster, in order of the keys.
type Flow = Vec<(Key, Rate)>;

/// One of the things that flow.
#[derive(Clone, Copy, Debug)]
struct Total {
    key: Key,
    /// When its rate last changed.
    since: Time,
    /// Until then.
    amount: Amount,
    /// Since then.
    rate: Rate,
    /// The most bytes on the wire that flowed in a second.
    most: f64,
}

/// Its name, and the workload that it is in each seed that may host it.
type Component = (Arc<str>, Vec<(KubeClusterId, WorkloadId)>);

/// The traffic of one control plane.
#[derive(Clone, Debug)]
struct ClusterFlows {
    /// By [`OneByOne`].
    plans: [Arc<Plan>; 3],
    /// What flows is counted; otherwise it only writes to etcd.
    counted: bool,
    /// Its shoot: a place in [`KubeModel::shoots`](crate::kube::spec::KubeModel::shoots); `None`: its control plane runs on hosts.
    shoot: Option<u16>,
    /// Its etcd for events, beside that of all else.
    events: Option<EtcdId>,
    /// Components that ask, or are told.
    components: Vec<Component>,
    /// All of it flows.
    all: bool,
    /// What its flows were last found from.
    situation: Option<Box<Situation>>,
    since: Time,
    /// In order of their keys.
    totals: Vec<Total>,
    /// What got into etcd-main until then, and what does since.
    written: (Amount, Rate),
}

/// Sums over all clusters: until the last change, and since then.
#[derive(Clone, Debug, Default)]
struct Sums {
    since: Time,
    pairs: BTreeMap<(ZoneId, ZoneId), (Amount, Rate)>,
    /// What passes load balancers in both directions.
    balanced: (Amount, Rate),
}

/// The traffic of all control planes that are in use, and what others write to their etcd.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Shared with clones as long as neither changes them.
    clusters: BTreeMap<KubeClusterId, Arc<ClusterFlows>>,
    sums: Sums,
    asked: Asked,
    of_cluster: BTreeMap<EtcdId, KubeClusterId>,
    /// Of which cluster the pods of a component are callers.
    of_component: BTreeMap<(KubeClusterId, WorkloadId), KubeClusterId>,
    stale: BTreeSet<KubeClusterId>,
}

impl Traffic {
    /// Nothing has flowed yet.
    pub fn new(scenario: &Scenario) -> Self {
        let mut traffic = Self::default();
        let mut plans: Vec<(KubeClusterId, [Arc<Plan>; 3])> = Vec::new();
        let on_hosts = scenario.kube.clusters.iter_enumerated().filter(|(_, cluster)| !cluster.is_hosted());
        let on_hosts = on_hosts.map(|(id, _)| (id, None));
        let shoots = (0..).zip(&scenario.kube.shoots);
        let shoots = shoots.filter_map(|(k, shoot)| Some((shoot.hosted.as_ref()?.cluster, Some((k, shoot)))));
        for (id, shoot) in on_hosts.chain(shoots) {
            let cluster = &scenario.kube.clusters[id];
            let counted = !cluster.requests.is_empty();
            if !counted && cluster.background.is_empty() {
                continue;
            }
            let own = plans_of(id, scenario, &mut plans);
            let callers: BTreeSet<&str> =
                own[0].groups.iter().filter_map(|group| component(&group.by)).chain([WATCHER]).collect();
            let mut components: Vec<_> = callers.into_iter().map(|name| (Arc::<str>::from(name), Vec::new())).collect();
            let mut events = None;
            traffic.of_cluster.insert(cluster.etcd, id);
            for place in shoot.into_iter().flat_map(|(_, shoot)| shoot.places()) {
                let seed = scenario.kube.seeds[place.seed].cluster;
                for part in &place.workloads {
                    let workload = &scenario.kube.clusters[seed].workloads[*part];
                    if let Role::Etcd(etcd) = workload.role {
                        traffic.of_cluster.insert(etcd, id);
                        events = events.or(Some(etcd).filter(|etcd| *etcd != cluster.etcd));
                    } else if let Some((_, places)) = components.iter_mut().find(|(name, _)| **name == *workload.name) {
                        places.push((seed, *part));
                        traffic.of_component.insert((seed, *part), id);
                    }
                }
            }
            let (all, situation, since, totals, written) = Default::default();
            let (plans, shoot) = (own, shoot.map(|(k, _)| k));
            let own = ClusterFlows { plans, counted, shoot, events, components, all, situation, since, totals, written };
            traffic.clusters.insert(id, Arc::new(own));
            traffic.stale.insert(id);
        }
        traffic
    }

    /// The API servers of a cluster have changed, and on its hosts all that asks them.
    pub fn servers_changed(&mut self, cluster: KubeClusterId) {
        if self.clusters.contains_key(&cluster) {
            self.stale.insert(cluster);
        }
    }

    /// The API of a cluster answers other kubelets than before.
    pub fn kubelets_changed(&mut self, cluster: KubeClusterId) {
        if self.clusters.get(&cluster).is_some_and(|flows| flows.groups().iter().any(|group| group.each == Each::Node)) {
            self.stale.insert(cluster);
        }
    }

    /// A pod of a component in a seed serves or does not.
    pub fn component_changed(&mut self, seed: KubeClusterId, workload: WorkloadId) {
        self.stale.extend(self.of_component.get(&(seed, workload)));
    }

    /// A member of etcd is in another zone.
    pub fn member_moved(&mut self, etcd: EtcdId) {
        self.stale.extend(self.of_cluster.get(&etcd));
    }

    /// A shoot may be bound to another seed, whose load balancer it has from then on.
    pub fn shoot_moved(&mut self, shoot: u16) {
        self.stale.extend(self.clusters.iter().find(|(_, cluster)| cluster.shoot == Some(shoot)).map(|(cluster, _)| *cluster));
    }

    /// A cluster may answer otherwise than before, or its members hear each other otherwise.
    pub fn service_changed(&mut self, cluster: EtcdId) {
        self.stale.extend(self.of_cluster.get(&cluster));
    }

    /// All that a cluster's servers ask of etcd flows from now on, or some of it is asked one by one again.
    pub fn set_all(&mut self, id: KubeClusterId, all: bool) {
        if let Some(cluster) = self.clusters.get_mut(&id) {
            let cluster = Arc::make_mut(cluster);
            (cluster.all, cluster.situation) = (all, None);
            self.stale.insert(id);
        }
    }

    /// How many times over each of a cluster's requests is asked one by one now, by servers on these hosts; `None`: all of it flows.
    pub(crate) fn times(&self, id: KubeClusterId, servers: &[HostId], ctx: &TrafficCtx<'_>) -> Option<Vec<usize>> {
        let cluster = self.clusters.get(&id).filter(|cluster| !cluster.all)?;
        let there = Present::find(id, cluster, servers, ctx);
        Some(ctx.scenario.kube.clusters[id].asked().iter().map(|own| there.times(&own.by, own.each)).collect())
    }

    /// Whether something may have changed since the last [`Traffic::refresh`].
    pub fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Finds anew what flows where something may have changed: which clusters' may have, and what is written to their etcd clusters.
    pub fn refresh(&mut self, ctx: &TrafficCtx<'_>) -> (BTreeSet<KubeClusterId>, Vec<(EtcdId, WriteRate, Growth)>) {
        let stale = std::mem::take(&mut self.stale);
        let mut written = Vec::new();
        for id in stale.iter().copied() {
            let cluster = self.clusters.get_mut(&id).expect("a cluster that is in use");
            let situation = Situation::of(id, cluster, ctx);
            if cluster.situation.as_deref() == Some(&situation) {
                continue;
            }
            let cluster = Arc::make_mut(cluster);
            let found = cluster.find(&situation, &mut self.asked);
            cluster.situation = Some(Box::new(situation));
            let etcd = [Some(ctx.scenario.kube.clusters[id].etcd), cluster.events];
            let rates = etcd.into_iter().zip(found.writes).filter_map(|(etcd, (rate, whole))| Some((etcd?, rate, whole)));
            written.extend(rates);
            cluster.change(found, ctx.now, &mut self.sums);
        }
        (stale, written)
    }

    /// Whether every cluster's traffic flows as it was last found: nothing has changed unnoticed.
    pub fn is_fresh(&self, ctx: &TrafficCtx<'_>) -> bool {
        let mut asked = Asked::default();
        let mut flows = |id: KubeClusterId, cluster: &ClusterFlows| {
            cluster.flows(&cluster.find(&Situation::of(id, cluster, ctx), &mut asked))
        };
        self.clusters.iter().all(|(id, cluster)| self.stale.contains(id) || flows(*id, cluster))
    }

    /// What has flowed until now, the most that did in a second (bytes on the wire), in order.
    pub fn totals(&self, now: Time) -> impl Iterator<Item = (Key, Amount, f64)> {
        self.clusters.values().flat_map(move |cluster| cluster.totals(now))
    }

    /// The same of all that goes from one zone to another, in order.
    pub fn pairs(&self, now: Time) -> BTreeMap<(ZoneId, ZoneId), Amount> {
        let Sums { since, pairs, .. } = &self.sums;
        pairs.iter().map(|(zones, sum)| (*zones, until(now, *since, *sum))).collect()
    }

    /// What has passed load balancers in both directions.
    pub fn balanced(&self, now: Time) -> Amount {
        until(now, self.sums.since, self.sums.balanced)
    }

    /// What has got into the etcd-main of each cluster that is in use: bytes of keys and values, at the rate of its plan.
    pub fn written(&self, now: Time) -> impl Iterator<Item = (KubeClusterId, u64)> {
        self.clusters
            .iter()
            .filter(|(_, cluster)| cluster.counted)
            .map(move |(id, cluster)| (*id, cluster.written(now).whole().1))
    }

    /// The same by what it is.
    pub fn ledger(&self, now: Time) -> Ledger {
        let mut ledger = Ledger::default();
        for (key, amount, _) in self.totals(now) {
            let (count, bytes, wire) = amount.whole();
            ledger.add(key.class, count, bytes, wire);
        }
        ledger
    }
}

impl ClusterFlows {
    /// What its callers ask, all of it.
    fn groups(&self) -> &[CallerGroup] {
        &self.plans[0].groups
    }

    /// What flows in a situation, as it is planned.
    fn plan(&self, situation: &Situation) -> &Arc<Plan> {
        let one_by_one = match (self.all, situation.main.is_silent) {
            (true, _) => OneByOne::Nothing,
            (false, true) => OneByOne::Sample,
            (false, false) => OneByOne::More,
        };
        &self.plans[one_by_one as usize]
    }

    /// What has flowed until now.
    fn totals(&self, now: Time) -> impl Iterator<Item = (Key, Amount, f64)> {
        self.totals.iter().map(move |total| (total.key, total.until(now), total.most))
    }

    fn written(&self, now: Time) -> Amount {
        until(now, self.since, self.written)
    }

    /// What flows in a situation.
    fn find(&self, situation: &Situation, asked: &mut Asked) -> Found {
        routes::find(self.plan(situation), self.counted, situation, asked)
    }

    /// Whether that is what flows now.
    fn flows(&self, found: &Found) -> bool {
        let now = self.totals.iter().filter(|total| !total.rate.is_zero());
        self.written.1 == found.written && now.map(|total| (total.key, total.rate)).eq(found.flow.iter().copied())
    }

    /// From now on this flows.
    fn change(&mut self, Found { flow, written, .. }: Found, now: Time, sums: &mut Sums) {
        self.written = (self.written(now), written);
        self.since = now;
        sums.advance(now);
        let mut flow = flow.into_iter().peekable();
        let mut new = Vec::new();
        for total in &mut self.totals {
            let rank = total.key.rank();
            new.extend(std::iter::from_fn(|| flow.next_if(|(key, _)| key.rank() < rank)));
            let rate = flow.next_if(|(key, _)| *key == total.key).map_or_else(Rate::default, |(_, rate)| rate);
            if rate != total.rate {
                sums.change(total.key, total.rate, rate);
                total.change(rate, now);
            }
        }
        new.extend(flow);
        let known = self.totals.len();
        for (key, rate) in new {
            sums.change(key, Rate::default(), rate);
            self.totals.push(Total { key, since: now, amount: Amount::default(), rate, most: rate.most_wire_bytes_per_s() });
        }
        if self.totals.len() > known {
            self.totals.sort_by_cached_key(|total| total.key.rank());
        }
    }
}

impl Sums {
    fn advance(&mut self, now: Time) {
        let ns = now.since(std::mem::replace(&mut self.since, now)).as_nanos();
        if ns > 0 {
            self.pairs.values_mut().chain([&mut self.balanced]).for_each(|(amount, rate)| amount.add(rate.over(ns)));
        }
    }

    /// From now on so much flows instead.
    fn change(&mut self, key: Key, before: Rate, after: Rate) {
        let is_balanced = key.from.is_outside() || key.to.is_outside();
        let pair = self.pairs.entry(key.zones).or_default();
        for (_, rate) in std::iter::once(pair).chain(is_balanced.then_some(&mut self.balanced)) {
            rate.replace(before, after);
        }
    }
}

/// What flowed until the last change and has flowed since then.
fn until(now: Time, since: Time, (mut amount, rate): (Amount, Rate)) -> Amount {
    amount.add(rate.over(now.since(since).as_nanos()));
    amount
}

impl Total {
    fn until(&self, now: Time) -> Amount {
        until(now, self.since, (self.amount, self.rate))
    }

    /// From now on it has another rate.
    fn change(&mut self, rate: Rate, now: Time) {
        self.amount = self.until(now);
        (self.since, self.rate, self.most) = (now, rate, self.most.max(rate.most_wire_bytes_per_s()));
    }
}

/// The plans of a cluster: those of one that asks the same of a like etcd, where there is one.
fn plans_of(id: KubeClusterId, scenario: &Scenario, plans: &mut Vec<(KubeClusterId, [Arc<Plan>; 3])>) -> [Arc<Plan>; 3] {
    let requests = |id: KubeClusterId| scenario.kube.clusters[id].asked();
    let revision = |id: KubeClusterId| scenario.etcd[scenario.kube.clusters[id].etcd].revision;
    let same = |other: KubeClusterId| requests(other) == requests(id) && revision(other) == revision(id);
    if let Some((_, known)) = plans.iter().find(|(other, _)| same(*other)) {
        return known.clone();
    }
    let writes = |own: &Requests| own.etcd.is_some_and(|(objects, op)| objects == Objects::Main && legs::stored(op).is_some());
    let per_million_s: u64 = requests(id).iter().filter(|own| writes(own)).map(|own| own.per_million_s).sum();
    // Numbers are as long as halfway through the run.
    let halfway = u128::from(per_million_s) * u128::from(scenario.duration.as_nanos()) / 2_000_000_000_000_000;
    let at = Point { leads: true, term: 1, index: revision(id) + halfway as u64, tls: scenario.network.tls };
    let own = OneByOne::ALL.map(|one_by_one| Arc::new(Plan::new(requests(id), at, one_by_one)));
    plans.push((id, own.clone()));
    own
}

/// The name of a component that calls.
fn component(by: &Caller) -> Option<&str> {
    match by {
        Caller::Component(name) => Some(name),
        Caller::Server | Caller::Outside => None,
    }
}
