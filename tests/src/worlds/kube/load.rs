//! The rest of a random world: clients of etcd, kind of traffic, prices, the cloud's stock and the probe.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{MINUTE, Plan};
use crate::worlds::dice::{Dice, ms};

/// Longest run that is simulated request by request, in milliseconds.
const REQUESTS_AT_MOST: u64 = 35 * MINUTE;

impl Plan {
    /// Fields of the scenario file.
    pub(super) fn load(&self, dice: &mut Dice) -> Value {
        let mut file = json!({"clients": self.clients(dice)});
        if self.length <= REQUESTS_AT_MOST && dice.percent(25) {
            file["traffic"] = json!("requests");
        }
        let typed = self.seeds.iter().filter(|seed| seed.typed);
        let zones: BTreeSet<&str> = typed.flat_map(|seed| seed.zones.iter().copied()).collect();
        let stock = |zone| json!({"machine": "worker", "zone": zone, "count": dice.below(4)});
        file["cloud"] = json!({"stock": zones.into_iter().map(stock).collect::<Vec<_>>()});
        if dice.percent(25) {
            file["prices"] = prices(dice);
        }
        if dice.percent(15) {
            file["probe"] = json!({"from": dice.pick(&self.zones()), "deadline": ms(dice.between(200, 10_000))});
        }
        file
    }

    /// Clients of etcd clusters, including those of control planes.
    fn clients(&self, dice: &mut Dice) -> Value {
        let mut clusters: Vec<String> =
            self.hosted().into_iter().map(|(name, _)| format!("shoot--garden--{name}/etcd-main")).collect();
        clusters.extend(self.plain.then(|| "plain".to_owned()));
        let mut clients = Vec::new();
        for (k, cluster) in clusters.iter().enumerate() {
            if !dice.percent(if cluster == "plain" { 80 } else { 15 }) {
                continue;
            }
            let mut client = json!({
                "name": format!("c{k}"), "etcd": cluster, "zone": dice.pick(&self.zones()),
                "target": dice.pick(&["leader", "follower", "nearest", "all"]), "timeout": ms(dice.between(500, 7_000)),
                "retries": dice.below(4), "start": ms(dice.below(self.length)), "op": dice.pick(&["put", "txn", "range", "watch"]),
            });
            if client["op"] != "watch" {
                client["rate"] = json!(dice.pick(&["6/min", "0.3/s", "1/s", "2/s"]));
                client["arrivals"] = json!(dice.pick(&["even", "poisson"]));
            }
            clients.push(client);
        }
        json!(clients)
    }
}

pub(super) fn prices(dice: &mut Dice) -> Value {
    let mut books = vec!["aws-eu-west-1"];
    books.extend(dice.percent(50).then_some("gcp-europe-west1"));
    books.extend(dice.percent(50).then_some("azure-westeurope"));
    let mut prices = json!({"books": books, "machine": "8cpu-32gib"});
    if dice.percent(30) {
        prices["custom"] = json!([{
            "provider": "aws", "kind": "cross_zone_out", "usd": 0.02, "unit": "GB", "date": "2026-01", "source": "made up",
        }]);
    }
    prices
}
