//! Runs a scenario and meters its links as the appendix did: the busiest window of IP packets.

use std::collections::BTreeMap;
use std::sync::Arc;

use zonefall_core::ids::Endpoint;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::network::wire::Burst;
use zonefall_core::record::{ClientRecord, EtcdRecord, Record, RequestResult};
use zonefall_core::sim::{LinkTotals, Options, Simulation};

use super::Run;
use super::laboratory::{ASKED_S, PHASES, SETTLED_S, WINDOW_S, scenario};

/// What came out of a run, by the name of the figure, in the unit of its row's reading.
pub type Figures = BTreeMap<&'static str, f64>;

const KIB: f64 = 1_024.0;
const MIB: f64 = KIB * KIB;
/// A figure's place among the links: members by their index, then the client that is metered.
const CLIENT: usize = 3;
/// Bytes of a value that a benchmark writes.
const VALUE: u64 = 1_024;
/// A load's pattern, in seconds: so long it is in some window.
const PATTERN_S: usize = 50;

type Links = BTreeMap<(usize, usize), u64>;

/// A run, second by second.
struct Trace {
    /// IP bytes of each link from the start until each second.
    links: Vec<Links>,
    /// Events that the client has received until each second.
    events: Vec<u64>,
    /// How long the database was under way.
    took: Option<Duration>,
}

/// One of a run's simulations, the load beginning at `at_s`; its request left out, or not.
fn trace(run: Run, at_s: u64, without: bool) -> Trace {
    let scenario = Arc::new(scenario(run, at_s, without));
    let last = scenario.clients.last_key().expect("the load is a client");
    let place = |end: Endpoint| match end {
        Endpoint::Member(member) => Some(member.index as usize),
        Endpoint::Client(client) => (client == last).then_some(CLIENT),
        Endpoint::Servers(_) | Endpoint::Components(_) | Endpoint::Outside(_) | Endpoint::Users(_) => None,
    };
    let mut simulation = Simulation::new(Arc::clone(&scenario), scenario.seed, Options::default());
    let mut trace = Trace { links: Vec::new(), events: Vec::new(), took: None };
    let (mut events, mut began) = (0, Time::ZERO);
    for s in 0..=(scenario.duration.as_nanos() / 1_000_000_000) {
        simulation.run_until(Time::ZERO + Duration::from_secs(s), &mut |when, record| match record {
            Record::Etcd(EtcdRecord::SnapshotStarted { .. }) => began = when,
            Record::Etcd(EtcdRecord::SnapshotFinished { ok: true, .. }) => trace.took = Some(when.since(began)),
            Record::Client(ClientRecord::Request { client, result, .. }) => {
                events += u64::from(*client == last && *result == RequestResult::Ok);
            }
            _ => {}
        });
        let links = simulation.links();
        let ip = |link: &LinkTotals| Burst { packets: link.packets, bytes: link.wire_bytes }.ip_bytes();
        let of = |link: &LinkTotals| Some(((place(link.from)?, place(link.to)?), ip(link)));
        trace.links.push(links.iter().filter_map(of).collect());
        trace.events.push(events);
    }
    trace
}

impl Trace {
    fn until(&self, link: (usize, usize), s: usize) -> u64 {
        self.links[s].get(&link).copied().unwrap_or(0)
    }

    /// Starts of the windows of a span of seconds.
    fn windows(&self, span: (usize, usize)) -> impl Iterator<Item = usize> {
        span.0..=span.1.min(self.links.len() - 1) - WINDOW_S
    }

    /// B/s of a link in a window.
    fn rate(&self, link: (usize, usize), from_s: usize) -> f64 {
        (self.until(link, from_s + WINDOW_S) - self.until(link, from_s)) as f64 / WINDOW_S as f64
    }

    /// B/s in the busiest window.
    fn peak(&self, link: (usize, usize), span: (usize, usize)) -> f64 {
        self.windows(span).map(|s| self.rate(link, s)).fold(0.0, f64::max)
    }

    /// Values' B/s in the busiest window.
    fn peak_of_values(&self, span: (usize, usize)) -> f64 {
        let rate = |s: usize| (self.events[s + WINDOW_S] - self.events[s]) * VALUE;
        self.windows(span).map(rate).max().unwrap_or(0) as f64 / WINDOW_S as f64
    }

    /// Largest difference of any link between members in any window, B/s.
    fn change(&self, other: &Self, span: (usize, usize)) -> f64 {
        let links = (0..CLIENT).flat_map(|a| (0..CLIENT).map(move |b| (a, b)));
        links
            .flat_map(|link| self.windows(span).map(move |s| (self.rate(link, s) - other.rate(link, s)).abs()))
            .fold(0.0, f64::max)
    }
}

/// Figures of links between members, by their role.
fn between_members(run: Run, trace: &Trace, span: (usize, usize)) -> Figures {
    let leader = run.leader();
    let peak = |from, to| trace.peak((from, to), span) / KIB;
    let [one, two] = [(leader + 1) % CLIENT, (leader + 2) % CLIENT];
    let (target, other) = if run.target() == one { (one, two) } else { (two, one) };
    let mean = |pairs: [(usize, usize); 2]| pairs.iter().map(|&(from, to)| peak(from, to)).sum::<f64>() / 2.0;
    let down = mean([(leader, one), (leader, two)]);
    let up = mean([(one, leader), (two, leader)]);
    let across = mean([(one, two), (two, one)]);
    let total = 2.0 * (down + up + across);
    let mut figures = Figures::from([("follower_to_follower", across)]);
    figures.extend(match run {
        Run::Resync => vec![
            ("leader_to_target", peak(leader, target) / KIB),
            ("target_to_leader", peak(target, leader)),
            ("leader_to_other", peak(leader, other)),
            ("other_to_leader", peak(other, leader)),
            ("total", total / KIB),
            ("took_s", trace.took.expect("the database arrives").as_secs_f64()),
        ],
        _ => vec![
            ("leader_to_follower", down),
            ("follower_to_leader", up),
            ("target_to_leader", peak(target, leader)),
            ("other_to_leader", peak(other, leader)),
            ("total", total),
            ("total_of_five", total - across),
        ],
    });
    figures
}

/// How often a run is simulated; its figures are the mean of those.
pub const fn repeats(run: Run) -> u64 {
    match run {
        Run::PutLeader | Run::PutFollower => PHASES,
        _ => 1,
    }
}

/// The figures of a run's simulation number `k`.
pub fn simulate(run: Run, k: u64) -> Figures {
    let at_s = ASKED_S + 60 / PHASES * k;
    let ran = trace(run, at_s, false);
    let (settled, at) = (SETTLED_S as usize, at_s as usize);
    let all = (settled, ran.links.len() - 1);
    match run {
        Run::Idle => between_members(run, &ran, all),
        Run::PutLeader | Run::PutFollower => between_members(run, &ran, (at, at + PATTERN_S)),
        Run::Resync => between_members(run, &ran, (0, all.1)),
        Run::GetLeader | Run::GetFollower | Run::DeleteLeader | Run::DeleteFollower | Run::Watch => {
            let to_client = ran.peak((run.target(), CLIENT), all);
            let per = match run {
                Run::GetLeader | Run::GetFollower => MIB,
                Run::Watch => KIB,
                _ => 1.0,
            };
            let change = ran.change(&trace(run, at_s, true), all) / KIB;
            Figures::from([
                ("to_client", to_client / per),
                ("values_to_client", ran.peak_of_values(all) / KIB),
                ("change", change),
            ])
        }
    }
}

/// The mean of a run's simulations.
pub fn mean(all: &[Figures]) -> Figures {
    let of = |name: &'static str| all.iter().map(|figures| figures[name]).sum::<f64>() / all.len() as f64;
    all.first().into_iter().flat_map(|first| first.keys().map(|&name| (name, of(name)))).collect()
}
