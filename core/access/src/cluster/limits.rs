//! Clients at load balancers that have a limit of connections: whose connections are accepted, and which nodes have reached the limit.

use super::ClusterAccess;
use crate::ctx::AccessCtx;
use crate::limit::Slot;
use crate::record::AccessRecord;
use zonefall_kube::ctx::ApiClient;
use zonefall_scenario::ids::BalancerId;

impl ClusterAccess {
    /// All clients.
    #[cfg(test)]
    pub(crate) fn all_clients(&self) -> impl Iterator<Item = (ApiClient, &crate::client::Client)> {
        self.clients.iter().map(|(id, client)| (*id, client))
    }

    /// A client, if it still runs, adapts to what has changed, and so do those whose connections are accepted because of that.
    pub(super) fn update_client(&mut self, id: ApiClient, ctx: &mut AccessCtx<'_>) {
        self.admitted.push_front(id);
        self.update_admitted(ctx);
    }

    /// Clients whose connections a load balancer has accepted from its backlog go on.
    pub(super) fn update_admitted(&mut self, ctx: &mut AccessCtx<'_>) {
        while let Some(id) = self.admitted.pop_front() {
            if self.clients.contains_key(&id) {
                self.move_client(id, ctx);
            }
        }
    }

    /// A client has this at a node of its load balancer, and nothing else.
    pub(super) fn occupy(&mut self, (balancer, client): (BalancerId, ApiClient), slot: Option<Slot>, ctx: &mut AccessCtx<'_>) {
        let place = self.place(balancer);
        let of = &mut self.balancers[place];
        let nodes = of.nodes();
        let Some(limit) = of.limit_mut() else { return };
        let before = limit.all_at_limit();
        self.admitted.extend(limit.occupy(client, slot));
        let after = limit.all_at_limit();
        for ((node, before), after) in nodes.zip(&before).zip(&after) {
            if before.is_some() != after.is_some() {
                let is_reached = after.is_some();
                ctx.out.record((self.cluster, AccessRecord::ConnectionLimit { balancer, node, is_reached }));
            }
        }
        if before != after {
            self.new_connections_changed(ctx);
        }
    }
}
