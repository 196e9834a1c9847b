//! Faults: what breaks when, planned, random or injected, and what mends it.

use crate::ids::{FaultId, NodeId, VolumeId, ZoneId};
use crate::kernel::rng::{Draw, Purpose, Stream};
use crate::kernel::time::{Duration, Time};
use crate::scenario::{
    ActiveFault, Fault, FaultTarget, Lifetime, NodeCrash, RandomFaults, RandomTarget, Scenario, VolumeLost, ZonePower,
};

/// One alternating renewal process: up, down, up ...
#[derive(Clone, Debug)]
pub struct Process {
    target: RandomTarget,
    between: Lifetime,
    repair: Lifetime,
    draws: Stream,
    drawn: u64,
}

impl Process {
    fn sample(&mut self, lifetime: Lifetime) -> Duration {
        let draw = self.draws.draw(self.drawn);
        self.drawn += 1;
        sample(lifetime, draw)
    }

    /// Time from now to its next failure.
    pub fn time_to_failure(&mut self) -> Duration {
        self.sample(self.between)
    }

    /// Time from its failure to its repair.
    pub fn time_to_repair(&mut self) -> Duration {
        self.sample(self.repair)
    }

    /// What it breaks.
    pub fn fault(&self) -> Fault {
        match self.target {
            RandomTarget::Node(node) => Fault::NodeCrash(NodeCrash(FaultTarget::Named(node))),
            RandomTarget::Zone(zone) => Fault::ZonePower(ZonePower(FaultTarget::Named(zone))),
            RandomTarget::Volume(volume) => Fault::VolumeLost(VolumeLost(FaultTarget::Named(volume))),
        }
    }
}

/// One sample, at least a nanosecond.
fn sample(lifetime: Lifetime, mut draw: Draw) -> Duration {
    let factor = |unit: Duration, factor: f64| crate::kernel::dist::scale(unit, factor).max(Duration::from_nanos(1));
    match lifetime {
        Lifetime::Exponential { mean } => factor(mean, draw.exponential()),
        Lifetime::Weibull { scale, shape } => factor(scale, libm::pow(draw.exponential(), 1.0 / shape)),
        Lifetime::LogNormal { median, sigma } => factor(median, libm::exp(sigma * draw.normal())),
    }
}

/// The faults of a run.
#[derive(Clone, Debug)]
pub struct Faults {
    /// What is broken now.
    pub active: Vec<ActiveFault>,
    /// Which random process each active fault of one comes from.
    pub from_process: Vec<(FaultId, u32)>,
    /// Random processes.
    pub processes: Vec<Process>,
    seed: u64,
    next: u32,
}

impl Faults {
    /// Nothing broken; random processes numbered in the order of the scenario.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let each = |random: &RandomFaults| {
            random.targets.iter().map(|&target| (target, random.between, random.repair)).collect::<Vec<_>>()
        };
        let processes = scenario.random_faults.iter().flat_map(each);
        let process = |(target, between, repair)| Process {
            target,
            between,
            repair,
            draws: Stream::new(seed, Purpose::Lifetime, entity(target)),
            drawn: 0,
        };
        Self { active: Vec::new(), from_process: Vec::new(), processes: processes.map(process).collect(), seed, next: 0 }
    }

    /// A fault starts.
    pub fn start(&mut self, fault: Fault, from: Time) -> ActiveFault {
        let id = FaultId(self.next);
        self.next += 1;
        let active = ActiveFault { id, fault, from };
        self.active.push(active.clone());
        active
    }

    /// The draws of a fault whose effect is random.
    pub fn draws(&self, id: FaultId) -> Stream {
        Stream::new(self.seed, Purpose::Fault, u64::from(id.0))
    }

    /// It ends; `None` if it has ended before.
    pub fn end(&mut self, id: FaultId) -> Option<ActiveFault> {
        let place = self.active.iter().position(|active| active.id == id)?;
        Some(self.active.remove(place))
    }
}

fn entity(target: RandomTarget) -> u64 {
    match target {
        RandomTarget::Node(NodeId(id)) => u64::from(id),
        RandomTarget::Zone(ZoneId(id)) => 1 << 16 | u64::from(id),
        RandomTarget::Volume(VolumeId(id)) => 2 << 16 | u64::from(id),
    }
}
