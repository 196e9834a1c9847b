//! Checks of a balancer's targets: when they are, and what their results make of the health of a target.

use std::collections::BTreeMap;

use super::{Balancer, Destination, Target};
use crate::balancer::health::{Health, Thresholds};
use crate::reply::Reply;
use crate::server::Server;
use zonefall_kernel::periodic::Stepping;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Generation;
use zonefall_network::Network;
use zonefall_scenario::Fault;
use zonefall_scenario::access::{Check, CheckKind};

impl Balancer {
    /// The kind of its checks now.
    fn kind(&self, check: Check) -> CheckKind {
        let tcp = self.suffers(|fault| matches!(fault, Fault::LbTcpHealthOnly(_)));
        if tcp { CheckKind::Tcp } else { check.kind }
    }

    /// Result of a check that starts now; `None`: no answer.
    fn result(&self, node: u16, key: u32, check: Check, servers: &BTreeMap<u32, Server>, net: &Network) -> Option<bool> {
        // Checks do not verify certificates: they succeed at a server of another cluster, too.
        let (reply, readyz) = match self.destination(key) {
            Destination::Server(key) => {
                (self.reach(node, key, servers, net), servers.get(&key).is_some_and(|server| server.view.readyz))
            }
            Destination::Elsewhere(host, listens) => (self.reach_host(node, host, listens, net), true),
        };
        match reply {
            Reply::Silence => None,
            Reply::Refused | Reply::Closed => Some(false),
            Reply::Accepted(_) => Some(self.kind(check) == CheckKind::Tcp || readyz),
        }
    }

    /// The next check of each target: under fast-forward only checks that may change something.
    pub(crate) fn arm(
        &mut self,
        check: Check,
        servers: &BTreeMap<u32, Server>,
        net: &Network,
        now: Time,
        stepping: Stepping,
    ) -> Vec<(Time, u16, u32, Generation)> {
        let keys: Vec<(u16, u32)> = self.targets.keys().copied().collect();
        let arm = |(node, key)| {
            let (at, generation) = self.arm_target((node, key), check, servers, net, now, stepping)?;
            Some((at, node, key, generation))
        };
        keys.into_iter().filter_map(arm).collect()
    }

    /// The next check of one target.
    pub(crate) fn arm_target(
        &mut self,
        (node, key): (u16, u32),
        check: Check,
        servers: &BTreeMap<u32, Server>,
        net: &Network,
        now: Time,
        stepping: Stepping,
    ) -> Option<(Time, Generation)> {
        let result = self.result(node, key, check, servers, net);
        let is_checked = self.runs[usize::from(node)] && self.has_target(key);
        let target = self.targets.get_mut(&(node, key)).expect("it is one of them");
        if target.waits || !is_checked {
            return None;
        }
        let counts = stepping == Stepping::EveryEvent || !target.is_confirmed_by(result == Some(true), thresholds(check));
        // A check at this very moment is still to come.
        let due = target.timer.deadline().filter(|at| *at == now);
        target.timer.rearm(counts.then(|| due.unwrap_or_else(|| target.checks.after(now))))
    }

    /// A timer of a target fires; whether its health has changed.
    pub(crate) fn check(
        &mut self,
        (node, key, generation): (u16, u32, Generation),
        check: Check,
        servers: &BTreeMap<u32, Server>,
        net: &Network,
        now: Time,
    ) -> Checked {
        let result = self.result(node, key, check, servers, net);
        let is_stale = self.is_stale();
        let target = self.targets.get_mut(&(node, key)).expect("it is one of them");
        if !target.timer.fires(generation) {
            return Checked::Nothing;
        }
        let waited = std::mem::take(&mut target.waits);
        if result.is_none() && !waited && !is_stale {
            target.waits = true;
            let at = (now + check.timeout).min(target.checks.after(now) - Duration::from_nanos(1));
            return Checked::Waits(at, target.timer.arm(at));
        }
        let before = target.health.health();
        if !is_stale {
            target.health.check(!waited && result == Some(true), thresholds(check));
        }
        let after = target.health.health();
        if after == before { Checked::Nothing } else { Checked::Changed(after) }
    }
}

/// What follows from a check.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Checked {
    /// The health is as before.
    Nothing,
    /// There is no answer yet: the check times out then.
    Waits(Time, Generation),
    /// The target has changed its health.
    Changed(Health),
}

const fn thresholds(Check { rise, fall, first_rise, .. }: Check) -> Thresholds {
    Thresholds { rise, fall, first_rise }
}

impl Target {
    /// Whether checks with this result leave it unchanged.
    fn is_confirmed_by(&self, success: bool, thresholds: Thresholds) -> bool {
        let mut next = self.health;
        next.check(success, thresholds);
        next == self.health
    }
}
