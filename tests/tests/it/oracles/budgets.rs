//! `pdb_{status,eviction}_cases.json` and `zdb_{status,eviction}_cases.json`: disruption budgets (kubernetes
//! `pkg/controller/disruption/disruption_test.go`, `pkg/registry/core/pod/storage/eviction_test.go`; aws/zone-aware-controllers-for-k8s
//! `controllers/zdb_controller_test.go`, `webhooks/eviction_webhook_test.go`).

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use zonefall_core::kube::rule::budget::{self, Budget, Eviction, Selected, Status};
use zonefall_core::kube::rule::eviction_records::EvictionRecords;
use zonefall_core::kube::spec::{BudgetLimit, UnhealthyPods};
use zonefall_core::rollout::rule::zone_disruption_budget as zdb;

use super::Outcome;
use super::form::{run_cases, same};
use super::pods::{Phase, Share, health};
use super::seconds::at;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Controller {
    name: String,
    replicas: u32,
}

/// Recorded evictions: pod and time.
type RawRecords = BTreeMap<String, f64>;

fn records(raw: &RawRecords) -> Result<EvictionRecords<String>, String> {
    let mut records = EvictionRecords::new();
    for (pod, s) in raw {
        records.add(pod.clone(), at(*s)?);
    }
    Ok(records)
}

/// Pods that the controllers of these pods want; `None`: one of those is not known.
fn wanted<'a>(controllers: &[Controller], of: impl Iterator<Item = &'a Option<String>>) -> Option<u32> {
    let names: BTreeSet<&String> = of.flatten().collect();
    let replicas = |name: &String| controllers.iter().find(|controller| controller.name == *name).map(|found| found.replicas);
    names.into_iter().map(replicas).sum()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PdbStatus {
    min_available: Option<Share>,
    max_unavailable: Option<Share>,
    controllers: Vec<Controller>,
    pods: Vec<PdbPod>,
    disrupted_pods: RawRecords,
    now_s: f64,
    want: WantedPdbStatus,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PdbPod {
    name: String,
    controller: Option<String>,
    ready: bool,
    terminating: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedPdbStatus {
    allowed: u32,
    healthy: Option<u32>,
    desired: Option<u32>,
    expected: Option<u32>,
    disrupted_pods: Option<RawRecords>,
}

pub(super) fn run_pdb_status(text: &str) -> Outcome {
    run_cases(text, check_pdb_status)
}

fn check_pdb_status(row: &PdbStatus) -> Result<(), String> {
    let limit = match (&row.min_available, &row.max_unavailable) {
        (Some(least), None) => BudgetLimit::MinAvailable(least.parse()?),
        (None, Some(most)) => BudgetLimit::MaxUnavailable(most.parse()?),
        _ => return Err("expected one of min_available and max_unavailable".to_owned()),
    };
    let now = at(row.now_s)?;
    let kept = records(&row.disrupted_pods)?.kept(row.pods.iter().map(|pod| (pod.name.clone(), pod.terminating)), now);
    let is_healthy = |pod: &&PdbPod| pod.ready && !pod.terminating && !kept.is_disrupted(&pod.name, now);
    let healthy = row.pods.iter().filter(is_healthy).count() as u32;
    let wanted = wanted(&row.controllers, row.pods.iter().map(|pod| &pod.controller));
    let selected = Selected { pods: row.pods.len() as u32, wanted, healthy };
    // No status looks like this: what is not renewed shows.
    let before = Status { expected: u32::MAX, desired: u32::MAX, healthy: u32::MAX, allowed: u32::MAX };
    let found = before.renewed(limit, selected);
    let is_renewed = found.expected != u32::MAX;
    let number = |number: u32| is_renewed.then_some(number);
    same(&found.allowed, &row.want.allowed)?;
    let found = (number(found.healthy), number(found.desired), number(found.expected));
    same(&found, &(row.want.healthy, row.want.desired, row.want.expected))?;
    same(&is_renewed.then_some(kept), &row.want.disrupted_pods.as_ref().map(records).transpose()?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PdbEviction {
    pod: EvictedPod,
    budgets: Vec<RawPdb>,
    same_name: bool,
    dry_run: bool,
    want: WantedPdbEviction,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EvictedPod {
    phase: Phase,
    ready: bool,
    terminating: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPdb {
    matches: bool,
    allowed: i64,
    healthy: u32,
    desired: u32,
    generation: i64,
    observed_generation: i64,
    unhealthy_policy: Option<UnhealthyPolicy>,
    records: usize,
}

#[derive(Clone, Copy, Deserialize)]
enum UnhealthyPolicy {
    IfHealthyBudget,
    AlwaysAllow,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct WantedPdbEviction {
    result: EvictionResult,
    allowed_after: Vec<i64>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum EvictionResult {
    Deleted,
    TooManyRequests,
    Forbidden,
    BadRequest,
    Error,
}

pub(super) fn run_pdb_eviction(text: &str) -> Outcome {
    run_cases(text, check_pdb_eviction)
}

fn check_pdb_eviction(row: &PdbEviction) -> Result<(), String> {
    let budget = |raw: &RawPdb| Budget {
        allowed: raw.allowed,
        healthy: raw.healthy,
        desired: raw.desired,
        unhealthy_pods: match raw.unhealthy_policy {
            Some(UnhealthyPolicy::AlwaysAllow) => UnhealthyPods::AlwaysAllow,
            Some(UnhealthyPolicy::IfHealthyBudget) | None => UnhealthyPods::IfHealthyBudget,
        },
        is_current: raw.observed_generation >= raw.generation,
        records: raw.records,
    };
    let budgets: Vec<Budget> = row.budgets.iter().filter(|raw| raw.matches).map(budget).collect();
    let answer = budget::evict(health(row.pod.phase, row.pod.ready, row.pod.terminating), &budgets);
    let result = match answer {
        _ if !row.same_name => EvictionResult::BadRequest,
        Eviction::Free | Eviction::Spends => EvictionResult::Deleted,
        Eviction::TooManyRequests => EvictionResult::TooManyRequests,
        Eviction::Forbidden => EvictionResult::Forbidden,
        Eviction::SeveralBudgets => EvictionResult::Error,
    };
    let spends = row.same_name && !row.dry_run && answer == Eviction::Spends;
    let after = |raw: &RawPdb| raw.allowed - i64::from(spends && raw.matches);
    same(&WantedPdbEviction { result, allowed_after: row.budgets.iter().map(after).collect() }, &row.want)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ZdbStatus {
    max_unavailable: Share,
    controllers: Vec<Controller>,
    pods: Vec<ZdbPod>,
    disrupted_pods: RawRecords,
    now_s: f64,
    want: WantedZdbStatus,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ZdbPod {
    name: String,
    zone: Option<String>,
    controller: Option<String>,
    phase: Phase,
    ready: bool,
    terminating: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedZdbStatus {
    expected: BTreeMap<String, u32>,
    desired: BTreeMap<String, u32>,
    healthy: BTreeMap<String, u32>,
    unhealthy: BTreeMap<String, u32>,
    allowed: BTreeMap<String, i64>,
    disrupted_pods: RawRecords,
    recheck_at_s: Option<f64>,
}

pub(super) fn run_zdb_status(text: &str) -> Outcome {
    run_cases(text, check_zdb_status)
}

fn check_zdb_status(row: &ZdbStatus) -> Result<(), String> {
    let pod = |raw: &ZdbPod| zdb::Pod {
        name: raw.name.clone(),
        zone: raw.zone.clone(),
        is_ready: raw.phase == Phase::Running && raw.ready,
        is_terminating: raw.terminating,
    };
    let pods: Vec<_> = row.pods.iter().map(pod).collect();
    let wanted = wanted(&row.controllers, row.pods.iter().map(|pod| &pod.controller))
        .ok_or("a controller that nobody knows".to_owned())?;
    let before = zdb::Status { zones: BTreeMap::new(), records: records(&row.disrupted_pods)? };
    let found = before.renewed(row.max_unavailable.parse()?, wanted, &pods, at(row.now_s)?);
    let want = &row.want;
    for (name, number, want) in [
        ("expected", (|zone| zone.expected) as fn(&zdb::ZoneStatus) -> u32, &want.expected),
        ("desired", |zone| zone.desired, &want.desired),
        ("healthy", |zone| zone.healthy, &want.healthy),
        ("unhealthy", |zone| zone.unhealthy, &want.unhealthy),
    ] {
        let found: BTreeMap<_, _> = found.zones.iter().map(|(name, zone)| (name.clone(), number(zone))).collect();
        same(&found, want).map_err(|why| format!("{name}: {why}"))?;
    }
    same(&found.zones.iter().map(|(name, zone)| (name.clone(), zone.allowed)).collect(), &want.allowed)?;
    same(&found.records, &records(&want.disrupted_pods)?)?;
    same(&found.records.first_timeout(), &want.recheck_at_s.map(at).transpose()?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ZdbEviction {
    operation: Operation,
    subresource: String,
    dry_run: bool,
    pod: Option<ZdbEvictedPod>,
    zdb: Option<RawZdb>,
    want: WantedZdbEviction,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "UPPERCASE")]
enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ZdbEvictedPod {
    phase: Phase,
    ready: bool,
    terminating: bool,
    zone: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawZdb {
    dry_run: bool,
    generation: i64,
    observed_generation: i64,
    allowed: BTreeMap<String, i64>,
    recorded: bool,
    records: usize,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct WantedZdbEviction {
    admitted: bool,
    reason: String,
    allowed_after: Option<BTreeMap<String, i64>>,
    recorded: bool,
}

pub(super) fn run_zdb_eviction(text: &str) -> Outcome {
    run_cases(text, check_zdb_eviction)
}

fn check_zdb_eviction(row: &ZdbEviction) -> Result<(), String> {
    let request = zdb::Request {
        is_create: row.operation == Operation::Create,
        is_eviction: row.subresource == "eviction",
        dry_run: row.dry_run,
    };
    let zone = row.pod.as_ref().and_then(|pod| pod.zone.as_ref());
    let budget = row.zdb.as_ref().map(|raw| zdb::Budget {
        dry_run: raw.dry_run,
        is_current: raw.observed_generation >= raw.generation,
        allowed: zone.and_then(|zone| raw.allowed.get(zone)).copied(),
        is_recorded: raw.recorded,
        records: raw.records,
    });
    let pod = row.pod.as_ref().map(|pod| health(pod.phase, pod.ready, pod.terminating));
    let answer = zdb::admit(request, pod, budget);
    let recorded = answer == zdb::Admission::DisruptionAllowed { spends: true };
    let mut allowed_after = row.zdb.as_ref().map(|raw| raw.allowed.clone());
    if let (true, Some(allowed), Some(zone)) = (recorded, &mut allowed_after, zone) {
        *allowed.entry(zone.clone()).or_default() -= 1;
    }
    let found = WantedZdbEviction { admitted: answer.is_admitted(), reason: label(answer).to_owned(), allowed_after, recorded };
    same(&found, &row.want)
}

/// The label of the real metric.
const fn label(answer: zdb::Admission) -> &'static str {
    match answer {
        zdb::Admission::NoCreateRequest => "NoCreateRequest",
        zdb::Admission::NoEvictionRequest => "NoEvictionRequest",
        zdb::Admission::GetPodError => "GetPodError",
        zdb::Admission::CanIgnoreZdb => "canIgnoreZdb",
        zdb::Admission::NotReadyPod => "NotReadyPod",
        zdb::Admission::NoZdb => "NoZdb",
        zdb::Admission::AlreadyDisrupted => "AlreadyDisrupted",
        zdb::Admission::DeniedByZdb => "DeniedByZdb",
        zdb::Admission::DryRun => "DryRun",
        zdb::Admission::DisruptionAllowed { .. } => "DisruptionAllowed",
    }
}
