//! The two controllers of control planes, and how each hands a shoot to the other: etcd is druid's work, the other components are
//! gardenlet's, and both wait for each other. What they do is in [`druid`](super::druid) and [`gardenlet`](super::gardenlet).

use crate::garden::Garden;
use zonefall_kube::ctx::ClusterCtx;
use zonefall_network::HostId;
use zonefall_scenario::ids::EtcdId;

/// etcd-druid. Key of its work queue: a shoot.
#[derive(Clone, Debug)]
pub struct Druid {
    /// Etcd clusters of which one member serves and one stands by.
    pub(super) pairs: Vec<EtcdId>,
    /// Where it runs, while it can act.
    pub(super) host: Option<HostId>,
}

/// gardenlet, as far as it reconciles shoots. Key of its work queue: a shoot.
#[derive(Clone, Debug)]
pub struct Gardenlet;

impl Druid {
    /// Notifies druid that a shoot's etcd may have to change.
    pub(super) fn notify(key: u32, ctx: &mut ClusterCtx<'_>) {
        ctx.notify::<Self>(0, key);
    }
}

impl Gardenlet {
    /// Notifies gardenlet that a shoot's other components may have to change.
    pub(super) fn notify(key: u32, ctx: &mut ClusterCtx<'_>) {
        ctx.notify::<Self>(0, key);
    }
}

/// Notifies both of all shoots for which something may be to do, since outages have begun or ended.
pub(super) fn notify_of_outages(ctx: &mut ClusterCtx<'_>) {
    for key in Garden::seed_of(ctx).concerned(None) {
        Druid::notify(key, ctx);
        Gardenlet::notify(key, ctx);
    }
}
