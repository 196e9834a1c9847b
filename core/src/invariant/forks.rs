//! Losses told: who takes over in an active-passive cluster begins a raft group of its own, with part of what the old one had committed,
//! and says how much is lost, neither less than the old group's records show nor with entries that it never committed (GEP-20, appendix,
//! "etcd Active-Passive Options"). So does the first member of a cluster that has moved to another seed.
//!
//! The properties of Figure 3 hold within each group: the old one goes on (a member that is cut off may still serve in it) until its
//! data is thrown away. Where a quorum serves there is one group for ever.

use super::{Group, Logs, Violation, durability, note};
use crate::etcd::passive::PassiveRecord;
use crate::kernel::time::Time;
use crate::observe::voters::member_of;
use crate::record::{EtcdRecord, Record};
use crate::scenario::EtcdClusterSpec;

const NAME: &str = "losses reported";

/// A cluster: its groups, one after the other.
#[derive(Clone, Debug)]
pub(super) struct EtcdForks {
    spec: EtcdClusterSpec,
    groups: Vec<Group>,
    /// The group each member is in, or was last; one that comes later is in whichever there is then.
    of: Vec<Option<usize>>,
    /// What the last fork has accounted for.
    accounted: u64,
    /// It has lost what it had answered, as its options say.
    forgets: bool,
}

impl EtcdForks {
    pub(super) fn new(spec: &EtcdClusterSpec) -> Self {
        let first = Group::new(Logs::new(spec), durability::Durability::new(spec));
        let of = spec.members.iter().map(|member| member.initial.then_some(0)).collect();
        Self { spec: spec.clone(), groups: vec![first], of, accounted: 0, forgets: false }
    }

    pub(super) fn record(&mut self, at: Time, record: &Record, found: &mut Vec<Violation>) {
        // What a member answered before it was on its disk is lost: from here on the group contradicts what it said, as it did in etcd.
        self.forgets |= self.spec.options.answers_before_sync && matches!(record, Record::Etcd(EtcdRecord::DataLost { .. }));
        if self.forgets {
            return;
        }
        let newest = self.groups.len() - 1;
        let told = match *record {
            Record::Etcd(EtcdRecord::Passive(_, PassiveRecord::Forked { member, index, lost, .. })) => {
                self.fork(record, member, index, lost)
            }
            Record::Etcd(EtcdRecord::Passive(_, PassiveRecord::Discarded { member, lost })) => self.discard(member, lost),
            _ => {
                // Changes of membership are those of the group that serves, also where they remove who never heard of it.
                let member = member_of(record).filter(|_| !matches!(record, Record::Etcd(EtcdRecord::Membership { .. })));
                let group = member.map_or(newest, |member| *self.of[member.index as usize].get_or_insert(newest));
                self.groups[group].record(at, record, &self.spec.name, found);
                Ok(())
            }
        };
        if let Err(text) = told {
            note(found, at, NAME, &self.spec.name, &text);
        }
    }

    fn fork(&mut self, record: &Record, member: u8, index: u64, lost: u64) -> Result<(), String> {
        let old = &self.groups.last().expect("there is a first group").logs;
        let (committed, who) = (old.committed(), old.name(member).to_owned());
        let logs = Logs::forked(&self.spec, record, member, index);
        self.of[member as usize] = Some(self.groups.len());
        self.accounted = committed;
        self.groups.push(Group::new(logs, durability::Durability::forked(member, index)));
        if index > committed {
            return Err(format!("{who} takes over with entry {index}, but only {committed} were committed"));
        }
        if committed - index == lost {
            return Ok(());
        }
        Err(format!("{who} takes over with entry {index} of {committed} committed, but reports {lost} as lost"))
    }

    fn discard(&mut self, member: u8, lost: u64) -> Result<(), String> {
        let group = self.of[member as usize].replace(self.groups.len() - 1).unwrap_or(0);
        let old = &self.groups[group].logs;
        let later = old.committed().saturating_sub(self.accounted);
        if later == lost {
            return Ok(());
        }
        Err(format!("{} discards {later} committed entries, but reports {lost} as lost", old.name(member)))
    }
}
