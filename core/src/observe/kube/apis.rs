//! Whether the API of each cluster answered, who led its components, and when those could do nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ids::KubeClusterId;
use crate::kernel::time::{Duration, Time};
use crate::kube::record::{ApiResource, KubeRecord, Verb};
use crate::kube::share::Share;
use crate::kube::spec::Component;
use crate::network::vantage::Extent;
use crate::observe::availability::ApiRows;
use crate::observe::shares::{Shares, Span};
use crate::report::{
    ApiOutageReport, ApiReport, ApiResourceReport, ApiVantageReport, FailedPart, LeaseReport, NoLeaderReport, length, seconds,
};
use crate::scenario::{Scenario, Vantage};

/// Follows the APIs of all clusters. Everything answers and acts at the start.
#[derive(Clone, Debug, Default)]
pub struct Apis {
    /// Shared with clones as long as neither changes them.
    clusters: BTreeMap<KubeClusterId, Arc<Api>>,
}

#[derive(Clone, Debug)]
struct Api {
    /// By [`Verb`].
    requests: [Served; 2],
    /// The same of clients who have once been served otherwise, and the share that they have, where that is not what counts.
    vantages: BTreeMap<Vantage, [(Option<Share>, Served); 2]>,
    /// The same of requests for resources that have once been answered otherwise.
    resources: BTreeMap<ApiResource, [(Option<Share>, Served); 2]>,
    idle: [Gaps; Component::ALL.len()],
    leases: Vec<LeaseReport>,
}

impl Api {
    fn new(deadline: Duration) -> Self {
        let requests = [(); 2].map(|()| Served { share: Share::ALL, shares: Shares::new(deadline), over: Vec::new() });
        let (vantages, resources, idle, leases) = Default::default();
        Self { requests, vantages, resources, idle, leases }
    }

    /// Requests of a kind are answered for this share of the resources.
    fn served(&mut self, at: Time, verb: Verb, share: Share) {
        self.requests[verb as usize].set(at, share);
        let all = self.vantages.values_mut().chain(self.resources.values_mut()).map(|of| &mut of[verb as usize]);
        all.filter(|(apart, _)| apart.is_none()).for_each(|(_, served)| served.set(at, share));
    }

    /// Clients at a vantage are served otherwise than it counts; `None`: as it counts, again.
    fn served_from(&mut self, at: Time, from: Vantage, verb: Verb, share: Option<Share>) {
        set_apart(&mut self.vantages, &self.requests, (from, verb), at, share);
    }

    /// Requests for a resource are answered otherwise than those for any; `None`: as those, again.
    fn served_of(&mut self, at: Time, resource: ApiResource, verb: Verb, share: Option<Share>) {
        set_apart(&mut self.resources, &self.requests, (resource, verb), at, share);
    }
}

/// Some have another share than what counts; `None`: the same again.
fn set_apart<K: Ord>(
    all: &mut BTreeMap<K, [(Option<Share>, Served); 2]>,
    counted: &[Served; 2],
    (whose, verb): (K, Verb),
    at: Time,
    share: Option<Share>,
) {
    let of = all.entry(whose).or_insert_with(|| counted.clone().map(|served| (None, served)));
    let (apart, served) = &mut of[verb as usize];
    *apart = share;
    served.set(at, share.unwrap_or(counted[verb as usize].share));
}

/// What is served of requests of one kind.
#[derive(Clone, Debug)]
struct Served {
    share: Share,
    shares: Shares,
    over: Vec<Span>,
}

impl Served {
    fn set(&mut self, at: Time, share: Share) {
        self.share = share;
        self.over.extend(self.shares.set(at, share));
    }

    /// Spans, and whether each is over, in order.
    fn until(&self, now: Time) -> impl Iterator<Item = (Span, bool)> {
        let over = self.over.iter().map(|span| (*span, true));
        over.chain(self.shares.under_way(now).map(|span| (span, false)))
    }
}

/// When something was not there.
#[derive(Clone, Debug, Default)]
struct Gaps {
    over: Vec<(Time, Time)>,
    open: Option<Time>,
}

impl Gaps {
    fn set(&mut self, at: Time, there: bool) {
        if !there {
            self.open.get_or_insert(at);
        } else if let Some(from) = self.open.take().filter(|from| *from < at) {
            self.over.push((from, at));
        }
    }

    /// From, to and whether it is over, in order.
    fn until(&self, now: Time) -> impl Iterator<Item = (Time, Time, bool)> {
        let over = self.over.iter().map(|(from, to)| (*from, *to, true));
        over.chain(self.open.filter(|from| *from < now).map(|from| (from, now, false)))
    }
}

/// How much of some spans lies between two moments.
fn within(spans: impl Iterator<Item = (Time, Time)>, from: Time, to: Time) -> Duration {
    let inside = spans.map(|(start, end)| end.min(to).since(start.max(from).min(end.min(to))));
    inside.fold(Duration::ZERO, |sum, span| sum + span)
}

impl Apis {
    /// Takes note of a fact.
    pub fn record(&mut self, at: Time, cluster: KubeClusterId, record: &KubeRecord, scenario: &Scenario) {
        match *record {
            KubeRecord::ApiAvailability { verb, up } => {
                self.api(cluster, scenario).served(at, verb, if up { Share::ALL } else { Share::NONE });
            }
            KubeRecord::ApiShare { verb, share } => self.api(cluster, scenario).served(at, verb, share),
            KubeRecord::ApiShareFrom { from, verb, share } => {
                self.api(cluster, scenario).served_from(at, from, verb, share);
            }
            KubeRecord::ApiShareOf { resource, verb, share } => {
                self.api(cluster, scenario).served_of(at, resource, verb, share);
            }
            KubeRecord::ControllerActive(component, acts) => {
                self.api(cluster, scenario).idle[component as usize].set(at, acts);
            }
            KubeRecord::Lease(component, holder) => self.api(cluster, scenario).leases.push(LeaseReport {
                at_s: seconds(at),
                component: component.name().to_owned(),
                holder: holder.map(|replica| replica.describe(scenario)),
            }),
            _ => {}
        }
    }

    fn api(&mut self, cluster: KubeClusterId, scenario: &Scenario) -> &mut Api {
        Arc::make_mut(self.clusters.entry(cluster).or_insert_with(|| Arc::new(Api::new(scenario.probe.deadline))))
    }

    /// How long, between two moments, a component could do nothing.
    pub fn idle(&self, cluster: KubeClusterId, component: Component, from: Time, to: Time) -> Duration {
        let idle = |api: &Arc<Api>| within(api.idle[component as usize].until(to).map(|(from, to, _)| (from, to)), from, to);
        self.clusters.get(&cluster).map_or(Duration::ZERO, idle)
    }

    /// How long, between two moments, nobody could write.
    pub fn no_writes(&self, cluster: KubeClusterId, from: Time, to: Time) -> Duration {
        let whole = |api: &Arc<Api>| {
            let spans = api.requests[Verb::Write as usize].until(to).filter(|(span, _)| span.is_whole());
            within(spans.map(|(span, _)| (span.from, span.to)), from, to)
        };
        self.clusters.get(&cluster).map_or(Duration::ZERO, whole)
    }

    /// What became of a cluster's API until `now`.
    /// `met`: what requests to it met, and why it was unavailable.
    pub fn row(
        &self,
        cluster: KubeClusterId,
        vantages: &[Vantage],
        now: Time,
        scenario: &Scenario,
        met: &ApiRows<'_>,
    ) -> ApiReport {
        let untouched = Arc::new(Api::new(scenario.probe.deadline));
        let api: &Arc<Api> = self.clusters.get(&cluster).unwrap_or(&untouched);
        let unavailable = |of: &Served| of.shares.unavailable(now);
        let by_state = api.requests.each_ref().map(unavailable);
        let with_late = |state: [Duration; 2], late: &dyn Fn(Verb) -> Duration| {
            [Verb::Read, Verb::Write].map(|verb| length(state[verb as usize] + late(verb)))
        };
        let [read_unavailable_s, write_unavailable_s] = with_late(by_state, &|verb| met.unavailable(verb));
        let vantage = |from: Vantage| {
            let own = api.vantages.get(&from).map(|of| of.each_ref().map(|(_, served)| unavailable(served)));
            let late = |verb| met.unavailable_at(verb, from);
            let [read_unavailable_s, write_unavailable_s] = with_late(own.unwrap_or(by_state), &late);
            let failed = |verb: Verb| {
                let own = api.vantages.get(&from).map_or(&api.requests[verb as usize], |of| &of[verb as usize].1);
                let longer = |sum: FailedPart, (span, _): (Span, bool)| {
                    let lasted_s = length(span.to.since(span.from));
                    FailedPart {
                        lasted_s: sum.lasted_s + lasted_s,
                        part_s: sum.part_s + if span.is_whole() { 0.0 } else { lasted_s },
                        share: sum.share.max(span.least.missing()),
                    }
                };
                own.until(now).fold(FailedPart::default(), longer)
            };
            let [reads, writes] = [Verb::Read, Verb::Write].map(failed);
            ApiVantageReport { from: from.name(scenario).to_owned(), read_unavailable_s, write_unavailable_s, reads, writes }
        };
        let resource = |(resource, of): (&ApiResource, &[(Option<Share>, Served); 2])| {
            let [read_unavailable_s, write_unavailable_s] = of.each_ref().map(|(_, served)| length(unavailable(served)));
            ApiResourceReport { resource: resource.name().to_owned(), read_unavailable_s, write_unavailable_s }
        };
        let mut all_vantages: Vec<Vantage> = vantages.iter().chain(api.vantages.keys()).copied().collect();
        all_vantages.sort_unstable();
        all_vantages.dedup();
        let outage = |verb: Verb| {
            let row = |(span, over): (Span, bool)| ApiOutageReport {
                verb: verb.name().to_owned(),
                from_s: seconds(span.from),
                to_s: seconds(span.to),
                completed: over,
                share: span.least.missing(),
                late: false,
                unavailable_s: length(span.unavailable),
                root_cause: met.cause(verb, span.from),
            };
            api.requests[verb as usize].until(now).map(row).chain(met.late(verb)).collect::<Vec<_>>()
        };
        let mut outages = [outage(Verb::Read), outage(Verb::Write)].concat();
        outages.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
        let idle = Component::ALL.into_iter().zip(&api.idle).flat_map(|(component, gaps)| {
            gaps.until(now).map(move |(from, to, over)| NoLeaderReport {
                component: component.name().to_owned(),
                from_s: seconds(from),
                to_s: seconds(to),
                completed: over,
            })
        });
        ApiReport {
            failure_tolerance: None,
            read_unavailable_s,
            write_unavailable_s,
            vantages: all_vantages.into_iter().map(vantage).collect(),
            resources: api.resources.iter().map(resource).collect(),
            outages,
            no_leader: idle.collect(),
            leases: api.leases.clone(),
        }
    }
}
