//! Volumes of pods, and disks that are there before the cluster.

use super::workload::{PlannedComponent, UNKNOWN};
use crate::error::{did_you_mean, quote};
use crate::ids::{WorkloadId, ZoneId};
use crate::kube::volume::{Disk, DiskLookup, DiskMount, Disks, VolumeBinding, VolumeSource, ZoneLookup, look_up};
use crate::kube::{Kind, VolumeTemplate};
use crate::lowering::{CheckCtx, ClusterDraft, SymbolTable, Topology};
use crate::raw::{RawClaim, RawCluster, RawComponent};

/// The disks of a cluster, and the zones that there are.
pub(super) fn disks(
    ctx: &mut CheckCtx<'_>,
    symbols: &mut SymbolTable,
    path: &str,
    raw: &RawCluster,
    topology: &Topology,
) -> Disks {
    let mut named: Vec<Disk> = Vec::new();
    for (d, disk) in raw.disks.iter().enumerate() {
        let path = format!("{path}.disks[{d}]");
        let Some(zone) = topology.zone_names.find(ctx, &format!("{path}.zone"), &disk.zone).map(ZoneId::from) else { continue };
        let Some(known) = named.iter_mut().find(|known| known.name == disk.name.as_str()) else {
            named.push(Disk { name: disk.name.to_string(), zones: vec![zone] });
            continue;
        };
        if known.zones.contains(&zone) {
            ctx.error(
                &path,
                format!("{} in zone {} again", quote(&known.name), disk.zone),
                "at most one disk of each name in a zone",
            );
        } else if raw.disk_lookup == DiskLookup::Regional {
            let expected = "a unique name: with `disk_lookup` of `regional`, names are unique across zones";
            ctx.error(&format!("{path}.name"), quote(&known.name), expected);
        }
        known.zones.push(zone);
    }
    let mut zones: Vec<(ZoneId, String)> = topology.zones.iter_enumerated().map(|(id, zone)| (id, zone.name.clone())).collect();
    zones.sort_by(|(_, a), (_, b)| a.cmp(b));
    Disks { named, zones: zones.into_iter().map(|(id, name)| (id, symbols.symbol(&name))).collect() }
}

/// What the one pod of a workload uses of the disk that the file names.
pub(super) fn mount(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    (raw, workload): (&RawComponent, WorkloadId),
    cluster: &RawCluster,
    site: &mut ClusterDraft,
    topology: &Topology,
) {
    let Some(mount) = &raw.disk else { return };
    let given = mount.zone.as_ref().and_then(|name| topology.zone_names.find(ctx, &format!("{path}.disk.zone"), name));
    let given = given.map(ZoneId::from);
    let named = &site.cluster.disks.named;
    let Some(disk) = named.iter().position(|disk| disk.name == mount.name) else {
        let hint = did_you_mean(&mount.name, named.iter().map(|disk| disk.name.as_str()));
        ctx.error(&format!("{path}.disk.name"), quote(&mount.name), format!("the name of one of the cluster's `disks`{hint}"));
        return;
    };
    let own = site.cluster.control_plane.first().map(|host| topology.nodes[*host].zone);
    let Some(own) = own else { return };
    let region = topology.zones[own].region;
    let managed: Vec<ZoneId> =
        topology.zones.iter_enumerated().filter(|(_, zone)| zone.region == region).map(|(id, _)| id).collect();
    let may_be_one = |other: DiskMount| given.is_none() || other.attach_zone.is_none() || other.attach_zone == given;
    let mut others = site.cluster.workloads.iter().filter_map(|workload| workload.volume?.mount());
    if others.any(|other| usize::from(other.disk) == disk && may_be_one(other)) {
        let expected = "a disk that no other workload uses: a disk can be attached to one node at a time";
        ctx.error(&format!("{path}.disk.name"), format!("{} again", quote(&mount.name)), expected);
        return;
    }
    if !raw.pods.is_empty() {
        ctx.error(&format!("{path}.pods"), "a pod that is placed", "none: the scheduler places a pod that uses a `disk`");
    }
    let (lookup, calls) = match (mount.claim, cluster.persistent_volume_label) {
        (false, _) => (ZoneLookup::DirectMount, 0),
        (true, false) => (ZoneLookup::Disabled, 0),
        (true, true) => look_up(cluster.disk_lookup, given, own, &managed, &named[disk].zones),
    };
    let attach_zone = given.or((cluster.disk_lookup == DiskLookup::OneZone).then_some(own));
    if let Some(volume) = &mut site.cluster.workloads[workload].volume {
        volume.source = VolumeSource::ExistingDisk(DiskMount { disk: disk as u16, attach_zone, lookup, calls });
    }
}

impl PlannedComponent<'_> {
    /// The volume that each of its pods has.
    pub(super) fn volume(&self, ctx: &mut CheckCtx<'_>, of: &str, kind: Kind, replicas: u32) -> Option<VolumeTemplate> {
        let path = self.path(of);
        let is_set = matches!(kind, Kind::StatefulSet { .. });
        let has_disk = self.said(|raw| raw.disk.as_ref()).is_some();
        let usual = if self.profile.is_some() && is_set { RawClaim::Zonal } else { RawClaim::None };
        let said = self.said(|raw| raw.volume);
        let claim = said.unwrap_or(usual);
        if claim != RawClaim::None && !is_set {
            ctx.error(&format!("{path}.volume"), "a volume", "none: only pods of a StatefulSet have one each");
        }
        let size = self.said(|raw| raw.volume_size);
        if claim == RawClaim::None && size.is_some() {
            ctx.error(&format!("{path}.volume_size"), "the size of a volume", "none: its pods have no volumes (`volume`)");
        }
        let binding = self.said(|raw| raw.volume_binding);
        if binding.is_some() && (claim == RawClaim::None || !self.is_plain()) {
            let expected = "no `volume_binding`: it is for workloads of `clusters` that have a `volume`";
            ctx.error(&format!("{path}.volume_binding"), "one", expected);
        }
        if binding == Some(VolumeBinding::Immediate) && claim == RawClaim::Regional {
            ctx.error(
                &format!("{path}.volume_binding"),
                "immediate",
                "a `volume` of `zonal`: a regional volume can be attached in every zone",
            );
        }
        if has_disk && (!is_set || replicas != 1 || said.is_some() || !self.is_plain()) {
            let expected =
                "a StatefulSet of `clusters` with `replicas` of 1 and no `volume`: a disk can be attached to one node at a time";
            ctx.error(&format!("{path}.disk"), "a disk", expected);
        }
        let usual = || self.profile.map_or(UNKNOWN.volume_gib, |profile| profile.volume_gib) << 30;
        let mut template = VolumeTemplate::new(claim == RawClaim::Regional, size.map_or_else(usual, |size| size.0));
        if binding == Some(VolumeBinding::Immediate) {
            template.source = VolumeSource::Immediate;
        }
        (claim != RawClaim::None || has_disk).then_some(template)
    }
}
