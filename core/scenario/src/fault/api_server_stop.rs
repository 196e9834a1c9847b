//! An API server on a host is stopped gracefully.

use super::api_server;
use super::prelude::*;

/// SIGTERM to the API server on a control-plane host of a cluster without Gardener. `/readyz` fails at once, and the server serves on for
/// `api_servers.shutdown_delay`. Then it refuses connections, asks clients to leave (GOAWAY) and exits. It starts again when the fault
/// has ended, and not before it has exited; the host and its other programs run on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "API server stopped gracefully")]
pub struct Raw {
    /// The host, such as `plain-control-plane-0`.
    #[schemars(title = "Node", extend("x-target" = "node"))]
    pub node: String,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<ApiServerStop> {
        api_server::named(&self.node, ctx).map(ApiServerStop)
    }
}

/// SIGTERM to the API server on a control-plane host: it serves for its shutdown delay and exits. It does not start again while the fault
/// lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiServerStop(pub NodeId);

traced! { struct ApiServerStop { 0 } }

impl FaultKind for ApiServerStop {
    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Node(FaultTarget::Named(self.0))]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::ApiServerStop(Raw { node: scenario.nodes()[self.0].name.clone() })
    }

    fn fits(&self, scenario: &dyn Inventory) -> Result<(), String> {
        api_server::fits(self.0, scenario)
    }

    fn impact(&self) -> Impact {
        Impact::Elsewhere
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} received SIGTERM", api_server::text(self.0, scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} has received SIGTERM", api_server::text(self.0, scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} may run again", api_server::text(self.0, scenario))
    }

    fn offers(on: Hit, scenario: &dyn Inventory) -> Vec<Offer> {
        let about = "SIGTERM to its API server: it serves for its shutdown delay and exits; it does not run until repaired";
        let offer = |node| Offer { id: "stop-api-server", label: "Stop API server gracefully", about, fault: Self(node).into() };
        api_server::offered(on, scenario).map(offer).into_iter().collect()
    }
}
