//! In which zone a pod is, and the order of zones.

use std::collections::BTreeMap;

use zonefall_kernel::time::{Duration, Time};
use zonefall_kube::name::PodName;
use zonefall_kube::rule::labels::Symbol;
use zonefall_kube::store::{Pod, Store};
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::{TiVec, ZoneId};

/// A zone by its place in the alphabetical order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ZonePlace(u16);

/// How long the zone of a pod is remembered whose node is gone (`pkg/podzone/cache.go`).
const TTL: Duration = Duration::from_secs(2 * 3_600);

/// Zones of pods, as the controllers know them: those of their nodes, or from memory.
#[derive(Clone, Debug)]
pub(crate) struct PodZones {
    places: TiVec<ZoneId, ZonePlace>,
    in_order: Vec<ZoneId>,
    memory: BTreeMap<PodName, (ZonePlace, Time)>,
}

impl PodZones {
    /// No pod was seen yet.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let mut in_order: Vec<ZoneId> = scenario.zones.keys().collect();
        in_order.sort_by_key(|zone| &scenario.zones[*zone].name);
        let mut places: TiVec<ZoneId, ZonePlace> = vec![ZonePlace(0); in_order.len()].into();
        for (place, zone) in (0..).zip(&in_order) {
            places[*zone] = ZonePlace(place);
        }
        Self { places, in_order, memory: BTreeMap::new() }
    }

    /// The zone at a place.
    pub(crate) fn zone(&self, place: ZonePlace) -> ZoneId {
        self.in_order[usize::from(place.0)]
    }

    /// Zone of a pod's node, if that is there and says so.
    pub(crate) fn of_node(&self, pod: &Pod, store: &Store) -> Option<ZonePlace> {
        let node = store.get_node(pod.node?)?;
        node.labels.get(Symbol::ZONE)?;
        Some(self.places[node.zone])
    }

    /// Zone of a pod: that of its node, or the last one known of a pod of its name.
    pub(crate) fn of_pod(&mut self, pod: &Pod, store: &Store, now: Time) -> Option<ZonePlace> {
        if let Some(place) = self.of_node(pod, store) {
            self.memory.insert(pod.name, (place, now));
            return Some(place);
        }
        self.of_name(pod.name, now)
    }

    /// The last zone known of a pod of a name.
    pub(crate) fn of_name(&self, pod: PodName, now: Time) -> Option<ZonePlace> {
        self.memory.get(&pod).filter(|(_, seen)| now < *seen + TTL).map(|(place, _)| *place)
    }

    /// Forgets all pods.
    pub(crate) fn forget(&mut self) {
        self.memory.clear();
    }
}
