//! The endpoints of the Service `kubernetes`: the addresses of the API servers, which these write themselves.
//!
//! ```text
//!  code (lease): server --renews its lease (15 s) every 10 s, and writes down whose leases hold--> endpoints
//!                is asked to stop --deletes its lease and writes the endpoints, if etcd answers--> removed at once
//!                crashes --its lease expires--> next write of another server: removed, 5 to 25 s after the crash
//!                etcd does not answer it --likewise, until it renews its lease again
//!                etcd elects a leader --all leases hold for their whole time again--> removed later
//!  text (ready): servers whose /readyz succeeds
//! ```
//!
//! Sources: `kubernetes/pkg/controlplane/reconcilers/lease.go` (`DefaultEndpointReconcilerTTL`: 15 s), `pkg/controlplane/controller/
//! kubernetesservice/controller.go` (`EndpointInterval`: 10 s; `Stop` runs before the shutdown of the server, beside its delay); Resilient Control Plane Networking, section Proposal, for readiness.

use std::collections::BTreeMap;

use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Timer;
use zonefall_scenario::Lease;
use zonefall_scenario::access::EndpointRules;

/// A server renews its lease and writes the endpoints this often.
pub(crate) const INTERVAL: Duration = Duration::from_secs(10);

/// The endpoints of one cluster.
#[derive(Clone, Debug)]
pub struct Endpoints {
    rules: EndpointRules,
    listed: Vec<u32>,
    /// When each server that etcd answers renews its lease.
    renewals: BTreeMap<u32, Periodic>,
    /// When servers that etcd does not answer would renew theirs.
    unanswered: BTreeMap<u32, Periodic>,
    /// Servers that etcd answers again, and when they renew their leases first.
    returning: BTreeMap<u32, Time>,
    /// Servers that renew their leases no more and are still listed, and when their leases expire.
    expiring: BTreeMap<u32, Time>,
    /// Term of etcd's leader, without which no lease expires.
    term: Option<u64>,
    /// Fires when the first of these is removed.
    pub(crate) timer: Timer,
}

/// A server that runs and was not asked to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    pub(crate) key: u32,
    pub(crate) readyz: bool,
}

impl Endpoints {
    /// None listed yet.
    pub(crate) fn new(rules: EndpointRules) -> Self {
        let (listed, timer) = (Vec::new(), Timer::new());
        let (renewals, unanswered, returning, expiring) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { rules, listed, renewals, unanswered, returning, expiring, term: None, timer }
    }

    /// Keys of the servers that are listed, in their order.
    pub fn listed(&self) -> &[u32] {
        &self.listed
    }

    /// A server runs that renews its lease first at `first`.
    pub(crate) fn started(&mut self, key: u32, first: Time) {
        self.renewals.insert(key, Periodic::new(first, INTERVAL));
        self.expiring.remove(&key);
    }

    /// What a server that runs says of etcd and of itself. It renews its lease once it has been ready, ready or not from then on
    /// (`RunKubernetesService`).
    pub(crate) fn follow(&mut self, key: u32, answers: bool, readyz: bool, now: Time) {
        if let Some(renewals) = self.renewals.get(&key).copied() {
            if !answers {
                self.stopped(key, now);
                self.unanswered.insert(key, renewals);
            }
        } else if let Some(renewals) = self.unanswered.get(&key).copied() {
            if answers {
                self.unanswered.remove(&key);
                self.returning.insert(key, renewals.at_or_after(now));
                self.renewals.insert(key, renewals);
            }
        } else if readyz && answers {
            self.started(key, now);
        }
    }

    /// A server is asked to stop. Where etcd answers it (`writes`), it deletes its lease and writes down whose leases hold, unless none does
    /// (`lease.go`: "refusing to erase all endpoints").
    pub(crate) fn stops(&mut self, key: u32, writes: bool, now: Time) {
        if !writes {
            return self.stopped(key, now);
        }
        self.renewals.remove(&key);
        self.returning.remove(&key);
        if self.renewals.is_empty() && self.expiring.values().all(|expires| *expires <= now) {
            self.expiring.insert(key, now);
        } else {
            self.expiring.retain(|_, expires| *expires > now);
        }
    }

    /// A server has crashed, or etcd answers it no more.
    pub(crate) fn stopped(&mut self, key: u32, now: Time) {
        self.unanswered.remove(&key);
        let is_before_its_renewal = self.returning.remove(&key).is_some_and(|first| first > now);
        let Some(renewals) = self.renewals.remove(&key).filter(|_| !is_before_its_renewal) else { return };
        let expires = renewals.before(now).map_or(now, |last| last + Lease::ApiServer.ttl()).max(now);
        self.expiring.insert(key, expires);
    }

    /// etcd's leader has this term, or there is none. A new one extends all leases (`lease/lessor.go`, `Promote`).
    pub(crate) fn etcd_leads(&mut self, term: Option<u64>, now: Time) {
        if term.is_some() && term != self.term {
            self.expiring.values_mut().for_each(|expires| *expires = now + Lease::ApiServer.ttl());
        }
        self.term = term;
    }

    /// When a server removes another one whose lease expires then; `None`: no server runs, or etcd has no leader.
    fn written(&self, expires: Time) -> Option<Time> {
        self.term?;
        let writes = |(key, renewals): (&u32, &Periodic)| {
            renewals.at_or_after(self.returning.get(key).map_or(expires, |at| expires.max(*at)))
        };
        self.renewals.iter().map(writes).min()
    }

    /// Writes the endpoints of the servers that serve; whether they have changed.
    pub(crate) fn update(&mut self, running: &[Running], now: Time) -> bool {
        for (key, _) in self.returning.extract_if(.., |_, first| *first <= now) {
            self.expiring.remove(&key);
        }
        let is_removed = |expires: Time| self.written(expires).is_some_and(|at| at <= now);
        let gone: Vec<u32> = self.expiring.iter().filter(|(_, expires)| is_removed(**expires)).map(|(key, _)| *key).collect();
        for key in gone {
            self.expiring.remove(&key);
        }
        let mut listed: Vec<u32> = match self.rules {
            EndpointRules::Text => running.iter().filter(|one| one.readyz).map(|one| one.key).collect(),
            EndpointRules::Code => {
                let has_lease = |key: &u32| !self.returning.contains_key(key);
                self.renewals.keys().copied().filter(has_lease).chain(self.expiring.keys().copied()).collect()
            }
        };
        listed.sort_unstable();
        listed.dedup();
        let changed = listed != self.listed;
        self.listed = listed;
        changed
    }

    /// When the next server is removed, or is there again.
    pub(crate) fn next_change(&self) -> Option<Time> {
        let removed = self.expiring.values().filter_map(|expires| self.written(*expires));
        removed.chain(self.returning.values().copied()).min().filter(|_| self.rules == EndpointRules::Code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(s: u64) -> Time {
        Time::from_nanos(s * 1_000_000_000)
    }

    fn running(keys: &[u32]) -> Vec<Running> {
        keys.iter().map(|key| Running { key: *key, readyz: *key != 9 }).collect()
    }

    #[test]
    fn crashed_server_is_listed_until_its_lease_is_over_and_another_writes() {
        let mut endpoints = Endpoints::new(EndpointRules::Code);
        endpoints.etcd_leads(Some(1), secs(0));
        endpoints.started(0, secs(3));
        endpoints.started(1, secs(7));
        assert!(endpoints.update(&running(&[0, 1]), secs(100)));
        // Server 0 last renewed at 103 s: its lease holds until 118 s; server 1 writes at 127 s.
        endpoints.stopped(0, secs(110));
        assert!(!endpoints.update(&running(&[1]), secs(110)));
        assert_eq!(endpoints.next_change(), Some(secs(127)));
        assert!(!endpoints.update(&running(&[1]), secs(126)));
        assert!(endpoints.update(&running(&[1]), secs(127)));
        assert_eq!(endpoints.listed(), [1]);
    }

    #[test]
    fn new_leader_of_etcd_extends_leases_and_without_one_none_expires() {
        let mut endpoints = Endpoints::new(EndpointRules::Code);
        endpoints.etcd_leads(Some(1), secs(0));
        endpoints.started(0, secs(3));
        endpoints.started(1, secs(7));
        endpoints.update(&running(&[0, 1]), secs(100));
        endpoints.stopped(0, secs(110));
        endpoints.etcd_leads(None, secs(112));
        assert_eq!((endpoints.update(&running(&[1]), secs(127)), endpoints.next_change()), (false, None));
        endpoints.etcd_leads(Some(2), secs(128));
        // The lease holds until 143 s; server 1 writes at 147 s.
        assert_eq!(endpoints.next_change(), Some(secs(147)));
        endpoints.etcd_leads(Some(2), secs(140));
        assert_eq!(endpoints.next_change(), Some(secs(147)), "the same leader");
    }

    #[test]
    fn server_that_is_asked_to_stop_leaves_at_once_where_etcd_answers_it() {
        let mut endpoints = Endpoints::new(EndpointRules::Code);
        endpoints.etcd_leads(Some(1), secs(0));
        for (key, first) in [(0, 3), (1, 7), (2, 9)] {
            endpoints.started(key, secs(first));
        }
        endpoints.update(&running(&[0, 1, 2]), secs(100));
        // Its last lease holds until 118 s; that of a server without etcd is not deleted.
        endpoints.stops(0, false, secs(110));
        assert!(!endpoints.update(&running(&[1, 2]), secs(110)));
        assert_eq!(endpoints.next_change(), Some(secs(119)));
        // A server that stops writes the endpoints itself.
        endpoints.stops(1, true, secs(118));
        assert!(endpoints.update(&running(&[2]), secs(118)));
        assert_eq!((endpoints.listed(), endpoints.next_change()), (&[2][..], None));
    }

    #[test]
    fn last_server_that_stops_is_listed_until_another_one_starts() {
        let mut endpoints = Endpoints::new(EndpointRules::Code);
        endpoints.etcd_leads(Some(1), secs(0));
        endpoints.started(0, secs(3));
        endpoints.update(&running(&[0]), secs(100));
        endpoints.stops(0, true, secs(110));
        assert!(!endpoints.update(&running(&[]), secs(110)));
        assert_eq!((endpoints.listed(), endpoints.next_change()), (&[0][..], None));
        endpoints.started(1, secs(200));
        assert!(endpoints.update(&running(&[1]), secs(200)));
        assert_eq!(endpoints.listed(), [1]);
    }

    #[test]
    fn server_that_etcd_does_not_answer_is_listed_until_its_lease_is_over_and_again_once_it_renews_it() {
        let mut endpoints = Endpoints::new(EndpointRules::Code);
        endpoints.etcd_leads(Some(1), secs(0));
        endpoints.started(0, secs(3));
        endpoints.started(1, secs(7));
        let both = running(&[0, 1]);
        endpoints.update(&both, secs(100));
        // Its lease of 103 s holds until 118 s; server 1 writes at 127 s.
        endpoints.follow(0, false, false, secs(110));
        assert_eq!((endpoints.update(&both, secs(126)), endpoints.next_change()), (false, Some(secs(127))));
        assert!(endpoints.update(&both, secs(127)));
        assert_eq!(endpoints.listed(), [1]);
        // Ready or not, it renews its lease at 133 s; another time without etcd, before that, changes nothing.
        endpoints.follow(0, true, false, secs(128));
        assert_eq!((endpoints.update(&both, secs(128)), endpoints.next_change()), (false, Some(secs(133))));
        endpoints.follow(0, false, false, secs(129));
        endpoints.follow(0, true, false, secs(130));
        assert!(endpoints.update(&both, secs(133)));
        assert_eq!((endpoints.listed(), endpoints.next_change()), (&[0, 1][..], None));
        // One that starts has no lease before it is ready.
        endpoints.follow(2, true, false, secs(140));
        assert!(!endpoints.update(&running(&[0, 1, 2]), secs(140)));
        endpoints.follow(2, true, true, secs(141));
        assert!(endpoints.update(&running(&[0, 1, 2]), secs(141)));
        endpoints.follow(2, true, false, secs(142));
        assert_eq!((endpoints.update(&running(&[0, 1, 2]), secs(142)), endpoints.listed()), (false, &[0, 1, 2][..]));
    }

    #[test]
    fn document_lists_the_ready_ones_only() {
        let mut endpoints = Endpoints::new(EndpointRules::Text);
        assert!(endpoints.update(&running(&[0, 9]), secs(0)));
        assert_eq!(endpoints.listed(), [0]);
        endpoints.stopped(0, secs(1));
        assert!(endpoints.update(&running(&[9]), secs(1)));
        assert!(endpoints.listed().is_empty());
    }
}
