//! Byte forms of the scenario types that records mention, for the trace hash (`zonefall_kernel::traced`).

use zonefall_kernel::traced;

use crate::ids::{
    ApiClientId, BalancerId, EtcdId, KubeClusterId, MachineDeploymentId, MemberId, NodeId, NodeKey, SeedId, ServiceId, VolumeId,
    WorkloadId, ZoneId,
};
use crate::kube::Component;
use crate::kube::gardener::{FailureTolerance, SeedRejection, ZoneTolerance};
use crate::kube::name::{MachineName, NodeName, PodName, PodTag};
use crate::kube::taints::Effect;

traced! {
    struct BalancerId { 0 }
    struct ApiClientId { 0 }
    struct EtcdId { 0 }
    struct MemberId { cluster, index }
    struct MachineDeploymentId { 0 }
    struct NodeId { 0 }
    struct NodeKey { 0 }
    struct KubeClusterId { 0 }
    struct SeedId { 0 }
    struct ServiceId { 0 }
    struct WorkloadId { 0 }
    struct VolumeId { 0 }
    struct ZoneId { 0 }
    struct MachineName { deployment, template, suffix }
    struct PodName { workload, tag }
}

traced! { enum NodeName { Given(key) = 0, Machine(name) = 1 } }

traced! { enum PodTag { Replica { template, suffix } = 0, Ordinal(ordinal) = 1, Agent(suffix) = 2 } }

traced! {
    enum Component {
        ControllerManager = 0,
        Scheduler = 1,
        MachineControllerManager = 2,
        Autoscaler = 3,
        Gardenlet = 4,
        Druid = 5,
    }
}

traced! { enum Effect { NoSchedule = 0, PreferNoSchedule = 1, NoExecute = 2 } }

traced! { enum FailureTolerance { None = 0, Node = 1, Zone = 2 } }

traced! { enum ZoneTolerance { None = 0, Pair = 1, Quorum = 2 } }

traced! { enum SeedRejection { Full = 0, TooFewZones { found, needed } = 3, OtherRegion = 2 } }
