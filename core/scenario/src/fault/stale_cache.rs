//! The controller of ZoneAwareUpdates sees no changes of pods.

use super::prelude::*;
use crate::error::{did_you_mean, one_of, quote};
use crate::ids::KubeClusterId;
use crate::kube::KubeModel;
use crate::kube::zone_aware::ZoneUpdate;
use zonefall_kernel::time::Duration;

const EXPECTED: &str = "the name of a cluster with `zone_aware_updates`";

/// The cache of pods of a cluster's ZoneAwareUpdate controller stays as it was when the fault began. The controller sees neither its own
/// deletions nor pods that come back; it still sees the StatefulSet and its own status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "ZoneAwareUpdate controller has a stale cache")]
pub struct Raw {
    /// The cluster.
    #[schemars(title = "Cluster", extend("x-target" = "clusters"))]
    pub cluster: String,
}

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<StaleCache> {
        let found = with_updates(ctx.kube).find(|(_, name)| *name == self.cluster).map(|(id, _)| StaleCache(id));
        let bakes = |update: &ZoneUpdate| update.bake_time > Duration::ZERO;
        if found.as_ref().is_some_and(|StaleCache(id)| ctx.kube.clusters[*id].zone_aware.updates.iter().any(bakes)) {
            let expected =
                "a cluster whose `zone_aware_updates` have no `bake_time`: it stands for operators, who see the pods as they are";
            ctx.warn("cluster", &quote(&self.cluster), expected);
        }
        if found.is_none() {
            let known = || with_updates(ctx.kube).map(|(_, name)| name);
            let expected = match known().count() {
                0 => format!("{EXPECTED}: there is none"),
                _ => format!("{EXPECTED}: {}{}", one_of(known()), did_you_mean(&self.cluster, known())),
            };
            ctx.error("cluster", &quote(&self.cluster), &expected);
        }
        found
    }
}

/// Clusters with such updates, and their names.
fn with_updates(kube: &KubeModel) -> impl Iterator<Item = (KubeClusterId, &str)> {
    let all = kube.clusters.iter_enumerated();
    all.filter(|(_, cluster)| !cluster.zone_aware.updates.is_empty()).map(|(id, cluster)| (id, cluster.name.as_str()))
}

/// The controller of ZoneAwareUpdates of a cluster sees no changes of pods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StaleCache(pub KubeClusterId);

traced! { struct StaleCache { 0 } }

impl StaleCache {
    fn text(&self, scenario: &dyn Inventory) -> String {
        format!("the cache of {}'s ZoneAwareUpdate controller", scenario.kube().clusters[self.0].name)
    }
}

impl FaultKind for StaleCache {
    fn hits(&self) -> Vec<Hit> {
        Vec::new()
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        RawFaultKind::StaleCache(Raw { cluster: scenario.kube().clusters[self.0].name.clone() })
    }

    fn fits(&self, scenario: &dyn Inventory) -> Result<(), String> {
        let fits = with_updates(scenario.kube()).any(|(id, _)| id == self.0);
        if fits { Ok(()) } else { Err(format!("expected {EXPECTED}")) }
    }

    fn impact(&self) -> Impact {
        Impact::Elsewhere
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        format!("{} became stale", self.text(scenario))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still stale", self.text(scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} is up to date again", self.text(scenario))
    }

    fn offers(_: Hit, _: &dyn Inventory) -> Vec<Offer> {
        Vec::new()
    }
}
