//! The table of controllers: one line for each. Its order is behaviour: at one instant controllers are notified, armed and listed in it.

use crate::autoscaler::Autoscaler;
use crate::gardener::druid::Druid;
use crate::gardener::gardenlet::Gardenlet;
use crate::gardener::machine::controller::Machines;
use crate::gardener::outage::Outages;
use crate::gardener::shoot_care::ShootCare;
use crate::kube::controller::Factory;
use crate::kube::controller::attach_detach::Volumes;
use crate::kube::controller::daemon::DaemonSets;
use crate::kube::controller::disruption::Budgets;
use crate::kube::controller::endpoints::Endpoints;
use crate::kube::controller::kubelet_sync::KubeletSync;
use crate::kube::controller::node_lifecycle::Lifecycle;
use crate::kube::controller::pod_gc::PodGarbageCollector;
use crate::kube::controller::replicas::ReplicaSets;
use crate::kube::controller::scheduler::Scheduler;
use crate::kube::controller::stateful::StatefulSets;
use crate::kube::controller::taint_eviction::Evictions;

/// All controllers.
pub(super) const CONTROLLERS: &[Factory] = &[
    Lifecycle::factory,
    Evictions::factory,
    StatefulSets::factory,
    Budgets::factory,
    Endpoints::factory,
    ReplicaSets::factory,
    KubeletSync::factory,
    Volumes::factory,
    PodGarbageCollector::factory,
    Scheduler::factory,
    Machines::factory,
    DaemonSets::factory,
    ShootCare::factory,
    Autoscaler::factory,
    Outages::factory,
    Druid::factory,
    Gardenlet::factory,
];
