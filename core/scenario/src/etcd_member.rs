//! A member of an etcd cluster as a scenario file says it: one of the cluster at the start ([`raw`](crate::raw)), or one that an operation
//! adds ([`operation`](crate::operation)).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Name, Size};

/// A member of an etcd cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawMember {
    /// Its name, such as `etcd-main-0`.
    pub name: Name,
    /// Node that the member runs on.
    pub node: String,
    /// Volume with the member's data, in the zone of its node.
    #[serde(default)]
    #[schemars(extend(
        "x-default" = "a volume of its own, named after it, in the zone of its node",
        "x-source" = "one volume claim per pod of a StatefulSet"
    ))]
    pub volume: Option<String>,
    /// The member starts as a learner, without a vote.
    #[serde(default)]
    #[schemars(extend("x-source" = "etcd-io/etcd@c34dc7ee: member add without --learner"))]
    pub learner: bool,
    /// The member's log starts behind the cluster's; only for initial members.
    #[serde(default)]
    pub behind: Option<RawBehind>,
}

/// State of a member that starts behind the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RawBehind {
    /// Revision of the member, below that of the cluster.
    pub revision: u64,
    /// Size of the member's database.
    #[schemars(extend("x-max" = "1TiB"))]
    pub database: Size,
}
