//! Availability is what a request meets: over a run that is nearly all one fault, clients in every zone ask steadily for each service, and
//! the share of their requests that is answered within the probe's deadline is the share of time in which the report calls the service
//! available for them. Who asks during an interruption and has an answer in time, for it ended soon, found it unavailable all the same: the
//! probe does not wait. And each outage has a cause.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fuzz::judge::unexplained;
use serde_json::{Value, json};
use zonefall_core::kernel::time::Time;
use zonefall_core::record::{ClientRecord, EtcdRecord, Record, RequestResult, Service};
use zonefall_core::report::EtcdReport;
use zonefall_core::run::run;
use zonefall_core::scenario::{Fault, FaultTarget, Op, Scenario, ZonePower};
use zonefall_core::sim::Options;
use zonefall_tests::asked;
use zonefall_tests::threads::of_numbers;
use zonefall_tests::worlds::dice::{Dice, ms};

/// Random cases: usually, and thoroughly.
const CASES: [usize; 2] = [200, 20_000];
/// The shares may differ by this much.
const MOST: f64 = 0.01;
/// More interruptions than this are a storm of elections.
const OFTEN: usize = 5;
const ZONES: [&str; 3] = ["a", "b", "c"];
const MEMBERS: [&str; 3] = ["m0", "m1", "m2"];
/// How long a run is, in seconds; and one that tells whether a difference was chance.
const RUN_S: [u64; 2] = [400, 1_600];
/// Requests of each steady client in a second.
const RATE: u64 = 3;

/// How the names of clients begin that keep members busy.
const BUSY: &str = "busy-";
const SERVICES: [&str; 3] = ["write", "linearizable read", "serializable read"];

/// Something that is wrong from the 5th second to 20 before the end.
struct Trouble {
    faults: Vec<Value>,
    /// What requests cost the members.
    cost: Value,
    /// Clients that keep members busy; what they meet is not compared.
    busy: Vec<Value>,
}

fn trouble(dice: &mut Dice, run_s: u64) -> Trouble {
    let (cost, busy) = if dice.percent(25) { saturation(dice, run_s) } else { (json!({}), Vec::new()) };
    // Busy members are trouble enough.
    let faults = if !busy.is_empty() && dice.percent(50) { Vec::new() } else { faults(dice, run_s) };
    Trouble { faults, cost, busy }
}

/// Cores with more work than they can do, or nearly: what requests cost, and who makes them. Connections that wait for their answers keep a
/// queue of some length, a rate above what the cores can do one that grows; a rate below it, one that comes and goes.
fn saturation(dice: &mut Dice, run_s: u64) -> (Value, Vec<Value>) {
    let cores = dice.between(1, 4);
    let each_ms = dice.between(15, 60) * cores;
    let cost = json!({"cores": cores, "per_request": ms(each_ms)});
    let targets = match dice.below(5) {
        0 => vec!["leader"],
        1 => vec![dice.pick(&MEMBERS)],
        2 => vec!["all"],
        _ => MEMBERS.to_vec(),
    };
    let on = if targets == ["all"] { MEMBERS.len() as u64 } else { 1 };
    let busy = targets.into_iter().map(|target| {
        let mut client = json!({
            "name": format!("{BUSY}{target}"), "zone": dice.pick(&ZONES), "target": target,
            "op": "range", "consistency": dice.pick(&["serializable", "linearizable"]), "start": "5s", "stop": ms((run_s - 20) * 1_000),
        });
        if dice.percent(50) {
            // They wait for up to three seconds.
            client["connections"] = json!((dice.ms(50, 3_000) * cores * on / each_ms).max(1));
        } else {
            let per_minute = cores * on * 60_000 / each_ms;
            client["rate"] = json!(format!("{}/min", (per_minute * dice.between(80, 120) / 100).max(1)));
            client["arrivals"] = json!(dice.pick(&["even", "poisson"]));
        }
        client
    });
    (cost, busy.collect())
}

fn faults(dice: &mut Dice, run_s: u64) -> Vec<Value> {
    let lasting = |fault: Value| {
        let mut fault = fault;
        (fault["at"], fault["for"]) = (json!("5s"), json!(ms((run_s - 25) * 1_000)));
        fault
    };
    let slow = |volume: &str, dice: &mut Dice| json!({"kind": "disk_slow", "volume": volume, "add": ms(dice.ms(10, 3_000)), "factor": 1});
    let faults = match dice.below(7) {
        0 => MEMBERS.map(|volume| slow(volume, dice)).to_vec(),
        1 => {
            let add = ms(dice.ms(100, 2_000));
            MEMBERS.map(|volume| json!({"kind": "disk_slow", "volume": volume, "add": add, "factor": 1})).to_vec()
        }
        2 => vec![slow(dice.pick(&MEMBERS), dice)],
        3 => {
            let loss = dice.between(1, 25) as f64 / 100.0;
            let pairs = [["a", "b"], ["a", "c"], ["b", "c"]];
            pairs.map(|pair| json!({"kind": "link_degraded", "between": pair, "loss": loss})).to_vec()
        }
        4 => vec![json!({"kind": "zone_partition", "zone": dice.pick(&ZONES), "direction": "both"})],
        5 => vec![json!({"kind": "zone_power", "zone": dice.pick(&ZONES)})],
        _ => vec![json!({"kind": "process_pause", "member": dice.pick(&MEMBERS)})],
    };
    faults.into_iter().map(lasting).collect()
}

fn case(number: u64, run_s: u64) -> Value {
    let mut dice = Dice::new("availability", number);
    let deadline = ms(dice.between(2, 20) * 100);
    let client = |zone: &str, service: &str| {
        let asks = match service {
            "write" => json!({"op": "put"}),
            "linearizable read" => json!({"op": "range"}),
            _ => json!({"op": "range", "consistency": "serializable"}),
        };
        let mut client = json!({
            "name": format!("{service} from {zone}").replace(' ', "-"), "zone": zone, "rate": format!("{RATE}/s"),
        });
        client.as_object_mut().expect("an object").extend(asks.as_object().expect("an object").clone());
        client
    };
    let Trouble { faults, cost, busy } = trouble(&mut dice, run_s);
    let steady = ZONES.iter().flat_map(|zone| SERVICES.map(|service| client(zone, service)));
    let members = [0, 1, 2].map(|k| json!({"name": MEMBERS[k], "node": format!("n{}", ZONES[k])}));
    json!({
        "name": format!("availability-{number}"),
        "seed": number,
        "duration": ms(run_s * 1_000),
        "probe": {"deadline": deadline},
        "topology": {
            "regions": [{"name": "r", "zones": ZONES}],
            "nodes": ZONES.map(|zone| json!({"name": format!("n{zone}"), "zone": zone})),
        },
        "etcd": [{
            "name": "etcd",
            "members": members,
            "options": {"cost": cost},
        }],
        "clients": steady.chain(busy).collect::<Vec<_>>(),
        "faults": faults,
    })
}

/// By zone and service: when requests were made and answered, and whether that was in time.
type Asked = BTreeMap<(String, usize), Vec<(f64, f64, bool)>>;

/// Shares of a service that the report and requests tell apart, and outages without a cause, in words.
fn differences(number: u64) -> Vec<String> {
    let [usual, long] = RUN_S;
    let (differ, unexplained) = differences_in(number, usual);
    // Of a queue that comes and goes by chance requests are a sample: in a longer run a larger one.
    let differ = if differ.is_empty() { differ } else { differences_in(number, long).0 };
    differ.into_iter().chain(unexplained).collect()
}

/// Shares that differ in a run of this length, and outages without a cause.
fn differences_in(number: u64, run_s: u64) -> (Vec<String>, Vec<String>) {
    let file = case(number, run_s).to_string();
    let scenario = Arc::new(Scenario::from_json(&file).unwrap_or_else(|errors| panic!("case {number}: {errors}\n{file}")));
    let (mut met, mut interruptions) = (Asked::new(), Interruptions::default());
    let report = run(
        &scenario,
        scenario.seed,
        Options::default(),
        &mut |at, record| {
            if let Record::Etcd(EtcdRecord::Availability { service, up, .. }) = record {
                interruptions.record(at, *service, *up);
            }
            if let Record::Client(ClientRecord::Request { client, from, op, latency, result, .. }) = record
                && !scenario.client(*client).name.starts_with(BUSY)
            {
                let service = match op {
                    Op::Range { linearizable: true, .. } => 1,
                    Op::Range { .. } => 2,
                    _ => 0,
                };
                let in_time = *result == RequestResult::Ok && *latency <= scenario.probe.deadline;
                let seconds = |at: Time| at.since(Time::ZERO).as_secs_f64();
                let request = (seconds(at - *latency), seconds(at), in_time);
                met.entry((scenario.zones[*from].name.clone(), service)).or_default().push(request);
            }
        },
        &mut |_| {},
    );
    // Where there is no power nobody misses anything.
    let dark = |zone: &str| {
        scenario.faults.iter().any(
            |fault| matches!(fault.fault, Fault::ZonePower(ZonePower(FaultTarget::Named(id))) if scenario.zones[id].name == zone),
        )
    };
    let lit = met.iter().filter(|((zone, _), _)| !dark(zone));
    let etcd = &report.etcd["etcd"];
    let compared = lit.filter_map(|((zone, service), requests)| {
        // Those that have not ended when the run does wait in a queue, and are late.
        let share = |count: usize| count as f64 / (RATE * run_s) as f64;
        let answered = |&&(made, answered, in_time): &&_| in_time && !interruptions.ended_between(*service, made, answered);
        let met = share(requests.iter().filter(answered).count());
        let said = 1.0 - unavailable_s(etcd, zone, *service) / run_s as f64;
        // Where leaders come and go faster than requests are made, chance decides which of them meet one.
        let chance = 2.58 * (met * (1.0 - met) / requests.len() as f64).sqrt();
        let most = if interruptions.count(*service) > OFTEN { MOST.max(chance) } else { MOST };
        let differ = (met - said).abs() > most;
        differ.then(|| format!("{} from {zone}: {met:.4} of {} requests, report {said:.4}", SERVICES[*service], requests.len()))
    });
    let unexplained = unexplained(&report).map(|outage| format!("an outage without a cause: {outage}"));
    let in_words = |words: String| {
        let case = case(number, run_s);
        let busy: Vec<&Value> = case["clients"].as_array().expect("clients").iter().skip(ZONES.len() * SERVICES.len()).collect();
        format!("case {number}, {}, cost {}, busy {}: {words}", case["faults"], case["etcd"][0]["options"]["cost"], json!(busy))
    };
    (compared.map(in_words).collect(), unexplained.map(in_words).collect())
}

fn unavailable_s(etcd: &EtcdReport, zone: &str, service: usize) -> f64 {
    let row = etcd.vantages.iter().find(|row| row.from == zone).expect("each zone is a vantage");
    [row.write_unavailable_s, row.read_unavailable_s.linearizable, row.read_unavailable_s.serializable][service]
}

/// When nobody was served as the state says, by service: from when to when, in seconds.
#[derive(Default)]
struct Interruptions([Vec<(f64, f64)>; 3]);

impl Interruptions {
    fn record(&mut self, at: Time, service: Service, up: bool) {
        let Some(place) =
            [Service::Write, Service::ReadLinearizable, Service::ReadSerializable].iter().position(|of| *of == service)
        else {
            return;
        };
        let (at, all) = (at.since(Time::ZERO).as_secs_f64(), &mut self.0[place]);
        if !up {
            all.push((at, f64::INFINITY));
        } else if let Some((_, to)) = all.last_mut() {
            *to = to.min(at);
        }
    }

    /// How many lasted some time.
    fn count(&self, service: usize) -> usize {
        self.0[service].iter().filter(|(from, to)| from < to).count()
    }

    /// Whether who asked when nobody was served, as the state says, waited for the end of that and had an answer then, in seconds.
    fn ended_between(&self, service: usize, made: f64, answered: f64) -> bool {
        self.0[service].iter().any(|(from, to)| *from <= made && made < *to && *to <= answered)
    }
}

#[test]
fn the_report_calls_a_service_available_as_often_as_requests_find_it() {
    let [usual, thorough] = CASES;
    let all = of_numbers(&asked("ZONEFALL_ETCD_CASES", usual, thorough), differences);
    let wrong: Vec<String> = all.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
