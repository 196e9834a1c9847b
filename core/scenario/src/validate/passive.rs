//! Active-passive etcd clusters: two members, and none that the mode does not make what it is.

use super::Context;
use super::names::Names;
use crate::ids::ZoneId;
use crate::model::EtcdCluster;
use crate::passive::{ActivePassive, Backup, Switching};
use crate::raw::{RawCluster, RawHotStandby, RawMode, RawPerpetualLearner, RawScenario};

/// Makes a cluster what its mode says, its members known.
pub(super) fn mode(cx: &mut Context<'_>, c: usize, raw: &RawCluster, zones: &Names, cluster: &mut EtcdCluster) {
    let path = format!("etcd[{c}]");
    let (name, switching, backup) = match &raw.mode {
        RawMode::Quorum => return,
        RawMode::HotStandby(timers) => ("hot_standby", hot_standby(cx, &path, timers, zones), Some(backup(timers))),
        RawMode::Learner(timers) => ("learner", learner(cx, &path, timers, zones), None),
    };
    if raw.members.len() != 2 {
        let wanted = format!("two members (mode {name}): one that serves and one that stands by");
        cx.error(&format!("{path}.members"), format!("{} members", raw.members.len()), wanted);
    }
    for (m, member) in raw.members.iter().enumerate() {
        let path = format!("{path}.members[{m}]");
        if member.learner {
            cx.error(&format!("{path}.learner"), "true", format!("nothing: mode {name} says who has a vote"));
        }
        if member.behind.is_some() {
            cx.error(&format!("{path}.behind"), "an object", format!("nothing: mode {name} has one copy of each member's data"));
        }
    }
    if name == "learner" && cluster.options.max_learners == 0 {
        cx.error(&format!("{path}.options.max_learners"), "0", "at least 1: mode learner has one");
    }
    let primary = cluster.initial_leader.unwrap_or(0);
    for (index, member) in (0u8..).zip(&mut cluster.members) {
        member.learner = backup.is_none() && index != primary;
    }
    cluster.passive = Some(ActivePassive { primary, switching, backup });
}

fn hot_standby(cx: &mut Context<'_>, path: &str, raw: &RawHotStandby, zones: &Names) -> Switching {
    let controller_zone = controller(cx, &format!("{path}.mode.hot_standby"), raw.controller_zone.as_deref(), zones);
    Switching { controller_zone, check_period: raw.check_period.0, failures: raw.failures }
}

fn learner(cx: &mut Context<'_>, path: &str, raw: &RawPerpetualLearner, zones: &Names) -> Switching {
    let controller_zone = controller(cx, &format!("{path}.mode.learner"), raw.controller_zone.as_deref(), zones);
    Switching { controller_zone, check_period: raw.check_period.0, failures: raw.failures }
}

fn controller(cx: &mut Context<'_>, path: &str, name: Option<&str>, zones: &Names) -> Option<ZoneId> {
    zones.find(cx, &format!("{path}.controller_zone"), name?).map(|zone| ZoneId(zone as u16))
}

fn backup(raw: &RawHotStandby) -> Backup {
    Backup {
        delta_period: raw.delta_snapshot_period.0,
        full_period: raw.full_snapshot_period.0,
        poll_period: raw.poll_period.0,
        upload_bytes_per_s: raw.upload_bandwidth.bytes_per_s(),
        restore_bytes_per_s: raw.restore_bandwidth.bytes_per_s(),
    }
}

/// Members of an active-passive cluster come and go by its controller alone.
pub(super) fn no_operations(cx: &mut Context<'_>, raw: &RawScenario, o: usize, c: usize) -> bool {
    let passive = raw.etcd.get(c).is_some_and(|cluster| cluster.mode != RawMode::Quorum);
    if passive {
        let found = format!("a change of {}", raw.etcd[c].name);
        cx.error(&format!("operations[{o}]"), found, "none of a cluster whose mode is not quorum: its controller changes it");
    }
    passive
}
