//! What Services of etcd tell those who dial: which zone's clients each member is for (the hints of their `EndpointSlices`).

use std::collections::BTreeMap;

use zonefall_scenario::ids::{MemberId, ZoneId};

/// Services of all clusters.
#[derive(Clone, Debug, Default)]
pub struct Services {
    hints: BTreeMap<MemberId, ZoneId>,
}

impl Services {
    /// Which zone's clients a member is for; `None`: its Service does not say.
    pub fn hint(&self, member: MemberId) -> Option<ZoneId> {
        self.hints.get(&member).copied()
    }

    /// A member is for clients of this zone from now on; whether that is new.
    pub fn set_hint(&mut self, member: MemberId, zone: Option<ZoneId>) -> bool {
        let before = match zone {
            Some(zone) => self.hints.insert(member, zone),
            None => self.hints.remove(&member),
        };
        before != zone
    }
}
