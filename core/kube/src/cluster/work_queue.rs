//! What changes in a cluster's store, which controllers are notified of it, and their work queues.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::KubeCluster;
use crate::controller::{Controller, Due, State};
use crate::ctx::ClusterCtx;
use crate::event::KubeEvent;
use zonefall_kernel::time::Time;

/// Work queues of a controller, at most.
const QUEUES: usize = 2;

/// A controller and its work queues.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) controller: Box<dyn Controller>,
    /// Keys to be reconciled, and from when on each is known to the controller. An event is queued for each of these times.
    queues: [BTreeMap<u32, Time>; QUEUES],
    /// The time of the event that was queued last.
    queued: [Time; QUEUES],
    /// Their event has come while the gate was closed.
    pub(super) deferred: [bool; QUEUES],
}

impl Slot {
    pub(super) fn new(controller: Box<dyn Controller>) -> Self {
        Self { controller, queues: Default::default(), queued: [Time::ZERO; QUEUES], deferred: Default::default() }
    }
}

impl KubeCluster {
    /// Whether the controller at a place is there and may act.
    pub(super) fn acts(&self, place: u8) -> bool {
        let slot = self.slots[usize::from(place)].as_ref();
        slot.is_some_and(|slot| slot.controller.component().is_none_or(|component| self.is_open(component)))
    }

    /// Has the controller at a place do something, and adds the keys that follow from it.
    pub(super) fn at(
        &mut self,
        place: u8,
        ctx: &mut ClusterCtx<'_>,
        act: impl FnOnce(&mut dyn Controller, &mut State, &mut ClusterCtx<'_>),
    ) {
        let Some(slot) = &mut self.slots[usize::from(place)] else { return };
        ctx.controller = place;
        act(&mut *slot.controller, &mut self.state, ctx);
        self.enqueue_notified(place, ctx);
    }

    fn enqueue_notified(&mut self, place: u8, ctx: &mut ClusterCtx<'_>) {
        for k in 0..ctx.notifications.len() {
            let notification = ctx.notifications[k];
            let to = notification.controller.map_or(Some(usize::from(place)), |of| self.place_of(of));
            if let Some(to) = to {
                self.enqueue(to, notification.queue, notification.key, ctx);
            }
        }
        ctx.notifications.clear();
    }

    /// Place in the table of the controller of a type.
    pub(super) fn place_of(&self, of: TypeId) -> Option<usize> {
        let is_it = |slot: &Option<Slot>| slot.as_ref().is_some_and(|slot| (&*slot.controller as &dyn Any).type_id() == of);
        self.slots.iter().position(is_it)
    }

    pub(super) fn enqueue(&mut self, place: usize, queue: u8, key: u32, ctx: &mut ClusterCtx<'_>) {
        let Some(slot) = &mut self.slots[place] else { return };
        let (index, at) = (usize::from(queue), ctx.now + ctx.latency);
        if let Entry::Vacant(entry) = slot.queues[index].entry(key) {
            entry.insert(at);
            // One event serves all keys of its time, unless it has come already.
            if std::mem::replace(&mut slot.queued[index], at) != at || at == ctx.now {
                ctx.schedule(at, KubeEvent::Work { controller: place as u8, queue });
            }
        }
    }

    /// The keys of a work queue that are known by now are reconciled, if the gate is open.
    pub(super) fn work(&mut self, place: u8, queue: u8, ctx: &mut ClusterCtx<'_>) {
        let acts = self.acts(place);
        let Some(slot) = &mut self.slots[usize::from(place)] else { return };
        if !acts {
            slot.deferred[usize::from(queue)] = true;
            return;
        }
        let known = slot.queues[usize::from(queue)].extract_if(.., |_, at| *at <= ctx.now);
        for key in known.map(|(key, _)| key).collect::<Vec<_>>() {
            self.at(place, ctx, |controller, state, ctx| controller.reconcile(queue, key, state, ctx));
        }
    }

    /// A timer of a controller fires.
    pub(super) fn due(&mut self, place: u8, due: Due, ctx: &mut ClusterCtx<'_>) {
        if self.acts(place) {
            self.at(place, ctx, |controller, state, ctx| controller.due(due, state, ctx));
        } else if self.slots[usize::from(place)].as_ref().is_some_and(|slot| slot.controller.defers()) {
            self.deferred_events.push(KubeEvent::Due { controller: place, due });
        }
    }

    /// Notifies the controllers of what has changed.
    pub(super) fn notify_controllers(&mut self, ctx: &mut ClusterCtx<'_>) {
        let switched_on = std::mem::take(&mut self.state.switched_on);
        self.state.kubelets.extend(switched_on);
        for node in std::mem::take(&mut self.state.switched_off) {
            if let Some(kubelet) = self.state.kubelets.remove(&node) {
                kubelet.switched_off(ctx);
            }
        }
        for change in self.state.store.take_changes() {
            for place in 0..self.slots.len() as u8 {
                self.at(place, ctx, |controller, state, ctx| controller.watch(&change, state, ctx));
            }
        }
    }
}
