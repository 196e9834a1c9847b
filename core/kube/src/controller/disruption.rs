//! The disruption controller (`pkg/controller/disruption`), and evictions as the API grants them (`pods/eviction`).
//!
//! What the API has granted since the controller last looked is spent already. (An eviction that is granted here is never lost: the
//! pod is terminating from then on, so that no list of disrupted pods, which are forgotten after 2 min, is needed.)

use smallvec::SmallVec;

use std::collections::BTreeMap;

use crate::controller::{Controller, State};
use crate::ctx::ClusterCtx;
use crate::record::{KubeRecord, PodFact};
use crate::rule::budget::{self, Budget, Eviction, Health, Selected, Status};
use crate::spec::int_or_percent::IntOrPercent;
use crate::spec::{BudgetLimit, Component, Kind, UnhealthyPods};
use crate::store::Change;
use crate::store::{BudgetId, Pod, Store};
use zonefall_scenario::ids::{PodId, TiVec, WorkloadId};

/// Why an eviction was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionError {
    /// The budget allows none now: to be tried again later (429).
    TooManyRequests,
    /// An admission webhook denies it (403). `kubectl drain` gives up then, and whoever called it calls it again.
    Denied,
    /// Anything else: several budgets select the pod, which the API does not support (500).
    Rejected,
}

/// What a pod does for its budgets.
pub fn health(pod: &Pod) -> Health {
    match (pod.terminating || !pod.started, pod.ready) {
        (true, _) => Health::Gone,
        (false, true) => Health::Ready,
        (false, false) => Health::NotReady,
    }
}

/// The controller.
#[derive(Clone, Debug, Default)]
pub struct Budgets {
    /// Pods of workloads, and sums of them for budgets that select pods of any workload; nothing until the first of these is updated.
    counts: Option<Counts>,
}

/// Pods, as far as budgets count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    /// Pods that exist.
    pods: u32,
    /// Pods that those who own them want.
    wanted: u32,
    healthy: u32,
    /// Workloads with pods that do not say how many they want.
    without_scale: u32,
}

impl Tally {
    fn of(id: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) -> Self {
        let pods = store.pods_of(id).count() as u32;
        let has_no_scale = ctx.spec.workloads[id].kind == Kind::DaemonSet && pods > 0;
        // Owners are found by their pods.
        let wanted = if pods > 0 { store.desired(id) } else { 0 };
        Self { pods, wanted, healthy: healthy(id, store), without_scale: u32::from(has_no_scale) }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            pods: self.pods + other.pods,
            wanted: self.wanted + other.wanted,
            healthy: self.healthy + other.healthy,
            without_scale: self.without_scale + other.without_scale,
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            pods: self.pods - other.pods,
            wanted: self.wanted - other.wanted,
            healthy: self.healthy - other.healthy,
            without_scale: self.without_scale - other.without_scale,
        }
    }
}

/// What budgets count: a change of one workload costs no look at the others.
#[derive(Clone, Debug)]
struct Counts {
    workloads: TiVec<WorkloadId, Tally>,
    /// By their place among [`KubeClusterSpec::budgets`](crate::spec::KubeClusterSpec::budgets).
    budgets: Vec<Tally>,
}

impl Counts {
    fn new(store: &Store, ctx: &ClusterCtx<'_>) -> Self {
        let ids = ctx.spec.workloads.keys();
        let workloads: TiVec<_, Tally> = ids.map(|id| Tally::of(id, store, ctx)).collect();
        let selected = |k| store.workloads_of_budget(k).iter().map(|id| workloads[*id]);
        let budgets = (0..ctx.spec.budgets.len() as u32).map(|k| selected(k).fold(Tally::default(), Tally::plus));
        Self { budgets: budgets.collect(), workloads }
    }

    /// Something has become of a workload or of its pods.
    fn update(&mut self, id: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) {
        let now = Tally::of(id, store, ctx);
        let before = std::mem::replace(&mut self.workloads[id], now);
        if now != before {
            for k in store.named_budgets_of(id) {
                let sum = &mut self.budgets[*k as usize];
                *sum = sum.minus(before).plus(now);
            }
        }
    }
}

/// Brings the budget of a workload up to date.
fn sync(id: WorkloadId, store: &mut Store, ctx: &ClusterCtx<'_>) {
    if let Some(max_unavailable) = store.template(id, ctx.spec).max_unavailable {
        let limit = BudgetLimit::MaxUnavailable(IntOrPercent::Int(max_unavailable));
        let status = Status::of(limit, store.desired(id), healthy(id, store));
        store.set_budget(BudgetId::Workload(id), status);
    }
}

/// Updates a budget that selects pods of any workload. (A DaemonSet does not say how many it wants: it has no scale.)
fn sync_named(k: u32, count: Tally, store: &mut Store, ctx: &ClusterCtx<'_>) {
    let Tally { pods, wanted, healthy, without_scale } = count;
    let selected = Selected { pods, wanted: (without_scale == 0).then_some(wanted), healthy };
    let before = store.budget(BudgetId::Named(k)).copied().unwrap_or_default();
    store.set_budget(BudgetId::Named(k), before.renewed(ctx.spec.budgets[k as usize].limit, selected));
}

fn healthy(id: WorkloadId, store: &Store) -> u32 {
    store.pods_of(id).filter(|(_, pod)| health(pod) == Health::Ready).count() as u32
}

/// The budgets of a workload's pods.
fn budgets_of(id: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) -> Vec<(BudgetId, UnhealthyPods)> {
    // Gardener has pods that are not ready evicted always.
    let usual =
        if ctx.spec.components.contains(&Component::Gardenlet) { UnhealthyPods::AlwaysAllow } else { UnhealthyPods::default() };
    let own = store.budget(BudgetId::Workload(id)).map(|_| (BudgetId::Workload(id), usual));
    let named = store.named_budgets_of(id).iter();
    own.into_iter().chain(named.map(|k| (BudgetId::Named(*k), ctx.spec.budgets[*k as usize].unhealthy_pods))).collect()
}

/// Whether a budget selects the pods of a workload.
pub fn has_budget(id: WorkloadId, store: &Store, ctx: &ClusterCtx<'_>) -> bool {
    !budgets_of(id, store, ctx).is_empty()
}

/// Whether the budget of a pod allows no disruption though all of its pods are ready and none was evicted a moment ago
/// (machine-controller-manager's `isMisconfiguredPdb`): whoever waits for it waits in vain.
pub fn is_misconfigured(id: PodId, store: &Store, ctx: &ClusterCtx<'_>) -> bool {
    let budgets = store.pod(id).map(|pod| budgets_of(pod.name.workload, store, ctx)).unwrap_or_default();
    let status = budgets.first().and_then(|(budget, _)| store.budget(*budget));
    status.is_some_and(|status| {
        let Status { expected, desired, healthy, allowed } = *status;
        expected > 0 && healthy >= expected && healthy <= desired && allowed == 0
    })
}

/// What budgets still allow, were pods evicted that are to go (`core/scaledown/pdb/basic.go`): every pod counts, ready or not.
#[derive(Clone, Debug, Default)]
pub struct RemainingBudgets {
    allowed: BTreeMap<BudgetId, i64>,
}

impl RemainingBudgets {
    /// Whether a pod may go by itself.
    pub fn allow(&self, pod: PodId, store: &Store, ctx: &ClusterCtx<'_>) -> bool {
        budgets_of_leaving(pod, store, ctx).all(|budget| self.left(budget, store) >= 1)
    }

    /// A pod goes.
    pub fn take(&mut self, pod: PodId, store: &Store, ctx: &ClusterCtx<'_>) {
        for budget in budgets_of_leaving(pod, store, ctx) {
            self.allowed.insert(budget, self.left(budget, store) - 1);
        }
    }

    fn left(&self, budget: BudgetId, store: &Store) -> i64 {
        self.allowed.get(&budget).copied().unwrap_or_else(|| store.budget(budget).map_or(0, |status| status.allowed.into()))
    }
}

/// Budgets of a pod that has not been asked to end.
fn budgets_of_leaving(pod: PodId, store: &Store, ctx: &ClusterCtx<'_>) -> impl Iterator<Item = BudgetId> {
    let pod = store.pod(pod).filter(|pod| !pod.terminating);
    pod.into_iter().flat_map(|pod| budgets_of(pod.name.workload, store, ctx)).map(|(budget, _)| budget)
}

/// A budget as the API has it; one that the controller has not seen yet has no status.
fn budget_of((id, policy): (BudgetId, UnhealthyPods), store: &Store) -> Budget {
    let status = store.budget(id);
    Budget { is_current: status.is_some(), ..Budget::new(&status.copied().unwrap_or_default(), policy) }
}

/// Whether all webhooks let a pod be evicted; they are asked in their order, up to the first that does not.
fn admitted(id: PodId, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> bool {
    let mut webhooks = std::mem::take(&mut store.webhooks);
    let admitted = webhooks.iter_mut().all(|webhook| webhook.admit(id, store, ctx));
    store.webhooks = webhooks;
    admitted
}

/// Ends a pod if its budget allows it; nothing if it is ending.
///
/// # Errors
/// The budget is spent, there are several, or a webhook denies it.
pub fn evict(id: PodId, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> Result<(), EvictionError> {
    let pod = store.pod(id).expect("who evicts a pod has it");
    if pod.terminating {
        return Ok(());
    }
    let (name, health) = (pod.name, health(pod));
    if !admitted(id, store, ctx) {
        ctx.record(KubeRecord::Pod(name, PodFact::Denied));
        return Err(EvictionError::Denied);
    }
    let ids = budgets_of(name.workload, store, ctx);
    let answer = budget::evict(health, &ids.iter().map(|id| budget_of(*id, store)).collect::<SmallVec<[Budget; 2]>>());
    let fact = if answer == Eviction::SeveralBudgets { PodFact::SeveralBudgets } else { PodFact::Evicted(answer.is_granted()) };
    ctx.record(KubeRecord::Pod(name, fact));
    match answer {
        Eviction::Free => {}
        Eviction::Spends => {
            let budget = ids[0].0;
            let status = *store.budget(budget).expect("what is spent is there");
            store.set_budget(budget, Status { allowed: status.allowed - 1, ..status });
        }
        Eviction::TooManyRequests => return Err(EvictionError::TooManyRequests),
        Eviction::SeveralBudgets | Eviction::Forbidden => return Err(EvictionError::Rejected),
    }
    store.terminate(id, ctx);
    Ok(())
}

impl Budgets {
    /// Every cluster has it.
    pub fn factory(_state: &State, _ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        Some(Box::<Self>::default())
    }
}

/// Keys of its work queues: 0 a workload with a budget of its own; 1 another budget.
impl Controller for Budgets {
    fn component(&self) -> Option<Component> {
        Some(Component::ControllerManager)
    }

    fn watch(&mut self, change: &Change, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let (concerned, enqueues) = match *change {
            Change::Terminating(_, id, _) | Change::Desired(id) | Change::Template(id) | Change::Readiness(id) => (id, true),
            Change::Removed(_, name, _) => (name.workload, true),
            // Not ready yet: a budget allows no more because of it, and less only if it is the first by which its owner is found.
            Change::Created(id) => match state.store.pod(id).map(|pod| pod.name.workload) {
                Some(workload) => (workload, state.store.pods_of(workload).count() == 1),
                None => return,
            },
            _ => return,
        };
        if let Some(counts) = &mut self.counts {
            counts.update(concerned, &state.store, ctx);
        }
        if !enqueues {
            return;
        }
        if state.store.template(concerned, ctx.spec).max_unavailable.is_some() {
            ctx.enqueue(0, concerned.0);
        }
        for k in state.store.named_budgets_of(concerned) {
            ctx.enqueue(1, *k);
        }
    }

    fn reconcile(&mut self, queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if queue == 0 {
            sync(WorkloadId(key), &mut state.store, ctx);
        } else {
            let counts = self.counts.get_or_insert_with(|| Counts::new(&state.store, ctx));
            sync_named(key, counts.budgets[key as usize], &mut state.store, ctx);
        }
    }

    fn list(&self, state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        let has = |id: &u32| state.store.template(WorkloadId(*id), ctx.spec).max_unavailable.is_some();
        let own = (0..ctx.spec.workloads.len() as u32).filter(has).map(|id| (0, id));
        own.chain((0..ctx.spec.budgets.len() as u32).map(|k| (1, k))).collect()
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "the disruption controller observes changes of pods"
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
