//! etcd-druid, as far as it changes control planes that are there: members of etcd are moved out of a zone that has an outage and back
//! ([`relocation`]), and shoots are made to survive more ([`upgrade`], with gardenlet's part of it).
//!
//! Of the pairs of etcd members of which one stands by druid checks the one that serves ([`passive`](zonefall_etcd::passive)).
//!
//! Like gardenlet it looks at everything anew whenever something has changed and remembers next to nothing: what is in the API and in etcd
//! says how far it is. It acts as [`Component::Druid`](zonefall_kube::spec::Component), gardenlet as `Gardenlet`: who cannot write does
//! nothing.

pub mod describe;
mod relocation;
mod upgrade;

use std::collections::BTreeMap;

use crate::garden::{Garden, with_shoot};
pub use crate::record::{DruidFact, MigrationFact, ToleranceFact};
use crate::shoot::{Shoot, about};
use crate::shoot_controllers::{Druid, Gardenlet};
pub use relocation::{relaxed, required};
use zonefall_kube::controller::{Controller, State};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::event::KubeEvent;
use zonefall_kube::spec::gardener::{Hosted, Recovery};
use zonefall_kube::spec::{Component, Role};
use zonefall_kube::store::Change;

impl Druid {
    /// The shoots of this seed that may move or change, as they start; what is asked for later is queued.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        let model = &ctx.scenario.kube;
        let mut shoots = BTreeMap::new();
        for (key, spec) in (0..).zip(&model.shoots) {
            let is_here = |hosted: &&Hosted| model.seeds[hosted.seed].cluster == ctx.cluster;
            let Some(hosted) = spec.places().find(is_here) else { continue };
            if spec.recovery != Recovery::Move && hosted.forms.is_empty() {
                continue;
            }
            let begins = spec.hosted.as_ref().is_some_and(|first| first.seed == hosted.seed);
            shoots.insert(key.into(), Shoot::new(key, spec, hosted, begins, ctx));
            // Who hosts it at the start is asked, and passes on what is another's.
            for (change, asked) in (0..).zip(&model.changes).filter(|(_, change)| begins && change.shoot == key) {
                ctx.schedule(asked.at, KubeEvent::Message { controller: ctx.controller, message: change });
            }
        }
        Garden::seed_of_mut(ctx).shoots = shoots;
        let etcd = ctx.spec.workloads.iter().filter_map(|workload| match workload.role {
            Role::Etcd(cluster) => Some(cluster),
            _ => None,
        });
        let pairs = etcd.filter(|cluster| ctx.scenario.etcd[*cluster].passive.is_some()).collect();
        Some(Box::new(Self { pairs, host: None }))
    }
}

impl Controller for Druid {
    fn component(&self) -> Option<Component> {
        Some(Component::Druid)
    }

    fn watch(&mut self, change: &Change, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        for key in about(change).map(|about| Garden::seed_of(ctx).concerned(Some(about))).unwrap_or_default() {
            ctx.enqueue(0, key);
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let store = &mut state.store;
        let is_grown = with_shoot(key, ctx, |shoot, ctx| {
            if shoot.upgrade.is_some() {
                return shoot.upgrade_etcd(store, ctx);
            }
            if shoot.moves() {
                shoot.relocate(store, ctx);
            }
            false
        });
        if is_grown {
            Gardenlet::notify(key, ctx);
        }
    }

    fn list(&self, _state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        Garden::seed_of(ctx).shoots.keys().map(|key| (0, *key)).collect()
    }

    /// Another process takes over: it has not told yet of pods that cannot move. (How far it is with a shoot stands in the API.)
    fn forget(&mut self, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        Garden::seed_of_mut(ctx).shoots.values_mut().for_each(|shoot| shoot.spent.clear());
    }

    /// A shoot is asked to survive more: a place in [`KubeModel::changes`](zonefall_kube::spec::KubeModel::changes).
    fn message(&mut self, change: u32, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let key = ctx.scenario.kube.changes[change as usize].shoot.into();
        with_shoot(key, ctx, |shoot, ctx| shoot.asked(change as u16, ctx));
        ctx.enqueue(0, key);
    }

    /// While it can act, on this host, it checks its pairs, and switches. (How: [`passive`](zonefall_etcd::passive).)
    fn arm(&mut self, _is_active: bool, state: &State, ctx: &mut ClusterCtx<'_>) {
        let host = state.leaders[Component::Druid as usize];
        if std::mem::replace(&mut self.host, host) != host {
            Garden::of_mut(ctx).effects.checked.extend(self.pairs.iter().map(|cluster| (*cluster, host)));
        }
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "etcd-druid reconciles the etcd clusters of a shoot"
    }

    fn describe_message(&self, _message: u32) -> &'static str {
        "etcd-druid receives a request for a higher failure tolerance"
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
