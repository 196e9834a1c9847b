//! A process that is frozen, by SIGSTOP or because its virtual machine is paused, and goes on.
//!
//! Its kernel lives, or that of its host: connections stay open, and what arrives waits there. Nothing else happens: what is due for the
//! process is put aside, and done in the same order when it goes on. Clocks go on, but a Go ticker keeps one tick. A reader of its streams
//! closes them as it does those of any silent peer.

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::event::EtcdEvent;
use crate::member::{Pause, Server};
use zonefall_scenario::ids::FaultId;

impl EtcdCluster {
    /// A fault freezes the process of a member, if one runs.
    pub fn pause(&mut self, index: u8, fault: FaultId, ctx: &mut EtcdCtx<'_>) {
        self.disturb(ctx);
        let member = &mut self.members[index as usize];
        if !member.process.is_down() {
            let pause = member.pause.get_or_insert_with(|| Pause { since: ctx.now, faults: Vec::new(), events: Vec::new() });
            pause.faults.push(fault);
            self.pause_changed(index, ctx);
        }
    }

    /// The fault is over: the process goes on, unless it has ended, or another fault freezes it, too.
    pub fn unpause(&mut self, index: u8, fault: FaultId, ctx: &mut EtcdCtx<'_>) {
        self.disturb(ctx);
        let Some(pause) = &mut self.members[index as usize].pause else { return };
        pause.faults.retain(|other| *other != fault);
        if !pause.faults.is_empty() {
            return;
        }
        let since = pause.since;
        self.end_pause(index, ctx);
        if let Some(server) = self.members[index as usize].process.server_mut() {
            server.raft.clock.lose_ticks(since, ctx.now);
        }
        for other in (0..self.members.len() as u8).filter(|&other| other != index) {
            let (inward, outward) = (self.stream_index(other, index), self.stream_index(index, other));
            for stream in [inward, outward] {
                if !self.streams[stream].reader_open {
                    self.streams[stream].dialing_since = ctx.now;
                }
            }
            if self.held[outward].is_empty() && !self.is_stream_blocked(outward, ctx.net) {
                self.streams[outward].resume();
            }
        }
        self.pause_changed(index, ctx);
        if !self.members[index as usize].may_run() {
            // A SIGTERM has waited for it.
            self.transfer_leadership(index, ctx);
        }
    }

    /// What was due while a process was frozen is due now: for it, or, where it has ended, for nobody.
    pub(super) fn end_pause(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let pause = self.members[index as usize].pause.take();
        for event in pause.into_iter().flat_map(|pause| pause.events) {
            ctx.schedule(ctx.now, self.id, event);
        }
    }

    fn pause_changed(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        for other in (0..self.members.len() as u8).filter(|&other| other != index) {
            self.update_stream(self.stream_index(index, other), ctx);
            self.update_stream(self.stream_index(other, index), ctx);
        }
        self.notify_controller(ctx);
        ctx.fx.service_changed.push(self.id);
    }

    /// Puts an event aside if it is for a frozen process; whether it was.
    pub(super) fn put_aside(&mut self, event: EtcdEvent) -> bool {
        let member = match event {
            EtcdEvent::Deliver { slot, delivery } => {
                let flight = &self.in_flight[slot as usize];
                (flight.delivery == delivery).then(|| self.ends(flight.stream.into()).1)
            }
            EtcdEvent::Process { member, .. } | EtcdEvent::JoinStep { member, .. } => Some(member),
            EtcdEvent::Stream { stream, .. } => Some(self.ends(stream.into()).1),
            EtcdEvent::Request(token) | EtcdEvent::Work { token, .. } => Some(token.member),
            EtcdEvent::Chunk(_)
            | EtcdEvent::ChangesDue
            | EtcdEvent::Flow(_)
            | EtcdEvent::Quota(_)
            | EtcdEvent::Leases(_)
            | EtcdEvent::Passive { .. } => None,
        };
        let pause = member.and_then(|member| self.members[member as usize].pause.as_mut());
        pause.map(|pause| pause.events.push(event)).is_some()
    }

    /// Whether the process of a member is frozen.
    pub fn is_paused(&self, index: u8) -> bool {
        self.members[index as usize].pause.is_some()
    }

    /// The process of a member, if it serves and is not frozen.
    pub(super) fn responsive(&self, index: u8) -> Option<&Server> {
        self.server(index).filter(|_| !self.is_paused(index))
    }
}
