//! Network cards in random worlds: some machines have slow ones, for which messages wait.

use serde_json::{Value, json};

use super::dice::Dice;

/// In one world of three, gives some nodes and pools a network card that is named. (Draws of its own: other things stay as they were.)
pub(super) fn add(file: &mut Value, number: u64) {
    let mut dice = Dice::new("cards", number);
    if !dice.percent(33) {
        return;
    }
    let mut card = |machine: &mut Value| {
        if dice.percent(50) {
            machine["network_bandwidth"] = json!(dice.pick(&["4MB/s", "40MB/s", "1Gbit/s", "25Gbit/s"]));
        }
    };
    file.pointer_mut("/topology/nodes").and_then(Value::as_array_mut).into_iter().flatten().for_each(&mut card);
    for clusters in ["seeds", "clusters"] {
        for cluster in file.get_mut(clusters).and_then(Value::as_array_mut).into_iter().flatten() {
            for pool in cluster["pools"].as_array_mut().into_iter().flatten() {
                card(pool.as_object_mut().expect("a pool").entry("machine").or_insert_with(|| json!({})));
            }
            let host = cluster.get_mut("control_plane").and_then(|hosts| hosts.get_mut("machine"));
            host.filter(|machine| machine.is_object()).into_iter().for_each(&mut card);
        }
    }
}
