//! Who led when, and how long the cluster had nobody.
//!
//! A leader is *acknowledged* from its election on for as long as
//!
//! 1. its process runs,
//! 2. it has not stepped down, and
//! 3. once a majority of the voters (itself included) has followed it, a majority still does.
//!
//! An **election** ends when a member wins ([`EtcdRecord::Elected`]). It began at the earlier of: the moment since which the cluster had no
//! acknowledged leader (the start of the run, where it starts without one), and the winner's first question of the round that it won
//! (its pre-vote, or its campaign where there was no pre-vote). The second is what counts when a leader hands over: the old one is
//! acknowledged until the new one has won. Rounds that make nobody leader are no elections; their time is part of the next.
//!
//! A **change of leader** is an election won by a member other than the leader before.

use std::sync::Arc;

use super::Observer;
use super::voters::{Voters, cluster_of};
use crate::ids::{EtcdId, MemberId, TiVec, ZoneId};
use crate::kernel::time::Time;
use crate::record::{EtcdRecord, Record};
use crate::report::{ElectionReport, LeaderReport, TermReport, seconds};
use crate::scenario::Scenario;

/// Follows the leaders of every cluster.
#[derive(Clone, Debug)]
pub struct Leaders {
    scenario: Arc<Scenario>,
    /// Shared with clones as long as neither changes them.
    clusters: TiVec<EtcdId, Arc<EtcdLeaders>>,
}

#[derive(Clone, Debug)]
struct EtcdLeaders {
    voters: Voters,
    /// Whom each member follows (or, the leader, itself).
    views: Vec<Option<u8>>,
    /// When each member began the round it is in.
    rounds: Vec<Option<Round>>,
    /// The last member elected, acknowledged or not.
    last: Option<u8>,
    /// `None`: there is an acknowledged leader.
    leaderless_since: Option<Time>,
    /// The last leader has had its majority.
    settled: bool,
    leaderships: Vec<Leadership>,
    elections: Vec<Election>,
    changes: u64,
    terms: Vec<(Time, u64)>,
    /// Where each member is.
    zones: Vec<ZoneId>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    began: Time,
    pre_vote: bool,
}

#[derive(Clone, Copy, Debug)]
struct Leadership {
    leader: u8,
    zone: ZoneId,
    /// `None`: the first leader of a settled cluster, until somebody names its term.
    term: Option<u64>,
    from: Time,
    to: Option<Time>,
}

#[derive(Clone, Copy, Debug)]
struct Election {
    from: Time,
    to: Time,
    term: u64,
    leader: u8,
}

impl Leaders {
    /// As the clusters of the scenario start.
    pub fn new(scenario: &Arc<Scenario>) -> Self {
        let clusters = scenario.etcd.iter().map(|c| {
            let first = c.initial_leader;
            let zones: Vec<ZoneId> = c.members.iter().map(|m| scenario.nodes[m.node].zone).collect();
            let reign =
                first.map(|leader| Leadership { leader, zone: zones[leader as usize], term: None, from: Time::ZERO, to: None });
            Arc::new(EtcdLeaders {
                voters: Voters::new(c),
                views: c.members.iter().map(|m| if m.initial { first } else { None }).collect(),
                rounds: vec![None; c.members.len()],
                last: first,
                leaderless_since: if first.is_some() { None } else { Some(Time::ZERO) },
                settled: first.is_some(),
                leaderships: reign.into_iter().collect(),
                elections: Vec::new(),
                changes: 0,
                terms: Vec::new(),
                zones,
            })
        });
        Self { clusters: clusters.collect(), scenario: Arc::clone(scenario) }
    }

    /// How often a member other than the leader before was elected.
    pub fn changes(&self, cluster: EtcdId) -> u64 {
        self.clusters[cluster].changes
    }

    /// Elections of a cluster, in order.
    pub fn elections(&self, cluster: EtcdId) -> Vec<ElectionReport> {
        let row = |e: &Election| ElectionReport {
            from_s: seconds(e.from),
            to_s: seconds(e.to),
            term: e.term,
            leader: self.name(cluster, e.leader),
        };
        self.clusters[cluster].elections.iter().map(row).collect()
    }

    /// Reigns of a cluster in order of their start, `now` being the end of those under way.
    pub fn leaderships(&self, cluster: EtcdId, now: Time) -> Vec<LeaderReport> {
        let row = |r: &Leadership| LeaderReport {
            from_s: seconds(r.from),
            to_s: seconds(r.to.unwrap_or(now)),
            completed: r.to.is_some(),
            term: r.term.unwrap_or(0),
            leader: self.name(cluster, r.leader),
            zone: self.scenario.zones[r.zone].name.clone(),
        };
        self.clusters[cluster].leaderships.iter().map(row).collect()
    }

    /// The highest term of a cluster, at each of its changes.
    pub fn terms(&self, cluster: EtcdId) -> Vec<TermReport> {
        let row = |&(at, term): &(Time, u64)| TermReport { at_s: seconds(at), term };
        self.clusters[cluster].terms.iter().map(row).collect()
    }

    /// Tells the term of the first leader of a settled cluster, which no record need have named.
    pub fn name_first_term(&mut self, cluster: EtcdId, term: u64) {
        let cluster = Arc::make_mut(&mut self.clusters[cluster]);
        if let Some(first) = cluster.leaderships.first_mut() {
            first.term.get_or_insert(term);
            if cluster.terms.is_empty() {
                cluster.terms.push((Time::ZERO, term));
            }
        }
    }

    fn name(&self, cluster: EtcdId, index: u8) -> String {
        self.scenario.member(MemberId { cluster, index }).name.clone()
    }
}

impl EtcdLeaders {
    fn elected(&mut self, at: Time, leader: u8, term: u64) {
        self.saw_term(at, term);
        let i = leader as usize;
        let confirms_first = at == Time::ZERO && self.last == Some(leader) && self.leaderships.len() == 1;
        if confirms_first {
            self.leaderships[0].term = Some(term);
            return;
        }
        let asked = self.rounds[i].map(|r| r.began);
        let from = [self.leaderless_since, asked].into_iter().flatten().min().unwrap_or(at);
        self.elections.push(Election { from, to: at, term, leader });
        self.changes += u64::from(self.last.is_some_and(|last| last != leader));
        self.leaderships.push(Leadership { leader, zone: self.zones[i], term: Some(term), from: at, to: None });
        self.last = Some(leader);
        self.leaderless_since = None;
        self.views[i] = Some(leader);
        self.rounds[i] = None;
        self.settled = self.followers(leader) >= self.voters.majority();
    }

    /// A member leads no more, or is gone.
    fn leads_no_more(&mut self, at: Time, member: u8) {
        for reign in self.leaderships.iter_mut().rev().filter(|r| r.leader == member && r.to.is_none()) {
            reign.to = Some(at);
        }
        if self.last == Some(member) {
            self.leaderless_since.get_or_insert(at);
        }
    }

    fn sees(&mut self, at: Time, member: u8, leader: Option<u8>) {
        self.views[member as usize] = leader;
        if leader.is_some() {
            self.rounds[member as usize] = None;
        }
        let Some(last) = self.last else { return };
        let majority = self.followers(last) >= self.voters.majority();
        if majority {
            self.settled = true;
            // A leader that lost its majority's ear and found it again before it was deposed.
            if self.leaderless_since.is_some() && self.leaderships.last().is_some_and(|r| r.leader == last && r.to.is_none()) {
                self.leaderless_since = None;
            }
        } else if self.settled {
            self.leaderless_since.get_or_insert(at);
        }
    }

    fn followers(&self, leader: u8) -> usize {
        self.voters.iter().filter(|&i| self.views[i] == Some(leader)).count()
    }

    fn campaigns(&mut self, at: Time, member: u8, pre_vote: bool) {
        let round = &mut self.rounds[member as usize];
        // A campaign after a pre-vote is the same round; another pre-vote, or another campaign, is a new one.
        match round {
            Some(round) if round.pre_vote && !pre_vote => round.pre_vote = false,
            _ => *round = Some(Round { began: at, pre_vote }),
        }
    }

    fn saw_term(&mut self, at: Time, term: u64) {
        if self.terms.last().is_none_or(|&(_, highest)| term > highest) {
            self.terms.push((at, term));
        }
    }

    fn record(&mut self, at: Time, record: &Record) {
        match record {
            Record::Etcd(EtcdRecord::MemberStopped { member, .. }) => {
                self.leads_no_more(at, member.index);
                self.rounds[member.index as usize] = None;
                self.sees(at, member.index, None);
            }
            Record::Etcd(EtcdRecord::Campaign { member, term, pre_vote }) => {
                self.campaigns(at, member.index, *pre_vote);
                if !pre_vote {
                    self.saw_term(at, *term);
                }
            }
            Record::Etcd(EtcdRecord::Elected { member, term }) => self.elected(at, member.index, *term),
            Record::Etcd(EtcdRecord::SteppedDown { member, term, .. }) => {
                if let Some(first) = self.leaderships.first_mut().filter(|r| r.leader == member.index) {
                    first.term.get_or_insert(*term);
                }
                self.leads_no_more(at, member.index);
                if self.views[member.index as usize] == Some(member.index) {
                    self.sees(at, member.index, None);
                }
            }
            Record::Etcd(EtcdRecord::LeaderSeen { member, term, leader }) => {
                self.saw_term(at, *term);
                self.sees(at, member.index, *leader);
            }
            Record::Etcd(EtcdRecord::Membership { .. }) => self.voters.record(record),
            Record::Etcd(EtcdRecord::MemberMoved { member, zone }) => self.zones[member.index as usize] = *zone,
            _ => {}
        }
    }
}

impl Observer for Leaders {
    fn record(&mut self, at: Time, record: &Record) {
        if let Some(cluster) = cluster_of(record) {
            Arc::make_mut(&mut self.clusters[cluster]).record(at, record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::testing::{CLUSTER, at, member, three_zones};
    use crate::record::{StepDownReason, StopReason};

    fn leaders(initial: Option<u8>, records: &[(u64, Record)]) -> Leaders {
        let mut scenario = three_zones();
        scenario.etcd[EtcdId(0)].initial_leader = initial;
        let mut leaders = Leaders::new(&Arc::new(scenario));
        for (ms, record) in records {
            leaders.record(at(*ms), record);
        }
        leaders
    }

    fn elections(leaders: &Leaders) -> Vec<(f64, f64, u64, String)> {
        leaders.elections(CLUSTER).into_iter().map(|e| (e.from_s, e.to_s, e.term, e.leader)).collect()
    }

    fn campaign(m: u8, term: u64, pre_vote: bool) -> Record {
        Record::Etcd(EtcdRecord::Campaign { member: member(m), term, pre_vote })
    }

    fn sees(m: u8, term: u64, leader: Option<u8>) -> Record {
        Record::Etcd(EtcdRecord::LeaderSeen { member: member(m), term, leader })
    }

    fn elected(m: u8, term: u64) -> Record {
        Record::Etcd(EtcdRecord::Elected { member: member(m), term })
    }

    #[test]
    fn a_dead_leader_starts_the_election_when_it_dies() {
        let stopped = Record::Etcd(EtcdRecord::MemberStopped { member: member(0), reason: StopReason::PowerLost });
        let leaders = leaders(
            Some(0),
            &[
                (0, elected(0, 2)),
                (10_000, stopped),
                (11_200, sees(2, 2, None)),
                (11_200, campaign(2, 3, true)),
                (11_201, campaign(2, 3, false)),
                (11_203, elected(2, 3)),
                (11_204, sees(1, 3, Some(2))),
            ],
        );
        assert_eq!(elections(&leaders), [(10.0, 11.203, 3, "etcd-main-2".to_owned())]);
        assert_eq!(leaders.changes(CLUSTER), 1);
        let leaderships: Vec<_> =
            leaders.leaderships(CLUSTER, at(60_000)).into_iter().map(|r| (r.from_s, r.to_s, r.completed, r.term)).collect();
        assert_eq!(leaderships, [(0.0, 10.0, true, 2), (11.203, 60.0, false, 3)]);
        let terms: Vec<_> = leaders.terms(CLUSTER).into_iter().map(|t| (t.at_s, t.term)).collect();
        assert_eq!(terms, [(0.0, 2), (11.201, 3)]);
    }

    #[test]
    fn a_leader_cut_off_is_acknowledged_until_it_steps_down_or_loses_its_majority() {
        let stepped =
            Record::Etcd(EtcdRecord::SteppedDown { member: member(0), term: 2, reason: StepDownReason::QuorumInactive });
        let by_step = leaders(
            Some(0),
            &[(11_100, sees(1, 2, None)), (11_400, stepped.clone()), (11_500, sees(2, 2, None)), (11_900, elected(1, 3))],
        );
        // Of three, the leader and one follower are a majority still: the step down counts, not the first doubt.
        assert_eq!(elections(&by_step), [(11.4, 11.9, 3, "etcd-main-1".to_owned())]);
        let by_doubt = leaders(
            Some(0),
            &[(11_100, sees(1, 2, None)), (11_200, sees(2, 2, None)), (11_300, elected(1, 3)), (11_400, stepped)],
        );
        assert_eq!(elections(&by_doubt), [(11.2, 11.3, 3, "etcd-main-1".to_owned())]);
        let leaderships: Vec<_> = by_doubt.leaderships(CLUSTER, at(60_000)).into_iter().map(|r| (r.from_s, r.to_s)).collect();
        assert_eq!(leaderships, [(0.0, 11.4), (11.3, 60.0)]);
    }

    #[test]
    fn a_follower_cut_off_for_long_does_not_stretch_the_election_it_causes() {
        let higher = Record::Etcd(EtcdRecord::SteppedDown { member: member(0), term: 2, reason: StepDownReason::HigherTerm });
        let leaders = leaders(
            Some(0),
            &[
                (11_000, sees(2, 2, None)),
                (11_000, campaign(2, 3, false)),
                (12_500, campaign(2, 4, false)),
                (99_000, higher),
                (99_900, campaign(0, 5, false)),
                (99_950, elected(0, 5)),
            ],
        );
        assert_eq!(elections(&leaders), [(99.0, 99.95, 5, "etcd-main-0".to_owned())]);
        assert_eq!(leaders.changes(CLUSTER), 0, "the same member leads again");
    }

    #[test]
    fn handing_over_counts_from_the_new_leaders_campaign() {
        let higher = Record::Etcd(EtcdRecord::SteppedDown { member: member(0), term: 2, reason: StepDownReason::HigherTerm });
        let leaders = leaders(Some(0), &[(5_000, campaign(1, 3, false)), (5_001, higher), (5_003, elected(1, 3))]);
        assert_eq!(elections(&leaders), [(5.0, 5.003, 3, "etcd-main-1".to_owned())]);
    }

    #[test]
    fn the_first_leader_of_a_cold_cluster_is_no_change() {
        let leaders = leaders(None, &[(1_500, campaign(1, 1, false)), (1_502, elected(1, 1))]);
        assert_eq!(elections(&leaders), [(0.0, 1.502, 1, "etcd-main-1".to_owned())]);
        assert_eq!(leaders.changes(CLUSTER), 0);
    }
}
