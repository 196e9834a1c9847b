//! Volumes of pods: when they are provisioned in a zone, and disks that exist before the pods (federation-lite, "Volume affinity", "Volume
//! labeling", "GCE Specific Considerations").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::labels::Symbol;
use crate::ids::ZoneId;

/// A volume that each pod of a `StatefulSet` claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeTemplate {
    /// It can be attached in every zone of the cluster's nodes, not just in the one it was made in.
    pub regional: bool,
    /// Bytes that it holds.
    pub bytes: u64,
    /// Where it comes from, and so which zone it is in.
    pub source: VolumeSource,
}

impl VolumeTemplate {
    /// One that is made where its pod is first placed.
    pub const fn new(regional: bool, bytes: u64) -> Self {
        Self { regional, bytes, source: VolumeSource::FirstConsumer }
    }

    /// No single zone is fixed for it: it is regional, or a disk that is attached by name.
    pub const fn has_no_fixed_zone(&self) -> bool {
        self.regional || self.mount().is_some()
    }

    /// Its claim is never bound: the PersistentVolume behind it was rejected.
    pub const fn is_rejected(&self) -> bool {
        matches!(self.source, VolumeSource::ExistingDisk(mount) if mount.is_rejected())
    }

    /// The disk that it is, if it is one that exists already.
    pub const fn mount(&self) -> Option<DiskMount> {
        match self.source {
            VolumeSource::ExistingDisk(mount) => Some(mount),
            VolumeSource::FirstConsumer | VolumeSource::Immediate => None,
        }
    }
}

/// Where a volume comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeSource {
    /// Provisioned where its pod is first placed (`WaitForFirstConsumer`).
    FirstConsumer,
    /// Provisioned as soon as it is claimed, whether or not the zone has capacity for the pod (`Immediate`).
    Immediate,
    /// A disk that exists already.
    ExistingDisk(DiskMount),
}

/// A disk that a pod uses, as it names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskMount {
    /// Which of [`Disks::named`].
    pub disk: u16,
    /// The only zone in which it can be attached.
    pub attach_zone: Option<ZoneId>,
    /// What became of the lookup of its zone.
    pub lookup: ZoneLookup,
    /// Calls to the cloud for that.
    pub calls: u16,
}

impl DiskMount {
    const fn is_rejected(&self) -> bool {
        matches!(self.lookup, ZoneLookup::NotFound | ZoneLookup::Ambiguous)
    }

    /// The zone that the label of its volume names.
    pub const fn zone(&self) -> Option<ZoneId> {
        match self.lookup {
            ZoneLookup::Found(zone) => Some(zone),
            ZoneLookup::DirectMount | ZoneLookup::Disabled | ZoneLookup::NotFound | ZoneLookup::Ambiguous => None,
        }
    }

    /// Whether a node of a zone can attach it: disks are attached by name, in the zone of the node.
    pub fn is_in(&self, zone: ZoneId, disks: &Disks) -> bool {
        self.attach_zone.is_none_or(|only| only == zone) && disks.named[usize::from(self.disk)].zones.contains(&zone)
    }
}

/// What became of the lookup of a disk's zone, for the label of its PersistentVolume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneLookup {
    /// The pod mounts the disk itself: there is no PersistentVolume to be labelled.
    DirectMount,
    /// The admission plugin is off.
    Disabled,
    /// It is in this zone.
    Found(ZoneId),
    /// No disk of the name was found: the PersistentVolume is rejected.
    NotFound,
    /// Disks of the name were found in several zones: the PersistentVolume is rejected.
    Ambiguous,
}

/// Disks that are there before the cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disks {
    /// By name.
    pub named: Vec<Disk>,
    /// All zones, by name, with the values of their labels.
    pub zones: Vec<(ZoneId, Symbol)>,
}

impl Disks {
    /// The value of a zone's label.
    pub fn label(&self, zone: ZoneId) -> Option<Symbol> {
        self.zones.iter().find(|(own, _)| *own == zone).map(|(_, label)| *label)
    }
}

/// Disks of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// The name that they share.
    pub name: String,
    /// Zones that have a disk of this name.
    pub zones: Vec<ZoneId>,
}

/// When volumes are provisioned and bound to their claims (`volumeBindingMode` of their storage class).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VolumeBinding {
    /// In the zone of the node that the scheduler chooses for the first pod: capacity, taints and spreading count.
    #[default]
    WaitForFirstConsumer,
    /// As soon as they are claimed: volumes of a StatefulSet take turns over the zones that have nodes (`ChooseZoneForVolume`), whether or not a
    /// zone has capacity for the pod.
    Immediate,
}

/// Which zones the cloud is asked in for a disk of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiskLookup {
    /// One call for the region, in which names are unique (AWS: volume ids).
    #[default]
    Regional,
    /// One call for the zone of the control plane (GCE without `multizone = true` in its cloud config).
    OneZone,
    /// A call for each zone of the control plane's region, whose answers are combined (GCE with it).
    EachZone,
}

/// What the admission plugin `PersistentVolumeLabel` makes of a disk's name, and how often it calls the cloud for it: `given_zone` is the zone
/// that the PersistentVolume names itself, `master_zone` that of the control plane, `region_zones` are those of its region, and `disk_zones` those with a disk of the name.
pub fn look_up(
    lookup: DiskLookup,
    given_zone: Option<ZoneId>,
    master_zone: ZoneId,
    region_zones: &[ZoneId],
    disk_zones: &[ZoneId],
) -> (ZoneLookup, u16) {
    let asked = match (given_zone, lookup) {
        (Some(zone), _) => vec![zone],
        (None, DiskLookup::OneZone) => vec![master_zone],
        (None, DiskLookup::EachZone | DiskLookup::Regional) => region_zones.to_vec(),
    };
    let calls = if lookup == DiskLookup::Regional { 1 } else { asked.len() as u16 };
    let found: Vec<ZoneId> = asked.into_iter().filter(|zone| disk_zones.contains(zone)).collect();
    let outcome = match found[..] {
        [] => ZoneLookup::NotFound,
        [zone] => ZoneLookup::Found(zone),
        _ => ZoneLookup::Ambiguous,
    };
    (outcome, calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Federation-lite, "GCE Specific Considerations": "it is permitted to have two volumes both named myvolume in two different GCE zones".
    #[test]
    fn names_are_clear_in_one_zone_and_ambiguous_in_several_unless_the_zone_is_given() {
        use DiskLookup::{EachZone, OneZone, Regional};
        let [a, b, c] = [ZoneId(0), ZoneId(1), ZoneId(2)];
        let nodes = [a, b, c];
        for (lookup, given, there, label, calls) in [
            (OneZone, None, &[a, b][..], ZoneLookup::Found(a), 1),
            (OneZone, None, &[b], ZoneLookup::NotFound, 1),
            (EachZone, None, &[b], ZoneLookup::Found(b), 3),
            (EachZone, None, &[a, b], ZoneLookup::Ambiguous, 3),
            (EachZone, None, &[], ZoneLookup::NotFound, 3),
            (EachZone, Some(b), &[a, b], ZoneLookup::Found(b), 1),
            (EachZone, Some(c), &[a, b], ZoneLookup::NotFound, 1),
            (Regional, None, &[c], ZoneLookup::Found(c), 1),
            (Regional, None, &[], ZoneLookup::NotFound, 1),
            (Regional, Some(a), &[c], ZoneLookup::NotFound, 1),
            (Regional, None, &[ZoneId(3)], ZoneLookup::NotFound, 1),
        ] {
            assert_eq!(look_up(lookup, given, a, &nodes, there), (label, calls), "{lookup:?}, {given:?}, {there:?}");
        }
    }
}
