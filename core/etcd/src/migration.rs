//! A cluster that moves to another seed (gardener: control-plane migration; `gardener/etcd-backup-restore`, restoration).
//!
//! ```text
//!  clients are shut out --> all it has is in the backup bucket --> its members end
//!    --> elsewhere the first container of a newcomer restores that, and begins a cluster of its own --> others join it, as any newcomers
//! ```
//!
//! As with those of active-passive clusters, terms and entries go on where the old ones ended, so that an index is the revision it stands
//! for. What raft itself has appended since the snapshot, to have a leader, is nobody's data and counts as kept.

use crate::cluster::EtcdCluster;
use crate::ctx::EtcdCtx;
use crate::database::Database;
use crate::disk::Persisted;
use crate::member::{MemberState, Process};
use crate::passive::{PassiveRecord, has_way_out};
use crate::raft::ConfState;
use crate::raft::entry::{Command, ConfChange, Token};
use crate::raft::quorum::{Members, Quorum};
use crate::record::{EtcdRecord, RaftRecord};
use crate::restore::{RestorePhase, restored};
use crate::service::RequestKind;
use zonefall_kernel::time::{Duration, Time};
use zonefall_network::Network;

impl EtcdCluster {
    /// It is so far on its way.
    pub fn set_restore_phase(&mut self, phase: RestorePhase) {
        self.restore_phase = Some(phase);
    }

    /// Whether clients are shut out.
    pub(super) const fn is_closed(&self) -> bool {
        self.restore_phase.is_some()
    }

    /// The bytes of a full snapshot, if one can be taken now and reaches the bucket.
    pub fn snapshot_bytes(&self, now: Time, net: &Network) -> Option<u64> {
        let leader = self.leader().filter(|leader| has_way_out(self.host(*leader), net))?;
        self.time_at(leader, RequestKind::LinearizableRead, net)?;
        self.database_of(leader, now).map(|database| database.file_bytes)
    }

    /// The container of a newcomer runs: if its cluster is in the bucket alone, it fetches that.
    pub(super) fn fetch(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let Some(RestorePhase::BackedUp(snapshot)) = self.restore_phase else { return };
        let takes = snapshot.map_or(Duration::ZERO, |snapshot| snapshot.takes);
        let member = &mut self.members[index as usize];
        if member.state == MemberState::Future && !member.halted && member.process.is_down() && member.disk.is_present() {
            member.begin(Process::Restoring, ctx.now + takes, ctx);
        }
    }

    /// It has, and begins a cluster with it.
    pub(super) fn fetched(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let Some(RestorePhase::BackedUp(snapshot)) = self.restore_phase else { return };
        self.disturb(ctx);
        let (committed, term) = (self.committed, self.highest_term());
        let (kept, of) = if snapshot.is_some() { (committed, term) } else { (0, 0) };
        // As at the start of a run the hash of what came before stands for itself.
        let mut content = restored(kept, of, kept, Database::new(snapshot.map_or(0, |snapshot| snapshot.bytes)));
        content.term = term;
        content.conf_state = ConfState { quorum: Quorum::majority(std::iter::once(index).collect()), learners: Members::EMPTY };
        for member in self.members.iter_mut().filter(|member| member.state == MemberState::Joined) {
            // One that nobody reaches may still run, and cannot know.
            (member.state, member.displaced) = (MemberState::Removed, member.process.serves());
        }
        let lost = committed - kept;
        let window = if lost > 0 { ctx.now.since(self.first_applied(kept + 1, ctx.now)) } else { Duration::ZERO };
        (self.restore_phase, self.committed) = (None, kept);
        self.recently_applied.truncate(self.recently_applied.partition_point(|(index, _)| *index <= kept));
        let member = &mut self.members[index as usize];
        (member.state, member.learner, member.process) = (MemberState::Joined, false, Process::Down);
        member.disk.content = Some(Box::new(content));
        ctx.record(EtcdRecord::Passive(self.id, PassiveRecord::Forked { member: index, index: kept, lost, window }));
        if kept == 0 {
            self.begin_with_itself(index, ctx);
        }
        ctx.fx.service_changed.push(self.id);
        self.start(index, ctx);
    }

    /// A log without a snapshot says itself who is a member: whoever joins reads it from there.
    fn begin_with_itself(&mut self, index: u8, ctx: &mut EtcdCtx<'_>) {
        let member = &mut self.members[index as usize];
        let Persisted { log, term, .. } = member.disk.content.as_deref_mut().expect("it has just been made");
        let last = log.push(*term, Token::NONE, Command::Conf(ConfChange::AddVoter(index)));
        (log.committed, log.written, log.stable) = (last, last, last);
        if ctx.fx.raft_records {
            let chain = log.chain(last).expect("just pushed");
            ctx.record(EtcdRecord::Raft(RaftRecord::Appended { member: member.id, index: last, term: *term, chain }));
        }
    }
}
