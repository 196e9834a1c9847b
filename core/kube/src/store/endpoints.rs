//! Endpoints of Services: the pods that clients of a Service are sent to.

use std::collections::BTreeSet;

use super::Store;
use crate::ctx::ClusterCtx;
use crate::name::PodName;
use crate::record::KubeRecord;
use zonefall_scenario::ids::ServiceId;

impl Store {
    /// Replaces the pods that a Service lists.
    pub fn set_endpoints(&mut self, service: ServiceId, pods: BTreeSet<PodName>, ctx: &mut ClusterCtx<'_>) {
        let before = std::mem::replace(&mut self.endpoints[service], pods);
        let now = &self.endpoints[service];
        for pod in before.symmetric_difference(now) {
            ctx.record(KubeRecord::Endpoint { service, pod: *pod, listed: now.contains(pod) });
        }
    }
}
