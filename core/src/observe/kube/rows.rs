//! Recoveries as rows of a report, each wait with what it waited for.

use super::apis::Apis;
use super::recovery::{LossReason, Row, Step};
use crate::kernel::time::{Duration, Time};
use crate::kube::describe::node_name;
use crate::kube::name::PodTag;
use crate::kube::record::Loss;
use crate::kube::spec::{Component, Timers};
use crate::report::{RecoveryReport, WaitReport, length, seconds};
use crate::scenario::Scenario;
use crate::scenario::text;

/// A recovery as it stands `now`.
pub(super) fn recovery(row: &Row, now: Time, apis: &Apis, scenario: &Scenario) -> RecoveryReport {
    let cluster = &scenario.kube.clusters[row.cluster];
    let workload = &cluster.workloads[row.pod.workload];
    let at = |step| row.at(step).map(seconds);
    let ready = row.at(Step::Ready);
    RecoveryReport {
        cluster: cluster.name.clone(),
        namespace: scenario.kube.word(workload.namespace).to_owned(),
        component: workload.name.clone(),
        pod: row.pod.text(cluster),
        node: node_name(row.node, cluster, scenario),
        why: why_words(row.why).to_owned(),
        eviction_refused_s: row.eviction_refused.map(length),
        replacement: row.replacement.map(|pod| pod.text(cluster)),
        lost_s: seconds(row.lost),
        detected_s: at(Step::Detected),
        evicted_s: at(Step::Evicted),
        removed_s: at(Step::Removed),
        created_s: at(Step::Created),
        scheduled_s: at(Step::Scheduled),
        attached_s: at(Step::Attached),
        started_s: at(Step::Started),
        ready_s: at(Step::Ready),
        duration_s: length(ready.unwrap_or(now).since(row.lost)),
        completed: ready.is_some(),
        waits: waits(row, now, apis, &cluster.timers),
    }
}

const fn why_words(why: LossReason) -> &'static str {
    match why {
        LossReason::Node(Loss::Power) => "no power",
        LossReason::Node(Loss::Network) => "cut off",
        LossReason::Requested => "deleted",
        LossReason::DrainTimedOut => "drain timed out",
    }
}

/// The steps that a recovery is made of: those taken, and the next one where it is not over.
fn waits(row: &Row, now: Time, apis: &Apis, timers: &Timers) -> Vec<WaitReport> {
    let stateful = matches!(row.pod.tag, PodTag::Ordinal(_));
    // What replaces a pod of a Deployment does not wait until it is gone.
    let counts = |step: Step| stateful || step != Step::Removed;
    let mut waits = Vec::new();
    let mut from = row.lost;
    let taken = |step: &Step| row.at(*step).filter(|_| counts(*step));
    for step in Step::ALL {
        let Some(at) = taken(&step) else { continue };
        if at > from {
            waits.push(wait(row, step, [from, at], true, apis, timers));
            from = at;
        }
    }
    if row.at(Step::Ready).is_none() {
        let last = Step::ALL.into_iter().rev().find(|step| taken(step).is_some());
        let mut next = Step::ALL.into_iter().filter(|step| counts(*step) && Some(*step) > last);
        if let Some(step) = next.next() {
            waits.push(wait(row, step, [from, now], false, apis, timers));
        }
    }
    waits
}

fn wait(row: &Row, step: Step, [from, to]: [Time; 2], over: bool, apis: &Apis, timers: &Timers) -> WaitReport {
    let lease = || format!("{} without a heartbeat of its node", text::duration(timers.monitor_grace));
    let node = || {
        row.refused.map_or_else(|| "the scheduler to bind it".to_owned(), |why| format!("a suitable node: {}", why.describe()))
    };
    let (until, waits_for, who) = match step {
        Step::Detected => ("detected", lease(), Some(Component::ControllerManager)),
        Step::Evicted => (
            "evicted",
            "the end of its toleration of an unreachable node, and the eviction rate limit of its zone".to_owned(),
            Some(Component::ControllerManager),
        ),
        Step::Removed => {
            ("removed", "its kubelet, or the controllers that delete stale pods".to_owned(), Some(Component::Gardenlet))
        }
        Step::Created => ("created", "its controller to create a replacement".to_owned(), Some(Component::ControllerManager)),
        Step::Scheduled => ("scheduled", node(), Some(Component::Scheduler)),
        Step::Attached => ("attached", "its volume to be attached".to_owned(), Some(Component::ControllerManager)),
        Step::Started => ("started", "its image to be pulled and its process to start".to_owned(), None),
        Step::Ready => ("ready", "its process to be ready".to_owned(), None),
    };
    let idle = who.map(|who| (who, apis.idle(row.cluster, who, from, to))).filter(|(_, idle)| *idle > Duration::ZERO);
    let late = idle.map(|(who, idle)| format!("; for {} {} was inactive", text::duration(idle), who.name()));
    let waits_for = waits_for + &late.unwrap_or_default();
    WaitReport { until: until.to_owned(), from_s: seconds(from), to_s: seconds(to), completed: over, waits_for }
}
