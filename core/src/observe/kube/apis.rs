//! Whether the API of each cluster answered, who led its components, and when those could do nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ids::KubeClusterId;
use crate::kernel::time::{Duration, Time};
use crate::kube::record::{KubeRecord, Verb};
use crate::kube::spec::Component;
use crate::observe::vantages::Vantages;
use crate::report::{ApiOutageReport, ApiReport, ApiVantageReport, LeaseReport, NoLeaderReport, length, seconds};
use crate::scenario::{Scenario, Vantage};

/// Follows the APIs of all clusters. Everything answers and acts at the start.
#[derive(Clone, Debug, Default)]
pub struct Apis {
    /// Shared with clones as long as neither changes them.
    clusters: BTreeMap<KubeClusterId, Arc<Api>>,
}

#[derive(Clone, Debug, Default)]
struct Api {
    reads: Gaps,
    writes: Gaps,
    /// Clients at each vantage without reads and writes.
    vantages: Vantages<2>,
    idle: [Gaps; Component::ALL.len()],
    leases: Vec<LeaseReport>,
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

    fn within(&self, from: Time, to: Time) -> Duration {
        let spans = self.until(to).map(|(start, end, _)| end.min(to).since(start.max(from).min(end.min(to))));
        spans.fold(Duration::ZERO, |sum, span| sum + span)
    }
}

impl Apis {
    /// Takes note of a fact.
    pub fn record(&mut self, at: Time, cluster: KubeClusterId, record: &KubeRecord, scenario: &Scenario) {
        match *record {
            KubeRecord::ApiAvailability { verb, up } => {
                let api = self.api(cluster);
                let gaps = if verb == Verb::Read { &mut api.reads } else { &mut api.writes };
                gaps.set(at, up);
                api.vantages.count(at, verb as usize, up);
            }
            KubeRecord::ApiAvailabilityFrom { from, verb, up } => {
                self.api(cluster).vantages.set(at, from, verb as usize, up);
            }
            KubeRecord::ControllerActive(component, acts) => self.api(cluster).idle[component as usize].set(at, acts),
            KubeRecord::Lease(component, holder) => self.api(cluster).leases.push(LeaseReport {
                at_s: seconds(at),
                component: component.name().to_owned(),
                holder: holder.map(|replica| replica.describe(scenario)),
            }),
            _ => {}
        }
    }

    fn api(&mut self, cluster: KubeClusterId) -> &mut Api {
        Arc::make_mut(self.clusters.entry(cluster).or_default())
    }

    /// How long, between two moments, a component could do nothing.
    pub fn idle(&self, cluster: KubeClusterId, component: Component, from: Time, to: Time) -> Duration {
        self.clusters.get(&cluster).map_or(Duration::ZERO, |api| api.idle[component as usize].within(from, to))
    }

    /// How long, between two moments, nobody could write.
    pub fn no_writes(&self, cluster: KubeClusterId, from: Time, to: Time) -> Duration {
        self.clusters.get(&cluster).map_or(Duration::ZERO, |api| api.writes.within(from, to))
    }

    /// What became of a cluster's API until `now`.
    /// `cause` says why it was unavailable for requests of a kind from some time on.
    pub fn row(
        &self,
        cluster: KubeClusterId,
        vantages: &[Vantage],
        now: Time,
        scenario: &Scenario,
        cause: &dyn Fn(Verb, Time) -> String,
    ) -> ApiReport {
        let untouched = Arc::default();
        let api: &Arc<Api> = self.clusters.get(&cluster).unwrap_or(&untouched);
        let vantage = |(from, [reads, writes]): (Vantage, [Duration; 2])| ApiVantageReport {
            from: from.name(scenario).to_owned(),
            read_unavailable_s: length(reads),
            write_unavailable_s: length(writes),
        };
        let outage = |verb: Verb, gaps: &Gaps| {
            let row = |(from, to, over)| ApiOutageReport {
                verb: if verb == Verb::Read { "read" } else { "write" }.to_owned(),
                from_s: seconds(from),
                to_s: seconds(to),
                completed: over,
                root_cause: cause(verb, from),
            };
            gaps.until(now).map(row).collect::<Vec<_>>()
        };
        let mut outages = [outage(Verb::Read, &api.reads), outage(Verb::Write, &api.writes)].concat();
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
            read_unavailable_s: length(api.reads.within(Time::ZERO, now)),
            write_unavailable_s: length(api.writes.within(Time::ZERO, now)),
            vantages: api.vantages.rows(vantages, now).map(vantage).collect(),
            outages,
            no_leader: idle.collect(),
            leases: api.leases.clone(),
        }
    }
}
