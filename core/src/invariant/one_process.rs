//! A member has one process: a vote and an entry are its own because one disk keeps them (raft, §5.1 and Figure 2, "persistent state").
//! Two processes under one name could each vote.

use std::collections::BTreeSet;

use super::Property;
use super::logs::Logs;
use crate::record::{EtcdRecord, Record};

/// Members whose process serves.
#[derive(Clone, Debug, Default)]
pub(super) struct OneProcess {
    serving: BTreeSet<u8>,
}

impl Property for OneProcess {
    const NAME: &'static str = "one process per member";

    fn check(&mut self, record: &Record, logs: &Logs) -> Result<(), String> {
        match record {
            Record::Etcd(EtcdRecord::MemberStarted(member)) if !self.serving.insert(member.index) => {
                Err(format!("{} starts while it is running", logs.name(member.index)))
            }
            Record::Etcd(EtcdRecord::MemberStopped { member, .. }) => {
                self.serving.remove(&member.index);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
