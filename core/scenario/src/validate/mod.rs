//! From what is written to what is meant: names to ids, defaults filled in, and everything that cannot be refused.
//!
//! ```text
//! RawScenario -> world (zones, nodes, volumes, network) -> etcd -> seeds, clusters -> shoots -> etcd's members over time -> load, events
//!             -> Scenario
//! ```
//!
//! Each part reports all it finds and goes on with whatever it could make out; what depends on a name that is nowhere is skipped,
//! not reported twice. A `Scenario` comes out only where nothing was found.

mod capacity;
mod cluster;
mod etcd;
mod events;
mod gardener;
mod kube;
mod labels;
mod lifetime;
mod load;
mod lower;
mod names;
mod operations;
mod options;
mod passive;
mod planned_changes;
mod prices;
mod suitable;
mod topology;
mod usage;
mod workload;

use std::collections::BTreeSet;
use std::fmt::Display;

use super::error::{Error, Errors, show};
use super::expect::Expectation;
use super::model::{Probe, Scenario};
use super::raw::{RawDistribution, RawLatency, RawScenario};
use super::units::Span;
use crate::ids::ZoneId;
pub(crate) use events::FaultCtx;
pub(crate) use lifetime::{MAX_MEMBERS, MAX_MEMBERS_EVER, MemberLifetime, MembersCtx};
pub(crate) use lower::SeedState;
use names::Names;
pub(crate) use operations::{OperationCtx, Owner};
use zonefall_kernel::dist::Latency;
use zonefall_kernel::time::{Duration, Time};

/// Longest delay, jitter or fsync.
const LONGEST_LATENCY: Duration = Duration::from_secs(60);
/// Quantiles of measurements in all copies that a scenario makes of them (one per zone pair and volume).
const MAX_QUANTILES: usize = 2_000_000;

/// The scenario that is meant, if nothing is wrong with it. `replaced` are paths where the form was wrong already.
pub(super) fn validate(raw: &RawScenario, replaced: &BTreeSet<String>, errors: &mut Errors) -> Option<Scenario> {
    let mut ctx = CheckCtx { errors, warnings: Vec::new(), replaced, quantiles: 0, end: Time::MAX };
    if ctx.trusts("duration") {
        ctx.end = Time::ZERO + raw.duration.0;
    }
    let mut topology = topology::validate(&mut ctx, raw);
    let (mut clusters, mut members) = etcd::validate(&mut ctx, raw, &mut topology);
    let (mut kube, mut inputs) = gardener::validate(&mut ctx, raw, &mut topology, &mut clusters, &mut members);
    etcd::operations(&mut ctx, raw, &clusters, &mut topology, &mut members);
    let prices = prices::validate(&mut ctx, raw, &kube, &members);
    let mut clients = load::validate(&mut ctx, raw, &topology, &clusters, &members);
    usage::bound(&mut ctx, raw, &kube);
    usage::sample(&ctx, raw, &mut kube);
    clients.extend(usage::clients(&mut ctx, raw, &kube));
    usage::limits(&mut ctx, raw);
    let (faults, random_faults) = events::validate(&mut ctx, raw, &topology, &clusters, &members, &mut inputs);
    let probe = Probe { from: probe_zone(&mut ctx, raw, &topology.zone_names), deadline: raw.probe.deadline.0 };
    let expect = expectations(&mut ctx, raw, &clusters);
    let observe_at = observe_at(&mut ctx, raw);
    ctx.errors.is_empty().then(|| Scenario {
        name: raw.name.to_string(),
        title: raw.title.clone(),
        description: raw.description.clone(),
        seed: raw.seed,
        duration: raw.duration.0,
        regions: topology.regions,
        zones: topology.zones,
        nodes: topology.nodes,
        volumes: topology.volumes,
        network: topology.network,
        etcd: members.clusters,
        kube,
        prices,
        clients: clients.into(),
        faults,
        random_faults,
        operations: members.operations,
        probe,
        expect,
        observe_at,
        inputs,
        contradictions: raw.contradictions.clone(),
        warnings: ctx.warnings,
    })
}

fn observe_at(ctx: &mut CheckCtx<'_>, raw: &RawScenario) -> Vec<(String, Time)> {
    let mut all = Vec::with_capacity(raw.observe_at.len());
    for (k, span) in raw.observe_at.iter().enumerate() {
        let at = Time::ZERO + span.0;
        if at > ctx.end {
            ctx.error(&format!("observe_at[{k}]"), quoted(span), "a time up to the end of the run (`duration`)");
        }
        all.push((span.to_string(), at));
    }
    all
}

fn probe_zone(ctx: &mut CheckCtx<'_>, raw: &RawScenario, zones: &Names) -> Option<ZoneId> {
    match raw.probe.from.as_str() {
        "best" => None,
        zone => zones.find(ctx, "probe.from", zone).map(ZoneId::from),
    }
}

fn expectations(ctx: &mut CheckCtx<'_>, raw: &RawScenario, clusters: &Names) -> Vec<Expectation> {
    let mut all = Vec::with_capacity(raw.expect.len());
    for (k, expectation) in raw.expect.iter().enumerate() {
        let path = format!("expect[{k}]");
        match Expectation::parse(expectation) {
            Ok(parsed) => {
                if let Some(cluster) = parsed.cluster() {
                    clusters.find(ctx, &format!("{path}.that"), cluster);
                }
                all.push(parsed);
            }
            Err(invalid) => {
                ctx.error(&format!("{path}.{}", invalid.field), invalid.found, invalid.expected);
            }
        }
    }
    all
}

/// What every part of the validation needs.
struct CheckCtx<'a> {
    errors: &'a mut Errors,
    /// What is allowed and probably not meant, one for each path.
    warnings: Vec<Error>,
    replaced: &'a BTreeSet<String>,
    /// Quantiles of measurements copied so far.
    quantiles: usize,
    /// The end of the run; the end of time where the file does not say it well.
    end: Time,
}

impl CheckCtx<'_> {
    /// Reports an error, unless the value there is one that the check of the form put there.
    fn error(&mut self, path: &str, found: impl Into<String>, expected: impl Into<String>) {
        if self.trusts(path) {
            self.errors.push(path, found, expected);
        }
    }

    /// Reports what is allowed and probably not meant; of what a path stands for several times (`count`), the first.
    fn warn(&mut self, path: &str, found: impl Into<String>, expected: impl Into<String>) {
        if !self.warnings.iter().any(|warning| warning.path == path) {
            self.warnings.push(Error::new(path, found, expected));
        }
    }

    /// Whether what stands at `path` was written by the author of the file.
    fn trusts(&self, path: &str) -> bool {
        let inner = |end: &usize| matches!(path.as_bytes()[*end], b'.' | b'[');
        self.replaced.is_empty()
            || !(self.replaced.contains("$")
                || (0..path.len()).filter(inner).any(|end| self.replaced.contains(&path[..end]))
                || self.replaced.contains(path))
    }

    /// Reports where `span` is not between `min` and `max`.
    fn range(&mut self, path: &str, span: Span, min: Duration, max: Duration) {
        if span.0 < min || span.0 > max {
            self.error(path, quoted(span), format!("{} to {}", Span(min), Span(max)));
        }
    }

    fn latency(&mut self, path: &str, raw: &RawLatency) -> Latency {
        let limit = |ctx: &mut Self, path: &str, span: Span| ctx.range(path, span, Duration::ZERO, LONGEST_LATENCY);
        match raw {
            RawLatency::Constant(span) => Latency::Constant(span.0),
            RawLatency::Drawn(RawDistribution::Uniform([min, max])) => {
                limit(self, &format!("{path}.uniform[1]"), *max);
                if min > max {
                    self.error(&format!("{path}.uniform"), format!("{min} before {max}"), "the lower bound first");
                }
                Latency::Uniform { min: min.0, max: max.0 }
            }
            RawLatency::Drawn(RawDistribution::LogNormal(drawn)) => {
                limit(self, &format!("{path}.lognormal.median"), drawn.median);
                Latency::LogNormal { median: drawn.median.0, sigma: drawn.sigma }
            }
            RawLatency::Drawn(RawDistribution::Empirical(quantiles)) => {
                for (k, pair) in quantiles.windows(2).enumerate() {
                    if pair[0] > pair[1] {
                        let place = format!("{path}.empirical[{}]", k + 1);
                        self.error(&place, quoted(pair[1]), format!("quantiles in ascending order, so at least {}", pair[0]));
                    }
                }
                if let Some(last) = quantiles.last() {
                    limit(self, &format!("{path}.empirical[{}]", quantiles.len() - 1), *last);
                }
                Latency::Empirical(quantiles.iter().map(|span| span.0).collect())
            }
        }
    }

    /// Accounts for `copies` of a distribution; too many of a long one are refused, and must not be made.
    fn copies(&mut self, path: &str, latency: &Latency, copies: usize) -> bool {
        let Latency::Empirical(quantiles) = latency else { return true };
        let before = self.quantiles;
        self.quantiles = before.saturating_add(quantiles.len().saturating_mul(copies));
        if before <= MAX_QUANTILES && self.quantiles > MAX_QUANTILES {
            let found = format!("{} quantiles, used {copies} times", quantiles.len());
            self.error(path, found, format!("at most {MAX_QUANTILES} in all zone pairs and volumes together"));
        }
        self.quantiles <= MAX_QUANTILES
    }
}

/// A quantity or other short value as the file has it.
fn quoted(value: impl Display) -> String {
    show(&serde_json::Value::String(value.to_string()))
}
