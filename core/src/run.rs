//! A run from start to report: the simulation, its observers, and whoever else wants the records.
//!
//! ```text
//! Run::new -> advance(until, sink) ... advance(until, sink) -> report()
//! ```
//!
//! [`run`] does all of it at once. [`Run`] lets a caller stop on the way: to show progress, to draw, to clone it (a keyframe), to
//! inject a fault.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::ids::EtcdId;
use crate::invariant::{Checker, Invariants, Violation};
use crate::kernel::time::{Duration, Time};
use crate::kube::cluster::KubeCluster;
use crate::observe::availability::Availability;
use crate::observe::close_up::CloseUp;
use crate::observe::cost::{Account, Meters};
use crate::observe::kube::failback::failback;
use crate::observe::kube::objects::ObjectReports;
use crate::observe::kube::pending::pending;
use crate::observe::traffic::{self, Traffic};
use crate::observe::{self, Observer as _};
use crate::record::{EtcdRecord, Record, Service};
use crate::report::{
    EtcdReport, MemberReport, ObservedReport, ProbeReport, ReadUnavailable, Report, SCHEMA, ViolationReport, length, seconds,
};
use crate::scenario::Scenario;
use crate::sim::{Options, Role, Simulation};

/// How a simulation gets to a moment, within a number of events.
type Advance = fn(&mut Simulation, Time, u64, &mut dyn FnMut(Time, &Record)) -> bool;

/// A run under way.
#[derive(Clone, Debug)]
pub struct Run {
    simulation: Simulation,
    seed: u64,
    observers: observe::Observers,
    checker: Option<Box<dyn Checker>>,
    traffic: Traffic,
    next_window: Time,
    window: Duration,
    observed: Vec<Arc<ObservedReport>>,
    close_up: Option<CloseUp>,
}

impl Run {
    /// The scenario at time zero. `seed` replaces the scenario's own.
    pub fn new(scenario: &Arc<Scenario>, seed: u64, options: Options) -> Self {
        let window = traffic::window(scenario.duration);
        let mut observers = observe::Observers::new(scenario);
        let simulation = Simulation::new(Arc::clone(scenario), seed, options);
        for id in scenario.etcd.keys() {
            let term = simulation.members(id).iter().map(|m| m.term).max().unwrap_or(0);
            observers.leaders.name_first_term(id, term);
        }
        let (traffic, next_window, observed) = (Traffic::default(), Time::ZERO + window, Vec::new());
        Self { simulation, seed, observers, checker: None, traffic, next_window, window, observed, close_up: None }
    }

    /// The same, with every invariant checked at every record: [`Run::violations`] says which were broken.
    pub fn checked(scenario: &Arc<Scenario>, seed: u64, options: Options) -> Self {
        let checker: Box<dyn Checker> = Box::new(Invariants::new(scenario));
        Self { checker: Some(checker), ..Self::new(scenario, seed, Options { raft_records: true, ..options }) }
    }

    /// The simulation, to look into it.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// The simulation, to change it or to inject a fault. (Its records are seen by the next [`Run::advance`].)
    pub fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    /// Looks closely at a part of what is still to come: [`Run::close_up`] is what it has seen.
    pub fn look_closely(&mut self, close_up: CloseUp) {
        debug_assert!(close_up.start() >= self.simulation.now(), "it is still to come");
        self.close_up = Some(close_up);
    }

    /// The part that is looked at closely, with what was seen of it.
    pub fn close_up(&self) -> Option<&CloseUp> {
        self.close_up.as_ref()
    }

    /// Simulates up to and with `until`; `sink` receives every record after the observers.
    pub fn advance(&mut self, until: Time, sink: &mut dyn FnMut(Time, &Record)) {
        self.advance_some(until, u64::MAX, sink);
    }

    /// The same, but stops after `events` events; whether it got there. Pausing leaves no mark (see [`Simulation::run_some`]).
    pub fn advance_some(&mut self, until: Time, events: u64, sink: &mut dyn FnMut(Time, &Record)) -> bool {
        self.advance_by(until, events, Simulation::run_some, sink)
    }

    /// The same for a stop on the way, where nobody looks at members: what rests is not woken, so that the stop costs no event.
    pub fn advance_quiescent(&mut self, until: Time, events: u64, sink: &mut dyn FnMut(Time, &Record)) -> bool {
        self.advance_by(until, events, Simulation::advance_quiescent, sink)
    }

    fn advance_by(&mut self, until: Time, events: u64, last_stretch: Advance, sink: &mut dyn FnMut(Time, &Record)) -> bool {
        let last = self.simulation.events().saturating_add(events);
        loop {
            let look = self.simulation.scenario().observe_at.get(self.observed.len()).map(|(_, at)| *at);
            let totals = self.close_up.as_ref().and_then(CloseUp::next);
            let stop = look.into_iter().chain(totals).fold(until.min(self.next_window), Time::min);
            let left = last.saturating_sub(self.simulation.events());
            let (observers, checker, close_up) = (&mut self.observers, &mut self.checker, &mut self.close_up);
            let mut see = |at, record: &Record| {
                if !matches!(record, Record::Etcd(EtcdRecord::Raft(_))) {
                    observers.record(at, record);
                }
                if let Some(checker) = checker {
                    checker.record(at, record);
                }
                if let Some(close_up) = close_up {
                    close_up.record(at, record);
                }
                sink(at, record);
            };
            let stretch = if stop == until { last_stretch } else { Simulation::advance_quiescent };
            if !stretch(&mut self.simulation, stop, left, &mut see) {
                return false;
            }
            if stop == self.next_window {
                self.end_window(stop);
            }
            if Some(stop) == look {
                self.observe(stop);
            }
            if let Some(close_up) = &mut self.close_up
                && Some(stop) == totals
            {
                close_up.sample(stop, &self.simulation.pairs());
            }
            if stop >= until && look.is_none_or(|look| look > until) {
                return true;
            }
        }
    }

    /// Looks at what adds up.
    fn end_window(&mut self, at: Time) {
        let pairs = self.simulation.pairs();
        self.traffic.sample(at, &pairs);
        self.observers.kube.counts.sample();
        if let Some(cost) = &mut self.observers.cost {
            let machines: Vec<_> = self.simulation.machine_time().collect();
            let written: Vec<_> = self.simulation.written().collect();
            cost.sample(at, &machines, &written, &pairs, self.simulation.balanced());
        }
        self.next_window += self.window;
    }

    /// Puts down how everything stands.
    fn observe(&mut self, at: Time) {
        let (text, _) = &self.simulation.scenario().observe_at[self.observed.len()];
        let ObjectReports { pods, nodes, machines } =
            ObjectReports::new(self.simulation.kube_clusters(), self.simulation.now(), self.simulation.scenario());
        self.observed.push(Arc::new(ObservedReport { at: text.clone(), at_s: seconds(at), pods, nodes, machines }));
    }

    /// What the observers have seen so far.
    pub fn observers(&self) -> &observe::Observers {
        &self.observers
    }

    /// Invariants broken so far; none where they are not checked.
    pub fn violations(&self) -> &[Violation] {
        self.checker.as_ref().map_or(&[], |checker| checker.violations())
    }

    /// The report as of now.
    pub fn report(&mut self) -> Report {
        let now = self.simulation.now();
        let scenario = Arc::clone(self.simulation.scenario());
        let links = self.simulation.links();
        let mut traffic = self.traffic.clone();
        traffic.close(now, &links, now + self.window > self.next_window);
        let availability = self.availability(now);
        let etcd: IndexMap<_, _> = scenario.etcd.keys().map(|id| self.cluster(id, &availability, now, &scenario)).collect();
        let messages = self.simulation.messages();
        let zone_pairs = traffic.rows(&scenario);
        let lost = traffic::imbalance(&messages, &links, &zone_pairs);
        let violation =
            |v: &Violation| ViolationReport { at_s: seconds(v.at), property: v.property.to_owned(), text: v.text.clone() };
        let lost = lost.map(|text| ViolationReport { at_s: seconds(now), property: "bytes are conserved".to_owned(), text });
        let time: Vec<_> = self.simulation.machine_time().collect();
        let written: Vec<_> = self.simulation.written().collect();
        let meters = Meters { now, machines: &time, written: &written, links: &links };
        let account = |cost: &observe::cost::CostObserver| cost.account(meters, self.window);
        let Account { cost, prices, bill, tolerance } = self.observers.cost.as_ref().map(account).unwrap_or_default();
        let ObjectReports { pods, nodes, machines } =
            ObjectReports::new(self.simulation.kube_clusters(), self.simulation.now(), self.simulation.scenario());
        let clusters: Vec<&KubeCluster> = self.simulation.kube_clusters().collect();
        let pending = pending(&scenario, &pods, |cluster, workload| clusters[usize::from(cluster.0)].store().desired(workload));
        let kube = &self.observers.kube;
        Report {
            schema: SCHEMA.to_owned(),
            scenario: scenario.name.clone(),
            title: scenario.title.clone(),
            seed: self.seed,
            simulated_s: seconds(now),
            events: self.simulation.events(),
            trace_hash: self.observers.trace.hex(),
            probe: ProbeReport {
                from: scenario.probe.from.name(&scenario).to_owned(),
                deadline_s: length(scenario.probe.deadline),
            },
            etcd,
            api: kube.apis(now, &|etcd| self.simulation.vantages(etcd), &|cluster| availability.api(cluster, now)),
            pods,
            nodes,
            machines,
            observed: self.observed.iter().map(|observed| ObservedReport::clone(observed)).collect(),
            recovery: kube.recoveries(now),
            recovery_omitted: kube.recovery.omitted(),
            components: kube.components(now),
            orphaned_containers: kube.orphaned_containers(now),
            pending,
            refused: self.observers.refused.rows(now),
            drains: kube.drains(now),
            migrations: kube.migrations(now),
            services: kube.services(now),
            service_traffic: kube.service_traffic(now),
            hints: kube.hints(now),
            node_pools: kube.node_pools(now),
            rollouts: kube.rollouts(now),
            quorum_losses: kube.rollouts.quorum_losses(now),
            budgets: kube.budgets(now),
            disks: kube.disks.rows(),
            access: self.observers.access.rows(now, &|cluster, client| self.simulation.api_requests_in_flight(cluster, client)),
            failback: failback(
                self.simulation.kube_clusters(),
                self.simulation.scenario(),
                &self.observers.faults.zones_recovered(),
            ),
            counts: kube.counts(length(self.window)),
            messages: traffic::messages(&messages),
            links: traffic::links(&links, now, &scenario),
            zone_pairs,
            traffic_window_s: length(self.window),
            latency_window_s: length(self.window),
            cost,
            prices,
            bill,
            tolerance_cost: tolerance,
            faults: self.observers.faults.rows(now),
            story: self.observers.story.lines(),
            story_omitted: self.observers.story.omitted(),
            expectations: Vec::new(),
            violations: self.violations().iter().map(violation).chain(lost).collect(),
        }
    }

    /// What was there until now, as requests that are under way tell, too: those that wait for longer than the deadline are late.
    fn availability(&self, now: Time) -> Availability {
        let mut availability = self.observers.availability.clone();
        for record in self.simulation.overdue(self.simulation.scenario().probe.deadline) {
            availability.record(now, &Record::Client(record));
        }
        availability
    }

    fn cluster(&mut self, id: EtcdId, availability: &Availability, now: Time, scenario: &Scenario) -> (String, EtcdReport) {
        let cluster = &scenario.etcd[id];
        let status = self.simulation.members(id);
        // Pods are members in turn: of each the one that it is now.
        let there = status.into_iter().filter(|m| !(cluster.managed && m.role == Role::Absent));
        let members = there.map(|m| {
            let zone = self.simulation.zone_of(m.member);
            MemberReport {
                name: scenario.member(m.member).name.clone(),
                zone: scenario.zones[zone].name.clone(),
                node: self.simulation.node_name_of(m.member),
                role: m.role,
                term: m.term,
                up: m.down.is_none(),
                down: m.down,
                last_index: m.last_index,
                committed: m.committed,
                database_bytes: m.database_bytes,
            }
        });
        let members = members.collect();
        let seen = &self.observers;
        let unavailable_s = |service| availability.unavailable_s(id, service, now);
        let report = EtcdReport {
            members,
            leader_changes: seen.leaders.changes(id),
            elections: seen.leaders.elections(id),
            leaders: seen.leaders.leaderships(id, now),
            terms: seen.leaders.terms(id),
            write_unavailable_s: unavailable_s(Service::Write),
            unobserved: availability.unobserved(id, now),
            read_unavailable_s: ReadUnavailable {
                linearizable: unavailable_s(Service::ReadLinearizable),
                serializable: unavailable_s(Service::ReadSerializable),
            },
            quorum_lost_s: unavailable_s(Service::Quorum),
            vantages: availability.vantages(id, &self.simulation.vantages(id), now),
            no_fault_tolerance_s: length(seen.tolerance.none(id, now)),
            tolerance: seen.tolerance.rows(id),
            outages: availability.outages(id, now),
            quota_bytes: cluster.options.quota_bytes,
            alarms: seen.space.alarms(id, now),
            defragmentations: seen.space.defragmentations(id),
            requests: seen.requests.totals(id),
            latency: seen.requests.rows(id),
            rpo: seen.durability.rpo(id),
            failovers: seen.failovers.rows(id, now),
            snapshots: seen.repair.snapshots(id, now),
            catch_up: seen.repair.catch_up(id),
            membership: seen.repair.membership(id),
        };
        (cluster.name.clone(), report)
    }
}

/// Runs a scenario to its end and judges its expectations. `sink` receives every record; `progress` the time, a hundred times on the way.
pub fn run(
    scenario: &Arc<Scenario>,
    seed: u64,
    options: Options,
    sink: &mut dyn FnMut(Time, &Record),
    progress: &mut dyn FnMut(Time),
) -> Report {
    finish(Run::new(scenario, seed, options), sink, progress)
}

/// The same, with every invariant checked: the report has the violations.
pub fn run_checked(scenario: &Arc<Scenario>, seed: u64, options: Options, sink: &mut dyn FnMut(Time, &Record)) -> Report {
    finish(Run::checked(scenario, seed, options), sink, &mut |_| {})
}

fn finish(mut run: Run, sink: &mut dyn FnMut(Time, &Record), progress: &mut dyn FnMut(Time)) -> Report {
    let scenario = Arc::clone(run.simulation.scenario());
    for step in 1..STEPS {
        let until = milestone(scenario.duration, step);
        run.advance_quiescent(until, u64::MAX, sink);
        progress(until);
    }
    let end = milestone(scenario.duration, STEPS);
    run.advance(end, sink);
    progress(end);
    let mut report = run.report();
    report.judge(&scenario);
    report
}

/// Calls of `progress` in a [`run`].
pub const STEPS: u32 = 100;

/// Where a [`run`] stops for the `step`th time (from 1 to [`STEPS`]): quiescent, but for the last. Whoever stops a [`Run`] there alike has
/// the same report, `events` included; other stops change `events` alone.
pub fn milestone(duration: Duration, step: u32) -> Time {
    Time::from_nanos((u128::from(duration.as_nanos()) * u128::from(step) / u128::from(STEPS)) as u64)
}

/// The scenario with another length. Load that went on to the end goes on to the new end.
#[must_use]
pub fn lasting(scenario: &Scenario, duration: Duration) -> Scenario {
    let mut changed = scenario.clone();
    let (old, new) = (Time::ZERO + scenario.duration, Time::ZERO + duration);
    changed.duration = duration;
    for client in changed.clients.iter_mut().filter(|c| c.stop >= old) {
        client.stop = new;
    }
    changed
}
