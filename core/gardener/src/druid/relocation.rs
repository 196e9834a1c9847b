//! Members of etcd that leave a zone which has an outage, and come back (GEP-20, "Option #3: Auto-Rebalance Pods in the Event of an AZ
//! Failure", second approach).
//!
//! ```text
//!  outage: anti-affinity over zones preferred; claim, volume and pod deleted --> scheduled elsewhere, new volume --> a new member joins
//!  recovery: required again; of two in one zone the one that came: claim, volume and pod deleted --> back --> a new member joins
//! ```
//!
//! One member of a shoot at a time, and only while all others of its cluster serve: what takes its place has no vote until it is in sync,
//! so that nothing more can be lost meanwhile. The new anti-affinity holds for the pods that are there too (the document takes that for
//! granted; in Kubernetes they would keep theirs, which repels the newcomer, until they are made anew).

use crate::garden::Garden;
use crate::record::{DruidFact, GardenerRecord, Report};
use crate::shoot::{Seen, Shoot};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::rule::labels::Symbol;
use zonefall_kube::spec::placement::Term;
use zonefall_kube::spec::{Role, Workload};
use zonefall_kube::store::Store;
use zonefall_scenario::ids::WorkloadId;

/// Of the preference for a zone of its own, as GEP-20 would have it for all of them.
const WEIGHT: u32 = 100;

impl Shoot {
    /// Does what is to be done next.
    pub(super) fn relocate(&mut self, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        let outages = Garden::seed_of(ctx).outages.clone();
        let sets: Vec<(WorkloadId, Vec<Seen>)> = self.sets.iter().map(|set| (*set, Self::pods(*set, store, ctx))).collect();
        let is_out = |pod: &Seen| pod.home.is_some_and(|zone| outages.contains(&zone));
        for (set, pods) in &sets {
            if pods.iter().any(is_out) {
                self.relax(*set, store, ctx);
            } else if outages.is_empty() {
                self.require(*set, store, ctx);
            }
        }
        // A member that is where it should be and does not serve is on its way, or fails: no other may be away then.
        let is_quiet = |pods: &[Seen]| pods.iter().all(|pod| pod.settled || is_out(pod));
        for (k, (set, pods)) in sets.iter().enumerate() {
            let others = sets.iter().enumerate().filter(|(other, _)| *other != k);
            let mut others = others.map(|(_, (_, pods))| &pods[..]);
            let serve = |but: &Seen| pods.iter().all(|pod| pod.settled || pod.name == but.name);
            let leaves = pods.iter().find(|pod| is_out(pod) && serve(pod));
            let returns = crowded(pods, store).filter(|pod| outages.is_empty() && serve(pod) && pod.settled);
            let Some(pod) = leaves.or(returns) else { continue };
            if others.all(is_quiet) && self.has_another(*set, pod, store, ctx) {
                let moves = leaves.is_some();
                let fact = if moves { DruidFact::Moves(pod.ordinal) } else { DruidFact::Returns(pod.ordinal) };
                ctx.report(GardenerRecord::Druid(*set, fact));
                discard(pod, moves, store, ctx);
                return;
            }
        }
    }

    /// Whether a pod can be another member yet; told once where it cannot.
    fn has_another(&mut self, set: WorkloadId, pod: &Seen, store: &Store, ctx: &mut ClusterCtx<'_>) -> bool {
        let workload = &ctx.spec.workloads[set];
        let Role::Etcd(cluster) = workload.role else { unreachable!("a set is etcd's") };
        let next = workload.member(&ctx.scenario.etcd[cluster], pod.ordinal, store.volumes_before(pod.name) + 1);
        if next.is_none() && self.spent.insert(pod.name) {
            ctx.report(GardenerRecord::Druid(set, DruidFact::Spent(pod.ordinal)));
        }
        next.is_some()
    }

    fn relax(&mut self, set: WorkloadId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if !self.relaxed.insert(set) {
            return;
        }
        change(set, DruidFact::Relaxed, relaxed(store.template(set, ctx.spec)), store, ctx);
    }

    fn require(&mut self, set: WorkloadId, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
        if !self.relaxed.remove(&set) {
            return;
        }
        change(set, DruidFact::Required, required(store.template(set, ctx.spec)), store, ctx);
    }
}

/// A cluster whose pods may share a zone, though no node.
pub fn relaxed(set: &Workload) -> Workload {
    let mut set = set.clone();
    let away = &mut set.pod_affinity.anti_affinity;
    let zones = away.required.extract_if(.., |term| term.key == Symbol::ZONE);
    away.preferred.extend(zones.map(|term| (WEIGHT, term)));
    away.required.push(Term { key: Symbol::HOSTNAME, selector: set.selector.clone() });
    set
}

/// A relaxed cluster whose pods must be in zones of their own again.
pub fn required(set: &Workload) -> Workload {
    let mut set = set.clone();
    let away = &mut set.pod_affinity.anti_affinity;
    away.required.pop();
    let zones = away.preferred.extract_if(.., |(_, term)| term.key == Symbol::ZONE);
    away.required.extend(zones.map(|(_, term)| term));
    set
}

fn change(set: WorkloadId, fact: DruidFact, template: Workload, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
    ctx.report(GardenerRecord::Druid(set, fact));
    store.set_template(set, template, ctx.spec);
}

/// Of pods that share a zone the one that came there last.
fn crowded<'a>(pods: &'a [Seen], store: &Store) -> Option<&'a Seen> {
    let shares = |pod: &&Seen| pods.iter().any(|other| other.name != pod.name && other.home.is_some() && other.home == pod.home);
    let moved = pods.iter().filter(shares).map(|pod| (store.volumes_before(pod.name), pod)).filter(|(moves, _)| *moves > 0);
    moved.max_by_key(|(moves, pod)| (*moves, pod.ordinal)).map(|(_, pod)| pod)
}

/// Deletes a pod with its claim and volume; by force where its kubelet is silent.
fn discard(pod: &Seen, by_force: bool, store: &mut Store, ctx: &mut ClusterCtx<'_>) {
    store.delete_claim(pod.name, ctx);
    let Some(id) = store.id_of(pod.name) else { return };
    store.terminate(id, ctx);
    if by_force && store.pod(id).is_some() {
        store.remove(id, ctx);
    }
}
