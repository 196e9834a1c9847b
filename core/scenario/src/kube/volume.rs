//! Volumes of pods: when they are bound to a zone, and disks that are there before the pods (federation-lite, "Volume affinity", "Volume
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
    /// When it is bound to its zone.
    pub binding: Binding,
}

impl VolumeTemplate {
    /// One that is made where its pod is first placed.
    pub const fn new(regional: bool, bytes: u64) -> Self {
        Self { regional, bytes, binding: Binding::FirstConsumer }
    }

    /// It is not in one zone alone that is known when it is made.
    pub const fn is_anywhere(&self) -> bool {
        self.regional || matches!(self.binding, Binding::Disk(_))
    }

    /// Its claim is never bound: the volume behind it was refused.
    pub const fn is_refused(&self) -> bool {
        matches!(self.binding, Binding::Disk(mount) if mount.is_refused())
    }
}

/// When a volume is bound to its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Where its pod is first placed (`WaitForFirstConsumer`).
    FirstConsumer,
    /// As soon as it is claimed, wherever there is room for the pod (`Immediate`).
    Immediate,
    /// It is there already.
    Disk(DiskMount),
}

/// A disk that a pod uses, as it names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskMount {
    /// Which of [`Disks::named`].
    pub disk: u16,
    /// The only zone in which it is looked for when it is attached.
    pub only: Option<ZoneId>,
    /// Whether a claim stands between pod and disk, whose volume has labels.
    pub label: Label,
    /// How often the cloud was called for the label.
    pub calls: u16,
}

impl DiskMount {
    const fn is_refused(&self) -> bool {
        matches!(self.label, Label::Missing | Label::Ambiguous)
    }

    /// The zone that the label of its volume names.
    pub const fn zone(&self) -> Option<ZoneId> {
        match self.label {
            Label::Zone(zone) => Some(zone),
            Label::Direct | Label::None | Label::Missing | Label::Ambiguous => None,
        }
    }

    /// Whether a node of a zone can attach it: disks are attached by name, in the zone of the node.
    pub fn is_in(&self, zone: ZoneId, disks: &Disks) -> bool {
        self.only.is_none_or(|only| only == zone) && disks.named[usize::from(self.disk)].zones.contains(&zone)
    }
}

/// The label of a disk's volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// There is no volume to be labelled: the pod mounts the disk itself.
    Direct,
    /// Nobody labels volumes.
    None,
    /// Its zone.
    Zone(ZoneId),
    /// No disk of the name was found: the volume is refused.
    Missing,
    /// Disks of the name were found in several zones: the volume is refused.
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
    /// The name.
    pub name: String,
    /// Zones with a disk of it.
    pub zones: Vec<ZoneId>,
}

/// When volumes are bound (`volumeBindingMode` of their storage class).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VolumeBinding {
    /// Where their pods are first placed: the scheduler has looked at room, taints and spreading by then.
    #[default]
    WaitForFirstConsumer,
    /// When they are claimed: volumes of a StatefulSet take turns over the zones that have nodes (`ChooseZoneForVolume`), whether there is
    /// room or not.
    Immediate,
}

/// How the cloud is asked for a disk by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiskLookup {
    /// One call for all zones, in which names are unique (AWS).
    #[default]
    Regional,
    /// One call for the zone of the control plane (GCE without the flag `multizone`).
    OneZone,
    /// A call for each zone of the nodes, whose answers are combined (GCE with the flag).
    EachZone,
}

/// What the admission plugin `PersistentVolumeLabel` makes of a disk's name, and how often it calls the cloud for it. `given` is the zone
/// that the volume itself names, `own` that of the control plane, `managed` are those of the nodes, and `there` those with a disk of the name.
pub fn look_up(lookup: DiskLookup, given: Option<ZoneId>, own: ZoneId, managed: &[ZoneId], there: &[ZoneId]) -> (Label, u16) {
    let asked = match (given, lookup) {
        (Some(zone), _) => vec![zone],
        (None, DiskLookup::OneZone) => vec![own],
        (None, DiskLookup::EachZone) => managed.to_vec(),
        (None, DiskLookup::Regional) => there.to_vec(),
    };
    let calls = if lookup == DiskLookup::Regional { 1 } else { asked.len() as u16 };
    let found: Vec<ZoneId> = asked.into_iter().filter(|zone| there.contains(zone)).collect();
    let label = match found[..] {
        [] => Label::Missing,
        [zone] => Label::Zone(zone),
        _ => Label::Ambiguous,
    };
    (label, calls)
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
            (OneZone, None, &[a, b][..], Label::Zone(a), 1),
            (OneZone, None, &[b], Label::Missing, 1),
            (EachZone, None, &[b], Label::Zone(b), 3),
            (EachZone, None, &[a, b], Label::Ambiguous, 3),
            (EachZone, None, &[], Label::Missing, 3),
            (EachZone, Some(b), &[a, b], Label::Zone(b), 1),
            (EachZone, Some(c), &[a, b], Label::Missing, 1),
            (Regional, None, &[c], Label::Zone(c), 1),
            (Regional, None, &[], Label::Missing, 1),
            (Regional, Some(a), &[c], Label::Missing, 1),
        ] {
            assert_eq!(look_up(lookup, given, a, &nodes, there), (label, calls), "{lookup:?}, {given:?}, {there:?}");
        }
    }
}
