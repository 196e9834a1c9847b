//! Admission webhooks: what the API server asks before it grants an eviction, and Kubernetes itself does not know.

use std::any::Any;
use std::fmt::Debug;

use crate::ctx::ClusterCtx;
use crate::store::Store;
use zonefall_scenario::ids::PodId;

/// A validating webhook for evictions (`pods/eviction`).
pub trait EvictionWebhook: Any + Debug + Send + Sync {
    /// Whether a pod may be evicted, as far as this webhook goes.
    fn admit(&mut self, pod: PodId, store: &Store, ctx: &mut ClusterCtx<'_>) -> bool;

    /// A copy, for a keyframe or a fork.
    fn boxed(&self) -> Box<dyn EvictionWebhook>;
}

impl Clone for Box<dyn EvictionWebhook> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}
