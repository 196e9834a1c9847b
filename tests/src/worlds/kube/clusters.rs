//! A cluster without Gardener in random worlds: its control plane on hosts, its nodes and workloads, and what happens to it.
//!
//! Its dice are its own, so that worlds without one stay what they are.

use serde_json::{Value, json};

use super::load::prices;
use super::seeds::{api_servers, etcd_options, timers};
use super::shoots::usage;
use super::{MINUTE, ZONES};
use crate::worlds::dice::{Dice, ms};

/// Its name.
const NAME: &str = "k";

/// A cluster without Gardener.
struct Cluster {
    zones: Vec<&'static str>,
    /// Hosts of its control plane.
    replicas: u64,
    /// Nodes in each zone at the start, `k-za1` and so on.
    per_zone: u64,
    /// Its machines are replaced.
    has_machines: bool,
    /// A member of etcd is removed, and another one added.
    changes_members: bool,
}

/// Gives some worlds a cluster: its entry in the file, faults and operations of its own.
pub(super) fn add(file: &mut Value, number: u64, length: u64) {
    let mut dice = Dice::new("kube-cluster", number);
    if !dice.percent(30) {
        return;
    }
    let replicas = [1, 3, 3, 3, 5][dice.below(5) as usize];
    let cluster = Cluster {
        zones: ZONES[..dice.between(1, 3) as usize].to_vec(),
        replicas,
        per_zone: dice.between(1, 2),
        has_machines: dice.percent(40),
        changes_members: replicas > 1 && dice.percent(40),
    };
    let nodes = cluster.nodes().len() as u64 + replicas;
    file["clusters"] = json!([cluster.file(&mut dice)]);
    if file.get("prices").is_none() && dice.percent(40) {
        file["prices"] = prices(&mut dice);
    }
    let append = |list: &mut Value, more: Vec<Value>| match list {
        Value::Array(list) => list.extend(more),
        list => *list = Value::Array(more),
    };
    append(&mut file["faults"], (0..dice.below(4)).map(|_| cluster.fault(length, &mut dice)).collect());
    append(&mut file["operations"], cluster.operations(length, &mut dice));
    let mut zone_aware = Dice::new("zone-aware", number);
    if zone_aware.percent(50) {
        let (fault, operations) = Cluster::add_zone_aware(&mut file["clusters"][0], length, &mut zone_aware);
        append(&mut file["faults"], fault.into_iter().collect());
        append(&mut file["operations"], operations);
    }
    add_autoscaler_options(&mut file["clusters"][0], nodes, &mut Dice::new("autoscaler-options", number));
    let mut dice = Dice::new("control-plane-hosts", number);
    if replicas > 1 && dice.percent(40) {
        let spare = dice.percent(50).then(|| json!({"name": format!("{NAME}-spare"), "zone": cluster.zones[0]}));
        append(&mut file["operations"], cluster.changes_of_hosts(length, spare.is_some(), &mut dice));
        append(&mut file["topology"]["nodes"], spare.into_iter().collect());
    }
}

impl Cluster {
    fn file(&self, dice: &mut Dice) -> Value {
        let zones = self.zones.len() as u64;
        let nodes = zones * self.per_zone;
        let mut components = vec!["kube_controller_manager", "kube_scheduler"];
        components.extend(self.has_machines.then_some("machine_controller_manager"));
        components.extend((self.has_machines && dice.percent(50)).then_some("cluster_autoscaler"));
        let mut file = json!({
            "name": NAME,
            "zones": self.zones,
            "control_plane": {"replicas": self.replicas, "options": etcd_options(dice)},
            "api_to_etcd": dice.pick(&["local", "local", "any"]),
            "components": components,
            "pools": [{"name": "cpu", "minimum": nodes, "maximum": nodes + zones * dice.below(3)}],
            "nodes": self.nodes().iter().map(|(name, zone)| json!({"name": name, "pool": "cpu", "zone": zone})).collect::<Vec<_>>(),
            "workloads": workloads(dice),
            "services": [{"name": "web", "pods": "app=web"}],
            "timers": timers(dice),
        });
        if dice.percent(40) {
            file["control_plane"]["machine"] = json!({"cpu": 4, "memory": "16GiB"});
        }
        if dice.percent(20) {
            file["api_servers"] = api_servers(dice);
        }
        if dice.percent(40) {
            file["budgets"] = json!([{"name": "web", "pods": "app=web", "max_unavailable": dice.between(1, 2)}]);
        }
        if dice.percent(60) {
            file["use"] = usage(dice);
            if dice.percent(70) {
                file["use"].as_object_mut().expect("fields").remove("nodes");
            }
        }
        if file["components"].as_array().is_some_and(|all| all.iter().any(|one| one == "cluster_autoscaler")) && dice.percent(70)
        {
            let options = json!({
                "sizing": dice.pick(&["static", "lax_greedy", "backward_compatible"]),
                "count": dice.pick(&["materialized", "targets", "live"]),
                "balance_similar_groups": dice.percent(70),
                "exhausted_at_once": dice.percent(70),
            });
            file["controllers"] = json!({"cluster_autoscaler": options});
        }
        file
    }

    /// The nodes of the start, with their zones.
    fn nodes(&self) -> Vec<(String, &'static str)> {
        let of_zone = |zone: &&'static str| (1..=self.per_zone).map(|k| (format!("{NAME}-{zone}{k}"), *zone)).collect::<Vec<_>>();
        self.zones.iter().flat_map(of_zone).collect()
    }

    /// A node of the start, or a host of the control plane, which is one, too.
    fn host(&self, dice: &mut Dice) -> String {
        let nodes = self.nodes();
        if dice.percent(50) {
            return format!("{NAME}-control-plane-{}", dice.below(self.replicas));
        }
        nodes[dice.below(nodes.len() as u64) as usize].0.clone()
    }

    fn fault(&self, length: u64, dice: &mut Dice) -> Value {
        let mut fault = match dice.below(7) {
            0 => json!({"kind": "zone_power", "zone": dice.pick(&self.zones)}),
            1 => json!({"kind": "zone_partition", "zone": dice.pick(&self.zones)}),
            2 | 3 => json!({"kind": "node_crash", "node": self.host(dice)}),
            4 => json!({"kind": "node_partition", "node": self.host(dice)}),
            5 => json!({"kind": "process_kill", "member": format!("{NAME}/etcd/etcd-0")}),
            _ => json!({"kind": "volume_lost", "volume": format!("{NAME}/etcd-0")}),
        };
        fault["at"] = json!(ms(dice.between(MINUTE, length - MINUTE)));
        fault["for"] = json!(ms(dice.ms(500, 20 * MINUTE)));
        fault
    }

    /// Drains, roll-outs, and a member of etcd that is replaced.
    fn operations(&self, length: u64, dice: &mut Dice) -> Vec<Value> {
        let mut operations = Vec::new();
        for _ in 0..dice.below(3) {
            let mut operation = match dice.below(4) {
                3 => {
                    json!({"scale_workload": {"cluster": NAME, "workload": dice.pick(&["web", "db"]), "replicas": dice.below(12)}})
                }
                0 => json!({"roll_component": {"cluster": NAME, "component": dice.pick(&["web", "db"])}}),
                1 if self.has_machines => json!({"roll_pool": {"cluster": NAME, "pool": "cpu"}}),
                _ => json!({"drain_node": {"cluster": NAME, "node": self.host(dice)}}),
            };
            operation["at"] = json!(ms(dice.between(MINUTE, length - MINUTE)));
            operations.push(operation);
        }
        if self.changes_members {
            let at = dice.between(MINUTE, length / 2);
            let last = self.replicas - 1;
            let added = json!({"name": format!("etcd-{last}"), "node": format!("{NAME}-control-plane-{last}")});
            let changes = [("remove_member", json!(format!("etcd-{last}"))), ("add_member", added)];
            for (k, (change, what)) in (0..).zip(changes) {
                operations.push(json!({"at": ms(at + k * 2 * MINUTE), "etcd": format!("{NAME}/etcd"), change: what}));
            }
        }
        operations
    }

    /// A StatefulSet that is rolled out zone after zone, perhaps with a budget by zone; its rollouts, and a cache that is stale.
    fn add_zone_aware(file: &mut Value, length: u64, dice: &mut Dice) -> (Option<Value>, Vec<Value>) {
        let revision = |dice: &mut Dice| match dice.below(4) {
            0 => json!({"never_ready": true}),
            1 => json!({"crashes_after": ms(dice.ms(1_000, 3 * MINUTE))}),
            _ => json!({}),
        };
        let set = json!({
            "name": "cells", "kind": "stateful_set", "replicas": dice.between(1, 8), "parallel": dice.percent(60), "cpu": 0.1,
            "memory": "64MiB", "update": {"on_delete": true}, "revisions": [revision(dice), revision(dice)],
        });
        file["workloads"].as_array_mut().expect("workloads").push(set);
        let most = |dice: &mut Dice| {
            if dice.percent(50) { json!(dice.between(1, 4)) } else { json!(format!("{}%", dice.between(1, 60))) }
        };
        file["zone_aware_updates"] = json!([{
            "workload": "cells", "max_unavailable": most(dice), "exponential_factor": dice.below(4), "rollback": dice.pick(&["code", "readme"]),
        }]);
        if dice.percent(60) {
            let zdb = dice.pick(&["code", "strict"]);
            file["zone_disruption_budgets"] =
                json!([{"name": "cells", "pods": "app=cells", "max_unavailable": most(dice), "zdb": zdb}]);
        }
        let when = |dice: &mut Dice| dice.between(MINUTE, length - MINUTE);
        let stale = dice
            .percent(50)
            .then(|| json!({"at": ms(when(dice)), "for": ms(dice.ms(500, 10 * MINUTE)), "kind": "stale_cache", "cluster": NAME}));
        let mut rollout = |kind: &str| json!({"at": ms(when(dice)), kind: {"cluster": NAME, "component": "cells"}});
        (stale, vec![rollout("roll_component"), rollout("roll_component"), rollout("roll_back_component")])
    }

    /// A host leaves the control plane and returns, perhaps before its API server has exited; another one may join.
    fn changes_of_hosts(&self, length: u64, has_spare: bool, dice: &mut Dice) -> Vec<Value> {
        let host = format!("{NAME}-control-plane-{}", dice.below(self.replicas));
        let at = dice.between(MINUTE, length / 2);
        let returns = at + dice.ms(500, 10 * MINUTE);
        let mut changes = vec![("remove_control_plane_node", at, host.clone()), ("add_control_plane_node", returns, host)];
        if has_spare {
            changes.push(("add_control_plane_node", dice.between(MINUTE, length / 2), format!("{NAME}-spare")));
        }
        let of = |(kind, at, node): (&str, u64, String)| json!({"at": ms(at), kind: {"cluster": NAME, "node": node}});
        changes.into_iter().map(of).collect()
    }
}

/// How an autoscaler that has options chooses groups, what the cluster may have in all, and which nodes it deletes.
fn add_autoscaler_options(file: &mut Value, nodes: u64, dice: &mut Dice) {
    let (chain, priorities) = match dice.below(6) {
        0 => (json!(["random"]), None),
        1 => (json!(["most_pods", "least_nodes"]), None),
        2 => (
            json!(["priority", "least_waste"]),
            Some(json!([{"priority": 1, "groups": ["."]}, {"priority": 2, "groups": ["-z[12]$"]}])),
        ),
        _ => (json!(["least_waste"]), None),
    };
    let total = if dice.percent(30) { nodes + dice.below(4) } else { 0 };
    let cores = nodes * 8 + dice.between(1, 60);
    let (caps_cores, deletes) = (dice.percent(20), dice.percent(50));
    let scale_down = json!({
        "unneeded_time": "2m",
        "delay_after_add": "2m",
        "max_drain_parallelism": dice.between(1, 2),
        "skip_nodes_with_local_storage": dice.percent(50),
        "skip_nodes_with_system_pods": dice.percent(50),
    });
    let pods = json!({
        "local_storage": dice.percent(50),
        "kube_system": dice.percent(50),
        "owner": dice.pick(&["kubernetes", "kubernetes", "custom", "none"]),
    });
    let marks_pods = dice.percent(50);
    let Some(options) = file.pointer_mut("/controllers/cluster_autoscaler").and_then(Value::as_object_mut) else { return };
    options.insert("expander".to_owned(), chain);
    options.extend(priorities.map(|priorities| ("priorities".to_owned(), priorities)));
    options.insert("max_nodes_total".to_owned(), json!(total));
    options.extend(caps_cores.then(|| ("cores_total".to_owned(), json!(cores))));
    if deletes {
        options.insert("scale_down".to_owned(), scale_down);
        if marks_pods {
            file["workloads"][0]["drainability"] = pods;
        }
    }
}

/// Pods that stand for each other, pods with volumes, and some on each node.
fn workloads(dice: &mut Dice) -> Value {
    let spread = json!([{"over": dice.pick(&["zone", "host"]), "max_skew": 1, "hard": dice.percent(50)}]);
    let mut all = vec![
        json!({"name": "web", "kind": "deployment", "replicas": dice.between(1, 8), "cpu": dice.between(1, 3), "spread": spread}),
        json!({
            "name": "db", "kind": "stateful_set", "replicas": dice.between(1, 3), "volume": dice.pick(&["zonal", "regional"]),
            "max_unavailable": dice.below(2),
        }),
    ];
    if dice.percent(50) {
        all.push(json!({"name": "agents", "kind": "daemon_set", "cpu": 0.1}));
    }
    for workload in &mut all {
        if dice.percent(40) {
            workload["tolerates"] = json!(["node-role.kubernetes.io/control-plane"]);
        }
    }
    json!(all)
}
