//! Processes and volumes: what starts, what stops, what refuses.

use crate::etcd::cluster::{Cluster, Context};
use crate::etcd::member::Standing;
use crate::etcd::raft::Dialect;
use crate::ids::VolumeId;
use crate::kernel::time::Duration;
use crate::network::HostId;
use crate::record::{RaftRecord, Record, RefuseReason, StopReason};
use crate::sim::event::EtcdEvent;

/// A process that has started looks so often, and so many times, whether its peers are connected (`adjustTicks`: for 5 s).
const FAST_FORWARD_INTERVAL: Duration = Duration::from_millis(50);
const FAST_FORWARD_LOOKS: u32 = 100;

impl Cluster {
    /// One more fault holds a member's process down (and ends it, if it runs).
    pub fn hold_down(&mut self, index: u8, reason: StopReason, cx: &mut Context<'_>) {
        self.wake(cx);
        self.members[index as usize].held_down += 1;
        self.stop(index, reason, cx);
        self.disturb_controller(cx);
    }

    /// One fault less does; the last starts it again.
    pub fn release(&mut self, index: u8, cx: &mut Context<'_>) {
        self.members[index as usize].held_down -= 1;
        self.start(index, cx);
        self.disturb_controller(cx);
    }

    /// Begins to start a member's process, if nothing stands against it.
    pub(super) fn start(&mut self, index: u8, cx: &mut Context<'_>) {
        let (id, start_up) = (self.id, self.options.start_up);
        let member = &mut self.members[index as usize];
        if !member.may_run() || member.server.is_some() || member.starting.is_some() {
            if member.standing == Standing::In && member.held_down == 0 && !member.halted && !member.disk.is_present() {
                cx.fx.record(Record::MemberRefused { member: member.id, reason: RefuseReason::NoVolume });
            }
            return;
        }
        if member.disk.content.is_none() {
            // The cluster knows this member; with an empty disk it might vote twice.
            cx.fx.record(Record::MemberRefused { member: member.id, reason: RefuseReason::LostData });
            return;
        }
        let generation = member.next_generation();
        member.starting = Some(generation);
        cx.fx.etcd(cx.now + start_up, id, EtcdEvent::Started(index, generation));
    }

    /// The process serves.
    pub(super) fn started(&mut self, index: u8, generation: u32, cx: &mut Context<'_>) {
        if self.members[index as usize].starting != Some(generation) {
            return;
        }
        self.wake(cx);
        self.members[index as usize].starting = None;
        self.boot(index, cx.now);
        cx.fx.record(Record::MemberStarted(self.members[index as usize].id));
        let committed = self.committed;
        let server = self.server_mut(index);
        let behind = committed.saturating_sub(server.raft.log.last());
        if behind > 0 {
            server.behind = Some((cx.now, committed, behind));
        }
        self.peer_started(index, cx);
        self.begin_fast_forward(index, cx);
        self.after(index, cx);
        cx.fx.disturbed.push(self.id);
    }

    /// A member alone need not wait for a leader to speak; one among others need not wait long once it is connected to them
    /// (`EtcdServer.adjustTicks`; `--initial-election-tick-advance` is on).
    fn begin_fast_forward(&mut self, index: u8, cx: &mut Context<'_>) {
        let ticks = self.dialect.election_ticks;
        let server = self.server_mut(index);
        if server.raft.config.members().len() == 1 {
            server.raft.advance_ticks(cx.now, ticks - 1);
        } else {
            self.look_at_peers(index, FAST_FORWARD_LOOKS, cx);
        }
    }

    fn look_at_peers(&mut self, index: u8, looks: u32, cx: &mut Context<'_>) {
        let generation = self.members[index as usize].next_generation();
        self.server_mut(index).fast_forward = Some((generation, looks));
        cx.fx.etcd(cx.now + FAST_FORWARD_INTERVAL, self.id, EtcdEvent::FastForward(index, generation));
    }

    /// A process that has just started looks whether two peers are connected: then it moves its election clock on.
    pub(super) fn fast_forward(&mut self, index: u8, generation: u32, cx: &mut Context<'_>) {
        let Some(server) = self.members[index as usize].server.as_deref_mut() else { return };
        let Some((_, looks)) = server.fast_forward.take_if(|(current, _)| *current == generation) else { return };
        let peer = |other: &u8| self.members[*other as usize].standing == Standing::In && *other != index;
        let active = |other: &u8| self.streams[self.stream_index(*other, index)].reader_open;
        if (0..self.members.len() as u8).filter(peer).filter(active).count() < 2 {
            if looks > 1 {
                self.look_at_peers(index, looks - 1, cx);
            }
            return;
        }
        self.wake(cx);
        let Dialect { election_ticks, election_beats, .. } = self.dialect;
        let server = self.server_mut(index);
        if server.is_leader() {
            (2..election_beats).for_each(|_| server.raft.beat(cx.now));
        } else {
            server.raft.advance_ticks(cx.now, election_ticks.saturating_sub(2));
            server.timer = None;
        }
        self.after(index, cx);
    }

    /// Ends a member's process.
    pub(super) fn stop(&mut self, index: u8, reason: StopReason, cx: &mut Context<'_>) {
        let member = &mut self.members[index as usize];
        member.starting = None;
        let id = member.id;
        let Some(server) = member.halt(reason) else { return };
        let kept = member.disk.content.as_ref().map(|content| content.log.last());
        if let Some(last) = kept.filter(|_| self.options.answers_before_sync && server.raft.is_alone()) {
            self.forget_answered(last, server.raft.log.committed, cx);
        }
        if cx.fx.raft_records {
            match kept {
                Some(last) if last < server.raft.log.last() => {
                    cx.fx.record(Record::Raft(RaftRecord::Truncated { member: id, from: last + 1 }));
                }
                Some(_) => {}
                None => cx.fx.record(Record::Raft(RaftRecord::Wiped { member: id })),
            }
        }
        let reset = !matches!(reason, StopReason::PowerLost);
        cx.fx.record(Record::MemberStopped { member: id, reason });
        cx.fx.stopped.push((id, reset));
        self.peer_stopped(index, reset, cx);
        self.abort_transfers(index, cx);
    }

    /// Of what a member that is alone had committed, up to `committed`, only what comes before `last` is on its disk.
    fn forget_answered(&mut self, last: u64, committed: u64, cx: &mut Context<'_>) {
        if last < committed {
            cx.fx.record(Record::DataLost { cluster: self.id, entries: committed - last });
            self.committed = last;
            self.recently_applied.retain(|(index, _)| *index <= last);
        }
    }

    /// One more fault holds a member's process down, by SIGTERM.
    pub fn terminate(&mut self, index: u8, cx: &mut Context<'_>) {
        self.members[index as usize].held_down += 1;
        self.hand_over(index, cx);
        self.disturb_controller(cx);
    }

    /// A kubelet starts a member's container on a host.
    pub fn run(&mut self, index: u8, host: HostId, cx: &mut Context<'_>) {
        if self.host(index) != host {
            self.relocate(index, host, cx);
        }
        self.members[index as usize].halted = false;
        self.start(index, cx);
        self.fetch(index, cx);
        self.seek_membership(index, cx);
        self.disturb_controller(cx);
    }

    /// The kubelet of a host ends a member's container by SIGTERM.
    pub fn withdraw(&mut self, index: u8, host: HostId, cx: &mut Context<'_>) {
        if self.host(index) == host {
            self.members[index as usize].halted = true;
            self.hand_over(index, cx);
            self.disturb_controller(cx);
        }
    }

    /// A member's container on a host is gone.
    pub fn halt(&mut self, index: u8, host: HostId, reason: StopReason, cx: &mut Context<'_>) {
        if self.host(index) == host {
            self.wake(cx);
            self.members[index as usize].halted = true;
            self.stop(index, reason, cx);
            self.disturb_controller(cx);
        }
    }

    /// SIGTERM: hands leadership over, then stops.
    fn hand_over(&mut self, index: u8, cx: &mut Context<'_>) {
        self.wake(cx);
        self.members[index as usize].starting = None;
        let timeout = self.options.request_timeout;
        let heir = self.heir(index);
        let Some(server) = self.members[index as usize].server.as_deref_mut() else { return };
        match heir {
            Some(heir) if server.is_leader() => {
                server.raft.transfer_to(heir);
                let until = cx.now + timeout;
                self.after(index, cx);
                self.look_again(index, until, cx);
            }
            _ => self.stop(index, StopReason::Stopped, cx),
        }
    }

    /// The voter connected longest (`longestConnected`).
    fn heir(&self, index: u8) -> Option<u8> {
        let voters = self.server(index)?.raft.config.quorum.voters();
        let connected = |&other: &u8| {
            other != index && self.streams[self.stream_index(index, other)].reader_open && self.server(other).is_some()
        };
        voters.iter().filter(connected).min_by_key(|&other| self.streams[self.stream_index(other, index)].since)
    }

    fn look_again(&mut self, index: u8, until: crate::kernel::time::Time, cx: &mut Context<'_>) {
        let interval = self.options.heartbeat_interval;
        let id = self.id;
        let member = &mut self.members[index as usize];
        let generation = member.next_generation();
        if let Some(server) = member.server.as_deref_mut() {
            server.stopping = Some((generation, until));
            cx.fx.etcd(cx.now + interval, id, EtcdEvent::Stopping(index, generation));
        }
    }

    /// Looks whether leadership is handed over.
    pub(super) fn stopping(&mut self, index: u8, generation: u32, cx: &mut Context<'_>) {
        let Some(server) = self.members[index as usize].server.as_deref_mut() else { return };
        let Some((current, until)) = server.stopping else { return };
        if current != generation {
            return;
        }
        self.wake(cx);
        let removed = self.members[index as usize].standing == Standing::Removed;
        let server = self.server_mut(index);
        if server.raft.lead.is_some_and(|lead| lead != index) || cx.now >= until {
            self.stop(index, if removed { StopReason::Removed } else { StopReason::Stopped }, cx);
            // The fault may be over by now: then nothing keeps it from starting again.
            self.start(index, cx);
        } else {
            self.look_again(index, until, cx);
        }
    }

    /// One more fault takes a member's volume with all that is on it: who uses it stops.
    pub fn volume_lost(&mut self, index: u8, cx: &mut Context<'_>) {
        self.wake(cx);
        let durable_before = self.durable();
        self.members[index as usize].disk.lost += 1;
        self.stop(index, StopReason::VolumeLost, cx);
        let member = &mut self.members[index as usize];
        // A disk that holds nothing yet loses nothing: its member may still start for the first time.
        if member.disk.content.take_if(|content| !content.is_blank()).is_some() && cx.fx.raft_records {
            cx.fx.record(Record::Raft(RaftRecord::Wiped { member: member.id }));
        }
        self.disturb_controller(cx);
        if self.passive.is_some() {
            // What is lost is known, and told, when somebody takes over.
            return;
        }
        // Only what a client was (or could have been) told counts as data.
        let committed = self.committed.min(durable_before);
        let entries = committed.saturating_sub(self.durable());
        if entries > 0 {
            cx.fx.record(Record::DataLost { cluster: self.id, entries });
        }
    }

    /// One fault less does; after the last an empty volume stands in the place of the lost one.
    pub fn volume_replaced(&mut self, index: u8, cx: &mut Context<'_>) {
        self.members[index as usize].disk.lost -= 1;
        if self.members[index as usize].disk.is_present() {
            self.start(index, cx);
            self.fetch(index, cx);
        }
        self.disturb_controller(cx);
    }

    /// The controller of an active-passive cluster sees machines and volumes, not only what etcd answers.
    fn disturb_controller(&self, cx: &mut Context<'_>) {
        if self.passive.is_some() {
            cx.fx.disturbed.push(self.id);
        }
    }

    /// Largest index that some volume holds.
    fn durable(&self) -> u64 {
        let index = |member: &crate::etcd::member::Member| match (&member.server, &member.disk.content) {
            (Some(server), _) => server.raft.log.stable,
            (None, Some(content)) => content.log.last(),
            (None, None) => 0,
        };
        self.members.iter().filter(|member| member.standing == Standing::In).map(index).max().unwrap_or(0)
    }

    /// The members whose data is, was or will be on a volume.
    pub fn members_on(&self, scenario: &crate::scenario::Scenario, volume: VolumeId) -> Vec<u8> {
        let members = (0u8..).zip(&scenario.etcd[self.id.0 as usize].members);
        members.filter(|(_, member)| member.volume == volume).map(|(index, _)| index).collect()
    }

    /// A fault makes a member's disk slow, or no longer (`slow` is `None`).
    pub fn slow_disk(&mut self, index: u8, fault: crate::ids::FaultId, slow: Option<(Duration, f64)>, cx: &mut Context<'_>) {
        self.wake(cx);
        let disk = &mut self.members[index as usize].disk;
        match slow {
            Some((add, factor)) => disk.slow_down(fault, add, factor),
            None => disk.recover(fault),
        }
        cx.fx.disturbed.push(self.id);
    }
}
