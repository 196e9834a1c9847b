//! A learner of an etcd cluster gets its vote (`etcdctl member promote`).

use super::MembersCtx;
use super::prelude::*;
use crate::error::quote;
use crate::etcd::MemberChange;

/// The name of the learner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "Member", extend("x-target" = "member"))]
pub struct Raw(String);

impl MemberOperation for Raw {
    fn change(&self, ctx: &mut MembersCtx<'_, '_>) -> Option<MemberChange> {
        let k = ctx.member(&self.0)?;
        // It may be asked for again: etcd refuses a learner that is not in sync yet.
        if !ctx.lifetimes[k].joined_as_learner {
            ctx.error("", format!("{}, which has a vote", quote(&self.0)), "a learner");
            return None;
        }
        ctx.lifetimes[k].learner = false;
        Some(MemberChange::Promote(ctx.lifetimes[k].id))
    }
}
