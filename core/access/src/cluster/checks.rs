//! Health checks of a cluster's load balancers, and what follows from them.

use super::ClusterAccess;
use crate::ctx::AccessCtx;
use crate::event::AccessEvent;
use crate::record::AccessRecord;
use crate::target::Checked;
use zonefall_kernel::timer::Generation;
use zonefall_scenario::ids::BalancerId;

impl ClusterAccess {
    /// A node of a load balancer checks a target, or has waited for the answer for long enough.
    pub(super) fn check(
        &mut self,
        balancer: BalancerId,
        (node, target, generation): (u16, u32, Generation),
        ctx: &mut AccessCtx<'_>,
    ) {
        let (check, place) = (ctx.scenario.load_balancers[balancer].check, self.place(balancer));
        let of = &mut self.balancers[place];
        let next = match of.check((node, target, generation), check, &self.servers, ctx.net, ctx.now) {
            Checked::Nothing => of.arm_target((node, target), check, &self.servers, ctx.net, ctx.now, ctx.stepping),
            Checked::Waits(at, generation) => Some((at, generation)),
            Checked::Changed(health) => {
                ctx.out.record((self.cluster, AccessRecord::Target { balancer, node, target, health }));
                if of.is_local() {
                    let host = of.host_of_node(node);
                    self.update_clients_on(host, ctx);
                } else {
                    self.new_connections_changed(ctx);
                    self.update_clients(ctx);
                }
                None
            }
        };
        if let Some((at, generation)) = next {
            ctx.out.schedule(at, (self.cluster, AccessEvent::Check { balancer, node, target, generation }));
        }
    }

    /// Load balancers follow the hosts of the control plane: these are their targets.
    pub(super) fn register_targets(&mut self, hosts: &[u32], ctx: &mut AccessCtx<'_>) {
        let mut changed = false;
        for of in &mut self.balancers {
            for (target, is_target) in of.register(hosts) {
                changed = true;
                ctx.out.record((self.cluster, AccessRecord::Registered { balancer: of.id(), target, is_target }));
            }
        }
        if changed {
            self.new_connections_changed(ctx);
        }
    }

    /// Nodes of load balancers may have stopped or started.
    pub(super) fn follow_processes(&mut self, ctx: &mut AccessCtx<'_>) {
        let mut changed = false;
        for of in &mut self.balancers {
            for (node, target, health) in of.follow_processes(&ctx.scenario.load_balancers[of.id()], ctx.net) {
                let fact = AccessRecord::Target { balancer: of.id(), node, target, health };
                ctx.out.record((self.cluster, fact));
                changed = true;
            }
        }
        if changed {
            self.new_connections_changed(ctx);
        }
    }
}
