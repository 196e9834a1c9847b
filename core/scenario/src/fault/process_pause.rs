//! A member's process is frozen, and goes on.

use super::prelude::*;

/// SIGSTOP to a member, or a pause of its virtual machine: it does nothing and answers nobody. Its connections stay open, and its clock goes on.
/// At the end of the fault it goes on (SIGCONT): timers that are overdue fire, and what arrived meanwhile is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "member paused")]
pub struct Raw {
    /// The member.
    #[schemars(title = "Member", extend("x-target" = "member"))]
    pub member: RawFaultTarget,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<ProcessPause> {
        ctx.member(&self.member).map(ProcessPause)
    }
}

/// SIGSTOP: it does nothing until the end of the fault. Its connections stay open, and its clock goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessPause(pub FaultTarget<MemberId>);

traced! { struct ProcessPause { 0 } }

impl FaultKind for ProcessPause {
    fn resolve(&mut self, leader: &dyn Fn(EtcdId) -> Leader) {
        self.0.resolve(leader);
    }

    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Member(self.0)]
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::ProcessPause(Raw { member: self.0.raw(scenario) })
    }

    fn impact(&self) -> Impact {
        Impact::Stops
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} was paused", self.0.text(scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still paused", self.0.text(scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} goes on", self.0.text(scenario))
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Member(member) = on else { return Vec::new() };
        let about = "SIGSTOP, as a paused VM: it does nothing, its connections stay open";
        vec![Offer { id: "pause", label: "Pause process", about, fault: Self(member).into() }]
    }
}
