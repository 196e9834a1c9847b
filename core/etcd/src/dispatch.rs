//! Which part of a cluster handles which event.

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::event::{EtcdEvent, ProcessTimer};
use crate::member::Process;

impl EtcdCluster {
    /// Handles an event.
    pub fn handle(&mut self, event: EtcdEvent, ctx: &mut EtcdCtx<'_>) {
        if self.put_aside(event) {
            return;
        }
        match event {
            EtcdEvent::Deliver { slot, delivery } => self.deliver(slot, delivery, ctx),
            EtcdEvent::Process { member, timer, generation } => {
                if self.members[member as usize].timers[timer as usize].fires(generation) {
                    self.process_timer(member, timer, ctx);
                }
            }
            EtcdEvent::Stream { stream, generation } => self.stream_timer(stream as usize, generation, ctx),
            EtcdEvent::Chunk(transfer) => self.chunk(transfer, ctx),
            EtcdEvent::ChangesDue => self.changes_due(ctx),
            EtcdEvent::JoinStep { member, generation } => self.join_step(member, generation, ctx),
            EtcdEvent::Flow(generation) => self.flow_due(generation, ctx),
            EtcdEvent::Quota(generation) => self.quota_due(generation, ctx),
            EtcdEvent::Leases(generation) => self.leases_due(generation, ctx),
            EtcdEvent::Passive { timer, generation } => self.fire_timer(timer, generation, ctx),
            EtcdEvent::Request(_) | EtcdEvent::Work { .. } => unreachable!("the run loop adds the operation"),
        }
    }

    /// What a member's process has waited for has come. (Timers of a process end with it.)
    fn process_timer(&mut self, member: u8, timer: ProcessTimer, ctx: &mut EtcdCtx<'_>) {
        match timer {
            ProcessTimer::Start => match self.members[member as usize].process {
                Process::Starting => self.started(member, ctx),
                Process::Restoring => self.fetched(member, ctx),
                Process::Down | Process::Serving(_) => unreachable!("only a process that starts waits for its start"),
            },
            ProcessTimer::HeartbeatTick => self.heartbeat_tick(member, ctx),
            ProcessTimer::Election => self.election_timer(member, ctx),
            ProcessTimer::AdjustTicks => self.adjust_ticks(member, ctx),
            ProcessTimer::Synced => self.synced(member, ctx),
            ProcessTimer::Commit => self.commit(member, ctx),
            ProcessTimer::Committed => self.committed(member, ctx),
            ProcessTimer::ReadRetry => self.retry_read(member, ctx),
            ProcessTimer::Stopping => self.stopping(member, ctx),
        }
    }
}
