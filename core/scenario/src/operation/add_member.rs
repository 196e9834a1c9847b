//! A member is added to an etcd cluster (`etcdctl member add`).

use super::MembersCtx;
use super::prelude::*;
use crate::error::quote;
use crate::etcd::MemberChange;
use crate::etcd_member::RawMember;
use crate::lowering::{MAX_MEMBERS, MAX_MEMBERS_EVER, MemberLifetime};

/// The member that is added.
pub(super) type Raw = RawMember;

impl MemberOperation for Raw {
    fn change(&self, ctx: &mut MembersCtx<'_, '_>) -> Option<MemberChange> {
        if self.behind.is_some() {
            ctx.error(".behind", "an object", "nothing: a member that is added starts empty");
        }
        if ctx.now().any(|life| life.name == self.name.as_str()) {
            let found = format!("{}, which is in the cluster then", quote(self.name.as_str()));
            ctx.error(".name", found, "a name that is not in the cluster, or an earlier removal of that member");
            return None;
        }
        let now = ctx.now().count();
        if now >= MAX_MEMBERS {
            ctx.error("", format!("one member more than {now}"), format!("at most {MAX_MEMBERS} members at a time"));
            return None;
        }
        if ctx.lifetimes.len() >= MAX_MEMBERS_EVER {
            ctx.error("", "a member more", format!("at most {MAX_MEMBERS_EVER} members of a cluster, one after the other"));
            return None;
        }
        let life = MemberLifetime::new(ctx.cluster, ctx.lifetimes.len(), self, ctx.at, ctx.path.to_owned());
        let id = life.id;
        ctx.lifetimes.push(life);
        Some(MemberChange::Add(id))
    }
}
