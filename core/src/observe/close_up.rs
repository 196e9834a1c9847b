//! A part of a run looked at closely: latency and traffic in windows as fine as the part is short.
//!
//! ```text
//!   run  --------|==|==|==|==|==|------>
//!                start            end       the totals are taken at each line; a request counts where it ended
//! ```

use std::sync::Arc;

use super::Observer;
use super::requests::Requests;
use super::traffic::{self, Traffic};
use super::windows::Windows;
use crate::ids::EtcdId;
use crate::kernel::time::{Duration, Time};
use crate::record::Record;
use crate::report::{self, length, seconds};
use crate::scenario::Scenario;
use crate::sim::Pairs;

/// Looks at a part of a run.
#[derive(Clone, Debug)]
pub struct CloseUp {
    start: Time,
    end: Time,
    window: Duration,
    requests: Requests,
    /// From the start on.
    traffic: Option<Traffic>,
    next: Option<Time>,
}

impl CloseUp {
    /// Of what happens from `from` to `to`, and a window's length around it; `None`, where the report of the whole run is as fine.
    pub fn new(scenario: &Arc<Scenario>, (from, to): (Time, Time)) -> Option<Self> {
        let run_end = Time::ZERO + scenario.duration;
        let (from, to) = (from.min(run_end), to.min(run_end));
        let window = traffic::fine_window(to.since(from));
        if from >= to || window >= traffic::window(scenario.duration) {
            return None;
        }
        let ns = window.as_nanos();
        let start = Time::from_nanos(from.as_nanos() / ns * ns);
        let end = Time::from_nanos(to.as_nanos().div_ceil(ns) * ns).min(run_end);
        let requests = Requests::over_time(scenario, Windows::new((start, end), window));
        Some(Self { start, end, window, requests, traffic: None, next: Some(start) })
    }

    /// Where it begins: the simulation must not be behind it.
    pub fn start(&self) -> Time {
        self.start
    }

    /// Where it ends.
    pub fn end(&self) -> Time {
        self.end
    }

    /// When it wants the totals next; `None`: it has seen all.
    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Takes the totals, where it wants them.
    pub fn sample(&mut self, now: Time, totals: &Pairs) {
        match &mut self.traffic {
            None => self.traffic = Some(Traffic::since(now, totals)),
            Some(traffic) => traffic.sample(now, totals),
        }
        self.next = (now < self.end).then(|| (now + self.window).min(self.end));
    }

    /// What it has seen.
    pub fn report(&self, scenario: &Scenario) -> report::CloseUp {
        let rows = |id: EtcdId| (scenario.etcd[id].name.clone(), self.requests.rows(id));
        report::CloseUp {
            from_s: seconds(self.start),
            to_s: seconds(self.end),
            window_s: length(self.window),
            latency: scenario.etcd.keys().map(rows).collect(),
            zone_pairs: self.traffic.as_ref().map(|traffic| traffic.windows(scenario)).unwrap_or_default(),
        }
    }
}

impl Observer for CloseUp {
    fn record(&mut self, at: Time, record: &Record) {
        if (self.start..=self.end).contains(&at) {
            self.requests.record(at, record);
        }
    }
}
