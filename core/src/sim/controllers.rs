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

/// All controllers. What must come before what, for changes that several are notified of in one instant:
/// - a StatefulSet sees a terminating pod before its endpoint goes, a ReplicaSet a ready pod after its endpoint has come;
/// - both see a terminating pod before its kubelet can end it; the kubelet comes before the attach/detach controller;
/// - a machine runs before the DaemonSets of its node are placed.
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
