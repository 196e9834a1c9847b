//! A member's process is killed.

use super::prelude::*;

/// SIGKILL to a member: its connections are reset and its unsynced writes are lost. The member restarts at the end of the fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "member killed")]
pub struct Raw {
    /// The member.
    #[schemars(title = "Member", extend("x-target" = "member"))]
    pub member: RawFaultTarget,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<ProcessKill> {
        ctx.member(&self.member).map(ProcessKill)
    }
}

/// SIGKILL: its connections are reset and its unsynced writes are lost. The member restarts at the end of the fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessKill(pub FaultTarget<MemberId>);

traced! { struct ProcessKill { 0 } }

impl FaultKind for ProcessKill {
    fn resolve(&mut self, leader: &dyn Fn(EtcdId) -> Leader) {
        self.0.resolve(leader);
    }

    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Member(self.0)]
    }

    fn raw(&self, scenario: &Scenario) -> RawFaultKind {
        RawFaultKind::ProcessKill(Raw { member: self.0.raw(scenario) })
    }

    fn impact(&self) -> Impact {
        Impact::Stops
    }

    fn began(&self, scenario: &Scenario) -> String {
        format!("{} was killed", self.0.text(scenario))
    }

    fn ongoing(&self, scenario: &Scenario) -> String {
        format!("{} still stopped", self.0.text(scenario))
    }

    fn ended(&self, scenario: &Scenario) -> String {
        format!("{} is restarted", self.0.text(scenario))
    }

    fn offers(on: Hit, _: &Scenario) -> Vec<Offer> {
        let Hit::Member(member) = on else { return Vec::new() };
        let about = "SIGKILL: connections are reset, unsynced writes are lost";
        vec![Offer { id: "kill", label: "Kill process", about, fault: Self(member).into() }]
    }
}
