//! Zonal shift (Amazon Application Recovery Controller with EKS; EKS User Guide, "Learn about ARC zonal shift"): traffic leaves a zone that is ill
//! and not dead, until the shift expires.
//!
//! ```text
//!  starts  --> the zone's nodes are cordoned, those that join as well; no Service lists its pods; no node is added there
//!  expires --> what the shift has cordoned takes pods again, and Services list the zone's pods
//! ```
//!
//! No pod is evicted and no node is deleted: the zone has its whole capacity when traffic returns.

use std::collections::BTreeSet;

use super::{CORDONED, Change, Store};
use crate::ctx::ClusterCtx;
use crate::record::{KubeRecord, NodeFact};
use zonefall_scenario::ids::{NodeKey, ZoneId};

/// A zone that traffic is shifted away from, and the nodes that were cordoned for that.
#[derive(Clone, Debug)]
pub(super) struct Shifted {
    zone: ZoneId,
    cordoned: BTreeSet<NodeKey>,
}

impl Store {
    /// The zone that traffic is shifted away from.
    pub fn shifted(&self) -> Option<ZoneId> {
        self.shifted.as_ref().map(|shifted| shifted.zone)
    }

    /// Traffic is shifted away from a zone.
    ///
    /// # Panics
    /// If it is from a zone already.
    pub(crate) fn start_shift(&mut self, zone: ZoneId, ctx: &mut ClusterCtx<'_>) {
        assert!(self.shifted.is_none(), "one shift at a time");
        self.shifted = Some(Shifted { zone, cordoned: BTreeSet::new() });
        self.changes.push(Change::Shift);
        let there: Vec<NodeKey> = self.nodes().filter(|(_, node)| node.zone == zone).map(|(key, _)| key).collect();
        for key in there {
            self.cordon_for_shift(key, ctx);
        }
    }

    /// A node takes no more pods if traffic is shifted away from its zone.
    pub(super) fn cordon_for_shift(&mut self, key: NodeKey, ctx: &mut ClusterCtx<'_>) {
        let zone = self.nodes[&key].zone;
        if self.shifted() == Some(zone)
            && let Some(name) = self.set_taint(key, CORDONED, true)
        {
            ctx.record(KubeRecord::Node(name, NodeFact::Cordoned));
            self.shifted.as_mut().expect("it was just asked").cordoned.insert(key);
        }
    }

    /// Somebody else wants a node to take no more pods: the end of a shift changes nothing about that.
    pub(super) fn keep_cordoned(&mut self, key: NodeKey) {
        if let Some(shifted) = &mut self.shifted {
            shifted.cordoned.remove(&key);
        }
    }

    /// Traffic returns to the zone.
    pub(crate) fn end_shift(&mut self, ctx: &mut ClusterCtx<'_>) {
        let Shifted { zone, cordoned } = self.shifted.take().expect("a shift expires once");
        ctx.record(KubeRecord::ShiftExpired(zone));
        self.changes.push(Change::Shift);
        for key in cordoned {
            if let Some(name) = self.set_taint(key, CORDONED, false) {
                ctx.record(KubeRecord::Node(name, NodeFact::Uncordoned));
            }
        }
    }
}
