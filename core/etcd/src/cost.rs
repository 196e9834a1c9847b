//! What requests cost a member: time on its cores, first come, first served.
//!
//! ```text
//!  arrives --core--> Read --raft, disk, apply (a write also waits between threads)--> Done --core--> Written --> leaves
//! ```
//!
//! Where nothing costs anything a request is read when it arrives and its answer leaves when it is done, without further events.

use smallvec::SmallVec;

use crate::cluster::{EtcdCluster, EtcdCtx};
use crate::codec;
use crate::event::{Answer, EtcdEvent, Step};
use crate::raft::log::{Command, Token};
use zonefall_kernel::time::{Duration, Time};
use zonefall_scenario::Op;
use zonefall_scenario::cost::{RequestCost, of_bytes};

/// When each core is free.
#[derive(Clone, Debug)]
pub struct Cores(SmallVec<[Time; 2]>);

impl Cores {
    /// So many, idle.
    pub fn new(count: u8) -> Self {
        Self(SmallVec::from_elem(Time::ZERO, count.into()))
    }

    /// Work that is there at `now` begins on the first core that is free: when it is done.
    pub fn take(&mut self, now: Time, work: Duration) -> Time {
        let first = self.0.iter_mut().min().expect("at least one core");
        *first = now.max(*first) + work;
        *first
    }
}

fn reading(cost: &RequestCost, op: Op) -> Duration {
    cost.per_request / 2 + of_bytes(cost.per_mib, codec::request_body(op))
}

/// What a range finds is read, then written.
fn answering(cost: &RequestCost, op: Op) -> Duration {
    let bytes = codec::answer_body(op);
    let writing = cost.per_request / 2 + of_bytes(cost.per_mib, bytes);
    match op {
        Op::Range { keys, .. } => writing + of_bytes(cost.per_mib_read, bytes) + cost.per_key * u64::from(keys.saturating_sub(1)),
        Op::Put { .. } | Op::Txn { .. } | Op::Grant | Op::Delete { .. } | Op::Watch => writing,
    }
}

impl EtcdCluster {
    /// A request arrives at the member of its token; its client waits until `until`. Whether a process is there to take it.
    pub fn request(&mut self, token: Token, op: Op, until: Time, ctx: &mut EtcdCtx<'_>) -> bool {
        let (id, cost) = (self.id, self.options.cost);
        if self.is_closed() {
            return false;
        }
        let member = &mut self.members[token.member as usize];
        let Some(server) = member.process.server_mut() else { return false };
        if cost.is_none() {
            self.serve(token, op, until, ctx);
        } else {
            let read = server.cores.take(ctx.now, reading(&cost, op));
            let writes = Command::of(op).is_some();
            let wait = if writes { cost.write } else { Duration::ZERO };
            ctx.schedule(read + wait, id, EtcdEvent::Work { token, step: Step::Read, life: member.lives as u32 });
        }
        true
    }

    /// A request has come to this step, unless its process is gone.
    pub fn work(&mut self, (token, step, life): (Token, Step, u32), op: Op, until: Time, ctx: &mut EtcdCtx<'_>) {
        let (id, cost) = (self.id, self.options.cost);
        let member = &mut self.members[token.member as usize];
        let Some(server) = member.process.server_mut().filter(|_| member.lives as u32 == life) else { return };
        match step {
            Step::Read => self.serve(token, op, until, ctx),
            Step::Done => {
                let written = server.cores.take(ctx.now, answering(&cost, op));
                ctx.schedule(written, id, EtcdEvent::Work { token, step: Step::Written, life });
            }
            Step::Written => ctx.fx.answers.push((ctx.now, token, Answer::Ok)),
        }
    }

    /// What was asked for is done at `at`.
    pub(super) fn done(&self, at: Time, token: Token, ctx: &mut EtcdCtx<'_>) {
        if self.options.cost.is_none() {
            ctx.fx.answers.push((at, token, Answer::Ok));
        } else {
            let life = self.members[token.member as usize].lives as u32;
            ctx.schedule(at, self.id, EtcdEvent::Work { token, step: Step::Done, life });
        }
    }
}
