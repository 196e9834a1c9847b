//! The API half of [`availability`](crate::availability): users read and write through the API servers of a cluster steadily, something is
//! wrong nearly all the time, and the share of their requests that is answered within the probe's deadline is the share of time in which
//! the report calls the API available to them, from each zone and from outside. Shares of requests are taken second by second: where no
//! server is ready there is none, and that is a second without an answer. Users in a zone that is cut off reach the server there alone, and
//! the others those elsewhere. Each outage has a cause.
//!
//! A case that differs by more than [`MOST`] is run again for four times as long: requests are a sample of what comes and goes by chance.

use std::sync::Arc;

use serde_json::{Value, json};
use zonefall_core::ids::{KubeClusterId, ZoneId};
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::record::{ClientRecord, Record, RequestResult};
use zonefall_core::report::ApiReport;
use zonefall_core::run::Run;
use zonefall_core::scenario::{Fault, FaultTarget, Load, Op, Scenario, ZonePartition, ZonePower};
use zonefall_core::sim::Options;
use zonefall_tests::asked;
use zonefall_tests::threads::of_numbers;
use zonefall_tests::worlds::dice::{Dice, ms};

use crate::fuzz::judge::unexplained;

/// Random cases: usually, and thoroughly.
const CASES: [usize; 2] = [200, 20_000];
/// The same for both kinds of traffic.
const EITHER_TRAFFIC: [usize; 2] = [60, 6_000];
/// The shares may differ by this much.
const MOST: f64 = 0.01;
/// The two kinds of traffic, in which chance differs, by this much.
const APART: f64 = 0.1;
/// What differs by more has to agree on average under so many further seeds, within three standard errors.
const FURTHER: u64 = 24;
const NEXT_SEED: u64 = 1_000_000_007;
/// A request that is answered so close to its deadline may be either: the probe takes typical delays, and goes to a server, too, which is
/// not part of a request as it is measured. It is twice the round trip between zones.
const EDGE: Duration = Duration::from_micros(704);
const ZONES: [&str; 3] = ["a", "b", "c"];
/// After how long the report is read, in seconds; and in a run that tells whether a difference was chance.
const RUN_S: [u64; 2] = [400, 1_600];
/// So long after that every request that was made before has ended.
const REST_S: u64 = 60;
/// Requests of either verb in a second.
const RATE: u64 = 10;
/// How the names of clients begin that keep members busy.
const BUSY: &str = "busy-";
const VERBS: [&str; 2] = ["read", "write"];

/// What is wrong, and with what.
struct Trouble {
    /// From the 5th second to 20 before the end.
    faults: Vec<Value>,
    /// Requests that each server works on at a time: reads, and writes.
    places: [u64; 2],
    /// Zones of the three hosts of the control plane, in turn.
    zones: &'static [&'static str],
    /// What requests cost etcd's members.
    cost: Value,
    /// Requests in a second that are made of each member besides; what they meet is not compared.
    busy: u64,
}

fn trouble(dice: &mut Dice, run_s: u64) -> Trouble {
    let lasting = |fault: Value| {
        let mut fault = fault;
        (fault["at"], fault["for"]) = (json!("5s"), json!(ms((run_s - 25) * 1_000)));
        fault
    };
    let member = |k: u64| format!("c/etcd/etcd-{k}");
    let slow = |k: u64, add: u64| json!({"kind": "disk_slow", "volume": format!("c/etcd-{k}"), "add": ms(add), "factor": 1});
    let all = |dice: &mut Dice, least, most| {
        let add = dice.ms(least, most);
        (0..3).map(|k| slow(k, add)).collect::<Vec<_>>()
    };
    let cut = |zone: &str| json!({"kind": "zone_partition", "zone": zone, "direction": "both"});
    let (mut places, mut zones, mut cost, mut busy) = ([400, 200], &ZONES[..], json!({}), 0);
    let kind = dice.below(12);
    // Cores with more work than they can do, or nearly; in some worlds only once a zone is gone.
    if kind >= 9 {
        let (cores, each_ms) = (dice.between(1, 4), dice.between(20, 80));
        cost = json!({"cores": cores, "per_request": ms(each_ms * cores)});
        busy = (1_000 / each_ms * dice.between(50, 110) / 100).saturating_sub(2 * RATE / 3);
    }
    let faults = match kind {
        0 => (0..3).map(|k| slow(k, dice.ms(10, 2_000))).collect(),
        1 => all(dice, 100, 2_000),
        2 => vec![slow(dice.below(3), dice.ms(10, 3_000))],
        3 => {
            places = [dice.between(1, 4), dice.between(1, 4)];
            all(dice, 20, 800)
        }
        4 => {
            let loss = dice.between(1, 25) as f64 / 100.0;
            let pairs = [["a", "b"], ["a", "c"], ["b", "c"]];
            pairs.map(|pair| json!({"kind": "link_degraded", "between": pair, "loss": loss})).to_vec()
        }
        5 => vec![cut(dice.pick(&ZONES))],
        6 => vec![json!({"kind": "zone_power", "zone": dice.pick(&ZONES)})],
        // Two of three members are in the zone that is cut off.
        7 => {
            zones = &ZONES[..2];
            all(dice, 20, 1_500).into_iter().chain([cut(ZONES[0])]).collect()
        }
        9 | 10 => Vec::new(),
        11 if dice.percent(50) => vec![json!({"kind": "zone_power", "zone": dice.pick(&ZONES)})],
        11 => vec![cut(dice.pick(&ZONES))],
        _ => {
            places = [dice.between(2, 40), dice.between(2, 40)];
            vec![json!({"kind": "process_pause", "member": member(dice.below(3))})]
        }
    };
    Trouble { faults: faults.into_iter().map(lasting).collect(), places, zones, cost, busy }
}

fn case(number: u64, run_s: u64) -> Value {
    let mut dice = Dice::new("api availability", number);
    let (deadline, routing) = (ms(dice.between(2, 20) * 100), dice.pick(&["any", "any", "local"]));
    let Trouble { faults, places: [reads, writes], zones, cost, busy } = trouble(&mut dice, run_s);
    let overhead = dice.pick(&["1ms", "1ms", "20ms", "150ms"]);
    let rate = format!("{RATE}/s");
    let busy = (0..if busy > 0 { 3 } else { 0 }).map(|k| {
        json!({
            "name": format!("{BUSY}{k}"), "etcd": "c/etcd", "target": format!("etcd-{k}"), "zone": ZONES[k % zones.len()], "rate": format!("{busy}/s"),
            "op": "range", "consistency": "serializable", "retries": 0, "start": "5s", "stop": ms((run_s - 20) * 1_000),
        })
    });
    json!({
        "name": format!("api-availability-{number}"),
        "seed": number,
        "duration": ms((run_s + REST_S) * 1_000),
        "traffic": "requests",
        "prices": {"books": []},
        "probe": {"deadline": deadline},
        "topology": {"regions": [{"name": "r", "zones": ZONES}]},
        "clusters": [{
            "name": "c", "zones": ZONES, "api_to_etcd": routing, "timers": {"api_overhead": overhead}, "control_plane": {"zones": zones, "options": {"cost": cost}},
            "pools": [{"name": "p", "minimum": 0, "maximum": 0}],
            "use": {
                "idle": false,
                "inflight": {"reads": reads, "writes": writes},
                "requests": [
                    {"name": "reads", "verb": "get", "rate": rate},
                    {"name": "writes", "verb": "update", "rate": rate, "watchers": 0},
                ],
            },
        }],
        "clients": busy.collect::<Vec<_>>(),
        "faults": faults,
    })
}

/// A case where nothing but what is wrong holds requests up, once in `traffic` of either kind; `None`: the case is another.
fn either_traffic(number: u64) -> Option<[Value; 2]> {
    let mut file = case(number, RUN_S[0]);
    let cluster = &file["clusters"][0];
    let limited = cluster["use"]["inflight"] != json!({"reads": 400, "writes": 200});
    if limited || cluster["control_plane"]["options"]["cost"] != json!({}) {
        return None;
    }
    let usage = &mut file["clusters"][0]["use"];
    let mut dice = Dice::new("either traffic", number);
    usage["idle"] = json!(dice.percent(50));
    let rate = format!("{}/s", dice.between(2, 41));
    usage["requests"].as_array_mut().into_iter().flatten().for_each(|own| own["rate"] = json!(rate));
    usage.as_object_mut().expect("it is in use").remove("inflight");
    Some(["flows", "requests"].map(|traffic| {
        let mut file = file.clone();
        file["traffic"] = json!(traffic);
        file
    }))
}

/// A request: the zone of its server, when it was made and answered, in seconds, and whether that was in time, for certain and perhaps.
type Asked = (ZoneId, f64, f64, [bool; 2]);

/// A zone that is cut off, and one without power.
fn isolated(scenario: &Scenario) -> (Option<ZoneId>, Option<ZoneId>) {
    let mut isolated = (None, None);
    for planned in &scenario.faults {
        match planned.fault {
            Fault::ZonePartition(ZonePartition { zone: FaultTarget::Named(zone), .. }) => isolated.0 = Some(zone),
            Fault::ZonePower(ZonePower(FaultTarget::Named(zone))) => isolated.1 = Some(zone),
            _ => {}
        }
    }
    isolated
}

/// What the report and requests say of one verb from one vantage, as shares of time.
struct Availability {
    what: String,
    /// What requests have met, at least and at most.
    met: [f64; 2],
    said: f64,
}

impl Availability {
    /// By how much more the report says.
    fn apart(&self) -> f64 {
        self.said - self.said.clamp(self.met[0], self.met[1])
    }
}

/// What the report and requests tell apart in a case, and outages without a cause, in words.
fn differences(number: u64) -> Vec<String> {
    let [usual, long] = RUN_S;
    let (differ, unexplained) = differences_in(number, usual);
    let differ = if differ.is_empty() { differ } else { differences_in(number, long).0 };
    differ.into_iter().chain(unexplained).collect()
}

/// What differs in a run of this length, and outages without a cause.
fn differences_in(number: u64, run_s: u64) -> (Vec<String>, Vec<String>) {
    let file = case(number, run_s);
    let mut scenario = Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("case {number}: {errors}\n{file}"));
    // Where requests came at random, chance would decide how many of them meet something.
    for client in &mut scenario.clients {
        if let Load::Open { poisson, .. } = &mut client.load {
            *poisson = false;
        }
    }
    let (all, unexplained) = availabilities(&Arc::new(scenario), run_s);
    let differ = all.into_iter().filter(|own| own.apart().abs() > MOST);
    let differ = differ.map(|Availability { what, met, said }| format!("{what}: {met:.4?} of requests, report {said:.4}"));
    let in_words = |words: String| {
        let cluster = &file["clusters"][0];
        let (places, cost) = (&cluster["use"]["inflight"], &cluster["control_plane"]["options"]["cost"]);
        let settings = [&file["probe"]["deadline"], places, &file["faults"], cost, &file["clients"]];
        format!("case {number}, {}: {words}", settings.map(Value::to_string).join(", "))
    };
    (differ.map(in_words).collect(), unexplained.into_iter().map(in_words).collect())
}

/// What is said and met in one run, and outages without a cause.
fn availabilities(scenario: &Arc<Scenario>, run_s: u64) -> (Vec<Availability>, Vec<String>) {
    let mut asked: [Vec<Asked>; 2] = Default::default();
    let report_at = Time::ZERO + Duration::from_secs(run_s);
    let mut sink = |at: Time, record: &Record| {
        let &Record::Client(ClientRecord::Request { client, from, op, latency: took, ref result, .. }) = record else {
            return;
        };
        if scenario.client(client).name.starts_with(BUSY) || at - took >= report_at {
            return;
        }
        // What is measured is the server's own request.
        let latency = took + scenario.kube.clusters[KubeClusterId(0)].timers.api_overhead;
        let deadline = scenario.probe.deadline;
        let in_time = [deadline - EDGE, deadline + EDGE].map(|deadline| *result == RequestResult::Ok && latency <= deadline);
        let seconds = |at: Time| at.since(Time::ZERO).as_secs_f64();
        let request = (from, seconds(at - took), seconds(at), in_time);
        match op {
            Op::Watch => {}
            Op::Range { .. } => asked[0].push(request),
            _ => asked[1].push(request),
        }
    };
    let mut run = Run::new(scenario, scenario.seed, Options::default());
    run.advance(report_at, &mut sink);
    let report = run.report();
    run.advance(report_at + Duration::from_secs(REST_S), &mut sink);
    let api = &report.api["c"];
    let (cut_off, dark) = isolated(scenario);
    let vantages = scenario.zones.iter_enumerated().filter(|(zone, _)| Some(*zone) != dark);
    let vantages = vantages.map(|(zone, spec)| (Some(zone), spec.name.as_str())).chain([(None, "outside")]);
    let mut all = Vec::new();
    for ((from, vantage), (verb, asked)) in
        vantages.flat_map(|vantage| VERBS.into_iter().zip(&asked).map(move |of| (vantage, of)))
    {
        let is_inside = from.is_some() && from == cut_off;
        let isolated = |made: f64| (5.0..(run_s - 20) as f64).contains(&made);
        let counts = |(zone, made, ..): &&Asked| {
            let apart = Some(*zone) == cut_off || Some(*zone) == dark;
            !isolated(*made) || if is_inside { Some(*zone) == cut_off } else { !apart }
        };
        let waited = |made, answered| !(is_inside && isolated(made)) && interruption_ended_between(api, verb, made, answered);
        let met = [0, 1].map(|edge| {
            let in_time = |&(_, made, answered, in_time): &Asked| (made, in_time[edge] && !waited(made, answered));
            met(run_s, asked.iter().filter(counts).map(in_time))
        });
        let said = 1.0 - unavailable_s(api, vantage, verb) / run_s as f64;
        all.push(Availability { what: format!("{verb} from {vantage}"), met, said });
    }
    (all, unexplained(&report).map(|outage| format!("an outage without a cause: {outage}")).collect())
}

/// The mean, and its standard error.
fn mean(all: &[f64]) -> (f64, f64) {
    let count = all.len() as f64;
    let mean = all.iter().sum::<f64>() / count;
    let variance = all.iter().map(|own| (own - mean) * (own - mean)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

fn unavailable_s(api: &ApiReport, vantage: &str, verb: &str) -> f64 {
    let row = api.vantages.iter().find(|row| row.from == vantage).expect("each zone is a vantage");
    if verb == "read" { row.read_unavailable_s } else { row.write_unavailable_s }
}

/// Whether who asked when nobody was served waited for the end of that and had an answer then, in seconds.
fn interruption_ended_between(api: &ApiReport, verb: &str, made: f64, answered: f64) -> bool {
    let whole = api.outages.iter().filter(|outage| outage.verb == verb && outage.is_whole());
    whole.into_iter().any(|outage| outage.from_s <= made && made < outage.to_s && outage.to_s <= answered)
}

/// The share of requests that was answered in time, over all seconds.
fn met(run_s: u64, asked: impl Iterator<Item = (f64, bool)>) -> f64 {
    let mut seconds = vec![[0_u32; 2]; run_s as usize];
    for (made, in_time) in asked {
        let [all, answered] = &mut seconds[made as usize];
        (*all, *answered) = (*all + 1, *answered + u32::from(in_time));
    }
    seconds.iter().map(|[all, answered]| f64::from(*answered) / f64::from((*all).max(1))).sum::<f64>() / run_s as f64
}

#[test]
fn the_report_calls_an_api_available_as_often_as_requests_find_it() {
    let [usual, thorough] = CASES;
    let all = of_numbers(&asked("ZONEFALL_API_CASES", usual, thorough), differences);
    let wrong: Vec<String> = all.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// How available an API is to users outside, reads and writes.
fn available(scenario: &Arc<Scenario>, seed: u64) -> [f64; 2] {
    let mut run = Run::new(scenario, seed, Options::default());
    let run_s = RUN_S[0];
    run.advance(Time::ZERO + Duration::from_secs(run_s), &mut |_, _| {});
    let report = run.report();
    VERBS.map(|verb| 1.0 - unavailable_s(&report.api["c"], "outside", verb) / run_s as f64)
}

/// How much more of the time the API of a case is available where its requests flow, reads and writes, and in words where that is more than
/// chance explains.
fn apart(number: u64) -> Option<([f64; 2], Vec<String>)> {
    let files = either_traffic(number)?;
    let scenarios = files.each_ref().map(|file| {
        Arc::new(Scenario::from_json(&file.to_string()).unwrap_or_else(|errors| panic!("case {number}: {errors}\n{file}")))
    });
    let apart = |seed| {
        let [flows, requests] = scenarios.each_ref().map(|scenario| available(scenario, seed));
        [flows[0] - requests[0], flows[1] - requests[1]]
    };
    let own = apart(number);
    let mut wrong = Vec::new();
    if own.iter().any(|own| own.abs() > APART) {
        let further: Vec<_> = (1..=FURTHER).map(|k| apart(number + k * NEXT_SEED)).collect();
        for (k, verb) in VERBS.into_iter().enumerate() {
            let (bias, error) = mean(&further.iter().map(|own| own[k]).collect::<Vec<_>>());
            if bias.abs() > MOST + 3.0 * error {
                let faults = &files[0]["faults"];
                wrong
                    .push(format!("case {number}, {faults}: {verb} {:+.4}; {bias:+.4} ± {error:.4} under further seeds", own[k]));
            }
        }
    }
    Some((own, wrong))
}

/// Requests that flow meet what they would have met one by one: while etcd is disturbed as many are asked as tell. Chance makes the two
/// worlds differ (with lost packets, who leads and for how long), so that the means are closer than the cases.
#[test]
fn an_api_is_as_available_whether_its_requests_flow_or_not() {
    let [usual, thorough] = EITHER_TRAFFIC;
    let all: Vec<_> = of_numbers(&asked("ZONEFALL_EITHER_TRAFFIC", usual, thorough), apart).into_iter().flatten().collect();
    let wrong: Vec<&str> = all.iter().flat_map(|(_, wrong)| wrong).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    let differences: Vec<f64> = all.iter().flat_map(|(own, _)| *own).collect();
    let sizes: Vec<f64> = differences.iter().map(|own| own.abs()).collect();
    let ((bias, _), (apart, _)) = (mean(&differences), mean(&sizes));
    assert!(bias.abs() <= MOST && apart <= 2.0 * MOST, "{bias:+.4} on average, {apart:.4} apart");
}
