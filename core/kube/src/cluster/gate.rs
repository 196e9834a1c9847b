//! The gate in front of a cluster's controllers: the leader of a component that can write acts; work that came meanwhile waits, and a
//! new leader begins with everything.

use super::KubeCluster;
use crate::controller::Controller;
use crate::ctx::ClusterCtx;
use crate::event::KubeEvent;
use crate::record::KubeRecord;
use crate::spec::Component;
use zonefall_kernel::time::Duration;

impl KubeCluster {
    /// The gate that all work of controllers passes: how long a write of a component takes now. `None`: none of its processes leads, or
    /// the one that does cannot write, so that it does nothing.
    pub fn gate(&self, component: Component) -> Option<Duration> {
        self.control.gate(component)
    }

    pub(super) const fn is_open(&self, component: Component) -> bool {
        self.open[component as usize]
    }

    /// What follows from anything that has happened.
    pub(super) fn finish(&mut self, ctx: &mut ClusterCtx<'_>) {
        for component in Component::ALL {
            self.follow_gate(component, ctx);
            self.state.leaders[component as usize] = self.control.host(component);
        }
        self.notify_controllers(ctx);
        for place in 0..self.slots.len() as u8 {
            let acts = self.acts(place);
            self.at(place, ctx, |controller, state, ctx| controller.arm(acts, state, ctx));
        }
        self.control.arm(ctx);
        if ctx.spec.access.is_some() {
            ctx.fx.servers_changed.push(ctx.cluster);
        }
    }

    /// The places of a component's controllers.
    fn places(&self, component: Component) -> Vec<u8> {
        let of = |place: &u8| self.controller(*place).is_some_and(|controller| controller.component() == Some(component));
        (0..self.slots.len() as u8).filter(of).collect()
    }

    /// A gate may have opened: work that waited is done now. Behind it may stand another leader, which remembers nothing.
    fn follow_gate(&mut self, component: Component, ctx: &mut ClusterCtx<'_>) {
        let (is_open, term) = (self.gate(component).is_some(), self.control.term(component));
        let was_open = std::mem::replace(&mut self.open[component as usize], is_open);
        if is_open != was_open {
            ctx.record(KubeRecord::ControllerActive(component, is_open));
        }
        if is_open && std::mem::replace(&mut self.terms[component as usize], term) != term {
            self.begin(component, ctx);
        } else if is_open != was_open {
            for place in self.places(component) {
                self.at(place, ctx, |controller, state, ctx| controller.gate_changed(is_open, state, ctx));
            }
        }
        if is_open && !was_open {
            self.resume(component, ctx);
        }
    }

    /// A new leader lists all there is.
    fn begin(&mut self, component: Component, ctx: &mut ClusterCtx<'_>) {
        let places = self.places(component);
        for &place in &places {
            self.at(place, ctx, <dyn Controller>::forget);
        }
        for place in places {
            let keys = self.controller(place).map(|controller| controller.list(&self.state, ctx)).unwrap_or_default();
            for (queue, key) in keys {
                self.enqueue(usize::from(place), queue, key, ctx);
            }
        }
    }

    fn resume(&mut self, component: Component, ctx: &mut ClusterCtx<'_>) {
        let places = self.places(component);
        for &place in &places {
            let deferred = self.slots[usize::from(place)].as_mut().map(|slot| std::mem::take(&mut slot.deferred));
            for (queue, _) in (0..).zip(deferred.unwrap_or_default()).filter(|(_, deferred)| *deferred) {
                ctx.schedule(ctx.now, KubeEvent::Work { controller: place, queue });
            }
        }
        let of = |event: &mut KubeEvent| matches!(event, KubeEvent::Due { controller, .. } if places.contains(controller));
        for event in self.deferred_events.extract_if(.., of) {
            ctx.schedule(ctx.now, event);
        }
    }
}
