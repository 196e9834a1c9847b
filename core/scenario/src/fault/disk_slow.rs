//! A disk becomes slow.

use super::prelude::*;
use crate::text;
use crate::units::Span;
use zonefall_kernel::time::Duration;

/// Every fsync and transfer of a volume takes longer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "slow disk")]
pub struct Raw {
    /// Name of the volume; a member's own volume has the name of the member.
    #[schemars(title = "Disk of", extend("x-target" = "volume"))]
    pub volume: RawFaultTarget,
    /// How much slower the disk becomes.
    #[serde(flatten)]
    pub slowdown: RawSlowdown,
}

/// How much slower disks become.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RawSlowdown {
    /// Time added to every fsync.
    #[serde(default)]
    #[schemars(title = "Added per fsync", extend("examples" = ["100ms"], "x-max" = "1h", "x-source" = "unchanged"))]
    pub add: Span,
    /// Factor by which every fsync and transfer takes longer.
    #[serde(default = "unchanged")]
    #[schemars(title = "Factor", range(min = 1, max = 1_000_000), extend("x-source" = "unchanged"))]
    pub factor: f64,
}

fn unchanged() -> f64 {
    1.0
}

/// As `add` of a file's fault.
const MOST_ADDED: Duration = Duration::from_secs(3_600);
/// As `factor` of a file's fault.
const LARGEST_FACTOR: f64 = 1e6;

impl Raw {
    pub(super) fn lower(&self, ctx: &mut FaultCtx<'_, '_>) -> Option<DiskSlow> {
        self.slowdown.check("disk_slow", ctx);
        Some(self.slowdown.of(ctx.volume(&self.volume)?))
    }
}

impl RawSlowdown {
    pub(super) fn check(&self, kind: &str, ctx: &mut FaultCtx<'_, '_>) {
        if self.add.0 == Duration::ZERO && self.factor <= 1.0 {
            ctx.error("", &format!("a {kind} fault without any effect"), "`add` or `factor`");
        }
    }

    pub(super) fn of(&self, volume: FaultTarget<VolumeId>) -> DiskSlow {
        DiskSlow { volume, add: self.add.0, factor: self.factor }
    }
}

/// Every fsync and transfer takes longer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiskSlow {
    /// The volume.
    pub volume: FaultTarget<VolumeId>,
    /// Added to every fsync.
    pub add: Duration,
    /// Times the usual, at least 1.
    pub factor: f64,
}

traced! { struct DiskSlow { volume, add, factor } }

impl FaultKind for DiskSlow {
    fn resolve(&mut self, leader: &dyn Fn(EtcdId) -> Leader) {
        self.volume.resolve(leader);
    }

    fn hits(&self) -> Vec<Hit> {
        vec![Hit::Volume(self.volume)]
    }

    fn limits(&self) -> Result<(), String> {
        if !(1.0..=LARGEST_FACTOR).contains(&self.factor) {
            return Err(format!("expected a factor of 1 to 1e6, found {}", self.factor));
        }
        if self.add > MOST_ADDED {
            return Err(format!("expected at most {MOST_ADDED} added per fsync, found {}", self.add));
        }
        if self.add == Duration::ZERO && self.factor <= 1.0 {
            return Err("expected added time or a factor above 1".to_owned());
        }
        Ok(())
    }

    fn raw(&self, scenario: &dyn Inventory) -> RawFaultKind {
        let slowdown = RawSlowdown { add: Span(self.add), factor: self.factor };
        RawFaultKind::DiskSlow(Raw { volume: self.volume.raw(scenario), slowdown })
    }

    fn impact(&self) -> Impact {
        Impact::SlowsDisk
    }

    fn began(&self, scenario: &dyn Inventory) -> String {
        let mut how = Vec::new();
        if self.factor > 1.0 {
            how.push(format!("{}x as slow", self.factor));
        }
        if self.add > Duration::ZERO {
            how.push(format!("{} more per fsync", text::duration(self.add)));
        }
        format!("{} became slow ({})", self.volume.text(scenario), how.join(", "))
    }

    fn ongoing(&self, scenario: &dyn Inventory) -> String {
        format!("{} still slow", self.volume.text(scenario))
    }

    fn ended(&self, scenario: &dyn Inventory) -> String {
        format!("{} has its normal speed again", self.volume.text(scenario))
    }

    fn amount(&self) -> Option<Amount> {
        fn with_added(fault: &Fault, text: &str) -> Result<Fault, String> {
            let Fault::DiskSlow(slow) = fault else { return Ok(fault.clone()) };
            let add: Span = read_quantity(text, "500ms")?;
            Ok(DiskSlow { add: add.0, ..slow.clone() }.into())
        }
        Some(Amount { label: "Added time per fsync", usual: "500ms", set: with_added })
    }

    fn offers(on: Hit, _: &dyn Inventory) -> Vec<Offer> {
        let Hit::Volume(volume) = on else { return Vec::new() };
        let slow = Self { volume, add: Duration::from_millis(500), factor: 1.0 };
        vec![Offer { id: "slow-disk", label: "Slow disk", about: "adds this time to every fsync", fault: slow.into() }]
    }
}
