//! From what is written to what is meant: names to ids, defaults filled in, and everything that cannot be refused.
//!
//! ```text
//! RawScenario -> world (zones, nodes, volumes, network) -> etcd -> seeds, clusters -> shoots -> load balancers -> etcd's members over time -> load, events
//!             -> Scenario
//! ```
//!
//! Each part reports all it finds and goes on with whatever it could make out; what depends on a name that is nowhere is skipped,
//! not reported twice. A `Scenario` comes out only where nothing was found.

mod access;
mod autoscaler;
mod capacity;
mod cluster;
mod deploy;
mod etcd;
mod events;
mod gardener;
mod kube;
mod labels;
mod latency;
mod load;
mod operations;
mod options;
mod passive;
mod planned_changes;
mod prices;
mod rollout;
mod shoot_etcd;
mod suitable;
mod topology;
mod usage;
mod void_faults;
mod void_fields;
mod void_rollouts;
mod volume;
mod workload;

use std::collections::BTreeSet;

use crate::error::Errors;
use crate::expect::Expectation;
use crate::fault::FaultResolver;
use crate::lowering::{CheckCtx, ClusterDrafts, Names, quoted};
use crate::model::Scenario;
use crate::probe::{Probe, ProbeFrom, Vantage};
use crate::raw::{RawScenario, RawSource};
use crate::source::Input;
use zonefall_kernel::time::Time;

/// The scenario that is meant, if nothing is wrong with it. `replaced` are paths where the form was wrong already.
pub(super) fn validate(raw: &RawScenario, replaced: &BTreeSet<String>, errors: &mut Errors) -> Option<Scenario> {
    let mut ctx = CheckCtx::new(errors, replaced);
    if ctx.trusts("duration") {
        ctx.end = Time::ZERO + raw.duration.0;
    }
    let mut topology = topology::validate(&mut ctx, raw);
    let (mut clusters, mut members) = etcd::validate(&mut ctx, raw, &mut topology);
    let (mut kube, mut inputs) = gardener::validate(&mut ctx, raw, &mut topology, &mut clusters, &mut members);
    let (load_balancers, balancers) = access::validate(&mut ctx, raw, &topology, &mut kube, &mut inputs);
    etcd::operations(&mut ctx, raw, &clusters, &mut topology, &mut members);
    let prices = prices::validate(&mut ctx, raw, &kube, &members);
    let mut clients = load::validate(&mut ctx, raw, &topology, &clusters, &members);
    usage::bound(&mut ctx, raw, &kube);
    usage::sample(&ctx, raw, &members.clusters, &mut kube);
    clients.extend(usage::clients(&mut ctx, raw, &mut kube));
    usage::limits(&mut ctx, raw);
    let resolver = FaultResolver::new(&topology, &clusters, &members, &kube, (&load_balancers, &balancers));
    let (faults, random_faults) = events::validate(&mut ctx, raw, &resolver, &mut inputs);
    let probe = Probe { from: probe_from(&mut ctx, raw, &topology.zone_names), deadline: raw.probe.deadline.0 };
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
        load_balancers,
        prices,
        clients: clients.into(),
        faults,
        random_faults,
        operations: members.operations,
        maintenance: members.maintenance,
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

fn probe_from(ctx: &mut CheckCtx<'_>, raw: &RawScenario, zones: &Names) -> ProbeFrom {
    match raw.probe.from.as_str() {
        "worst" => ProbeFrom::Worst,
        "best" => ProbeFrom::Best,
        "outside" => ProbeFrom::At(Vantage::Outside),
        zone => zones.find(ctx, "probe.from", zone).map_or(ProbeFrom::Worst, |zone| ProbeFrom::At(Vantage::Zone(zone.into()))),
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

/// Keeps what the file says of where something comes from.
fn mark(ctx: &mut CheckCtx<'_>, inputs: &mut Vec<Input>, path: &str, mark: &RawSource) {
    match mark.source {
        Some(source) => inputs.push(Input { path: path.to_owned(), source, because: mark.because.clone() }),
        None if mark.because.is_empty() => {}
        None => ctx.error(&format!("{path}.source"), "nothing", "the source: `published`, `inferred` or `assumed`"),
    }
}

impl ClusterDrafts {
    /// Keeps what the file says of where something comes from.
    fn mark(&mut self, ctx: &mut CheckCtx<'_>, path: &str, raw: &RawSource) {
        mark(ctx, &mut self.inputs, path, raw);
    }
}
