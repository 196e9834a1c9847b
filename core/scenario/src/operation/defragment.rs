//! The database of a member of etcd is rewritten without its free pages (`etcdctl defrag`).

use super::MembersCtx;
use super::prelude::*;
use crate::etcd::Maintenance;

/// The name of the member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "Member", extend("x-target" = "member"))]
pub struct Raw(String);

impl DatabaseOperation for Raw {
    fn task(&self, ctx: &mut MembersCtx<'_, '_>) -> Option<Maintenance> {
        let k = ctx.member(&self.0)?;
        Some(Maintenance::Defragment(ctx.lifetimes[k].id))
    }
}
