//! The next event of an etcd cluster in plain words, for runs that are watched step by step.

use crate::cluster::EtcdCluster;
use crate::event::{EtcdEvent, ProcessTimer, Step};
use crate::member::Process;
use crate::raft::message::{Kind, Message};
use zonefall_kernel::time::Time;
use zonefall_kernel::timer::Generation;
use zonefall_network::Network;
use zonefall_scenario::Scenario;
use zonefall_scenario::text;

impl EtcdCluster {
    /// What an event that is about to be handled at `now` is; `None`: a timer that was put off or cancelled, so that nothing happens.
    pub fn describe_event(&self, event: EtcdEvent, now: Time, net: &Network, scenario: &Scenario) -> Option<String> {
        let name = |index: u8| text::member(scenario, self.members[index as usize].id);
        match event {
            EtcdEvent::Deliver { slot, delivery } => {
                let due = self.in_flight[slot as usize].delivery == delivery;
                due.then(|| self.arrival(slot, net, scenario)).flatten()
            }
            EtcdEvent::Process { member, timer, generation } => {
                let due = self.members[member as usize].timers[timer as usize].is_due(generation);
                due.then(|| self.describe_process(member, timer, now, name(member))).flatten()
            }
            EtcdEvent::ChangesDue => Some("a membership change of an operator times out".to_owned()),
            EtcdEvent::Stream { stream, generation } => self.describe_stream(stream as usize, generation, now, net, scenario),
            EtcdEvent::Chunk(number) => {
                let transfer = self.transfers.iter().find(|transfer| transfer.number == number)?;
                let left = text::bytes(transfer.left);
                Some(format!("{} sends its database to {} ({left} left)", name(transfer.from), name(transfer.to)))
            }
            EtcdEvent::JoinStep { member: index, generation } => {
                let member = &self.members[index as usize];
                let waits = member.join.is_due(generation) && !member.halted && (member.learner || !member.published);
                waits.then(|| format!("{} asks to be added as a member or promoted to a voter", name(index)))
            }
            EtcdEvent::Flow(generation) => self.flow_is_due(generation).then(|| {
                let cluster = &scenario.etcd[self.id].name;
                format!("API servers write to {cluster}")
            }),
            EtcdEvent::Quota(_) | EtcdEvent::Leases(_) => None,
            EtcdEvent::Passive { timer, generation } => {
                self.is_due(timer, generation).then(|| self.describe_timer(timer, scenario))
            }
            EtcdEvent::Work { token, step, life } => {
                let member = &self.members[token.member as usize];
                let client = scenario.client(token.client);
                let what = match step {
                    Step::Read => "has read the data for",
                    Step::Done => "has executed",
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

    /// What a member's process has waited for; `None`: nothing comes of it.
    fn describe_process(&self, index: u8, timer: ProcessTimer, now: Time, name: &str) -> Option<String> {
        let member = &self.members[index as usize];
        let server = member.process.server();
        let busy = if server.is_some_and(|server| server.write.is_some()) { ", but its disk is busy" } else { "" };
        Some(match timer {
            ProcessTimer::Start if matches!(member.process, Process::Restoring) => {
                format!("{name} has restored the snapshots from the backup bucket")
            }
            ProcessTimer::Start => format!("{name} has started"),
            ProcessTimer::HeartbeatTick => {
                server.filter(|server| server.is_leader())?;
                format!("{name}'s heartbeat is due{busy}")
            }
            ProcessTimer::Election => {
                let waits = server.filter(|server| !server.is_leader())?;
                let rings = now >= waits.raft.clock.deadline(waits.raft.timeout_ticks);
                rings.then(|| format!("{name}'s election timeout elapses{busy}"))?
            }
            ProcessTimer::AdjustTicks => format!("{name} has just started and advances its election timer"),
            ProcessTimer::Synced => {
                let last = server?.write.as_ref()?.last;
                format!("{name}'s write is on its disk (log up to {last})")
            }
            ProcessTimer::Commit => format!("{name} begins to commit its database"),
            ProcessTimer::Committed if member.is_defragmenting() => format!("{name} has defragmented its database"),
            ProcessTimer::Committed => format!("{name} has committed its database"),
            ProcessTimer::ReadRetry => {
                let waits = server.is_some_and(|server| server.reads.context != 0 && server.reads.index.is_none());
                waits.then(|| format!("{name} repeats its read-index request"))?
            }
            ProcessTimer::Stopping => format!("{name} is shutting down and checks whether it has transferred leadership"),
        })
    }

    fn arrival(&self, slot: u32, net: &Network, scenario: &Scenario) -> Option<String> {
        let flight = &self.in_flight[slot as usize];
        let message = flight.message.as_ref()?;
        let name = |index: u8| text::member(scenario, self.members[index as usize].id);
        let what = describe_message(message, flight.writes.bytes, name(message.from));
        let stream = &self.streams[flight.stream as usize];
        let receiver = name(message.to);
        Some(if flight.epoch.is_none() {
            format!("{what} arrives at {receiver} by POST")
        } else if flight.epoch != Some(stream.epoch) || !stream.reader_open {
            format!("{what} does not reach {receiver}: the connection is closed")
        } else if self.is_stream_blocked(flight.stream as usize, net) {
            format!("{what} does not reach {receiver}: the path is blocked")
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
        let hopeless = self.is_stream_blocked(index, net) || !stream.writer_open || now >= stream.patience_ends();
        Some(if !stream.reader_open {
            format!("{to} connects to {from}")
        } else if hopeless || stream.gives_up().is_some_and(|at| at <= now) {
            format!("{to} closes its connection from {from}: no data for too long")
        } else {
            format!("{from} retransmits lost packets to {to}")
        })
    }
}

/// The message in plain words: `append from etcd-main-0 (2 entries, 1.2 KiB)`.
fn describe_message(message: &Message, bytes: u64, from: &str) -> String {
    let term = message.term;
    let refused = |answer: &str| {
        format!("{answer} response from {from} ({}, term {term})", if message.reject { "rejected" } else { "granted" })
    };
    match message.kind {
        Kind::PreVote => format!("pre-vote request from {from} (term {term})"),
        Kind::PreVoteResponse => refused("pre-vote"),
        Kind::Vote => format!("vote request from {from} (term {term})"),
        Kind::VoteResponse => refused("vote"),
        Kind::Append => match message.entries.len() {
            0 => format!("append from {from} (no entries, committed up to {})", message.commit),
            1 => format!("append from {from} (1 entry, {})", text::bytes(bytes)),
            n => format!("append from {from} ({n} entries, {})", text::bytes(bytes)),
        },
        Kind::AppendResponse if message.reject => format!("append rejection from {from} (index {})", message.index),
        Kind::AppendResponse => format!("append acknowledgement from {from} (up to {})", message.index),
        Kind::Heartbeat => format!("heartbeat from {from}"),
        Kind::HeartbeatResponse => format!("heartbeat response from {from}"),
        Kind::Snapshot => format!("snapshot from {from}"),
        Kind::Propose => format!("forwarded proposal from {from}"),
        Kind::ReadIndex => format!("read-index request from {from}"),
        Kind::ReadIndexResponse => format!("read-index response from {from} (index {})", message.index),
        Kind::TimeoutNow => format!("leadership transfer (TimeoutNow) from {from}"),
    }
}
