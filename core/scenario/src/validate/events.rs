//! Faults, planned and random.

use std::collections::BTreeSet;

use super::{mark, void_faults};
use crate::error::quote;
use crate::fault::{FaultCtx, FaultResolver, FaultTarget, UNCLAIMED};
use crate::ids::{NodeId, VolumeId, ZoneId};
use crate::lowering::{CheckCtx, Names, quoted};
use crate::model::{Lifetime, PlannedFault, RandomFaults, RandomTarget};
use crate::raw::{RawLifetime, RawRandomFaults, RawScenario, RawWhich};
use crate::source::Input;
use crate::units::Span;
use zonefall_kernel::time::{Duration, Time};

/// Planned faults, those of single volumes that a zone's storage stands for included.
const MAX_PLANNED: usize = 200_000;
/// Random faults of a run, estimated.
const MAX_RANDOM_FAULTS: f64 = 1e6;
const SHORTEST_LIFETIME: Duration = Duration::from_millis(1);
const LONGEST_LIFETIME: Duration = Duration::from_secs(100 * 366 * 86_400);

pub(super) fn validate(
    ctx: &mut CheckCtx<'_>,
    raw: &RawScenario,
    resolver: &FaultResolver<'_>,
    inputs: &mut Vec<Input>,
) -> (Vec<PlannedFault>, Vec<RandomFaults>) {
    let mut planned = Vec::new();
    for (k, fault) in raw.faults.iter().enumerate() {
        let path = format!("faults[{k}]");
        let at = Time::ZERO + fault.at.0;
        if at >= ctx.end {
            ctx.error(&format!("{path}.at"), quoted(fault.at), "a time before the end of the run (`duration`)");
        }
        mark(ctx, inputs, &path, &fault.mark);
        let mut found = FaultCtx::new(ctx, resolver, &path, at, fault.lasts);
        let faults = fault.kind.lower(&mut found);
        if planned.len() + faults.len() > MAX_PLANNED {
            ctx.error("faults", format!("more than {MAX_PLANNED} of single volumes"), format!("at most {MAX_PLANNED}"));
            break;
        }
        let lasts = fault.lasts.map(|span| span.0);
        planned.extend(faults.into_iter().map(|fault| (k, PlannedFault { at, lasts, fault })));
    }
    void_faults::warn(ctx, &planned, resolver);
    let mut random = Vec::new();
    for (k, faults) in raw.random_faults.iter().enumerate() {
        random.push(random_faults(ctx, &format!("random_faults[{k}]"), faults, resolver));
    }
    too_many(ctx, raw, &random);
    (planned.into_iter().map(|(_, fault)| fault).collect(), random)
}

fn random_faults(ctx: &mut CheckCtx<'_>, path: &str, raw: &RawRandomFaults, resolver: &FaultResolver<'_>) -> RandomFaults {
    let mut targets = Vec::new();
    let node = |k| RandomTarget::Node(NodeId(k as u16));
    let zone = |k| RandomTarget::Zone(ZoneId(k as u16));
    let volume = |k| RandomTarget::Volume(VolumeId(k as u16));
    which(ctx, &format!("{path}.nodes"), &raw.nodes, &resolver.topology.node_names, node, &mut targets);
    which(ctx, &format!("{path}.zones"), &raw.zones, &resolver.topology.zone_names, zone, &mut targets);
    which(ctx, &format!("{path}.volumes"), &raw.volumes, &resolver.topology.volume_names, volume, &mut targets);
    let nothing = |which: &RawWhich| matches!(which, RawWhich::Named(names) if names.is_empty());
    let claimed = |target: &RandomTarget| matches!(target, RandomTarget::Volume(volume) if resolver.is_claimed(FaultTarget::Named(*volume)));
    if targets.iter().any(claimed) {
        ctx.error(&format!("{path}.volumes"), "a volume of a pod", UNCLAIMED);
    }
    if nothing(&raw.nodes) && nothing(&raw.zones) && nothing(&raw.volumes) {
        ctx.error(path, "no target", "names in `nodes`, `zones` or `volumes`, or \"all\"");
    }
    let between = lifetime(ctx, &format!("{path}.every"), raw.every);
    let repair = lifetime(ctx, &format!("{path}.repair"), raw.repair);
    RandomFaults { targets, between, repair }
}

fn which(
    ctx: &mut CheckCtx<'_>,
    path: &str,
    raw: &RawWhich,
    names: &Names,
    target: fn(usize) -> RandomTarget,
    targets: &mut Vec<RandomTarget>,
) {
    match raw {
        RawWhich::All(_) => {
            let mut all = BTreeSet::new();
            all.extend(names.iter().filter_map(|name| names.get(name)));
            targets.extend(all.into_iter().map(target));
        }
        RawWhich::Named(list) => {
            let mut seen = BTreeSet::new();
            for (k, name) in list.iter().enumerate() {
                let path = format!("{path}[{k}]");
                let Some(found) = names.find(ctx, &path, name) else { continue };
                if seen.insert(found) {
                    targets.push(target(found));
                } else {
                    ctx.error(&path, format!("{} again", quote(name)), "each name once");
                }
            }
        }
    }
}

fn lifetime(ctx: &mut CheckCtx<'_>, path: &str, raw: RawLifetime) -> Lifetime {
    let mut limit = |name: &str, span: Span| {
        ctx.range(&format!("{path}.{name}"), span, SHORTEST_LIFETIME, LONGEST_LIFETIME);
        span.0
    };
    match raw {
        RawLifetime::Exponential(mean) => Lifetime::Exponential { mean: limit("exponential", mean) },
        RawLifetime::Weibull { scale, shape } => Lifetime::Weibull { scale: limit("weibull.scale", scale), shape },
        RawLifetime::LogNormal { median, sigma } => Lifetime::LogNormal { median: limit("lognormal.median", median), sigma },
    }
}

fn too_many(ctx: &mut CheckCtx<'_>, raw: &RawScenario, random: &[RandomFaults]) {
    let typical = |lifetime: Lifetime| match lifetime {
        Lifetime::Exponential { mean: typical }
        | Lifetime::Weibull { scale: typical, .. }
        | Lifetime::LogNormal { median: typical, .. } => typical.as_secs_f64(),
    };
    let each = |faults: &RandomFaults| faults.targets.len() as f64 / (typical(faults.between) + typical(faults.repair)).max(1e-3);
    let expected = random.iter().map(each).sum::<f64>() * raw.duration.0.as_secs_f64();
    if expected > MAX_RANDOM_FAULTS && ctx.trusts("duration") {
        let found = format!("about {expected:.1e} faults in the whole run");
        ctx.error("random_faults", found, "at most 1e6: rarer faults, fewer things or a shorter run");
    }
}
