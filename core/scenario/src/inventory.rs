//! The part of a scenario that faults and operations may read. A scenario holds faults and operations, so they know this trait instead
//! of `Scenario`.

use std::ops::Deref;

use crate::access::LoadBalancer;
use crate::etcd::{EtcdClusterSpec, Member};
use crate::ids::{BalancerId, EtcdId, MemberId, NodeId, TiSlice, VolumeId, ZoneId};
use crate::kube::KubeModel;
use crate::topology::{Node, Volume, Zone};

/// Zones, nodes, volumes and clusters by their ids: those of a [`Scenario`](crate::Scenario).
pub trait Inventory {
    /// Zones of all regions.
    fn zones(&self) -> &TiSlice<ZoneId, Zone>;

    /// Nodes (machines).
    fn nodes(&self) -> &TiSlice<NodeId, Node>;

    /// Zonal volumes.
    fn volumes(&self) -> &TiSlice<VolumeId, Volume>;

    /// etcd clusters.
    fn etcd(&self) -> &TiSlice<EtcdId, EtcdClusterSpec>;

    /// Kubernetes clusters.
    fn kube(&self) -> &KubeModel;

    /// Load balancers in front of API servers.
    fn load_balancers(&self) -> &TiSlice<BalancerId, LoadBalancer>;

    /// A member of an etcd cluster.
    fn member(&self, id: MemberId) -> &Member {
        &self.etcd()[id.cluster].members[usize::from(id.index)]
    }
}

/// Whatever points to a scenario: runs share it with their keyframes, and the page with its views.
impl<P: Deref<Target: Inventory>> Inventory for P {
    fn zones(&self) -> &TiSlice<ZoneId, Zone> {
        (**self).zones()
    }

    fn nodes(&self) -> &TiSlice<NodeId, Node> {
        (**self).nodes()
    }

    fn volumes(&self) -> &TiSlice<VolumeId, Volume> {
        (**self).volumes()
    }

    fn etcd(&self) -> &TiSlice<EtcdId, EtcdClusterSpec> {
        (**self).etcd()
    }

    fn kube(&self) -> &KubeModel {
        (**self).kube()
    }

    fn load_balancers(&self) -> &TiSlice<BalancerId, LoadBalancer> {
        (**self).load_balancers()
    }
}
