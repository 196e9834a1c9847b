//! The next event of a client in plain words, for runs that are watched step by step.

use super::Client;
use crate::client::event::ClientEvent;
use crate::client::in_flight::InFlight;
use crate::etcd::event::Answer;
use crate::ids::MemberId;
use crate::kernel::time::Time;
use crate::scenario::text;
use crate::scenario::{Load, Scenario};

impl Client {
    /// What an event that is about to be handled at `now` is; `None`: nothing happens.
    pub fn describe_event(&self, event: ClientEvent, now: Time, in_flight: &InFlight, scenario: &Scenario) -> Option<String> {
        let (me, op) = (&self.spec.name, text::op(self.spec.op));
        let name = |index: u8| text::member(scenario, MemberId { cluster: self.cluster, index });
        let on = now < self.spec.stop && self.left > 0;
        match event {
            ClientEvent::Next => on.then(|| match self.spec.load {
                Load::Open { .. } => format!("{me} sends a {op}"),
                Load::Closed { connections: 1 } => format!("{me} begins to send"),
                Load::Closed { connections } => format!("{me} begins to send on {connections} connections"),
            }),
            ClientEvent::Deadline(generation) => {
                let mut due = self.deadlines.iter().take_while(|(due, _)| *due <= now);
                let late = self.deadline_timer.is_due(generation) && due.any(|(_, token)| self.requests.get(*token).is_some());
                late.then(|| format!("a request of {me} times out"))
            }
            ClientEvent::Connection { member, generation } => {
                self.connections[usize::from(member)].is_due(generation).then(|| {
                    let (is_closed, member) = (self.is_closed(member), name(member));
                    if is_closed { format!("{me} dials {member}") } else { format!("{me} has heard nothing from {member}") }
                })
            }
            ClientEvent::Answer { token, answer } => {
                self.requests.get(token)?;
                let what = match answer {
                    Answer::Ok => "response",
                    Answer::Unavailable | Answer::TooLarge | Answer::NoSpace | Answer::TooManyRequests => "error",
                };
                Some(format!("{what} from {} arrives at {me}", name(token.member)))
            }
            ClientEvent::Read { token, .. } => {
                self.requests.get(token)?;
                Some(format!("{me} has read the response from {}", name(token.member)))
            }
            ClientEvent::Watched { member, .. } => Some(format!("watch event from {} arrives at {me}", name(member))),
            ClientEvent::Repeat(token) => self.requests.get(token).map(|_| format!("{me} repeats a {op} that was rejected")),
            ClientEvent::ServerDue { key, generation } => {
                let part = self.spec.server.filter(|part| in_flight.fair.is_due((part.cluster, key), generation))?;
                let cluster = &scenario.kube.clusters[part.cluster].name;
                Some(format!("{cluster}: an API server looks at its queues"))
            }
            ClientEvent::Resume => on.then(|| format!("{me} retries a {op}")),
            ClientEvent::Retransmitted => Some(format!("watch events for {me} are retransmitted")),
            ClientEvent::Watch => {
                (now < self.spec.stop && !self.watch.is_attached()).then(|| format!("{me} looks for a member to open a watch"))
            }
        }
    }
}
