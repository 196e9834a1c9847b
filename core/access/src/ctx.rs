//! What the handlers of API access see and ask for.

use crate::event::AccessEvent;
use crate::record::AccessRecord;
use zonefall_kernel::outbox::Outbox;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::Time;
use zonefall_network::Network;
use zonefall_scenario::Scenario;
use zonefall_scenario::ids::KubeClusterId;

/// Takes events and records.
pub type AccessOutbox = dyn Outbox<(KubeClusterId, AccessEvent), (KubeClusterId, AccessRecord)>;

/// What API access sees and asks for.
#[derive(Debug)]
pub struct AccessCtx<'a> {
    /// The current time.
    pub now: Time,
    /// How periodic work is simulated.
    pub stepping: Stepping,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Hosts and paths.
    pub net: &'a Network,
    /// Takes events and records.
    pub out: &'a mut AccessOutbox,
    /// Clusters with clients whose route has changed, or where new clients may meet something else.
    pub routes_changed: &'a mut Vec<KubeClusterId>,
}
