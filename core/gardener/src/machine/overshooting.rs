//! A machine set that has too many machines makes no more (`pkg/controller/machine_safety.go`, `checkAndFreezeORUnfreezeMachineSets`).
//!
//! A cloud that neither creates nor deletes would otherwise be left with one more machine every 20 min: each that could not be made is
//! given up and stays Terminating, and another takes its place.
//!
//! Upstream looks every minute and whenever a machine is made, and thaws where the machines are one fewer than it freezes at
//! (`--safety-down`): that is where they are fewer. Here it is so at once.

/// Machines beyond those wanted, and the surge, at which a machine set is frozen (`--safety-up`).
const SAFETY_UP: u32 = 2;

/// Whether a machine set with so many machines, Terminating ones among them, is frozen. `desired` machines are wanted of its machine
/// deployment, and `surge` more while that is rolled out.
pub const fn is_frozen(machines: u32, desired: u32, surge: u32) -> bool {
    machines >= desired + surge + SAFETY_UP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_beyond_the_surge_freeze() {
        for (machines, desired, surge, frozen) in [
            (3, 1, 1, false),
            (4, 1, 1, true),
            (2, 1, 0, false),
            (3, 1, 0, true),
            (4, 2, 1, false),
            (2, 0, 0, true),
            (1, 0, 0, false),
        ] {
            assert_eq!(is_frozen(machines, desired, surge), frozen, "{machines} of {desired} and {surge}");
        }
    }
}
