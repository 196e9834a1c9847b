//! What flows into the log of a cluster, and how far it has come. [`flowing`](crate::flowing) enters it.

use crate::database::{Database, Growth};
use crate::lessor::Lessor;
use crate::raft::entry::Command;
use crate::raft::quorum::Members;
use crate::write_rate::{UNIT, WriteRate};
use zonefall_kernel::periodic::Periodic;
use zonefall_kernel::rng::Stream;
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Timer;
use zonefall_scenario::kube::usage::COMPACTION_INTERVAL;

/// How what flows gets into logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Into all logs of a leader's group at once, without messages.
    Steady { leader: u8, followers: Members },
    /// Not yet: it waits for so many beats more.
    Waiting { beats: u8, was_steady: bool },
    /// Each write is proposed.
    Disturbed,
}

/// Beats that requests may be under way one after the other until a group is taken to be busy.
pub(super) const PATIENCE: u8 = 5;

/// How far what flows has come.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) rate: WriteRate,
    pub(super) lessor: Lessor,
    /// Writes in a million seconds now, without the revocations of extended leases, and one of these writes.
    now: (u64, Command),
    pub(super) compactions: Periodic,
    /// Until then it is in logs, or lost.
    since: Time,
    /// Until then compactions are.
    compacted: Time,
    /// What was left of a write then.
    rest: u128,
    /// While each write is proposed: how much is left of it when the next one is due. They come at random, as those of many clients do.
    gap: u128,
    gaps: Stream,
    gaps_drawn: u64,
    pub(super) mode: Mode,
    pub(super) timer: Timer,
    /// When databases may be full.
    pub(super) quota: Timer,
    /// Entries that have flowed so far.
    pub(super) flowed: u64,
}

impl Flow {
    /// Nothing flows yet; before the run it did, for ever. Where it is between two compactions, and between two writes, is drawn.
    pub(super) fn new(phases: Stream) -> Self {
        let phase = phases.draw(0).below(COMPACTION_INTERVAL.as_nanos());
        let rest = u128::from(phases.draw(1).below(UNIT as u64));
        Self {
            rate: WriteRate::default(),
            lessor: Lessor::default(),
            now: (0, Command::Flowing { request_bytes: 0, grows: 0, supersedes: 0 }),
            compactions: Periodic::new(Time::from_nanos(phase), COMPACTION_INTERVAL),
            since: Time::ZERO,
            compacted: Time::ZERO,
            rest,
            gap: UNIT,
            gaps: phases,
            gaps_drawn: 2,
            mode: Mode::Waiting { beats: PATIENCE, was_steady: true },
            timer: Timer::new(),
            quota: Timer::new(),
            flowed: 0,
        }
    }

    /// Entries that have flowed into its log.
    pub(super) const fn flowed(&self) -> u64 {
        self.flowed
    }

    /// The rate, or whether leases end, is another from now on.
    pub(super) fn update(&mut self) {
        self.lessor.update(&self.rate);
        let writes = self.lessor.flowing(&self.rate);
        let (request_bytes, Growth { grows, supersedes }) = writes.mean();
        let command =
            Command::Flowing { request_bytes: request_bytes as u32, grows: grows as u32, supersedes: supersedes as u32 };
        self.now = (writes.count, command);
    }

    /// Whether what flows now is this, without leases that do not end yet.
    pub(super) fn is_of(&self, rate: &WriteRate) -> bool {
        self.lessor.flowing(rate).count == self.now.0
    }

    pub(super) const fn command(&self) -> Command {
        self.now.1
    }

    const fn growth(&self) -> Growth {
        let Command::Flowing { grows, supersedes, .. } = self.now.1 else { unreachable!() };
        Growth { grows: grows as u64, supersedes: supersedes as u64 }
    }

    /// In parts of a write.
    fn parts(&self, until: Time) -> u128 {
        self.rest + u128::from(self.now.0) * u128::from(until.since(self.since).as_nanos())
    }

    /// Whole writes that are due.
    pub(super) fn due(&self, until: Time) -> u64 {
        (self.parts(until) / UNIT) as u64
    }

    /// They are in logs, or lost.
    pub(super) fn take(&mut self, until: Time) -> u64 {
        let parts = self.parts(until);
        (self.since, self.rest, self.compacted) = (until, parts % UNIT, until);
        (parts / UNIT) as u64
    }

    /// Each write is proposed from now on, when it is due.
    pub(super) fn scatter(&mut self, now: Time) {
        self.gap = self.parts(now) % UNIT + self.draw_gap();
    }

    /// What is due is proposed, or lost.
    pub(super) fn take_scattered(&mut self, until: Time) -> u64 {
        let (mut parts, mut count) = (self.parts(until), 0);
        while parts >= self.gap {
            (parts, count) = (parts - self.gap, count + 1);
            self.gap = self.draw_gap();
        }
        (self.since, self.rest, self.compacted) = (until, parts, until);
        count
    }

    /// Writes are not proposed any more, each when it is due: how long ago the last one was says nothing of the next.
    pub(super) fn gather(&mut self, now: Time) {
        self.carry(now);
        self.rest %= UNIT;
    }

    fn draw_gap(&mut self) -> u128 {
        let drawn = self.gaps.draw(self.gaps_drawn).exponential();
        self.gaps_drawn += 1;
        (drawn * UNIT as f64) as u128
    }

    /// Until then it is neither, and will be.
    pub(super) fn carry(&mut self, until: Time) {
        (self.since, self.rest) = (until, self.parts(until));
        if !self.rate.compacts {
            self.compacted = until;
        }
    }

    /// Whether a compaction is due.
    pub(super) fn compacts(&self, now: Time) -> bool {
        self.rate.compacts && self.compactions.at_or_before(now).is_some_and(|at| at > self.compacted)
    }

    /// When the next write is to be proposed, or a compaction.
    pub(super) fn next(&self) -> Option<Time> {
        let rate = u128::from(self.now.0);
        let write =
            (rate > 0).then(|| self.since + Duration::from_nanos(self.gap.saturating_sub(self.rest).div_ceil(rate) as u64));
        let compaction = self.rate.compacts.then(|| self.compactions.after(self.compacted));
        write.into_iter().chain(compaction).min()
    }

    /// How long what flows takes to write so much, at least one write.
    pub(super) fn time_to_write(&self, bytes: u64) -> Option<Duration> {
        let (rate, grows) = (u128::from(self.now.0), self.growth().grows);
        let writes = u128::from(bytes.checked_div(grows)?.max(1));
        let ns = (writes * UNIT).checked_div(rate)?;
        Some(Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rate.writes.count == 0 && !self.rate.compacts
    }

    /// A database once what is due has been written to it, and compacted. While the NOSPACE alarm is on both are refused: API servers put
    /// a key before they compact (apiserver `storage/etcd3/compact.go`).
    pub(super) fn grown(&self, mut database: Database, until: Time) -> Database {
        if database.no_space {
            return database;
        }
        let mut written = 0;
        // One that is due since before the rate was another comes first.
        let mut at = self.compactions.after(self.compacted);
        let last = self.compactions.at_or_before(until).filter(|last| self.rate.compacts && *last >= at);
        let mut compactions = 0;
        while last.is_some_and(|last| at <= last) {
            let due = self.due(at.max(self.since));
            database.write(self.growth().times(due - written));
            database.compact();
            written = due;
            compactions += 1;
            at += COMPACTION_INTERVAL;
            if let Some(last) = last.filter(|last| compactions == 2 && at < *last) {
                // From here on each interval is like the one before.
                let before = Time::from_nanos(last.as_nanos() - COMPACTION_INTERVAL.as_nanos());
                let due = self.due(before);
                database.write_compacted(self.growth().times(due - written));
                (at, written) = (last, due);
            }
        }
        database.write(self.growth().times(self.due(until) - written));
        database
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many as the rate says, at random: in seconds of ten writes each their number has a variance of ten.
    #[test]
    fn writes_that_are_proposed_come_at_random() {
        const SECONDS: u64 = 10_000;
        let mut flow = Flow::new(Stream::new(1, zonefall_kernel::rng::Purpose::Phase, 0));
        flow.rate.writes.count = 10_000_000;
        flow.update();
        flow.scatter(Time::ZERO);
        let mut counts = vec![0.0; SECONDS as usize];
        while let Some(at) = flow.next().filter(|at| *at < Time::ZERO + Duration::from_secs(SECONDS)) {
            assert_eq!(flow.take_scattered(at), 1);
            counts[at.since(Time::ZERO).as_secs_f64() as usize] += 1.0;
        }
        let mean = |of: &dyn Fn(f64) -> f64| counts.iter().map(|own| of(*own)).sum::<f64>() / SECONDS as f64;
        let (count, variance) = (mean(&|own| own), mean(&|own| (own - 10.0) * (own - 10.0)));
        assert!((count - 10.0).abs() < 0.1 && (variance - 10.0).abs() < 0.5, "{count}, {variance}");
    }

    /// A rate that changes while a group waits for a request, just after a compaction was due.
    #[test]
    fn another_rate_forgets_no_compaction() {
        let mut flow = Flow::new(Stream::new(1, zonefall_kernel::rng::Purpose::Phase, 0));
        flow.rate.compacts = true;
        let due = flow.compactions.after(Time::ZERO);
        let mut database = Database::new(1_000);
        database.write(Growth { grows: 100, supersedes: 100 });
        flow.carry(due + Duration::from_secs(1));
        assert!(flow.compacts(due + Duration::from_secs(1)));
        // The second compaction frees what was superseded before the first.
        let grown = flow.grown(database, due + COMPACTION_INTERVAL);
        assert_eq!((database.in_use(), grown.in_use()), (1_100, 1_000));
    }
}
