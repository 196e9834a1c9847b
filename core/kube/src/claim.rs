//! Claims of pods for volumes of their own, and where these volumes are attached.

use crate::rule::labels::Symbol;
use zonefall_scenario::ids::{NodeKey, ZoneId};

/// The claim of a pod of a `StatefulSet`, bound where the pod was first placed. It outlives the pod.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The zone its volume is in (the value of the label of its nodes); `None`: anywhere.
    pub zone: Option<Symbol>,
    /// Where it was first placed: the part of the cloud that is asked to attach and detach its volume.
    pub home: ZoneId,
    /// Where its volume is attached.
    pub attachment: Attachment,
    /// It is to go as soon as no pod uses it (`kubernetes.io/pvc-protection`).
    pub deleted: bool,
    /// The node that says it uses it (`volumesInUse`): from before it is mounted until its process is known to be gone.
    pub mounted: Option<NodeKey>,
}

/// Where a volume is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// Attached to no node.
    Free,
    /// Soon to this node.
    Attaching(NodeKey),
    /// To this node.
    Attached(NodeKey),
    /// To this node, but not for long.
    Detaching {
        /// The node.
        node: NodeKey,
        /// Nobody knows whether it still uses it.
        forced: bool,
    },
}
