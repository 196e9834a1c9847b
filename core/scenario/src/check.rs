//! Whether a fault that no file was validated for can be: what a user does to a running world comes as ids and numbers.

use crate::ids::{EtcdId, MemberId, NodeId, VolumeId, ZoneId};
use crate::{CloudAnswer, Fault, FaultTarget, LinkChange, Scenario};
use zonefall_kernel::time::Duration;

/// As `delay` of a `link_degraded`.
const MOST_DELAY: Duration = Duration::from_secs(60);
/// As `add` of a `disk_slow`.
const MOST_ADDED: Duration = Duration::from_secs(3_600);
/// As `factor` of a `disk_slow`.
const LARGEST_FACTOR: f64 = 1e6;

impl Fault {
    /// Checks the fault against a scenario by the rules that a file's faults obey.
    ///
    /// # Errors
    /// What is wrong, in plain words.
    pub fn check(&self, scenario: &Scenario) -> Result<(), String> {
        let node = |id: NodeId| has("node", id.0.into(), scenario.nodes.len());
        let zone = |id: ZoneId| has("zone", id.0.into(), scenario.zones.len());
        let volume = |id: VolumeId| has("volume", id.0.into(), scenario.volumes.len());
        let cluster = |id: EtcdId| has("etcd cluster", id.0.into(), scenario.etcd.len());
        let member = |id: MemberId| {
            cluster(id.cluster)?;
            has("member", id.index.into(), scenario.etcd[id.cluster.0 as usize].members.len())
        };
        match *self {
            Self::NodeCrash(target) | Self::NodePartition { node: target, .. } => check_target(target, node, cluster),
            Self::ProcessKill(target) | Self::GracefulStop(target) => check_target(target, member, cluster),
            Self::ZonePower(target) | Self::ZonePartition { zone: target, .. } => check_target(target, zone, cluster),
            Self::LinkDegraded { a, b, change } => {
                zone(a)?;
                zone(b)?;
                check_change(change)
            }
            Self::DiskSlow { volume: target, add, factor } => {
                check_target(target, volume, cluster)?;
                if !(1.0..=LARGEST_FACTOR).contains(&factor) {
                    return Err(format!("a disk can be slower by a factor of 1 to 1e6, not {factor}"));
                }
                if add > MOST_ADDED {
                    return Err(format!("an fsync can take up to {MOST_ADDED} more, not {add}"));
                }
                if add == Duration::ZERO && factor <= 1.0 {
                    return Err("a slow disk needs added time or a factor".to_owned());
                }
                Ok(())
            }
            Self::VolumeLost(target) => check_target(target, volume, cluster),
            Self::CloudApi { zone: where_, create, delete, attach } => {
                where_.map_or(Ok(()), zone)?;
                if [delete, attach].contains(&Some(CloudAnswer::OutOfStock)) {
                    return Err("a cloud can be out of stock only of what it is to create".to_owned());
                }
                if (create, delete, attach) == (None, None, None) {
                    return Err("a cloud's API that does all it is asked for is no fault".to_owned());
                }
                Ok(())
            }
        }
    }
}

fn has(what: &str, id: usize, count: usize) -> Result<(), String> {
    if id < count { Ok(()) } else { Err(format!("the scenario has no {what} {id}: it has {count}, numbered from 0")) }
}

fn check_target<T: Copy>(
    target: FaultTarget<T>,
    named: impl Fn(T) -> Result<(), String>,
    of_leader: impl Fn(EtcdId) -> Result<(), String>,
) -> Result<(), String> {
    match target {
        FaultTarget::Named(target) => named(target),
        FaultTarget::OfLeader(cluster) => of_leader(cluster),
    }
}

fn check_change(change: LinkChange) -> Result<(), String> {
    if !(0.0..1.0).contains(&change.loss) {
        return Err(format!("a link can lose from 0 to less than 1 of its packets, not {}: to lose all, cut it", change.loss));
    }
    if change.delay > MOST_DELAY {
        return Err(format!("a link can get up to {MOST_DELAY} more delay, not {}", change.delay));
    }
    if change.bytes_per_s == Some(0) {
        return Err("a link carries at least 1 B/s: to stop it, cut it".to_owned());
    }
    if change.delay == Duration::ZERO && change.loss <= 0.0 && change.bytes_per_s.is_none() {
        return Err("a worse link needs delay, loss or less bandwidth".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::default_scenario;

    #[test]
    fn what_no_scenario_could_hold_is_refused() {
        let scenario = Scenario::from_json(default_scenario().json).expect("bundled scenarios are valid");
        let change = |delay, loss, bytes_per_s| LinkChange { delay, loss, bytes_per_s };
        let link = |change| Fault::LinkDegraded { a: ZoneId(0), b: ZoneId(1), change };
        let slow = |add, factor| Fault::DiskSlow { volume: FaultTarget::Named(VolumeId(0)), add, factor };
        let member = |cluster, index| Fault::ProcessKill(FaultTarget::Named(MemberId { cluster: EtcdId(cluster), index }));
        let zero = Duration::ZERO;
        let cloud = |zone, create, delete| Fault::CloudApi { zone, create, delete, attach: None };
        let refused = Some(CloudAnswer::Refused);
        for (fault, expected) in [
            (Fault::ZonePower(FaultTarget::Named(ZoneId(2))), None),
            (Fault::ZonePower(FaultTarget::Named(ZoneId(3))), Some("no zone 3")),
            (Fault::NodeCrash(FaultTarget::OfLeader(EtcdId(0))), None),
            (Fault::NodeCrash(FaultTarget::OfLeader(EtcdId(9))), Some("no etcd cluster 9")),
            (Fault::VolumeLost(FaultTarget::Named(VolumeId(77))), Some("no volume 77")),
            (member(0, 2), None),
            (member(0, 200), Some("no member 200")),
            (member(8, 0), Some("no etcd cluster 8")),
            (link(change(zero, 0.5, None)), None),
            (link(change(zero, f64::NAN, None)), Some("NaN")),
            (link(change(zero, 1.0, None)), Some("cut it")),
            (link(change(Duration::MAX, 0.0, None)), Some("more delay")),
            (link(change(zero, 0.0, Some(0))), Some("1 B/s")),
            (link(change(zero, 0.0, None)), Some("a worse link needs")),
            (slow(zero, 3.0), None),
            (slow(zero, f64::INFINITY), Some("inf")),
            (slow(zero, 1.0), Some("a slow disk needs")),
            (slow(Duration::MAX, 1.0), Some("up to 1h more")),
            (cloud(Some(ZoneId(2)), Some(CloudAnswer::OutOfStock), refused), None),
            (cloud(Some(ZoneId(3)), None, refused), Some("no zone 3")),
            (cloud(None, None, Some(CloudAnswer::OutOfStock)), Some("out of stock only")),
            (cloud(None, None, None), Some("is no fault")),
        ] {
            match (fault.check(&scenario), expected) {
                (Ok(()), None) => {}
                (Err(found), Some(expected)) => assert!(found.contains(expected), "{fault:?}: {found}"),
                (found, _) => panic!("{fault:?}: {found:?}"),
            }
        }
    }
}
