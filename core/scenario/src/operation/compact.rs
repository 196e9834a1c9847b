//! The superseded revisions of an etcd cluster are dropped (`etcdctl compact`, to the current revision).

use super::MembersCtx;
use super::prelude::*;
use crate::etcd::Maintenance;

/// An empty object, `{}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, extend("x-form" = "json"))]
pub struct Raw {}

impl DatabaseOperation for Raw {
    fn task(&self, _: &mut MembersCtx<'_, '_>) -> Option<Maintenance> {
        Some(Maintenance::Compact)
    }
}
