//! A member's process is stopped gracefully.

use super::prelude::*;

/// SIGTERM to a member: a leader transfers leadership first. The member restarts at the end of the fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "member stopped gracefully")]
pub struct Raw {
    /// The member.
    #[schemars(title = "Member", extend("x-target" = "member"))]
    pub member: RawFaultTarget,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<GracefulStop> {
        ctx.member(&self.member).map(GracefulStop)
    }
}

/// SIGTERM: a leader transfers leadership first. The member restarts at the end of the fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GracefulStop(pub FaultTarget<MemberId>);

traced! { struct GracefulStop { 0 } }

impl FaultKind for GracefulStop {
    fn resolve(&mut self, leader: &dyn Fn(EtcdId) -> Leader) {
        self.0.resolve(leader);
    }

    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Member(self.0)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::GracefulStop(Raw { member: self.0.raw(scenario) })
    }

    fn impact(&self) -> Impact {
        Impact::Stops
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} was stopped gracefully", self.0.text(scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still stopped", self.0.text(scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} is restarted", self.0.text(scenario))
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Member(member) = on else { return Vec::new() };
        let about = "SIGTERM: a leader transfers leadership before it stops; its kubelet does not restart it";
        vec![Offer { id: "stop", label: "Stop gracefully", about, fault: Self(member).into() }]
    }
}
