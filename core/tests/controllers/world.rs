//! The cluster of a story, and the commands that make it and run it.
//!
//! | command | what it does |
//! |---|---|
//! | `cluster c a1 a2 b1 JSON` | a Kubernetes cluster without Gardener: nodes a1 and a2 in the zone za, b1 in zb |
//! | `seed s a1 b1 c1 JSON` | a seed with these nodes, which runs nothing for itself; a second one may follow |
//! | `components machine_controller_manager` | what the cluster has beside kube-controller-manager and kube-scheduler |
//! | `workload JSON` | what the cluster or seed runs |
//! | `service JSON` | a Service of the cluster |
//! | `shoot JSON` | a control plane that the seed runs |
//! | `fault JSON`, `operation JSON` | what breaks, what an operator does; with the time |
//! | `until 10m KIND...` | runs until then and prints records of these `KINDS`; `pods/web`: those of pods that contain the word |
//! | `get pods WORD`, `get nodes`, `get machines` | print tables of objects, as `kubectl` does |
//!
//! JSON is in the form of scenario files (`scenarios/schema.json`) and may be left out after names. Faults and operations are always
//! printed; times are `minutes:seconds`. Control planes of clusters and seeds run in a zone `cp` of their own, on hosts that are no nodes. The invariants are checked
//! all the while.

use std::sync::Arc;

use serde_json::{Value, json};
use zonefall_core::gardener::record::GardenerRecord;
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::record::{KubeRecord, NodeFact, PodFact, ServerFact};
use zonefall_core::observe::describe::RecordDescriber;
use zonefall_core::observe::kube::objects::ObjectReports;
use zonefall_core::record::{EtcdRecord, Record};
use zonefall_core::run::Run;
use zonefall_core::scenario::Scenario;
use zonefall_core::scenario::units::Span;
use zonefall_core::sim::{Options, Stepping};

/// Kinds of records that `until` prints. `readiness` is a part of `pods`, `conditions` and `taints` are of `nodes`, `connections` (to
/// etcd, for pods) of `servers`, `members` of `etcd`.
const KINDS: [&str; 22] = [
    "pods",
    "rollouts",
    "endpoints",
    "readiness",
    "nodes",
    "conditions",
    "taints",
    "zones",
    "machines",
    "servers",
    "connections",
    "stalls",
    "api",
    "leases",
    "hints",
    "groups",
    "outages",
    "druid",
    "shoots",
    "etcd",
    "members",
    "power",
];

/// A story's scenario, and its run from the first `until` on.
pub(crate) struct World {
    stepping: Stepping,
    scenario: Value,
    run: Option<(Run, RecordDescriber)>,
}

impl World {
    /// No cluster yet.
    pub(crate) const fn new(stepping: Stepping) -> Self {
        Self { stepping, scenario: Value::Null, run: None }
    }

    /// What a command prints.
    pub(crate) fn run(&mut self, command: &str) -> Result<Vec<String>, String> {
        let (words, json) = command.split_at(command.find('{').unwrap_or(command.len()));
        let json = if json.is_empty() { json!({}) } else { serde_json::from_str(json).map_err(|error| error.to_string())? };
        let words: Vec<&str> = words.split_whitespace().collect();
        match words[..] {
            ["until", time, ref kinds @ ..] => return self.until(time, kinds),
            ["get", kind] => return self.get(kind, ""),
            ["get", kind, word] => return self.get(kind, word),
            ["cluster", name, ref nodes @ ..] => {
                *self = Self { scenario: scenario(), ..Self::new(self.stepping) };
                self.site("clusters", name, nodes, json);
            }
            ["seed", name, ref nodes @ ..] => {
                if self.run.is_some() || self.scenario.is_null() {
                    *self = Self { scenario: scenario(), ..Self::new(self.stepping) };
                }
                self.site("seeds", name, nodes, json);
            }
            [list @ ("components" | "workload" | "service" | "shoot" | "fault" | "operation"), ..] if self.run.is_some() => {
                return Err(format!("expected {list} before `until`, found it after the run began"));
            }
            ["components", ref more @ ..] => {
                let all = ["kube_controller_manager", "kube_scheduler"].iter().chain(more);
                let cluster = self.scenario.pointer_mut("/clusters/0").ok_or("expected a cluster before it")?;
                cluster["components"] = all.copied().collect();
            }
            [list @ ("workload" | "service" | "shoot" | "fault" | "operation")] => {
                let workloads =
                    if self.scenario["clusters"].is_array() { "/clusters/0/workloads" } else { "/seeds/0/system/components" };
                let path = match list {
                    "workload" => workloads,
                    "service" => "/clusters/0/services",
                    "shoot" => "/shoots",
                    "fault" => "/faults",
                    _ => "/operations",
                };
                let list = self.scenario.pointer_mut(path).and_then(Value::as_array_mut);
                list.ok_or("expected a cluster or a seed before it")?.push(json);
            }
            _ => return Err("no such command".to_owned()),
        }
        Ok(Vec::new())
    }

    /// Adds a cluster or a seed.
    fn site(&mut self, list: &str, name: &str, nodes: &[&str], more: Value) {
        let zone = |node: &str| format!("z{}", &node[..1]);
        let node = |name: &&str| json!({"name": name, "pool": "pool", "zone": zone(name)});
        let mut zones: Vec<String> = nodes.iter().map(|node| zone(node)).collect();
        zones.dedup();
        // Each zone has its share of the maximum, and may have more nodes than others. (The autoscaler of a seed would use that.)
        let maximum = if list == "seeds" { nodes.len() } else { nodes.len() * zones.len() };
        let mut site = json!({
            "name": name, "zones": zones, "control_plane": {"zones": ["cp"]},
            "pools": [{"name": "pool", "minimum": nodes.len(), "maximum": maximum}],
            "nodes": nodes.iter().map(node).collect::<Vec<_>>(),
        });
        if list == "seeds" {
            merge(&mut site, json!({"allow_even_zones": true, "system": {"only_listed": true, "components": []}}));
        } else {
            merge(&mut site, json!({"control_plane_nodes": false, "workloads": [], "services": []}));
        }
        merge(&mut site, more);
        match &mut self.scenario[list] {
            Value::Array(sites) => sites.push(site),
            none => *none = json!([site]),
        }
    }

    /// Runs on; the records of these kinds, a word each or a word and what they contain.
    fn until(&mut self, time: &str, kinds: &[&str]) -> Result<Vec<String>, String> {
        let end = time.parse().map_err(|_| format!("expected a time such as 10m, found {time}"));
        let end = end.map(|Span(span)| Time::ZERO + span)?;
        let wanted: Vec<(&str, &str)> = kinds.iter().map(|kind| kind.split_once('/').unwrap_or((kind, ""))).collect();
        if let Some((kind, _)) = wanted.iter().find(|(kind, _)| !KINDS.contains(kind)) {
            return Err(format!("expected a kind of records ({}), found {kind}", KINDS.join(", ")));
        }
        if self.run.is_none() {
            let scenario = Scenario::from_json(&self.scenario.to_string()).map_err(|errors| errors.to_string())?;
            let scenario = Arc::new(scenario);
            let options = Options { stepping: self.stepping, raft_records: true, ..Options::default() };
            self.run = Some((Run::new(&scenario, scenario.seed, options), RecordDescriber::new(&scenario)));
        }
        let (run, describer) = self.run.as_mut().expect("it has begun");
        let now = run.simulation().now();
        if end <= now {
            return Err(format!("expected a time after {}, found {time}", clock(now)));
        }
        let first = run.simulation().scenario().kube.clusters.first().map(|cluster| format!("{}: ", cluster.name));
        let (mut printed, mut found) = (Vec::new(), vec![false; wanted.len()]);
        run.advance(end, &mut |at, record| {
            let text = describer.describe(at, record);
            let own = first.as_ref().and_then(|first| text.strip_prefix(first)).unwrap_or(&text);
            let kinds = kinds_of(record);
            let mut shown = kinds.is_none();
            for ((kind, word), found) in wanted.iter().zip(&mut found) {
                if kinds.is_some_and(|kinds| kinds.contains(kind)) && text.contains(word) {
                    (shown, *found) = (true, true);
                }
            }
            if shown {
                printed.push(format!("  {:>9}  {own}", clock(at)));
            }
        });
        if let Some(violation) = run.violations().first() {
            return Err(format!("an invariant is broken: {violation:?}"));
        }
        if let Some(((kind, word), _)) = wanted.iter().zip(found).find(|((_, word), found)| !word.is_empty() && !found) {
            return Err(format!("expected records of {kind} with the word {word}, found none"));
        }
        if printed.is_empty() && !kinds.is_empty() {
            printed.push("  (nothing)".to_owned());
        }
        Ok(printed)
    }

    /// A table of objects, those of which a cell contains the word.
    fn get(&self, kind: &str, word: &str) -> Result<Vec<String>, String> {
        let (run, _) = self.run.as_ref().ok_or("expected `until` before it")?;
        let simulation = run.simulation();
        let all = ObjectReports::new(simulation.kube_clusters(), simulation.now(), simulation.scenario());
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "<none>".to_owned());
        let mut rows: Vec<Vec<String>> = match kind {
            "pods" => {
                let row = |pod: zonefall_core::report::PodReport| {
                    let ready = if pod.ready { "1/1" } else { "0/1" }.to_owned();
                    vec![pod.name, ready, format!("{:?}", pod.phase), or_none(pod.node)]
                };
                all.pods.into_iter().map(row).collect()
            }
            "nodes" => {
                let row = |node: zonefall_core::report::NodeReport| {
                    let taints = Some(node.taints.join(",")).filter(|taints| !taints.is_empty());
                    vec![node.name, node.ready, node.zone, or_none(taints)]
                };
                all.nodes.into_iter().map(row).collect()
            }
            "machines" => {
                all.machines.into_iter().map(|machine| vec![machine.name, machine.phase, or_none(machine.node)]).collect()
            }
            _ => return Err(format!("expected pods, nodes or machines, found {kind}")),
        };
        rows.retain(|row| row.iter().any(|cell| cell.contains(word)));
        rows.sort();
        let heading: &[&str] = match kind {
            "pods" => &["NAME", "READY", "STATUS", "NODE"],
            "nodes" => &["NAME", "READY", "ZONE", "TAINTS"],
            _ => &["NAME", "PHASE", "NODE"],
        };
        rows.insert(0, heading.iter().map(|&cell| cell.to_owned()).collect());
        Ok(aligned(&rows))
    }

    /// The controllers of all clusters, by their types' names.
    pub(crate) fn controllers(&self) -> std::collections::BTreeSet<String> {
        let clusters = self.run.iter().flat_map(|(run, _)| run.simulation().kube_clusters());
        let of = |cluster| {
            (0..=u8::MAX).filter_map(move |place| zonefall_core::kube::cluster::KubeCluster::controller(cluster, place))
        };
        let debug = clusters.flat_map(of).map(|controller| format!("{controller:?}"));
        debug.map(|text| text.split(' ').next().unwrap_or_default().to_owned()).collect()
    }
}

/// A scenario without clusters.
fn scenario() -> Value {
    json!({
        "name": "story", "duration": "12h",
        "topology": {"regions": [{"name": "region", "zones": ["za", "zb", "zc", "cp"]}]},
        "shoots": [], "faults": [], "operations": [],
    })
}

/// Replaces fields by those of `more`, those of objects one by one.
fn merge(value: &mut Value, more: Value) {
    match (value, more) {
        (Value::Object(fields), Value::Object(more)) => {
            more.into_iter().for_each(|(name, more)| merge(fields.entry(name).or_insert(Value::Null), more));
        }
        (value, more) => *value = more,
    }
}

/// The kinds of a record, a general one and a narrower one; `None`: it is printed always.
fn kinds_of(record: &Record) -> Option<[&'static str; 2]> {
    Some(match record {
        Record::FaultStarted(_)
        | Record::FaultEnded(_)
        | Record::Kube(_, KubeRecord::Operation(_) | KubeRecord::OperationRefused(_) | KubeRecord::ShiftExpired(_)) => {
            return None;
        }
        Record::NodePower { .. } => ["power"; 2],
        Record::Etcd(EtcdRecord::Membership { .. } | EtcdRecord::MemberMoved { .. }) => ["etcd", "members"],
        Record::Etcd(EtcdRecord::Raft(_)) => ["inside raft"; 2],
        Record::Etcd(_) | Record::Client(_) => ["etcd"; 2],
        Record::Kube(_, KubeRecord::Pod(_, PodFact::Ready(_))) => ["pods", "readiness"],
        Record::Kube(_, KubeRecord::Pod(..)) => ["pods"; 2],
        Record::Kube(_, KubeRecord::Node(_, NodeFact::Ready(_))) => ["nodes", "conditions"],
        Record::Kube(_, KubeRecord::Node(_, NodeFact::Unreachable(..))) => ["nodes", "taints"],
        Record::Kube(_, KubeRecord::Node(..)) => ["nodes"; 2],
        Record::Kube(_, KubeRecord::Zone(..) | KubeRecord::EvictionPaused(_)) => ["zones"; 2],
        Record::Kube(_, KubeRecord::Machine(..) | KubeRecord::MachineDeploymentScaled(..)) => ["machines"; 2],
        Record::Kube(_, KubeRecord::NodeGroup(..)) => ["groups"; 2],
        Record::Kube(_, KubeRecord::ApiServer(_, ServerFact::Etcd(_))) => ["servers", "connections"],
        Record::Kube(_, KubeRecord::ApiServer(_, ServerFact::Stalled(_))) => ["stalls"; 2],
        Record::Kube(_, KubeRecord::ApiServer(..)) => ["servers"; 2],
        Record::Kube(_, KubeRecord::ApiAvailability { .. } | KubeRecord::ApiShare { .. }) => ["api"; 2],
        Record::Kube(_, KubeRecord::ApiShareFrom { .. }) => ["vantages"; 2],
        Record::Kube(_, KubeRecord::ApiShareOf { .. }) => ["resources"; 2],
        Record::Kube(_, KubeRecord::Lease(..) | KubeRecord::ControllerActive(..)) => ["leases"; 2],
        Record::Kube(_, KubeRecord::Hints(..)) => ["hints"; 2],
        Record::Kube(_, KubeRecord::Endpoint { .. }) => ["endpoints"; 2],
        Record::Access(..) => ["access"; 2],
        Record::Rollout(..) => ["rollouts"; 2],
        Record::Gardener(_, GardenerRecord::ZoneOutage(..)) => ["outages"; 2],
        Record::Gardener(_, GardenerRecord::Druid(..)) => ["druid"; 2],
        Record::Gardener(_, GardenerRecord::Tolerance(..) | GardenerRecord::Migration(..)) => ["shoots"; 2],
    })
}

/// Minutes and seconds.
fn clock(at: Time) -> String {
    let ms = at.as_nanos() / 1_000_000;
    format!("{}:{:02}.{:03}", ms / 60_000, ms / 1_000 % 60, ms % 1_000)
}

fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("  {}", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
