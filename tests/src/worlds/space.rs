//! Quotas that a world's load may reach, and work of operators on databases, sensible and not.

use serde_json::{Value, json};

use super::dice::{Dice, ms};

/// Work at random times up to `until` ms, and (where the cluster has to work in the end) what makes room again before `calm`.
pub(super) fn operations(etcd: &str, members: &[String], until: u64, calm: Option<u64>, dice: &mut Dice) -> Vec<Value> {
    let of = |at: u64, mut operation: Value| {
        operation["at"] = json!(ms(at));
        operation["etcd"] = json!(etcd);
        operation
    };
    let defragment = |member: &String| json!({"defragment": member});
    let mut all = Vec::new();
    for _ in 0..dice.below(4) {
        let operation = match dice.below(4) {
            0 => json!({"compact": {}}),
            1 => json!({"disarm_alarm": {}}),
            _ if members.is_empty() => continue,
            _ => defragment(&members[dice.below(members.len() as u64) as usize]),
        };
        all.push(of(dice.below(until), operation));
    }
    if let Some(calm) = calm {
        all.push(of(calm - 2_000, json!({"compact": {}})));
        all.extend(members.iter().map(|member| of(calm - 1_500, defragment(member))));
        all.push(of(calm - 500, json!({"disarm_alarm": {}})));
    }
    all
}
