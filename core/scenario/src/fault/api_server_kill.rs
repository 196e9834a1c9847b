//! An API server on a host is killed.

use super::api_server;
use super::prelude::*;

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
        api_server::named(&self.node, ctx).map(ApiServerKill)
    }
}

/// SIGKILL to the API server on a control-plane host: its connections are reset. It does not run while the fault lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiServerKill(pub NodeId);

traced! { struct ApiServerKill { 0 } }

impl FaultKind for ApiServerKill {
    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Node(FaultTarget::Named(self.0))]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::ApiServerKill(Raw { node: scenario.nodes()[self.0].name.clone() })
    }

    fn fits(&self, scenario: &dyn Inventory) -> Result<(), String> {
        api_server::fits(self.0, scenario)
    }

    fn impact(&self) -> Impact {
        Impact::Elsewhere
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} was killed", api_server::text(self.0, scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still stopped", api_server::text(self.0, scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} is restarted", api_server::text(self.0, scenario))
    }

    fn offers(on: Hit, scenario: &dyn Inventory) -> Vec<Offer> {
        let about = "SIGKILL to its API server: connections are reset; it does not run until repaired";
        let offer = |node| Offer { id: "kill-api-server", label: "Kill API server", about, fault: Self(node).into() };
        api_server::offered(on, scenario).map(offer).into_iter().collect()
    }
}
