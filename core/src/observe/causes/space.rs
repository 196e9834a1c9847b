//! Databases that were full: etcd raised a NOSPACE alarm, or one reached its quota without a put.

use super::compose::SETTLES;
use super::{Causes, Outage};
use crate::etcd::command_bytes::is_full;
use crate::ids::MemberId;
use crate::kernel::time::Time;
use crate::record::{EtcdRecord, Record, Service};
use crate::scenario::text;

/// When the databases of one cluster were full.
#[derive(Clone, Debug, Default)]
pub(super) struct Alarms {
    /// NOSPACE alarms: who raised each, since when and until when.
    raised: Vec<(MemberId, Time, Option<Time>)>,
    /// Members that refuse what is put without an alarm, and since when.
    reached: Vec<(MemberId, Time)>,
}

impl Alarms {
    /// Takes note of a record of the cluster.
    pub(super) fn record(&mut self, at: Time, record: &Record) {
        match record {
            Record::Etcd(EtcdRecord::SpaceExceeded { member, .. }) => self.raised.push((*member, at, None)),
            Record::Etcd(EtcdRecord::QuotaReached { member, .. }) => self.reached.push((*member, at)),
            Record::Etcd(EtcdRecord::AlarmDisarmed(_)) => {
                self.raised.iter_mut().filter(|(.., until)| until.is_none()).for_each(|(.., until)| *until = Some(at));
            }
            _ => {}
        }
    }

    /// Drops what was over at a time.
    pub(super) fn forget(&mut self, is_old: impl Fn(Time) -> bool) {
        self.raised.retain(|(.., until)| !until.is_some_and(&is_old));
        self.reached.retain(|(_, at)| !is_old(*at));
    }

    /// Whether there is nothing to drop.
    pub(super) fn is_empty(&self) -> bool {
        self.raised.is_empty() && self.reached.is_empty()
    }
}

impl Causes {
    /// The alarms that were on while writes were refused.
    fn alarms<'a>(&'a self, outage: &'a Outage) -> impl Iterator<Item = &'a (MemberId, Time, Option<Time>)> {
        let ends = outage.to.unwrap_or(Time::MAX);
        let refuses = outage.service == Service::Write;
        let on =
            move |(_, from, until): &&(_, Time, Option<Time>)| *from <= ends && until.is_none_or(|until| until > outage.from);
        self.clusters[outage.cluster].alarms.raised.iter().filter(on).filter(move |_| refuses)
    }

    /// Whose database was full.
    pub(super) fn no_space(&self, outage: &Outage) -> Option<String> {
        let cluster = &self.scenario.etcd[outage.cluster];
        let quota = text::bytes(cluster.options.quota_bytes);
        let Some((member, ..)) = self.alarms(outage).next().copied() else {
            // No put has raised the alarm.
            let from_the_start = outage.from == Time::ZERO && is_full(cluster.database_bytes, cluster.options.quota_bytes);
            let just_then = |(_, at): &(MemberId, Time)| *at == outage.from;
            let reached = self.clusters[outage.cluster].alarms.reached.iter().any(just_then);
            let refuses = outage.service == Service::Write && (from_the_start || reached);
            return refuses.then(|| format!("databases have reached their quota of {quota}"));
        };
        let name = text::member(&*self.scenario, member);
        Some(format!("the database of {name} exceeded its quota of {quota}; NOSPACE alarm"))
    }

    /// Whether the outage began when a database was full, and with nothing else.
    pub(super) fn begins_full(&self, outage: &Outage) -> bool {
        let raised_then = || self.alarms(outage).any(|(_, from, _)| *from <= outage.from && *from + SETTLES >= outage.from);
        let reached = || self.alarms(outage).next().is_none() && self.no_space(outage).is_some();
        !outage.late && !self.begins_with_loss(outage) && (raised_then() || reached())
    }

    /// When the alarm was disarmed for good.
    pub(super) fn disarmed(&self, outage: &Outage) -> Option<Time> {
        let (.., until) = self.alarms(outage).last()?;
        until.filter(|until| outage.to.is_some_and(|to| *until <= to))
    }
}
