//! A load balancer has a wrong address for a target.

use super::api_server;
use super::prelude::*;
use super::target::balancer;
use crate::error::quote;
use crate::kube::KubeModel;
use crate::kube::balancers::balancers;

/// A load balancer has the address of another machine for an API server: new connections and health checks go there. If no API server runs
/// on that machine, they are refused. One of another cluster accepts them, so that health checks succeed, but its certificate is wrong, so
/// that clients give up at once; it is taken to be ready. One of the same cluster serves them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "load balancer with a wrong target")]
pub struct Raw {
    /// The load balancer.
    #[schemars(title = "Load balancer", extend("x-target" = "load_balancers"))]
    pub balancer: String,
    /// Host of the API server whose address is wrong.
    #[schemars(title = "Target", extend("x-target" = "node"))]
    pub target: String,
    /// Machine whose address it has for this host.
    #[schemars(title = "Instead", extend("x-target" = "node"))]
    pub instead: String,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<LbWrongTarget> {
        let (balancer, target) = (ctx.balancer(&self.balancer), ctx.node_named("target", &self.target));
        let instead = ctx.node_named("instead", &self.instead)?;
        let (balancer, target) = balancer.zip(target)?;
        if !is_target(ctx.kube, balancer, target) {
            ctx.error("target", &quote(&self.target), TARGET);
        }
        if instead == target {
            ctx.error("instead", &quote(&self.instead), "another machine than the target");
        }
        Some(LbWrongTarget { balancer, target, instead })
    }
}

const TARGET: &str = "a host of the control plane behind this load balancer";

/// Whether a load balancer sends clients to the API server on a host.
fn is_target(kube: &KubeModel, balancer: BalancerId, host: NodeId) -> bool {
    kube.clusters.iter().any(|cluster| cluster.control_plane.contains(&host) && balancers(cluster).contains(&balancer))
}

/// The load balancer has the address of `instead` for the API server on `target`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LbWrongTarget {
    /// The load balancer.
    pub balancer: BalancerId,
    /// Host of the API server whose address is wrong.
    pub target: NodeId,
    /// Machine whose address it has.
    pub instead: NodeId,
}

traced! { struct LbWrongTarget { balancer, target, instead } }

impl FaultKind for LbWrongTarget {
    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Balancer(self.balancer)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        let name = |node: NodeId| scenario.nodes()[node].name.clone();
        let balancer = scenario.load_balancers()[self.balancer].name.clone();
        RawFaultKind::LbWrongTarget(Raw { balancer, target: name(self.target), instead: name(self.instead) })
    }

    fn fits(&self, scenario: &dyn Inventory) -> Result<(), String> {
        for node in [self.target, self.instead] {
            if usize::from(node) >= scenario.nodes().len() {
                return Err(format!("the scenario has no node {}", usize::from(node)));
            }
        }
        if is_target(scenario.kube(), self.balancer, self.target) { Ok(()) } else { Err(format!("expected {TARGET}")) }
    }

    fn impact(&self) -> Impact {
        Impact::Elsewhere
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        let (instead, of) = (&scenario.nodes()[self.instead].name, api_server::text(self.target, scenario));
        format!("{} has the address of {instead} for {of}", balancer(self.balancer, scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        let (instead, of) = (&scenario.nodes()[self.instead].name, api_server::text(self.target, scenario));
        format!("{} still has the address of {instead} for {of}", balancer(self.balancer, scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!(
            "{} has the right address for {} again",
            balancer(self.balancer, scenario),
            api_server::text(self.target, scenario)
        )
    }

    fn offers(on: Hit, scenario: &dyn Inventory) -> Vec<Offer> {
        let Hit::Balancer(id) = on else { return Vec::new() };
        let kube = scenario.kube();
        let Some(target) = kube
            .clusters
            .iter()
            .find(|cluster| balancers(cluster).contains(&id))
            .and_then(|cluster| cluster.control_plane.first().copied())
        else {
            return Vec::new();
        };
        let nodes = scenario.nodes().iter_enumerated().map(|(node, _)| node);
        let Some(instead) = nodes.into_iter().find(|node| !is_target(kube, id, *node)) else { return Vec::new() };
        let about = "has the address of a machine without an API server for the first one";
        vec![Offer { id: "lb-wrong-target", label: "Wrong target", about, fault: Self { balancer: id, target, instead }.into() }]
    }
}
