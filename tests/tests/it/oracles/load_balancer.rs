//! `lb_{health,detect_time}_cases.json`: how a load balancer sees its targets (`pkg/kubelet/prober/worker_test.go`, which counts alike; AWS
//! Network Load Balancer, HAProxy and Compute Engine health checks).

use serde::Deserialize;
use zonefall_core::access::balancer::detection::{HealthCheck, TargetChange};
use zonefall_core::access::balancer::health::{Health, TargetHealth, Thresholds};

use super::Outcome;
use super::form::{run_cases, same};
use super::seconds::seconds;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    rise: u32,
    fall: u32,
    first_rise: u32,
    initial: RawHealth,
    checks: Vec<bool>,
    want: Vec<RawHealth>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawHealth {
    Initial,
    Healthy,
    Unhealthy,
}

impl From<RawHealth> for Health {
    fn from(raw: RawHealth) -> Self {
        match raw {
            RawHealth::Initial => Self::Initial,
            RawHealth::Healthy => Self::Healthy,
            RawHealth::Unhealthy => Self::Unhealthy,
        }
    }
}

pub(super) fn run_health(text: &str) -> Outcome {
    run_cases(text, check_health)
}

fn check_health(row: &Target) -> Result<(), String> {
    let thresholds = Thresholds { rise: row.rise, fall: row.fall, first_rise: row.first_rise };
    let mut target = TargetHealth::new(row.initial.into());
    let after = |success: &bool| {
        target.check(*success, thresholds);
        target.health()
    };
    let found: Vec<Health> = row.checks.iter().map(after).collect();
    same(&found, &row.want.iter().map(|want| Health::from(*want)).collect())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Detection {
    interval_s: f64,
    timeout_s: f64,
    rise: u32,
    fall: u32,
    next_check_in_s: f64,
    change: RawChange,
    want_seen_after_s: f64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawChange {
    Down,
    DownSilent,
    Up,
}

pub(super) fn run_detection(text: &str) -> Outcome {
    run_cases(text, check_detection)
}

fn check_detection(row: &Detection) -> Result<(), String> {
    let thresholds = Thresholds { rise: row.rise, fall: row.fall, first_rise: row.rise };
    let check = HealthCheck { interval: seconds(row.interval_s)?, timeout: seconds(row.timeout_s)?, thresholds };
    let change = match row.change {
        RawChange::Down => TargetChange::Refuses,
        RawChange::DownSilent => TargetChange::FallsSilent,
        RawChange::Up => TargetChange::Answers,
    };
    same(&check.detection_time(seconds(row.next_check_in_s)?, change), &seconds(row.want_seen_after_s)?)
}
