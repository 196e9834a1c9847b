//! Processes and volumes: what starts, what stops, what refuses.

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::event::ProcessTimer;
use crate::member::{MemberState, Process};
use crate::raft::Config;
use crate::record::{EtcdRecord, RaftRecord, RefuseReason};
use zonefall_kernel::time::Duration;
use zonefall_network::process::StopReason;
use zonefall_network::{HostId, Network};
use zonefall_scenario::ids::VolumeId;

/// A process that has started looks so often, and so many times, whether its peers are connected (`adjustTicks`: for 5 s).
const ADJUST_TICKS_INTERVAL: Duration = Duration::from_millis(50);
const ADJUST_TICKS_CHECKS: u32 = 100;

impl EtcdCluster {
    /// One more fault holds a member's process down (and ends it, if it runs).
    pub fn hold_down(&mut self, index: u8, reason: StopReason, ctx: &mut EtcdCtx<'_>) {
        self.disturb(ctx);
        self.members[index as usize].held_down += 1;
        self.stop(index, reason, ctx);
        self.notify_controller(ctx);
    }

    /// One fault less does; the last starts it again.
    pub fn release(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        self.members[index as usize].held_down -= 1;
        self.start(index, ctx);
        self.notify_controller(ctx);
    }

    /// Begins to start a member's process, if nothing stands against it.
    pub(super) fn start(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let start_up = self.options.start_up;
        let member = &mut self.members[index as usize];
        if !member.may_run() || !member.process.is_down() {
            if member.state == MemberState::Joined && member.held_down == 0 && !member.halted && !member.disk.is_present() {
                ctx.record(EtcdRecord::MemberRefused { member: member.id, reason: RefuseReason::NoVolume });
            }
            return;
        }
        if member.disk.content.is_none() {
            // The cluster knows this member; with an empty disk it might vote twice.
            ctx.record(EtcdRecord::MemberRefused { member: member.id, reason: RefuseReason::LostData });
            return;
        }
        member.begin(Process::Starting, ctx.now + start_up, ctx);
    }

    /// The process serves.
    pub(super) fn started(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        self.disturb(ctx);
        self.boot(index, ctx.now);
        if (0..self.members.len() as u8).any(|other| self.tells(other, index, ctx.net)) {
            self.server_mut(index).has_wal = true;
        }
        ctx.record(EtcdRecord::MemberStarted(self.members[index as usize].id));
        let committed = self.committed;
        let entries = committed.saturating_sub(self.server_mut(index).raft.log.last());
        if entries > 0 {
            self.fell_behind(index, committed, entries, ctx.now);
        }
        self.peer_started(index, ctx);
        self.begin_adjust_ticks(index, ctx);
        self.after(index, ctx);
        ctx.fx.service_changed.push(self.id);
    }

    /// Whether a newcomer that asks another who the members are is told. (One that nobody tells exits, and its supervisor starts it until
    /// somebody does; here it serves from the first start, and begins its log at one at which it was told.)
    fn tells(&self, other: u8, newcomer: u8, net: &Network) -> bool {
        other != newcomer
            && self.server(newcomer).is_some_and(|server| server.known.contains(other))
            && self.takes_posts(other, newcomer, net)
    }

    /// A member alone need not wait for a leader to speak; one among others need not wait long once it is connected to them
    /// (`EtcdServer.adjustTicks`; `--initial-election-tick-advance` is on).
    fn begin_adjust_ticks(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let ticks = self.config.election_ticks;
        let server = self.server_mut(index);
        if server.raft.conf_state.members().len() == 1 {
            server.raft.advance_ticks(ctx.now, ticks - 1);
        } else {
            self.check_peers(index, ADJUST_TICKS_CHECKS, ctx);
        }
    }

    fn check_peers(&mut self, index: u8, looks: u32, ctx: &mut EtcdCtx<'_>) {
        self.server_mut(index).peer_checks = looks;
        self.members[index as usize].arm(ProcessTimer::AdjustTicks, ctx.now + ADJUST_TICKS_INTERVAL, ctx);
    }

    /// A process that has just started looks whether two peers are connected: then it moves its election clock on.
    pub(super) fn adjust_ticks(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let looks = std::mem::take(&mut self.server_mut(index).peer_checks);
        let peer = |other: &u8| self.members[*other as usize].state == MemberState::Joined && *other != index;
        let active = |other: &u8| self.streams[self.stream_index(*other, index)].reader_open;
        if (0..self.members.len() as u8).filter(peer).filter(active).count() < 2 {
            if looks > 1 {
                self.check_peers(index, looks - 1, ctx);
            }
            return;
        }
        self.disturb(ctx);
        let Config { election_ticks, election_heartbeats, .. } = self.config;
        let server = self.server_mut(index);
        if server.is_leader() {
            (2..election_heartbeats).for_each(|_| server.raft.heartbeat_tick(ctx.now));
        } else {
            server.raft.advance_ticks(ctx.now, election_ticks.saturating_sub(2));
            self.members[index as usize].cancel(ProcessTimer::Election);
        }
        self.after(index, ctx);
    }

    /// Ends a member's process.
    pub(super) fn stop(&mut self, index: u8, reason: StopReason, ctx: &mut EtcdCtx<'_>) {
        self.end_pause(index, ctx);
        let member = &mut self.members[index as usize];
        let id = member.id;
        let Some(server) = member.halt(reason) else { return };
        let kept = member.disk.content.as_ref().map(|content| content.log.last());
        if let Some(last) = kept.filter(|_| self.options.answers_before_sync && server.raft.is_alone()) {
            self.forget_answered(last, server.raft.log.committed, ctx);
        }
        if ctx.fx.raft_records {
            match kept {
                Some(last) if last < server.raft.log.last() => {
                    ctx.record(EtcdRecord::Raft(RaftRecord::Truncated { member: id, from: last + 1 }));
                }
                Some(_) => {}
                None => ctx.record(EtcdRecord::Raft(RaftRecord::Wiped { member: id })),
            }
        }
        let reset = !matches!(reason, StopReason::PowerLost);
        ctx.record(EtcdRecord::MemberStopped { member: id, reason });
        ctx.fx.stopped.push((id, reset));
        self.peer_stopped(index, reset, ctx);
        self.abort_transfers(index, ctx);
    }

    /// Of what a member that is alone had committed, up to `committed`, only what comes before `last` is on its disk.
    fn forget_answered(&mut self, last: u64, committed: u64, ctx: &mut EtcdCtx<'_>) {
        if last < committed {
            ctx.record(EtcdRecord::DataLost { cluster: self.id, entries: committed - last });
            self.committed = last;
            self.recently_applied.truncate(self.recently_applied.partition_point(|(index, _)| *index <= last));
        }
    }

    /// One more fault holds a member's process down, by SIGTERM.
    pub fn terminate(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        self.members[index as usize].held_down += 1;
        self.transfer_leadership(index, ctx);
        self.notify_controller(ctx);
    }

    /// A kubelet starts a member's container on a host.
    pub fn run(&mut self, index: u8, host: HostId, ctx: &mut EtcdCtx<'_>) {
        if self.host(index) != host {
            self.relocate(index, host, ctx);
        }
        self.members[index as usize].halted = false;
        self.start(index, ctx);
        self.fetch(index, ctx);
        self.seek_membership(index, ctx);
        self.notify_controller(ctx);
    }

    /// The kubelet of a host ends a member's container by SIGTERM.
    pub fn withdraw(&mut self, index: u8, host: HostId, ctx: &mut EtcdCtx<'_>) {
        if self.host(index) == host {
            self.members[index as usize].halted = true;
            self.transfer_leadership(index, ctx);
            self.notify_controller(ctx);
        }
    }

    /// A member's container on a host is gone.
    pub fn halt(&mut self, index: u8, host: HostId, reason: StopReason, ctx: &mut EtcdCtx<'_>) {
        if self.host(index) == host {
            self.disturb(ctx);
            self.members[index as usize].halted = true;
            self.stop(index, reason, ctx);
            self.notify_controller(ctx);
        }
    }

    /// SIGTERM: hands leadership over, then stops.
    pub(super) fn transfer_leadership(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        self.disturb(ctx);
        if self.members[index as usize].pause.is_some() {
            return;
        }
        self.members[index as usize].cancel_start();
        let timeout = self.options.request_timeout;
        let transfer_target = self.transfer_target(index);
        let Some(server) = self.members[index as usize].process.server_mut() else { return };
        match transfer_target {
            Some(transfer_target) if server.is_leader() => {
                server.raft.transfer_to(transfer_target);
                let until = ctx.now + timeout;
                self.after(index, ctx);
                self.check_stop_again(index, until, ctx);
            }
            _ => self.stop(index, StopReason::Stopped, ctx),
        }
    }

    /// The voter connected longest (`longestConnected`).
    fn transfer_target(&self, index: u8) -> Option<u8> {
        let voters = self.server(index)?.raft.conf_state.quorum.voters();
        let connected = |&other: &u8| {
            other != index && self.streams[self.stream_index(index, other)].reader_open && self.server(other).is_some()
        };
        voters.iter().filter(connected).min_by_key(|&other| self.streams[self.stream_index(other, index)].since)
    }

    fn check_stop_again(&mut self, index: u8, until: zonefall_kernel::time::Time, ctx: &mut EtcdCtx<'_>) {
        let member = &mut self.members[index as usize];
        if let Some(server) = member.process.server_mut() {
            server.stopping = Some(until);
            member.arm(ProcessTimer::Stopping, ctx.now + self.options.heartbeat_interval, ctx);
        }
    }

    /// Looks whether leadership is handed over.
    pub(super) fn stopping(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let until = self.server_mut(index).stopping.expect("it was asked to stop");
        self.disturb(ctx);
        let removed = self.members[index as usize].state == MemberState::Removed;
        let server = self.server_mut(index);
        if server.raft.lead.is_some_and(|lead| lead != index) || ctx.now >= until {
            self.stop(index, if removed { StopReason::Removed } else { StopReason::Stopped }, ctx);
            // The fault may be over by now: then nothing keeps it from starting again.
            self.start(index, ctx);
        } else {
            self.check_stop_again(index, until, ctx);
        }
    }

    /// One more fault takes a member's volume with all that is on it: who uses it stops.
    pub fn volume_lost(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        self.disturb(ctx);
        let durable_before = self.durable();
        self.members[index as usize].disk.lost += 1;
        self.stop(index, StopReason::VolumeLost, ctx);
        let member = &mut self.members[index as usize];
        // A disk that holds nothing yet loses nothing: its member may still start for the first time.
        if member.disk.content.take_if(|content| !content.is_blank()).is_some() && ctx.fx.raft_records {
            ctx.record(EtcdRecord::Raft(RaftRecord::Wiped { member: member.id }));
        }
        self.notify_controller(ctx);
        if self.passive.is_some() {
            // What is lost is known, and told, when somebody takes over.
            return;
        }
        // Only what a client was (or could have been) told counts as data.
        let committed = self.committed.min(durable_before);
        let entries = committed.saturating_sub(self.durable());
        if entries > 0 {
            ctx.record(EtcdRecord::DataLost { cluster: self.id, entries });
        }
    }

    /// One fault less does; after the last an empty volume stands in the place of the lost one.
    pub fn volume_replaced(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        self.members[index as usize].disk.lost -= 1;
        if self.members[index as usize].disk.is_present() {
            self.start(index, ctx);
            self.fetch(index, ctx);
        }
        self.notify_controller(ctx);
    }

    /// The controller of an active-passive cluster sees machines and volumes, not only what etcd answers.
    pub(super) fn notify_controller(&self, ctx: &mut EtcdCtx<'_>) {
        if self.passive.is_some() {
            ctx.fx.service_changed.push(self.id);
        }
    }

    /// Largest index that some volume holds.
    fn durable(&self) -> u64 {
        let index = |member: &crate::member::Member| match (member.process.server(), &member.disk.content) {
            (Some(server), _) => server.raft.log.stable,
            (None, Some(content)) => content.log.last(),
            (None, None) => 0,
        };
        self.members.iter().filter(|member| member.state == MemberState::Joined).map(index).max().unwrap_or(0)
    }

    /// The members whose data is, was or will be on a volume.
    pub fn members_on(&self, scenario: &zonefall_scenario::Scenario, volume: VolumeId) -> Vec<u8> {
        let members = (0u8..).zip(&scenario.etcd[self.id].members);
        members.filter(|(_, member)| member.volume == volume).map(|(index, _)| index).collect()
    }

    /// A fault makes a member's disk slow, or no longer (`slow` is `None`).
    pub fn slow_disk(
        &mut self,
        index: u8,
        fault: zonefall_scenario::ids::FaultId,
        slow: Option<(Duration, f64)>,
        ctx: &mut EtcdCtx<'_>,
    ) {
        self.disturb(ctx);
        let member = &mut self.members[index as usize];
        let before = member.disk.slowdown();
        match slow {
            Some((add, factor)) => member.disk.slow_down(fault, add, factor),
            None => member.disk.recover(fault),
        }
        if let Some(server) = member.process.server_mut() {
            server.writes.change_speed(ctx.now, before, member.disk.slowdown());
            self.write_moves(index, ctx);
            self.commit_moves(index, ctx);
        }
        ctx.fx.service_changed.push(self.id);
    }
}
