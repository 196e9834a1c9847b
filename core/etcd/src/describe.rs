//! A cluster's next event in plain words, for whoever watches it step by step.

use crate::cluster::EtcdCluster;
use crate::event::{EtcdEvent, Step};
use crate::member::Process;
use crate::raft::Role;
use crate::raft::message::{Kind, Message};
use crate::transport::stream_blocked;
use zonefall_kernel::time::Time;
use zonefall_kernel::timer::Generation;
use zonefall_network::Network;
use zonefall_scenario::Scenario;
use zonefall_scenario::text;

impl EtcdCluster {
    /// What an event that is about to be handled at `now` is; `None`: a timer that was put off or cancelled, so that nothing happens.
    pub fn describe_event(&self, event: EtcdEvent, now: Time, net: &Network, scenario: &Scenario) -> Option<String> {
        let name = |index: u8| text::member(scenario, self.members[index as usize].id);
        let server = |index: u8| self.server(index);
        match event {
            EtcdEvent::Deliver(slot, delivery) => {
                let due = self.in_flight[slot as usize].delivery == delivery;
                due.then(|| self.arrival(slot, net, scenario)).flatten()
            }
            EtcdEvent::HeartbeatTick(index, generation) => {
                let leader = server(index).filter(|s| s.heartbeat_generation == generation && s.raft.role == Role::Leader)?;
                let busy = if leader.write.is_some() { ", but its disk is busy" } else { "" };
                Some(format!("{}'s heartbeat is due{busy}", name(index)))
            }
            EtcdEvent::Election(index, generation) => {
                let waits = server(index).filter(|s| s.timer.is_some_and(|(_, armed)| armed == generation) && !s.is_leader())?;
                let rings = now >= waits.raft.clock.deadline(waits.raft.timeout_ticks);
                let busy = if waits.write.is_some() { ", but its disk is busy" } else { "" };
                rings.then(|| format!("{}'s election timer rings{busy}", name(index)))
            }
            EtcdEvent::Synced(index, generation) => {
                let write = server(index)?.write.as_ref().filter(|write| write.generation == generation)?;
                Some(format!("{}'s write is on its disk (log up to {})", name(index), write.last))
            }
            EtcdEvent::Commit(index, generation) => {
                server(index)?.backend.is_due(generation).then(|| format!("{} begins to commit its database", name(index)))
            }
            EtcdEvent::Committed(index, generation) => {
                let ends = server(index)?.backend.ends(generation);
                ends.then(|| format!("{} has committed its database", name(index)))
            }
            EtcdEvent::Started(index, generation) => {
                let due = matches!(self.members[index as usize].process, Process::Starting(current) if current == generation);
                due.then(|| format!("{} has started", name(index)))
            }
            EtcdEvent::ReadRetry(index, generation) => {
                let reads = &server(index)?.reads;
                let waits = reads.retry == generation && reads.context != 0 && reads.index.is_none();
                waits.then(|| format!("{} asks again which index its reads need", name(index)))
            }
            EtcdEvent::AdjustTicks(index, generation) => {
                let looks = server(index)?.adjust_ticks.is_some_and(|(current, _)| current == generation);
                looks.then(|| format!("{}, just started, looks for its peers", name(index)))
            }
            EtcdEvent::ChangesDue => Some("an operator waits no longer for a change of membership".to_owned()),
            EtcdEvent::Stopping(index, generation) => {
                server(index)?.stopping.filter(|(current, _)| *current == generation)?;
                Some(format!("{}, told to stop, looks whether another leads", name(index)))
            }
            EtcdEvent::Stream(index, generation) => self.describe_stream(index as usize, generation, now, net, scenario),
            EtcdEvent::Chunk(_, generation) => {
                let transfer = self.transfers.iter().find(|transfer| transfer.is_due(generation))?;
                let left = text::bytes(transfer.left);
                Some(format!("{} sends its database to {} ({left} left)", name(transfer.from), name(transfer.to)))
            }
            EtcdEvent::JoinStep(index, look) => {
                let member = &self.members[index as usize];
                let waits = member.join_generation == look && !member.halted && (member.learner || !member.published);
                waits.then(|| format!("{} asks to be a member, or for its vote", name(index)))
            }
            EtcdEvent::Fetched(index, generation) => {
                let due = matches!(self.members[index as usize].process, Process::Restoring(current) if current == generation);
                due.then(|| format!("{} has restored what the backup bucket holds", name(index)))
            }
            EtcdEvent::Passive(kind, generation) => self.is_due(kind, generation).then(|| self.describe_timer(kind, scenario)),
            EtcdEvent::Work(token, step, life) => {
                let member = &self.members[token.member as usize];
                let client = scenario.client(token.client);
                let what = match step {
                    Step::Read => "has read",
                    Step::Done => "has done",
                    Step::Written => "has answered",
                };
                let runs = member.process.serves() && member.lives as u32 == life;
                runs.then(|| format!("{} {what} {} of {}", name(token.member), text::op(client.op), client.name))
            }
            EtcdEvent::Request(token) => {
                let client = scenario.client(token.client);
                Some(format!("{} of {} arrives at {}", text::op(client.op), client.name, name(token.member)))
            }
        }
    }

    fn arrival(&self, slot: u32, net: &Network, scenario: &Scenario) -> Option<String> {
        let flight = &self.in_flight[slot as usize];
        let message = flight.message.as_ref()?;
        let name = |index: u8| text::member(scenario, self.members[index as usize].id);
        let what = describe_message(message, flight.writes.bytes, name(message.from));
        let stream = &self.streams[flight.stream as usize];
        let receiver = name(message.to);
        Some(if stream.epoch != flight.epoch || !stream.reader_open {
            format!("{what} does not reach {receiver}: their connection is gone")
        } else if stream_blocked(self, net, flight.stream as usize) {
            format!("{what} does not reach {receiver}: nothing gets through")
        } else {
            format!("{what} arrives at {receiver}")
        })
    }

    fn describe_stream(
        &self,
        index: usize,
        generation: Generation,
        now: Time,
        net: &Network,
        scenario: &Scenario,
    ) -> Option<String> {
        let stream = Some(&self.streams[index]).filter(|stream| stream.timer.is_due(generation))?;
        let (from, to) = self.ends(index);
        let [from, to] = [from, to].map(|index| text::member(scenario, self.members[index as usize].id));
        let hopeless = stream_blocked(self, net, index) || !stream.writer_open || now >= stream.patience_ends();
        Some(if !stream.reader_open {
            format!("{to} connects to {from}")
        } else if hopeless || stream.gives_up.is_some_and(|at| at <= now) {
            format!("{to} has heard nothing from {from} for too long")
        } else {
            format!("{from} sends again to {to} what did not get through")
        })
    }
}

/// `append of etcd-main-0 (2 entries, 1.2 KiB)`.
fn describe_message(message: &Message, bytes: u64, from: &str) -> String {
    let term = message.term;
    let refused = |answer: &str| format!("{answer} of {from} ({}, term {term})", if message.reject { "no" } else { "yes" });
    match message.kind {
        Kind::PreVote => format!("pre-vote request of {from} (term {term})"),
        Kind::PreVoteResponse => refused("pre-vote"),
        Kind::Vote => format!("vote request of {from} (term {term})"),
        Kind::VoteResponse => refused("vote"),
        Kind::Append => match message.entries.len() {
            0 => format!("append of {from} (no entries, committed up to {})", message.commit),
            1 => format!("append of {from} (1 entry, {})", text::bytes(bytes)),
            n => format!("append of {from} ({n} entries, {})", text::bytes(bytes)),
        },
        Kind::AppendResponse if message.reject => format!("refusal of {from} (index {})", message.index),
        Kind::AppendResponse => format!("acknowledgement of {from} (up to {})", message.index),
        Kind::Heartbeat => format!("heartbeat of {from}"),
        Kind::HeartbeatResponse => format!("heartbeat answer of {from}"),
        Kind::Snapshot => format!("database of {from}"),
        Kind::Propose => format!("proposal of {from}"),
        Kind::ReadIndex => format!("read-index request of {from}"),
        Kind::ReadIndexResponse => format!("read index of {from} ({})", message.index),
        Kind::TimeoutNow => format!("{from}'s word to take over"),
    }
}
