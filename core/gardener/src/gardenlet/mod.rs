//! gardenlet: what keeps the control planes of shoots in a seed, where a shoot is to survive more or moves to another seed ([`migration`]).

mod migration;

use crate::garden::{Garden, with_shoot};
use crate::shoot::{Residence, Shoot, about};
use crate::shoot_controllers::{Druid, Gardenlet};
use migration::{Stage, bind, migration_of};
use zonefall_kube::controller::{Controller, State};
use zonefall_kube::ctx::ClusterCtx;
use zonefall_kube::event::KubeEvent;
use zonefall_kube::spec::Component;
use zonefall_kube::store::{Change, Store};

impl Gardenlet {
    /// Every cluster has it; what is asked for later is queued.
    pub fn factory(_state: &State, ctx: &mut ClusterCtx<'_>) -> Option<Box<dyn Controller>> {
        let (model, cluster) = (&ctx.scenario.kube, ctx.cluster);
        // Whichever seed is asked, the garden answers.
        let to_this = |to: zonefall_scenario::ids::SeedId| model.seeds[to].cluster == cluster;
        for (id, asked) in (0..).zip(&model.migrations).filter(|(_, asked)| to_this(asked.to)) {
            ctx.schedule(asked.at, KubeEvent::Message { controller: ctx.controller, message: Stage::Requested.message(id) });
        }
        Some(Box::new(Self))
    }
}

impl Controller for Gardenlet {
    fn component(&self) -> Option<Component> {
        Some(Component::Gardenlet)
    }

    fn watch(&mut self, change: &Change, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let seed = Garden::seed_of(ctx);
        let keys = match change {
            Change::Network => seed.uploads(),
            _ => about(change).map(|about| seed.concerned(Some(about))).unwrap_or_default(),
        };
        for key in keys {
            ctx.enqueue(0, key);
        }
    }

    fn reconcile(&mut self, _queue: u8, key: u32, state: &mut State, ctx: &mut ClusterCtx<'_>) {
        if with_shoot(key, ctx, |shoot, ctx| shoot.follow_all(&mut state.store, ctx)) {
            Druid::notify(key, ctx);
        }
    }

    fn list(&self, _state: &State, ctx: &ClusterCtx<'_>) -> Vec<(u8, u32)> {
        Garden::seed_of(ctx).shoots.keys().map(|key| (0, *key)).collect()
    }

    /// A shoot moves to another seed.
    fn message(&mut self, message: u32, _state: &mut State, ctx: &mut ClusterCtx<'_>) {
        let (stage, id) = migration_of(message);
        if stage == Stage::Requested {
            return bind(id, ctx);
        }
        let key = ctx.scenario.kube.migrations[usize::from(id)].shoot.into();
        with_shoot(key, ctx, |shoot, ctx| shoot.migrate(id, stage, ctx));
        ctx.enqueue(0, key);
    }

    fn describe_work(&self, _queue: u8) -> &'static str {
        "gardenlet reconciles a shoot"
    }

    fn describe_message(&self, message: u32) -> &'static str {
        match migration_of(message).0 {
            Stage::Uploaded => "gardenlet learns that a shoot's etcd snapshot is in the backup bucket",
            Stage::Requested | Stage::Leaves | Stage::Arrives => "gardenlet receives the request to migrate a shoot",
        }
    }

    fn boxed(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

impl Shoot {
    /// What gardenlet does about it; whether druid is to go on.
    fn follow_all(&mut self, store: &mut Store, ctx: &mut ClusterCtx<'_>) -> bool {
        let was_here = self.place == Residence::Here;
        let mut before = None;
        // What a step waits for may be there already.
        while before.replace((self.place, self.upgrade.is_some())) != Some((self.place, self.upgrade.is_some())) {
            match self.place {
                // One thing after the other: what is under way is brought to its end before it leaves.
                _ if self.upgrade.is_some() => self.follow(store, ctx),
                Residence::Here | Residence::Elsewhere => {}
                Residence::Leaves(migration, step) => self.leave(migration, step, store, ctx),
                Residence::Arrives(step) => self.arrive(step, store, ctx),
            }
        }
        self.place == Residence::Here && !was_here
    }
}
