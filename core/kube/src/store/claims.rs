//! Claims of pods and the volumes behind them, as the API has them.

use super::{Change, Node, Store};
use crate::claim::{Attachment, Claim};
use crate::ctx::ClusterCtx;
use crate::name::{PodName, PodTag};
use crate::record::{KubeRecord, PodFact};
use crate::rule::labels::Symbol;
use crate::rule::volume_zone;
use crate::spec::VolumeTemplate;
use crate::spec::volume::VolumeSource;
use zonefall_network::Network;
use zonefall_scenario::ids::{NodeKey, WorkloadId, ZoneId};

impl Store {
    /// The claim of a pod, if it has one that is bound.
    pub fn claim(&self, name: PodName) -> Option<&Claim> {
        // Only pods of StatefulSets have one.
        if matches!(name.tag, PodTag::Ordinal(_)) { self.claims.get(&name) } else { None }
    }

    /// The claim of a new pod, as far as it does not wait for the pod's node.
    pub(super) fn bind_immediately(&mut self, name: PodName, ctx: &ClusterCtx<'_>) {
        let workload = &ctx.spec.workloads[name.workload];
        let (Some(volume), PodTag::Ordinal(ordinal)) = (workload.volume, name.tag) else { return };
        let home = match volume.source {
            VolumeSource::FirstConsumer => None,
            VolumeSource::ExistingDisk(mount) => mount.zone(),
            VolumeSource::Immediate => {
                let is_master = |node: &Node| ctx.spec.control_plane.iter().any(|host| Network::host_of(*host) == node.host);
                let has_nodes = |zone: &ZoneId| self.nodes.values().any(|node| node.zone == *zone && !is_master(node));
                let all = || ctx.spec.disks.zones.iter().map(|(zone, _)| *zone);
                let mut zones: Vec<ZoneId> = all().filter(has_nodes).collect();
                if zones.is_empty() {
                    // `allowedTopologies` of the StorageClass: no node is needed.
                    let may_have_nodes = |zone: &ZoneId| ctx.spec.machine_deployments.iter().any(|group| group.zone == *zone);
                    zones = all().filter(may_have_nodes).collect();
                }
                (!zones.is_empty()).then(|| zones[volume_zone::choose(zones.len(), &workload.name, ordinal)])
            }
        };
        if let Some(home) = home {
            let zone = ctx.spec.disks.label(home);
            let (attachment, deleted, mounted) = (Attachment::Free, false, None);
            self.claims.entry(name).or_insert(Claim { zone, home, attachment, deleted, mounted });
        }
    }

    /// The claim of a pod that was given a node: what is bound to no zone yet is bound to that of the node.
    pub(super) fn bind_on_node(&mut self, name: PodName, volume: VolumeTemplate, (zone, label): (ZoneId, Option<Symbol>)) {
        let (attachment, deleted, mounted) = (Attachment::Free, false, None);
        let label = label.filter(|_| !volume.has_no_fixed_zone());
        self.claims.entry(name).or_insert(Claim { zone: label, home: zone, attachment, deleted, mounted });
        self.changes.push(Change::Volume(name));
    }

    /// Whether a node is where it can attach a pod's volume.
    pub fn can_attach(&self, name: PodName, node: NodeKey, ctx: &ClusterCtx<'_>) -> bool {
        let mount = ctx.spec.workloads[name.workload].volume.and_then(|volume| volume.mount());
        // Of other volumes the scheduler has seen to it.
        mount.is_none_or(|mount| mount.is_in(self.node(node).zone, &ctx.spec.disks))
    }

    /// Volumes that pods of a name had before the one they have, or get.
    pub fn volumes_before(&self, name: PodName) -> u8 {
        self.discarded.get(&name).copied().unwrap_or_default()
    }

    /// A pod's claim is to go with its volume: as soon as there is no pod.
    pub fn delete_claim(&mut self, name: PodName, ctx: &mut ClusterCtx<'_>) {
        if let Some(claim) = self.claims.get_mut(&name) {
            claim.deleted = true;
            self.discard(name, ctx);
        }
    }

    /// A claim that is to go does, if there is no pod.
    pub(super) fn discard(&mut self, name: PodName, ctx: &mut ClusterCtx<'_>) {
        if self.claims.get(&name).is_some_and(|claim| claim.deleted) && self.named(name).is_none() {
            self.note_mounted(name, None);
            self.claims.remove(&name);
            *self.discarded.entry(name).or_default() += 1;
            self.changes.push(Change::Unclaimed(name));
            ctx.record(KubeRecord::Pod(name, PodFact::VolumeDiscarded));
        }
    }

    /// Pods of a workload, there or not, that have claims.
    pub fn claims_of(&self, workload: WorkloadId) -> Vec<PodName> {
        let first = PodName { workload, tag: PodTag::Ordinal(0) };
        self.claims.range(first..).map(|(name, _)| *name).take_while(|name| name.workload == workload).collect()
    }

    /// Whose volumes a node says it uses.
    pub fn mounted_on(&self, key: NodeKey) -> Vec<PodName> {
        self.mounted.get(&key).into_iter().flatten().copied().collect()
    }

    /// A pod's volume, if it has one, has been in use on its node for long.
    pub fn start_with_volume(&mut self, name: PodName, key: NodeKey, ctx: &mut ClusterCtx<'_>) {
        if self.claims.contains_key(&name) {
            self.set_attachment(name, Attachment::Attached(key), ctx);
            self.set_mounted(name, Some(key));
        }
    }

    /// A volume is attached, or about to be, or no more.
    pub fn set_attachment(&mut self, name: PodName, attachment: Attachment, ctx: &mut ClusterCtx<'_>) {
        let claim = self.claims.get_mut(&name).expect("who attaches a volume has it");
        let before = std::mem::replace(&mut claim.attachment, attachment);
        self.changes.push(Change::Volume(name));
        match (before, attachment) {
            (_, Attachment::Attached(node)) => {
                ctx.record(KubeRecord::Pod(name, PodFact::VolumeAttached(self.nodes[&node].name)));
            }
            (Attachment::Detaching { forced, .. }, _) => ctx.record(KubeRecord::Pod(name, PodFact::VolumeDetached { forced })),
            _ => {}
        }
    }

    /// A node uses a pod's volume, or none does.
    pub fn set_mounted(&mut self, name: PodName, key: Option<NodeKey>) {
        if self.note_mounted(name, key) {
            self.changes.push(Change::Volume(name));
        }
    }

    /// Notes who uses a pod's volume; whether it has one.
    fn note_mounted(&mut self, name: PodName, key: Option<NodeKey>) -> bool {
        let Some(claim) = self.claims.get_mut(&name) else { return false };
        let before = std::mem::replace(&mut claim.mounted, key);
        if let Some(names) = before.and_then(|node| self.mounted.get_mut(&node)) {
            names.remove(&name);
        }
        if let Some(node) = key {
            self.mounted.entry(node).or_default().insert(name);
        }
        true
    }
}
