//! What oracles of rollouts and budgets say of pods, and numbers that may be percentages.

use serde::Deserialize;
use zonefall_core::kube::rule::budget::Health;
use zonefall_core::kube::spec::int_or_percent::IntOrPercent;

/// Phase of a pod.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
pub(super) enum Phase {
    Pending,
    Running,
    Succeeded,
    Failed,
    Unknown,
}

/// What a pod does for budgets, from its phase, its condition Ready, and whether it is terminating.
pub(super) const fn health(phase: Phase, ready: bool, terminating: bool) -> Health {
    match (phase, terminating) {
        (Phase::Pending | Phase::Succeeded | Phase::Failed, _) | (_, true) => Health::Gone,
        (Phase::Running | Phase::Unknown, false) if ready => Health::Ready,
        (Phase::Running | Phase::Unknown, false) => Health::NotReady,
    }
}

/// `3`, or `"25%"`.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Share {
    Number(u32),
    Text(String),
}

impl Share {
    pub(super) fn parse(&self) -> Result<IntOrPercent, String> {
        match self {
            Self::Number(number) => Ok(IntOrPercent::Int(*number)),
            Self::Text(text) => text.parse().map_err(|why| format!("{text}: {why}")),
        }
    }
}
