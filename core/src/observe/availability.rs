//! When a service was there, as a probe judges it, and why it was not.
//!
//! # How availability is judged
//!
//! A *virtual probe* stands at each *vantage*: in every zone of the cluster's regions, and outside. It sends nothing and costs nothing: at
//! every change of the world's state the engine works out what a client there, which would try any member, could have. "In both directions"
//! means that neither the way there nor the way back is blocked. A service is there when an answer's *expected time* is within
//! `probe.deadline`; the expected time is that of the fastest such path: typical link delays, and for writes the typical fsync of the
//! quorum, with whatever faults add to them.
//!
//! What counts (`probe.from` of the scenario, default `worst`) is what all clients have who are not cut off themselves: all vantages but
//! zones without power (where nobody misses anything) and zones that are cut off. So a zone that is cut off with its cluster in it is an
//! outage, which only those inside do not notice; and a zone that is cut off from a cluster of three is none, but for those inside. The
//! report has a row for each vantage.
//!
//! | service | is there when |
//! |---|---|
//! | `write` | some running member that the probe reaches in both directions leads, or reaches in both directions a leader, which has committed an entry of its own term and has open connections both ways to a majority of the voters (itself included); time: probe to member to leader, leader to the fastest majority and their fsyncs, and back |
//! | `read_linearizable` | the same, without the fsyncs |
//! | `read_serializable` | some running member can be reached in both directions; time: there and back |
//! | `quorum` | a majority of the voters runs and is connected with one another, whoever leads; the probe and the deadline play no part |
//!
//! A service that is there may still be too slow. What the simulated requests meet tells: see [`late`]. Where nobody asks, an idle cluster's
//! typical delays are all there is to judge by. APIs are judged likewise, and their state by a probe of its own (`kube/api/access.rs`): see [`apis`].
//! Behind a load balancer (`api_access`) that probe is a new client, which connects through it.
//!
//! Every service counts as there at the start unless the engine says otherwise at time zero. An outage is the interval between two
//! changes; one that lasts no time is none. An outage not over at the end of the run ends there and says so.
//!
//! The engine judges and says so with [`EtcdRecord::Availability`]; this observer adds up the intervals, and
//! [`causes`](super::causes) finds the reasons.

mod api_rows;
mod apis;
mod late;
mod served;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Observer;
use super::causes::{ApiOutage, ApiOutageKind, Causes, Outage};
use super::vantages::Vantages;
use crate::ids::{EtcdId, KubeClusterId, TiVec, ZoneId};
use crate::kernel::time::{Duration, Time};
use crate::kube::record::{KubeRecord, Verb};
use crate::kube::share::Share;
use crate::network::vantage::Extent;
use crate::record::{ClientRecord, EtcdRecord, Record, RequestResult, Service};
use crate::report::{OutageKind, OutageReport, ReadUnavailable, VantageReport, length, seconds};
use crate::scenario::{Op, Scenario, Target, Vantage};
pub use api_rows::ApiRows;
use apis::{ApiOutages, ApiRequest};
use late::{Gaps, Isolated, Late, Request, Rules, Witnesses};

/// Collects outages.
#[derive(Clone, Debug)]
pub struct Availability {
    scenario: Arc<Scenario>,
    rules: Rules,
    witnesses: Witnesses,
    isolated: Isolated,
    causes: Causes,
    /// Shared with clones as long as neither changes them.
    clusters: TiVec<EtcdId, Arc<EtcdAvailability>>,
    /// The same of APIs that were unavailable.
    apis: BTreeMap<KubeClusterId, Arc<ApiOutages>>,
    /// Changes since it last looked for what it may forget.
    changes: usize,
}

#[derive(Clone, Debug, Default)]
struct EtcdAvailability {
    /// By [`place`] of the service: since when it is gone.
    open: [Option<Time>; 4],
    /// By [`place`] of the service: time gone, outages under way not included.
    unavailable: [Duration; 4],
    /// The same for clients at each vantage, by the order of [`ASKED`].
    vantages: Vantages<3>,
    outages: Vec<OutageReport>,
    /// By the order of [`ASKED`].
    late: [Late; 3],
    /// The member that was elected last, and when.
    elected: Option<(u8, Time)>,
    /// A request was late that should not have been, and that tells nothing of others.
    untold: bool,
}

impl Availability {
    /// Everything is there.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let clusters = vec![Arc::default(); scenario.etcd.len()].into();
        let (causes, rules, witnesses) = (Causes::new(scenario), Rules::new(scenario), Witnesses::new(scenario));
        let (isolated, apis, changes) = Default::default();
        Self { scenario: Arc::clone(scenario), rules, witnesses, isolated, causes, clusters, apis, changes }
    }

    /// Time without a service until `now`, in seconds.
    pub fn unavailable_s(&self, cluster: EtcdId, service: Service, now: Time) -> f64 {
        let state = &self.clusters[cluster];
        let under_way = state.open[place(service)].map_or(Duration::ZERO, |from| now.since(from));
        let late = asked(service).map_or(Duration::ZERO, |asked| {
            self.late(cluster, asked, now).counted(&self.rules, Gaps { vantages: &state.vantages, asked })
        });
        length(state.unavailable[place(service)] + under_way + late)
    }

    /// Outages of a cluster, those under way with `now` as their end, ordered by start and kind.
    pub fn outages(&self, cluster: EtcdId, now: Time) -> Vec<OutageReport> {
        let state = &self.clusters[cluster];
        let mut rows = state.outages.clone();
        for service in SERVICES {
            if let Some(from) = state.open[place(service)].filter(|from| *from < now) {
                rows.push(row(&self.causes, &Outage { cluster, service, from, to: None, late: false, api: None }, now));
            }
        }
        for (k, service) in ASKED.into_iter().enumerate() {
            let late = self.late(cluster, k, now);
            let gaps = Gaps { vantages: &state.vantages, asked: k };
            let counted = late.outages().iter().map(|outage| (outage, late.length(outage, &self.rules, gaps)));
            rows.extend(counted.filter(|(_, lasted)| *lasted > Duration::ZERO).map(|(outage, lasted)| {
                let cause = || self.causes.of(&outage.explained(cluster, service));
                OutageReport {
                    kind: service.into(),
                    from_s: seconds(outage.from),
                    to_s: seconds(outage.to),
                    completed: outage.to < now,
                    unavailable_s: length(lasted),
                    root_cause: outage.cause.clone().unwrap_or_else(cause),
                }
            }));
        }
        rows.sort_by(|a, b| a.from_s.total_cmp(&b.from_s).then(a.kind.cmp(&b.kind)));
        rows
    }

    /// Services of which only the state is known: other requests were late, and none tells of these.
    pub fn unobserved(&self, cluster: EtcdId, now: Time) -> Vec<OutageKind> {
        let late: [Late; 3] = std::array::from_fn(|asked| self.late(cluster, asked, now));
        let any = self.clusters[cluster].untold || late.iter().any(|late| !late.outages().is_empty());
        let unasked = ASKED.into_iter().zip(&late).filter(|(_, late)| any && !late.is_asked());
        unasked.map(|(service, _)| service.into()).collect()
    }

    /// What late requests for a service, by its place in [`ASKED`], tell until now.
    fn late(&self, cluster: EtcdId, asked: usize, now: Time) -> Late {
        let EtcdAvailability { late, vantages, .. } = &*self.clusters[cluster];
        late[asked].settled(now, &self.rules, Gaps { vantages, asked })
    }

    /// The same for clients at each of these vantages.
    pub fn vantages(&self, cluster: EtcdId, vantages: &[Vantage], now: Time) -> Vec<VantageReport> {
        let late: [Late; 3] = std::array::from_fn(|asked| self.late(cluster, asked, now));
        let known = &self.clusters[cluster].vantages;
        let row = |(from, without): (Vantage, [Duration; 3])| {
            let at = |asked: usize| late[asked].at(from, &self.rules, Gaps { vantages: known, asked });
            let late: [Option<Duration>; 3] = std::array::from_fn(at);
            let s = |asked: usize| length(without[asked] + late[asked].unwrap_or(Duration::ZERO));
            VantageReport {
                from: from.name(&self.scenario).to_owned(),
                write_unavailable_s: s(0),
                read_unavailable_s: ReadUnavailable { linearizable: s(1), serializable: s(2) },
                unobserved: ASKED.into_iter().zip(late).filter(|(_, late)| late.is_none()).map(|(of, _)| of.into()).collect(),
            }
        };
        known.rows(vantages, now).map(row).collect()
    }

    /// What requests to an API met until now, and why it was unavailable.
    pub fn api(&self, cluster: KubeClusterId, now: Time) -> ApiRows<'_> {
        let api = self.apis.get(&cluster).map(|api| &**api);
        ApiRows::new((&self.causes, &self.rules), (cluster, api), now)
    }

    fn api_mut(&mut self, cluster: KubeClusterId) -> &mut ApiOutages {
        Arc::make_mut(self.apis.entry(cluster).or_insert_with(|| Arc::new(ApiOutages::new(&self.rules))))
    }

    fn api_changes(&mut self, at: Time, cluster: KubeClusterId, verb: Verb, share: Share) {
        let (deadline, api) = (self.rules.deadline, self.api_mut(cluster));
        api.late[verb as usize].served.count(at, share, deadline);
        if let Some(span) = api.shares[verb as usize].set(at, share) {
            let how = ApiOutageKind::of_state(!span.is_whole());
            let cause = self.causes.of_api(&ApiOutage { cluster, verb, from: span.from, to: Some(at), how });
            self.api_mut(cluster).over.push((verb, span.from, cause));
        }
    }

    fn change(&mut self, at: Time, cluster: EtcdId, service: Service, up: bool) {
        let state = Arc::make_mut(&mut self.clusters[cluster]);
        if let Some(asked) = asked(service) {
            state.vantages.count(at, asked, up);
        }
        let open = &mut state.open[place(service)];
        match (*open, up) {
            (None, false) => *open = Some(at),
            (Some(from), true) => {
                *open = None;
                if from < at {
                    state.unavailable[place(service)] = state.unavailable[place(service)] + at.since(from);
                    state.outages.push(row(
                        &self.causes,
                        &Outage { cluster, service, from, to: Some(at), late: false, api: None },
                        at,
                    ));
                }
            }
            (None, true) | (Some(_), false) => {}
        }
    }

    /// A request has ended, and tells what others met.
    fn ended(&mut self, cluster: EtcdId, zone: ZoneId, service: Service, request: Request) {
        let Some(asked) = asked(service) else { return };
        let EtcdAvailability { late, vantages, .. } = Arc::make_mut(&mut self.clusters[cluster]);
        late[asked].ended(zone, request, &self.rules, Gaps { vantages, asked });
    }

    /// Availability has changed somewhere. [`Self::forget`] visits every cluster, so it runs once for as many changes as there are clusters:
    /// a change costs the same however many there are.
    fn changed(&mut self, now: Time) {
        self.changes += 1;
        if self.changes >= self.clusters.len() {
            self.changes = 0;
            self.forget(now);
        }
    }

    /// Explains the outages that are over, and forgets what explains none that is not.
    fn forget(&mut self, now: Time) {
        for (cluster, state) in self.clusters.iter_mut_enumerated() {
            if state.late.iter().all(|late| late.open().is_none()) {
                continue;
            }
            let EtcdAvailability { late, vantages, .. } = Arc::make_mut(state);
            for (asked, (late, service)) in late.iter_mut().zip(ASKED).enumerate() {
                late.settle_all(now, &self.rules, Gaps { vantages, asked });
                for outage in late.over(now, &self.rules) {
                    outage.cause = Some(self.causes.of(&outage.explained(cluster, service)));
                }
            }
        }
        for (&cluster, api) in &mut self.apis {
            for verb in [Verb::Read, Verb::Write] {
                if !api.late[verb as usize].is_pending() {
                    continue;
                }
                let late = &mut Arc::make_mut(api).late[verb as usize];
                late.settle((now, Time::MAX), &self.rules);
                for span in late.over(now, &self.rules) {
                    span.cause = Some(self.causes.of_api(&span.explained(cluster, verb)));
                }
            }
        }
        // Requests that have not ended may turn out to be late.
        let asked = now - self.rules.horizon;
        let mut earliest = asked;
        let mut of_apis: BTreeMap<EtcdId, Time> = BTreeMap::new();
        let open_of = |api: &ApiOutages| api.open(asked);
        self.causes.forget_servers(|cluster| self.apis.get(&cluster).map_or(asked, |api| open_of(api)));
        for (cluster, api) in &self.apis {
            let open = open_of(api);
            let of_etcd = of_apis.entry(self.scenario.kube.clusters[*cluster].etcd).or_insert(open);
            (*of_etcd, earliest) = (open.min(*of_etcd), open.min(earliest));
        }
        for (cluster, state) in self.clusters.iter_enumerated() {
            let open = state.open.iter().copied().chain(state.late.iter().map(Late::open)).flatten().min();
            let open = open.into_iter().chain(of_apis.get(&cluster).copied()).fold(asked, Time::min);
            self.causes.forget_of(cluster, open);
            earliest = earliest.min(open);
        }
        self.causes.forget(earliest);
    }
}

impl Observer for Availability {
    fn record(&mut self, at: Time, record: &Record) {
        self.causes.record(at, record);
        match record {
            Record::Etcd(EtcdRecord::Availability { cluster, service, up }) => {
                self.change(at, *cluster, *service, *up);
                self.changed(at);
            }
            Record::Etcd(EtcdRecord::AvailabilityFrom { cluster, from, service, up }) => {
                let place = asked(*service).expect("the quorum is the same for all");
                Arc::make_mut(&mut self.clusters[*cluster]).vantages.set(at, *from, place, *up);
            }
            Record::Etcd(EtcdRecord::Elected { member, .. }) => {
                Arc::make_mut(&mut self.clusters[member.cluster]).elected = Some((member.index, at));
            }
            Record::Kube(cluster, KubeRecord::ApiAvailability { verb, up }) => {
                self.api_changes(at, *cluster, *verb, if *up { Share::ALL } else { Share::NONE });
                self.changed(at);
            }
            Record::Kube(cluster, KubeRecord::ApiShare { verb, share }) => {
                self.api_changes(at, *cluster, *verb, *share);
                self.changed(at);
            }
            Record::Kube(cluster, KubeRecord::ApiShareFrom { from, verb, share }) => {
                let deadline = self.rules.deadline;
                self.api_mut(*cluster).late[*verb as usize].served.set(at, *from, *share, deadline);
            }
            Record::Kube(_, KubeRecord::ApiServer(..)) => self.changed(at),
            Record::Client(ClientRecord::Request { client, from, op, member, latency, waited, expected, result }) => {
                let known = match result {
                    RequestResult::TooLarge | RequestResult::Rejected => false,
                    // Whether it would have been answered in time: later than that it was late already.
                    RequestResult::Lost => *latency - *waited > self.rules.deadline,
                    _ => true,
                };
                let ok = *result == RequestResult::Ok;
                let of = self.scenario.client(*client);
                let (dark, cut_off) = self.isolated.at(*from, of.node, at - *latency, at);
                let request = Request { from: at - *latency, to: at, ok, cut_off };
                // etcd has not kept it waiting.
                let of_etcd = Request { from: request.from + *waited, ..request };
                let elected = self.clusters[member.cluster].elected;
                // A client that names a member asks others only after that.
                let first = if let (Target::Member(named), None) = (of.target, of.server) { named } else { member.index };
                let led = elected.is_some_and(|(leader, since)| leader == first && since <= request.from);
                // By the state it would have been answered in time; where that is not known it was answered.
                let deadline = self.rules.deadline;
                let expects = expected.map(|time| time <= deadline);
                let as_expected = expects.unwrap_or(ok);
                let tells = known && !dark && self.witnesses.tells((*client, of), request.from, as_expected && led);
                let should_have_been = !dark && of.server.is_none() && expects == Some(true);
                // Who asks an API gets no answer from a server that stops, either.
                let counts = !dark && *result != RequestResult::TooLarge;
                if let (Some(part), Some(time)) = (of.server, expected.filter(|_| counts)) {
                    let verb = if matches!(op, Op::Range { .. }) { Verb::Read } else { Verb::Write };
                    // What is measured is the server's own request.
                    let limit = deadline - self.scenario.kube.clusters[part.cluster].timers.api_overhead;
                    let (in_time, expected, rejected) =
                        (ok && *latency <= limit, time <= limit, *result == RequestResult::Rejected);
                    let request = ApiRequest { request, in_time, zone: *from, expected, rejected };
                    let rules = self.rules;
                    self.api_mut(part.cluster).late[verb as usize].ended(request, &rules);
                }
                if let Some(service) = service_of(*op).filter(|_| tells) {
                    self.ended(member.cluster, *from, service, of_etcd);
                } else if known && should_have_been && !self.rules.in_time(&request) {
                    Arc::make_mut(&mut self.clusters[member.cluster]).untold = true;
                }
            }
            Record::FaultStarted(fault) => self.isolated.began(fault),
            Record::FaultEnded(fault) => self.isolated.ended(*fault, at, &self.rules),
            _ => {}
        }
    }
}

/// What clients ask for.
const ASKED: [Service; 3] = [Service::Write, Service::ReadLinearizable, Service::ReadSerializable];

/// Its place in [`ASKED`]; `None`: nobody asks for it.
fn asked(service: Service) -> Option<usize> {
    ASKED.iter().position(|asked| *asked == service)
}

/// What a request asks for.
const fn service_of(op: Op) -> Option<Service> {
    match op {
        Op::Put { .. } | Op::Txn { .. } | Op::Grant(_) | Op::Delete { .. } => Some(Service::Write),
        Op::Range { linearizable: true, .. } => Some(Service::ReadLinearizable),
        Op::Range { linearizable: false, .. } => Some(Service::ReadSerializable),
        Op::Watch => None,
    }
}

const SERVICES: [Service; 4] = [Service::Quorum, Service::Write, Service::ReadLinearizable, Service::ReadSerializable];

/// The place of a service in an array, which is also its order in the report.
pub(super) const fn place(service: Service) -> usize {
    match service {
        Service::Quorum => 0,
        Service::Write => 1,
        Service::ReadLinearizable => 2,
        Service::ReadSerializable => 3,
    }
}

fn row(causes: &Causes, outage: &Outage, end: Time) -> OutageReport {
    OutageReport {
        kind: outage.service.into(),
        from_s: seconds(outage.from),
        to_s: seconds(end),
        completed: outage.to.is_some(),
        unavailable_s: length(end.since(outage.from)),
        root_cause: causes.of(outage),
    }
}

impl From<Service> for OutageKind {
    fn from(service: Service) -> Self {
        match service {
            Service::Quorum => Self::Quorum,
            Service::Write => Self::Write,
            Service::ReadLinearizable => Self::ReadLinearizable,
            Service::ReadSerializable => Self::ReadSerializable,
        }
    }
}

#[cfg(test)]
mod tests;
