//! An API server on a host is killed.

use super::prelude::*;
use crate::error::quote;
use crate::kube::KubeModel;

/// SIGKILL to the API server on a control-plane host of a cluster without Gardener: its connections are reset. It does not run while the
/// fault lasts; the host and its other programs do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "API server killed")]
pub struct Raw {
    /// The host, such as `plain-control-plane-0`.
    #[schemars(title = "Node", extend("x-target" = "node"))]
    pub node: String,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<ApiServerKill> {
        let node = ctx.node_named("node", &self.node)?;
        if !runs_api_server(ctx.kube, node) {
            ctx.error("node", &quote(&self.node), HOST);
        }
        Some(ApiServerKill(node))
    }
}

const HOST: &str = "a host of the control plane of a cluster in `clusters`: no API server runs on another node itself";

/// Whether the control plane of a cluster without Gardener has this host.
fn runs_api_server(kube: &KubeModel, node: NodeId) -> bool {
    let is_seed = |id| kube.seeds.iter().any(|seed| seed.cluster == id);
    kube.clusters.iter_enumerated().any(|(id, cluster)| cluster.control_plane.contains(&node) && !is_seed(id))
}

/// SIGKILL to the API server on a control-plane host: its connections are reset. It does not run while the fault lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiServerKill(pub NodeId);

traced! { struct ApiServerKill { 0 } }

impl ApiServerKill {
    fn server(&self, scenario: &dyn Inventory) -> String {
        format!("the API server on {}", scenario.nodes()[self.0].name)
    }
}

impl FaultKind for ApiServerKill {
    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Node(FaultTarget::Named(self.0))]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::ApiServerKill(Raw { node: scenario.nodes()[self.0].name.clone() })
    }

    fn fits(&self, scenario: &dyn Inventory) -> Result<(), String> {
        if runs_api_server(scenario.kube(), self.0) { Ok(()) } else { Err(format!("expected {HOST}")) }
    }

    fn impact(&self) -> Impact {
        Impact::Elsewhere
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} was killed", self.server(scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still stopped", self.server(scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} is restarted", self.server(scenario))
    }

    fn offers(on: Hit, scenario: &dyn Inventory) -> Vec<Offer> {
        let Hit::Node(FaultTarget::Named(node)) = on else { return Vec::new() };
        if !runs_api_server(scenario.kube(), node) {
            return Vec::new();
        }
        let about = "SIGKILL to its API server: connections are reset; it does not run until repaired";
        vec![Offer { id: "kill-api-server", label: "Kill API server", about, fault: Self(node).into() }]
    }
}
