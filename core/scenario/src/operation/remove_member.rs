//! A member is removed from an etcd cluster (`etcdctl member remove`).

use super::MembersCtx;
use super::prelude::*;
use crate::error::quote;
use crate::etcd::MemberChange;

/// The name of the member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "Member", extend("x-target" = "member"))]
pub struct Raw(String);

impl MemberOperation for Raw {
    fn change(&self, ctx: &mut MembersCtx<'_, '_>) -> Option<MemberChange> {
        let k = ctx.member(&self.0)?;
        let id = ctx.lifetimes[k].id;
        if !ctx.now().any(|life| !life.learner && life.id != id) {
            let found = format!("{}, the last member with a vote", quote(&self.0));
            ctx.error("", found, "a member that is not the last with a vote");
            return None;
        }
        ctx.lifetimes[k].until = ctx.at;
        Some(MemberChange::Remove(id))
    }
}
