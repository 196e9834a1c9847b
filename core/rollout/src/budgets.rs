//! `ZoneDisruptionBudget`: the controller that keeps its status (`controllers/zdb_controller.go`), and the webhook that admits evictions by it
//! (`webhooks/eviction_webhook.go`).
//!
//! The webhook is asked before any PodDisruptionBudget is. What it has admitted is recorded even if one of these refuses the eviction then:
//! for 2 min, or until the pod goes.

use std::collections::BTreeMap;

use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Timer;
use zonefall_kube::controller::disruption::health;
use zonefall_kube::controller::{Controller, Due, State};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::name::{PodName, PodTag};
use zonefall_kube::rule::budget::Health;
use zonefall_kube::spec::zone_aware::{ZoneBudget, ZoneBudgetAdmission};
use zonefall_kube::spec::{Component, KubeClusterSpec};
use zonefall_kube::store::{BudgetKey, BudgetView, Change, EvictionWebhook, Store};
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::{PodId, WorkloadId};

use crate::rule::zone_disruption_budget::{Admission, Budget, Disruption, Pod, Request, Status, admit, admit_strict};
use crate::updates::workload_of;
use crate::zones::{PodZones, ZonePlace};

/// The shortest time: records are counted to their time-out, and no more after it.
const INSTANT: Duration = Duration::from_nanos(1);

/// The webhook, with the budgets as the API has them.
#[derive(Clone, Debug)]
pub struct Webhook {
    zones: PodZones,
    /// Where pods of StatefulSets were last ready.
    ready_in: BTreeMap<PodName, ZonePlace>,
    budgets: Vec<Selected>,
}

/// A budget, with the workloads whose pods it selects.
#[derive(Clone, Debug)]
struct Selected {
    workloads: Vec<WorkloadId>,
    status: Status<ZonePlace, PodName>,
}

impl Webhook {
    fn new(ctx: &ClusterCtx<'_>) -> Self {
        let selected = |budget: &ZoneBudget| {
            let all = ctx.spec.workloads.iter_enumerated().filter(|(_, workload)| budget.pods.selects(workload));
            Selected { workloads: all.map(|(id, _)| id).collect(), status: Status::new() }
        };
        let budgets = ctx.spec.zone_aware.budgets.iter().map(selected).collect();
        Self { zones: PodZones::new(ctx.scenario), ready_in: BTreeMap::new(), budgets }
    }

    /// Pods of a budget, and how many are wanted by the StatefulSets that own some of them.
    fn pods(&mut self, k: usize, store: &Store, now: Time) -> (Vec<Pod<ZonePlace, PodName>>, u32) {
        let (mut pods, mut wanted) = (Vec::new(), 0);
        for workload in &self.budgets[k].workloads {
            let before = pods.len();
            for (_, pod) in store.pods_of(*workload) {
                let zone = self.zones.of_pod(pod, store, now);
                let is_ready = pod.started && pod.ready;
                if let (true, PodTag::Ordinal(_), Some(zone)) = (is_ready && !pod.terminating, pod.name.tag, zone) {
                    self.ready_in.insert(pod.name, zone);
                }
                pods.push(Pod { name: pod.name, zone, is_ready, is_terminating: pod.terminating });
            }
            wanted += if pods.len() > before { store.desired(*workload) } else { 0 };
        }
        (pods, wanted)
    }

    /// The controller brings the status of a budget up to date; when it has to look again at the latest.
    fn renew(&mut self, k: usize, store: &Store, ctx: &ClusterCtx<'_>) -> Option<Time> {
        let (pods, wanted) = self.pods(k, store, ctx.now);
        let max_unavailable = ctx.spec.zone_aware.budgets[k].max_unavailable;
        let status = self.budgets[k].status.renewed(max_unavailable, wanted, &pods, ctx.now);
        let again = status.records.first_timeout().map(|at| at + INSTANT);
        self.budgets[k].status = status;
        again
    }

    /// As the program does. The controller hears of a status that is written.
    fn admits(&mut self, k: usize, pod: &zonefall_kube::store::Pod, store: &Store, ctx: &mut ClusterCtx<'_>) -> bool {
        let zone = self.zones.of_node(pod, store);
        let status = &mut self.budgets[k].status;
        let budget = Budget {
            dry_run: false,
            is_current: true,
            allowed: zone.and_then(|zone| status.zones.get(&zone)).map(|zone| zone.allowed),
            is_recorded: status.records.contains(&pod.name),
            records: status.records.len(),
        };
        let request = Request { is_create: true, is_eviction: true, dry_run: false };
        let answer = admit(request, Some(health(pod)), Some(budget));
        if let (Admission::DisruptionAllowed { spends: true }, Some(zone)) = (answer, zone) {
            status.spend(pod.name, &zone, ctx.now);
            ctx.notify::<ZoneDisruptionBudgets>(0, k as u32);
        }
        answer.is_admitted()
    }

    /// By the pods as they are now; those that are missing are where they were last. One that moved disrupts the zone that it left, too, until it
    /// is ready again.
    fn admits_strictly(&mut self, k: usize, pod: &zonefall_kube::store::Pod, store: &Store, ctx: &ClusterCtx<'_>) -> bool {
        let (pods, wanted) = self.pods(k, store, ctx.now);
        let (mut unavailable, mut missing) = (BTreeMap::new(), 0);
        let mut count = |zone: Option<ZonePlace>| match zone {
            Some(zone) => *unavailable.entry(zone).or_default() += 1,
            None => missing += 1,
        };
        for pod in pods.iter().filter(|pod| !pod.is_ready || pod.is_terminating) {
            count(pod.zone);
            if let Some(left) = self.ready_in.get(&pod.name).filter(|left| pod.zone.is_some_and(|zone| zone != **left)) {
                count(Some(*left));
            }
        }
        for workload in &self.budgets[k].workloads {
            let names =
                (0..store.desired(*workload)).map(|ordinal| PodName { workload: *workload, tag: PodTag::Ordinal(ordinal) });
            for name in names.filter(|name| store.named(*name).is_none()) {
                count(self.zones.of_name(name, ctx.now));
            }
        }
        let Some(zone) = self.zones.of_pod(pod, store, ctx.now) else { return false };
        let most = ctx.spec.zone_aware.budgets[k].max_unavailable.of_rounded_up(wanted);
        let disruption = Disruption { unavailable: &unavailable, missing };
        admit_strict(&zone, health(pod) == Health::Ready, disruption, most)
    }
}

impl EvictionWebhook for Webhook {
    fn admit(&mut self, pod: PodId, store: &Store, ctx: &mut ClusterCtx<'_>) -> bool {
        let pod = store.pod(pod).expect("who evicts a pod has it");
        let selects = |k: &usize| self.budgets[*k].workloads.contains(&pod.name.workload);
        let (strict, code): (Vec<usize>, Vec<usize>) = (0..self.budgets.len())
            .filter(selects)
            .partition(|k| ctx.spec.zone_aware.budgets[*k].admission == ZoneBudgetAdmission::Strict);
        // Of several the program asks the first, which records what it admits.
        strict.into_iter().all(|k| self.admits_strictly(k, pod, store, ctx))
            && code.first().is_none_or(|k| self.admits(*k, pod, store, ctx))
    }

    fn allows(&self) -> Vec<BudgetView> {
        let all = (0u32..).zip(&self.budgets);
        let zones = all.flat_map(|(k, budget)| budget.status.zones.iter().map(move |(place, zone)| (k, *place, zone.allowed)));
        let row = |(k, place, allowed)| BudgetView { budget: BudgetKey::Zone(k, self.zones.zone(place)), allowed };
        zones.map(row).collect()
    }

    fn boxed(&self) -> Box<dyn EvictionWebhook> {
        Box::new(self.clone())
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct ZoneDisruptionBudgets {
    /// When it looks again at a budget.
    looks: Vec<Timer>,
    /// It has looked once.
    started: bool,
}

impl ZoneDisruptionBudgets {
    /// Clusters with such budgets have it.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        let budgets = ctx.spec.zone_aware.budgets.len();
        (budgets > 0).then(|| Box::new(Self { looks: vec![Timer::new(); budgets], started: false }) as Box<dyn Controller>)
    }

    fn sync(&mut self, k: u32, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let again = store.with_webhook(|webhook: &mut Webhook, store| webhook.renew(k as usize, store, ctx)).flatten();
        if let Some((at, generation)) = self.looks[k as usize].rearm(again.filter(|at| *at > ctx.now)) {
            ctx.timer(at, Due { key: (k, 0), generation });
        }
    }
}

/// Key of its work queue and of its timers: a budget.
impl Controller for ZoneDisruptionBudgets {
    fn component(&self) -> Option<Component> {
        Some(Component::ControllerManager)
    }

    fn webhook(&self, ctx: &ClusterCtx<'_>) -> Option<Box<dyn EvictionWebhook>> {
        Some(Box::new(Webhook::new(ctx)))
    }

    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let Some(id) = workload_of(change, &state.store) else { return };
        let workload = &ctx.spec.workloads[id];
        for (k, _) in (0..).zip(&ctx.spec.zone_aware.budgets).filter(|(_, budget)| budget.pods.selects(workload)) {
            ctx.enqueue(0, k);
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        self.sync(key, &mut state.store, ctx);
    }

    fn list(&self, _state: &State, _ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        (0..self.looks.len() as u32).map(|k| (0, k)).collect()
    }

    fn forget(&mut self, _state: &mut State, _ctx: &mut ClusterCtx<'_>) {
        self.looks.iter_mut().for_each(Timer::cancel);
    }

    fn due(&mut self, due: Due, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let (k, _) = due.key;
        if self.looks[k as usize].fires(due.generation) {
            self.sync(k, &mut state.store, ctx);
        }
    }

    /// It has been running for long: it has looked at every budget by the start.
    fn arm(&mut self, is_active: bool, _state: &State, ctx: &mut ClusterCtx<'_>) {
        if is_active && !std::mem::replace(&mut self.started, true) {
            for (k, timer) in (0..).zip(&mut self.looks) {
                if let Some((at, generation)) = timer.rearm(Some(ctx.now)) {
                    ctx.timer(at, Due { key: (k, 0), generation });
                }
            }
        }
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the controller of ZoneDisruptionBudgets observes changes of pods"
    }

    fn describe_due(&self, _due: &Due, _spec: &KubeClusterSpec, _scenario: &Scenario) -> String {
        "the controller of ZoneDisruptionBudgets looks at evictions that have not come about".to_owned()
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
