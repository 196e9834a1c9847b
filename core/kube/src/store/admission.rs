//! Admission webhooks: what the API server asks before it grants an eviction, and Kubernetes itself does not know.

use std::any::Any;
use std::fmt::Debug;

use super::{BudgetView, Store};
use crate::ctx::ClusterCtx;
use zonefall_scenario::ids::PodId;

/// A validating webhook for evictions (`pods/eviction`).
pub trait EvictionWebhook: Any + Debug + Send + Sync {
    /// Whether a pod may be evicted, as far as this webhook goes.
    fn admit(&mut self, pod: PodId, store: &Store, ctx: &mut ClusterCtx<'_>) -> bool;

    /// What its budgets allow.
    fn allows(&self) -> Vec<BudgetView>;

    /// A copy, for a keyframe or a fork.
    fn boxed(&self) -> Box<dyn EvictionWebhook>;
}

impl Clone for Box<dyn EvictionWebhook> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl Store {
    /// Does something with the webhook of a type, if there is one, and what it sees.
    pub fn with_webhook<W: EvictionWebhook, T>(&mut self, act: impl FnOnce(&mut W, &Self) -> T) -> Option<T> {
        let mut webhooks = std::mem::take(&mut self.webhooks);
        let found = webhooks.iter_mut().find_map(|webhook| (&mut **webhook as &mut dyn Any).downcast_mut());
        let result = found.map(|webhook| act(webhook, self));
        self.webhooks = webhooks;
        result
    }
}
