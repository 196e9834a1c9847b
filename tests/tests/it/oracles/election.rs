//! `raft_election_oracles.json`: how elections come out in the raft thesis, in its simulator `availsim`, and in etcd.
//!
//! The thesis's model is a dialect of the engine's own election, not a formula: no ticks (a tick is a nanosecond), no lease, no
//! pre-vote, disks without delay, votes on paths with the latency asked for. Only the run is short: it ends when its question is
//! answered.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use zonefall_core::etcd::options::EtcdOptions;
use zonefall_core::etcd::raft::clock::Clock;
use zonefall_core::etcd::raft::log::Log;
use zonefall_core::etcd::raft::{ConfState, Config, Raft};
use zonefall_core::ids::{EtcdId, NodeId, VolumeId, ZoneId};
use zonefall_core::kernel::dist::Latency;
use zonefall_core::kernel::rng::{Purpose, Stream};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{EtcdRecord, Record, StepDownReason};
use zonefall_core::scenario::network_card;
use zonefall_core::scenario::{Fault, FaultTarget, Member, Node, NodeCrash, PlannedFault, Scenario, Volume};
use zonefall_core::sim::{Options, Simulation, Stepping};
use zonefall_tests::threads::parallel;

use super::Outcome;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "source", default)]
    _source: String,
    #[serde(rename = "units", default)]
    _units: String,
    #[serde(rename = "split_format", default)]
    _split_format: String,
    #[serde(default)]
    split_examples: Vec<Value>,
    #[serde(rename = "availsim_format", default)]
    _availsim_format: String,
    #[serde(default)]
    availsim_wan: Vec<Value>,
    #[serde(rename = "etcd_format", default)]
    _etcd_format: String,
    #[serde(default)]
    etcd_discrete: Vec<Value>,
}

/// How often the first round after the leader's end elects nobody.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Split {
    n: u8,
    survivors: u8,
    l: f64,
    formula: f64,
    abs_tolerance: f64,
}

/// How long a cluster is without a leader.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Availsim {
    n: u8,
    failed: u8,
    latency_ms: [f64; 2],
    timeout_ms: [f64; 2],
    mean_ms: f64,
    mean_rel_tolerance: f64,
    p999_ms_max: f64,
}

/// The shortest of several of etcd's timeouts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Discrete {
    election_ticks: u64,
    surviving_followers: u8,
    mean_min_ticks: f64,
    abs_tolerance: f64,
}

const SPLIT_ROUNDS: usize = 20_000;
/// The original took 10,000; more make the tail steadier.
const AVAILSIM_ELECTIONS: usize = 40_000;
const DISCRETE_DRAWS: u32 = 200_000;
/// The thesis's unit of time.
const UNIT: Duration = Duration::from_secs(1);
/// As many servers as a set of members holds.
const MOST_SERVERS: u8 = 64;

pub(super) fn run(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let Some(file) = outcome.parse::<File>(text) else { return outcome };
    for (k, row) in file.split_examples.iter().enumerate() {
        outcome.row(&format!("split_examples[{k}]"), row, split);
    }
    for (k, row) in file.availsim_wan.iter().enumerate() {
        outcome.row(&format!("availsim_wan[{k}]"), row, availsim);
    }
    for (k, row) in file.etcd_discrete.iter().enumerate() {
        outcome.row(&format!("etcd_discrete[{k}]"), row, discrete);
    }
    outcome
}

fn near(what: &str, found: f64, wanted: f64, tolerance: f64) -> Result<(), String> {
    if (found - wanted).abs() <= tolerance {
        Ok(())
    } else {
        Err(format!("{what}: found {found}, wanted {wanted} ± {tolerance}"))
    }
}

fn split(row: &Split) -> Result<(), String> {
    let latency = scaled(UNIT, row.l)?;
    let model = Model {
        servers: row.n,
        down: row.n.saturating_sub(row.survivors),
        latency: [latency; 2],
        timeout: [UNIT, UNIT * 2],
        // With one latency for all, everybody hears the last heartbeat at the same moment: let it be time zero, where the clocks of a
        // settled cluster start.
        crash: Time::ZERO,
    };
    let scenario = model.scenario()?;
    let splits = parallel(SPLIT_ROUNDS, |seed| !first_round_elects(&scenario, seed as u64)).into_iter().filter(|split| *split);
    near("split first rounds", splits.count() as f64 / SPLIT_ROUNDS as f64, row.formula, row.abs_tolerance)
}

fn availsim(row: &Availsim) -> Result<(), String> {
    let ms = |ms: f64| scaled(Duration::from_millis(1), ms);
    let model = Model {
        servers: row.n,
        down: row.failed,
        latency: [ms(row.latency_ms[0])?, ms(row.latency_ms[1])?],
        timeout: [ms(row.timeout_ms[0])?, ms(row.timeout_ms[1])?],
        // The phase of the leader's heartbeats is drawn, so any moment that is not the first is uniform within its interval.
        crash: Time::ZERO + ms(row.timeout_ms[0])? * 2,
    };
    let scenario = model.scenario()?;
    let survivors = row.n - row.failed;
    let mut times: Vec<f64> = parallel(AVAILSIM_ELECTIONS, |seed| time_without_leader(&scenario, seed as u64, survivors))
        .into_iter()
        .map(|time| time.map(|time| time.as_secs_f64() * 1e3))
        .collect::<Option<_>>()
        .ok_or("an election that never ends")?;
    times.sort_by(f64::total_cmp);
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    near("mean time in ms", mean, row.mean_ms, row.mean_ms * row.mean_rel_tolerance)?;
    let p999 = times[(times.len() * 999).div_ceil(1_000) - 1];
    if p999 <= row.p999_ms_max { Ok(()) } else { Err(format!("p99.9: {p999} ms, wanted at most {}", row.p999_ms_max)) }
}

fn discrete(row: &Discrete) -> Result<(), String> {
    if row.election_ticks == 0 || row.surviving_followers == 0 || row.surviving_followers > MOST_SERVERS {
        return Err(format!("at least one tick, and 1 to {MOST_SERVERS} followers"));
    }
    let etcd = EtcdOptions { tick: Duration::from_millis(100), ..EtcdOptions::default() };
    let config = Config {
        election_ticks: row.election_ticks,
        spread_ticks: row.election_ticks,
        election_heartbeats: row.election_ticks,
        pre_vote: etcd.pre_vote,
        check_quorum: etcd.check_quorum,
        max_inflight: etcd.max_inflight,
        max_append_bytes: etcd.max_append_bytes,
        bug: None,
    };
    let follower = |me: u8| {
        let clock = Clock::new(etcd.tick, Duration::ZERO, Time::ZERO);
        let draws = Stream::new(1, Purpose::ElectionTimeout, u64::from(me));
        Raft::new(me, 1 + me as usize, config, (1, None), Log::compacted(0, 0, 0), ConfState::default(), clock, draws, 0)
    };
    let mut followers: Vec<Raft> = (0..row.surviving_followers).map(follower).collect();
    let mut sum = 0;
    for _ in 0..DISCRETE_DRAWS {
        for follower in &mut followers {
            // Each becoming a follower resets the timeout.
            follower.become_follower(Time::ZERO, 1, None, StepDownReason::HigherTerm);
        }
        sum += followers.iter().map(|follower| follower.timeout_ticks).min().unwrap_or(0);
    }
    near("mean shortest timeout", sum as f64 / f64::from(DISCRETE_DRAWS), row.mean_min_ticks, row.abs_tolerance)
}

fn scaled(unit: Duration, factor: f64) -> Result<Duration, String> {
    if (0.0..1e6).contains(&factor) {
        Ok(Duration::from_nanos((unit.as_nanos() as f64 * factor).round() as u64))
    } else {
        Err(format!("{factor} is no latency or timeout"))
    }
}

/// A cluster that loses its leader.
struct Model {
    servers: u8,
    /// Servers that are down from the crash on (those beside the leader: from the start).
    down: u8,
    /// One way, uniform between these.
    latency: [Duration; 2],
    /// Uniform between these.
    timeout: [Duration; 2],
    /// When the leader crashes.
    crash: Time,
}

impl Model {
    fn scenario(&self) -> Result<Arc<Scenario>, String> {
        let Self { servers, down, latency: [least, most], timeout: [shortest, longest], crash } = *self;
        if servers > MOST_SERVERS || down == 0 || down >= servers {
            return Err(format!("{} survivors of {servers} servers that lose their leader", servers.saturating_sub(down)));
        }
        if least > most || shortest >= longest {
            return Err("bounds in the wrong order".to_owned());
        }
        let mut scenario = Scenario::from_json(ONE_MEMBER).map_err(|errors| errors.to_string())?;
        let disk = scenario.volumes[VolumeId(0)].disk.clone();
        let member = scenario.etcd[EtcdId(0)].members[0].clone();
        for index in 1..u16::from(servers) {
            scenario.nodes.push(Node { name: format!("n{index}"), zone: ZoneId(0), card_bytes_per_s: network_card::DEFAULT });
            scenario.volumes.push(Volume { name: format!("v{index}"), zone: ZoneId(0), disk: disk.clone() });
            let name = format!("m{index}");
            scenario.etcd[EtcdId(0)].members.push(Member {
                name,
                node: NodeId(index),
                volume: VolumeId(index),
                ..member.clone()
            });
        }
        for path in &mut scenario.network.paths {
            path.delay = least;
            path.jitter = if least == most { Latency::NONE } else { Latency::Uniform { min: Duration::ZERO, max: most - least } };
            path.bytes_per_s = u64::MAX;
        }
        scenario.volumes.iter_mut().for_each(|volume| volume.disk.bytes_per_s = u64::MAX);
        let options = &mut scenario.etcd[EtcdId(0)].options;
        options.tick = Duration::from_nanos(1);
        options.heartbeat_interval = shortest / 2;
        options.election_timeout = shortest;
        options.election_spread = Some(longest - shortest);
        let off = |at: Time, node: u16| PlannedFault {
            at,
            lasts: None,
            fault: Fault::NodeCrash(NodeCrash(FaultTarget::Named(NodeId(node)))),
        };
        scenario.faults.extend((1..u16::from(down)).map(|node| off(Time::ZERO, node)));
        scenario.faults.push(off(crash, 0));
        Ok(Arc::new(scenario))
    }
}

/// The thesis's server, alone: it leads, in term 1.
const ONE_MEMBER: &str = r#"{
    "name": "thesis", "duration": "30d",
    "topology": {"regions": [{"name": "r", "zones": ["z"]}], "nodes": [{"name": "n0", "zone": "z"}]},
    "network": {"same_zone": {"delay": "0s", "jitter": "0s"}},
    "etcd": [{
        "name": "etcd", "members": [{"name": "m0", "node": "n0"}], "disk": {"fsync": "0s"},
        "options": {"pre_vote": false, "check_quorum": false, "start_up": "0s", "apply": "0s"}
    }]
}"#;

/// The term of the first leader.
const FIRST_TERM: u64 = 1;
/// Rounds after which the question is given up.
const MOST_ROUNDS: u64 = 200;

/// Whether the first round has a winner.
fn first_round_elects(scenario: &Arc<Scenario>, seed: u64) -> bool {
    // A cluster that can elect somebody has done so long before the fourth round; one that cannot never will.
    let elected = first(scenario, seed, 4, |_, record| match *record {
        Record::Etcd(EtcdRecord::Elected { term, .. }) if term > FIRST_TERM => Some(term),
        _ => None,
    });
    elected == Some(FIRST_TERM + 1)
}

/// From the crash to the moment all other survivors have heard the new leader, as the thesis measures it (section 9.3: "until the other
/// servers received the new leader's first heartbeat"); `None`: there is none.
fn time_without_leader(scenario: &Arc<Scenario>, seed: u64, survivors: u8) -> Option<Duration> {
    let crash = scenario.faults.last()?.at;
    let (mut newest, mut following) = (FIRST_TERM, 0);
    first(scenario, seed, MOST_ROUNDS, |at, record| match *record {
        Record::Etcd(EtcdRecord::LeaderSeen { term, leader: Some(_), .. }) if term > FIRST_TERM => {
            following = if term > newest { 1 } else { following + u8::from(term == newest) };
            newest = newest.max(term);
            (following == survivors).then(|| at.since(crash))
        }
        _ => None,
    })
}

/// The first answer that a record gives; `None` if nobody has answered in that many rounds.
fn first<T>(scenario: &Arc<Scenario>, seed: u64, rounds: u64, mut answer: impl FnMut(Time, &Record) -> Option<T>) -> Option<T> {
    let options = Options { stepping: Stepping::EveryEvent, ..Options::default() };
    let mut simulation = Simulation::new(Arc::clone(scenario), seed, options);
    let (mut found, mut over) = (None, false);
    while found.is_none() && !over {
        let stepped = simulation.step(&mut |at, record: &Record| {
            over |= matches!(record, Record::Etcd(EtcdRecord::Campaign { term, .. }) if *term > FIRST_TERM + rounds);
            if found.is_none() {
                found = answer(at, record);
            }
        });
        over |= stepped.is_none();
    }
    found
}
