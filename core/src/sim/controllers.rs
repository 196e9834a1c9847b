//! The table of controllers, as each package has them. Its order is behaviour: at one instant controllers are notified, armed and listed
//! in it.

use crate::autoscaler::Autoscaler;
use crate::gardener;
use crate::gardener::machine::controller::Machines;
use crate::gardener::shoot_care::ShootCare;
use crate::kube::controller::{self, Factory};
use crate::rollout;

/// All controllers. A machine runs before the DaemonSets of its node are placed.
pub(super) const CONTROLLERS: &[&[Factory]] = &[
    controller::CONTROLLERS,
    &[Machines::factory],
    controller::PER_NODE,
    &[ShootCare::factory, Autoscaler::factory],
    gardener::CONTROLLERS,
    rollout::CONTROLLERS,
];
