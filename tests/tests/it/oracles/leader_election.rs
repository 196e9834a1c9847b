//! `leader_election_{acquire,config,defaults,health,renew}_cases.json`: leader election (client-go `tools/leaderelection`, with its unit
//! tests; openshift/library-go `pkg/config/leaderelection`).

use serde::Deserialize;
use zonefall_core::kernel::time::{Duration, Time};
use zonefall_core::kube::rule::leader_election::acquire::{Lease, Outcome as Attempt, attempt, last_change};
use zonefall_core::kube::rule::leader_election::health::is_healthy;
use zonefall_core::kube::rule::leader_election::renew::renewals;
use zonefall_core::kube::spec::leader_election::{Given, Invalid, Profile, Timings};

use super::Outcome;
use super::form::{run_cases, same};
use super::seconds::{at, seconds};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Acquire {
    me: String,
    now_s: f64,
    lease: Option<RawLease>,
    observed: Option<Observed>,
    lease_changed: bool,
    want: Acquired,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLease {
    /// Empty if nobody holds it.
    holder: String,
    duration_s: f64,
    transitions: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Observed {
    /// What a record that has not changed has, too.
    #[serde(rename = "holder")]
    _holder: String,
    #[serde(rename = "duration_s")]
    _duration_s: f64,
    seen_at_s: f64,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Acquired {
    success: bool,
    holder: String,
    transitions: u64,
}

pub(super) fn run_acquire(text: &str) -> Outcome {
    run_cases(text, check_acquire)
}

fn check_acquire(row: &Acquire) -> Result<(), String> {
    let now = at(row.now_s)?;
    let seen = row.observed.as_ref().map(|observed| at(observed.seen_at_s)).transpose()?;
    let lease = row.lease.as_ref().map(|lease| {
        let holder = Some(lease.holder.clone()).filter(|holder| !holder.is_empty());
        Ok::<_, String>(Lease { holder, duration: seconds(lease.duration_s)?, transitions: lease.transitions })
    });
    let lease = lease.transpose()?;
    let found = match (attempt(&row.me, lease.as_ref(), last_change(seen, row.lease_changed, now), now), lease) {
        (Attempt::Acquired { transitions }, _) => Acquired { success: true, holder: row.me.clone(), transitions },
        (Attempt::Refused, Some(Lease { holder, transitions, .. })) => {
            Acquired { success: false, holder: holder.unwrap_or_default(), transitions }
        }
        (Attempt::Refused, None) => return Err("refused without a lease".to_owned()),
    };
    same(&found, &row.want)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    lease_s: f64,
    renew_s: f64,
    retry_s: f64,
    identity: String,
    want_error: Option<RawInvalid>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawInvalid {
    Lease,
    Renew,
    Retry,
    Identity,
}

pub(super) fn run_config(text: &str) -> Outcome {
    run_cases(text, check_config)
}

fn timings(lease_s: f64, renew_s: f64, retry_s: f64) -> Result<Timings, String> {
    let [lease_duration, renew_deadline, retry_period] = [seconds(lease_s)?, seconds(renew_s)?, seconds(retry_s)?];
    Ok(Timings { lease_duration, renew_deadline, retry_period })
}

fn check_config(row: &Config) -> Result<(), String> {
    // Time here has no sign: a period below zero is as invalid as none.
    let [lease, renew, retry] = [row.lease_s, row.renew_s, row.retry_s].map(|s| s.max(0.0));
    let want = row.want_error.map(|raw| match raw {
        RawInvalid::Lease => Invalid::Lease,
        RawInvalid::Renew => Invalid::Renew,
        RawInvalid::Retry => Invalid::Retry,
        RawInvalid::Identity => Invalid::Identity,
    });
    same(&timings(lease, renew, retry)?.check(&row.identity).err(), &want)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Defaults {
    profile: RawProfile,
    lease_s: Option<f64>,
    renew_s: Option<f64>,
    retry_s: Option<f64>,
    want: RawTimings,
    want_retries: u64,
    want_clock_skew_s: f64,
    want_downtime_s: f64,
    want_worst_crash_takeover_s: f64,
    want_worst_graceful_takeover_s: f64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawProfile {
    Core,
    Openshift,
    OpenshiftSingleNode,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the fields of the file end with their unit")]
struct RawTimings {
    lease_s: f64,
    renew_s: f64,
    retry_s: f64,
}

pub(super) fn run_defaults(text: &str) -> Outcome {
    run_cases(text, check_defaults)
}

fn check_defaults(row: &Defaults) -> Result<(), String> {
    let given = |s: Option<f64>| s.map(seconds).transpose();
    let given =
        Given { lease_duration: given(row.lease_s)?, renew_deadline: given(row.renew_s)?, retry_period: given(row.retry_s)? };
    let profile = match row.profile {
        RawProfile::Core => Profile::Core,
        RawProfile::Openshift => Profile::OpenShift,
        RawProfile::OpenshiftSingleNode => Profile::OpenShiftSingleNode,
    };
    let found = profile.timings(&given);
    same(&found, &timings(row.want.lease_s, row.want.renew_s, row.want.retry_s)?)?;
    same(&found.retries(), &row.want_retries)?;
    let derived = |name: &str, found: Duration, want: f64| same(&found, &seconds(want)?).map_err(|why| format!("{name}: {why}"));
    derived("clock skew", found.clock_skew(), row.want_clock_skew_s)?;
    derived("downtime", found.downtime(), row.want_downtime_s)?;
    derived("takeover after a crash", found.worst_takeover_after_crash(), row.want_worst_crash_takeover_s)?;
    derived("takeover after a release", found.worst_takeover_after_release(), row.want_worst_graceful_takeover_s)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Health {
    elector: bool,
    is_leader: bool,
    lease_s: f64,
    tolerance_s: f64,
    since_renewal_s: f64,
    want_healthy: bool,
}

pub(super) fn run_health(text: &str) -> Outcome {
    run_cases(text, check_health)
}

fn check_health(row: &Health) -> Result<(), String> {
    let since = seconds(row.since_renewal_s)?;
    let leader_since_renewal = (row.elector && row.is_leader).then_some(since);
    same(&is_healthy(leader_since_renewal, seconds(row.lease_s)?, seconds(row.tolerance_s)?), &row.want_healthy)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outage {
    lease_s: f64,
    renew_s: f64,
    retry_s: f64,
    /// Start and end of each outage; the end is not part of it.
    api_down: Vec<(f64, f64)>,
    until_s: f64,
    want: Renewed,
}

/// What becomes of the lease.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the fields of the file end with their unit")]
struct Renewed {
    lost_at_s: Option<f64>,
    last_renewal_s: f64,
    expires_at_s: Option<f64>,
}

pub(super) fn run_renew(text: &str) -> Outcome {
    run_cases(text, check_renew)
}

fn check_renew(row: &Outage) -> Result<(), String> {
    let timings = timings(row.lease_s, row.renew_s, row.retry_s)?;
    let outages = row.api_down.iter().map(|(from, to)| Ok((at(*from)?, at(*to)?))).collect::<Result<Vec<_>, String>>()?;
    let answers = |attempt: Time| !outages.iter().any(|(from, to)| (*from..*to).contains(&attempt));
    let found = renewals(Time::ZERO, &timings, answers, at(row.until_s)?);
    let expires = found.lost.map(|_| found.last + timings.lease_duration);
    let moment = |s: Option<f64>| s.map(at).transpose();
    same(&(found.lost, found.last), &(moment(row.want.lost_at_s)?, at(row.want.last_renewal_s)?))?;
    same(&expires, &moment(row.want.expires_at_s)?)
}
