//! One direction of a TCP connection over a path that loses packets, recovered as Linux 6 does it (cubic, SACK).
//!
//! Packets are sent, lost and acknowledged one by one; who asks learns when each message will have arrived if nothing more is written.
//! What is written later may change that: a packet that follows a lost one shows the loss.
//!
//! ```text
//!  write --window--> packet --loss--> arrives, in order --ACK, loss--> a later packet is acknowledged: lost, and sent again (RACK)
//!                                                                      nothing is: probe of the tail (TLP), then time-out (RTO)
//! ```
//!
//! Sources: RFC 8985 (RACK-TLP), RFC 6937 (proportional rate reduction), RFC 9438 (cubic), RFC 6298, and where Linux differs
//! `net/ipv4/tcp_output.c` (`tcp_schedule_loss_probe`, `tcp_send_loss_probe`), `tcp_recovery.c` and `tcp_input.c` of 6.x. Left out:
//! delayed ACKs (etcd's connections acknowledge each message at once, `tests/measurements/README.md`), and cubic's growth beyond that of its TCP-friendly region, which takes seconds without a loss.

mod loss;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::ledger::Class;
use crate::wire::{Burst, HEADERS, SEGMENT};
use zonefall_kernel::dist::Latency;
use zonefall_kernel::rng::Stream as Draws;
use zonefall_kernel::time::{Duration, Time};
use zonefall_scenario::Path;

/// Least time before a lost segment is sent again (Linux `TCP_RTO_MIN`).
pub const RETRANSMIT_MIN: Duration = Duration::from_millis(200);
/// Most (Linux `TCP_RTO_MAX`).
pub const RETRANSMIT_MAX: Duration = Duration::from_secs(120);
/// Packets in flight at first (Linux `TCP_INIT_CWND`).
const INITIAL_WINDOW: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Sent,
    Lost,
    Acknowledged,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Offset of its end in what was written.
    end: u64,
    bytes: u64,
    class: Class,
    sent: Time,
    /// It was sent more than once.
    again: bool,
    state: State,
    /// When it first arrives; `None`: lost so far.
    arrives: Option<Time>,
}

/// A message that has not arrived.
#[derive(Clone, Copy, Debug)]
struct Message {
    end: u64,
    tag: u32,
    written: Time,
    /// As last foreseen.
    arrives: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alarm {
    /// What was sent before something acknowledged is lost, unless it was only late.
    Reorder,
    /// Nothing was acknowledged for two round trips: the tail may be lost.
    Probe,
    /// All may be lost.
    Timeout,
}

/// What was sent until the loss was noticed has to be acknowledged.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// Until this offset.
    until: u64,
    /// Window before it, packets delivered and sent since; `None` after a time-out.
    reduction: Option<[u64; 3]>,
}

/// The sender's end, with what it knows of the other.
#[derive(Clone, Debug)]
pub struct Tcp {
    /// There and back.
    paths: Arc<[Path; 2]>,
    losses: Draws,
    delays: Draws,
    /// Number of the next transmission among the draws.
    draw: u64,
    clock: Time,
    /// When the connection was made, and how often it carries a keep-alive of how many bytes: only one behind a lost packet matters.
    keep_alive: (Time, Duration, u64),
    unsent: u64,
    class: Class,
    sent_to: u64,
    segments: Vec<Segment>,
    /// Segments at the front that are acknowledged.
    acknowledged: usize,
    messages: VecDeque<Message>,
    /// ACKs on their way: when each arrives, and when it was sent.
    acks: VecDeque<(Time, Time)>,
    link_free: Time,
    last_there: Time,
    /// When everything that is forgotten had arrived, and the last message.
    delivered: Time,
    heard: Time,
    /// Smoothed round trip and its variation.
    round_trip: (Duration, Duration),
    /// Sending time and end of the packet sent last of those acknowledged, and its round trip.
    latest: ((Time, u64), Duration),
    window: u64,
    threshold: u64,
    credit: u64,
    /// The window held something back, until what was sent by then is acknowledged.
    limited: Option<u64>,
    recovery: Option<Recovery>,
    /// The tail was probed, up to this offset.
    probed: Option<u64>,
    retries: u32,
    alarm: Option<(Time, Alarm)>,
    resent: Vec<(Class, Burst)>,
    /// A later state that what is written until then does not change, for more waits to be sent; `None`: none is known.
    ahead: Option<Box<Self>>,
}

/// What a new connection starts from.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Draws of losses and of jitter.
    pub draws: [Draws; 2],
    /// The first of them.
    pub first_draw: u64,
    /// The current time.
    pub now: Time,
    /// When what was sent before has left.
    pub free: Time,
    /// When it has arrived.
    pub last_arrival: Time,
    /// When the connection was made, how often it carries a keep-alive, of how many bytes.
    pub keep_alive: (Time, Duration, u64),
}

impl Tcp {
    /// A connection that has lost nothing yet.
    pub fn new(start: Start, paths: [&Path; 2]) -> Self {
        let paths = Arc::new(paths.map(Clone::clone));
        let round_trip = typical(&paths);
        Self {
            paths,
            losses: start.draws[0],
            delays: start.draws[1],
            draw: start.first_draw,
            clock: start.now,
            keep_alive: start.keep_alive,
            unsent: 0,
            class: Class::Upkeep,
            sent_to: 0,
            segments: Vec::new(),
            acknowledged: 0,
            messages: VecDeque::new(),
            acks: VecDeque::new(),
            link_free: start.free,
            last_there: start.last_arrival,
            delivered: start.last_arrival,
            heard: start.last_arrival,
            round_trip: (round_trip, Duration::ZERO),
            latest: ((Time::ZERO, 0), round_trip),
            window: INITIAL_WINDOW,
            threshold: u64::MAX,
            credit: 0,
            limited: None,
            recovery: None,
            probed: None,
            retries: 0,
            alarm: None,
            resent: Vec::new(),
            ahead: None,
        }
    }

    /// Packets meet these paths from now on, there and back; what arrives at another time then: as of [`Self::write`].
    pub fn set_paths(&mut self, now: Time, paths: [&Path; 2]) -> Vec<(u32, Time)> {
        self.advance(now);
        self.follow(paths);
        self.foresee()
    }

    fn follow(&mut self, paths: [&Path; 2]) {
        if self.paths.each_ref() != paths {
            self.paths = Arc::new(paths.map(Clone::clone));
            self.ahead = None;
        }
    }

    /// Writes a message of `bytes`. Returns the tags of messages that arrive at another time than was told before, this one last, with
    /// their times, in order.
    pub fn write(&mut self, now: Time, paths: [&Path; 2], bytes: u64, tag: u32, class: Class) -> Vec<(u32, Time)> {
        self.advance(now);
        self.follow(paths);
        self.class = class;
        self.unsent += bytes;
        if let Some(ahead) = &mut self.ahead {
            ahead.unsent += bytes;
        }
        self.messages.push_back(Message { end: self.sent_to + self.unsent, tag, written: now, arrives: Time::ZERO });
        self.push(now);
        self.foresee()
    }

    /// Packets sent again since this was last asked.
    pub fn take_resent(&mut self) -> Vec<(Class, Burst)> {
        std::mem::take(&mut self.resent)
    }

    /// When all that was given to the network has left.
    pub fn link_free(&self) -> Time {
        self.link_free
    }

    /// When the last message arrives, as far as is foreseen.
    pub fn last_arrival(&self) -> Time {
        self.messages.back().map_or(self.heard, |message| message.arrives)
    }

    /// When a reader with `patience` has heard nothing for so long.
    pub fn gives_up(&self, patience: Duration) -> Option<Time> {
        let (since, every, _) = self.keep_alive;
        let written = self.messages.front()?.written;
        let kept = since + every * (written.since(since).as_nanos() / every.as_nanos()) + self.paths[0].delay;
        let mut heard = self.heard.max(kept);
        for message in &self.messages {
            if message.arrives > heard + patience {
                return Some(heard + patience);
            }
            heard = heard.max(message.arrives);
        }
        None
    }

    /// When the messages arrive if nothing more is written: those from the first that has moved on.
    fn foresee(&mut self) -> Vec<(u32, Time)> {
        let Some(&Message { end, .. }) = self.messages.back() else { return Vec::new() };
        let future = (!self.arrives(end)).then(|| self.run_ahead(end));
        let (mut there, segments) =
            future.as_ref().map_or((self.delivered, &self.segments), |future| (future.delivered, &future.segments));
        // What was foreseen of messages before these packets stands.
        let known = segments.first().map_or(end, |segment| segment.end - segment.bytes);
        let first = self.messages.partition_point(|message| message.end <= known);
        let (mut segments, mut moved) = (segments.iter().peekable(), Vec::new());
        for message in self.messages.range_mut(first..) {
            while let Some(segment) = segments.next_if(|segment| segment.end - segment.bytes < message.end) {
                there = there.max(segment.arrives.unwrap_or_default());
            }
            if !moved.is_empty() || message.arrives != there {
                message.arrives = there;
                moved.push((message.tag, there));
            }
        }
        moved
    }

    /// A state in which all packets up to an offset get through.
    fn run_ahead(&mut self, end: u64) -> Box<Self> {
        let messages = std::mem::take(&mut self.messages);
        let mut future = self.ahead.take().filter(|ahead| ahead.clock > self.clock).unwrap_or_else(|| Box::new(self.clone()));
        self.messages = messages;
        future.forget();
        future.resent.clear();
        // What a step sends: at most twice the window, for that grows by no more than what is acknowledged. A path that loses most packets
        // may never have sent all, for keep-alives are added.
        while future.unsent > 2 * future.window * SEGMENT && !future.arrives(end) {
            assert!(future.step(Time::MAX), "a packet that is not acknowledged has an alarm");
        }
        self.ahead = (future.unsent > 0 && future.clock > self.clock).then(|| future.clone());
        while !future.arrives(end) {
            assert!(future.step(Time::MAX), "a packet that is not acknowledged has an alarm");
        }
        future
    }

    /// Whether all packets up to an offset get through.
    fn arrives(&self, end: u64) -> bool {
        let is_missing = |segment: &Segment| segment.end - segment.bytes < end && segment.arrives.is_none();
        self.sent_to >= end && !self.open().iter().any(is_missing)
    }

    /// Carries on until `now`, and forgets what is over.
    fn advance(&mut self, now: Time) {
        while self.step(now) {}
        self.clock = now;
        self.forget();
        while let Some(message) = self.messages.pop_front_if(|message| message.arrives <= now) {
            self.heard = message.arrives;
        }
    }

    /// Forgets the packets that are over.
    fn forget(&mut self) {
        let gone = self.segments.drain(..std::mem::take(&mut self.acknowledged));
        self.delivered = gone.filter_map(|segment| segment.arrives).fold(self.delivered, Time::max);
    }

    /// Handles what is next, if it is due by then.
    fn step(&mut self, until: Time) -> bool {
        let (since, every, bytes) = self.keep_alive;
        let ack = self.acks.front().map_or(Time::MAX, |(at, _)| *at);
        let alarm = self.alarm.map_or(Time::MAX, |(at, _)| at);
        let periods = self.clock.since(since).as_nanos() / every.as_nanos();
        let keep_alive = if self.open().is_empty() { Time::MAX } else { since + every * (periods + 1) };
        let next = ack.min(alarm).min(keep_alive);
        if next > until || next == Time::MAX {
            return false;
        }
        self.clock = next;
        if next == ack {
            let (_, sent) = self.acks.pop_front().expect("the ACK that is next");
            self.acknowledge(next, sent);
        } else if next == alarm {
            let (_, alarm) = self.alarm.take().expect("the alarm that is next");
            self.ring(next, alarm);
        } else {
            self.unsent += bytes;
            self.push(next);
        }
        true
    }
}

/// What losses cost a message that is alone on its connection: the time until its last packet arrives after all, and the packets sent again.
/// `k`: its number among the draws of losses and of jitter.
pub fn alone(draws: [Draws; 2], k: u64, paths: [&Path; 2], burst: Burst) -> (Duration, Burst) {
    if paths.iter().all(|path| path.loss <= 0.0) {
        return Default::default();
    }
    // The message has its jitter already.
    let paths = paths.map(|path| Path { jitter: Latency::NONE, ..path.clone() });
    let never = (Time::ZERO, Duration::MAX, 0);
    let start = Start {
        draws,
        first_draw: 1 << 55 | k << 12,
        now: Time::ZERO,
        free: Time::ZERO,
        last_arrival: Time::ZERO,
        keep_alive: never,
    };
    let mut tcp = Tcp::new(start, paths.each_ref());
    tcp.unsent = burst.bytes - burst.packets * HEADERS;
    let end = tcp.unsent;
    tcp.push(Time::ZERO);
    while !tcp.arrives(end) {
        assert!(tcp.step(Time::MAX), "a packet that is not acknowledged has an alarm");
    }
    let arrives = tcp.segments.iter().filter_map(|segment| segment.arrives).fold(Time::ZERO, Time::max);
    let usual = paths[0].delay + Duration::of_transfer(burst.bytes, paths[0].bytes_per_s);
    let again = tcp.resent.iter().fold(Burst::default(), |sum, (_, burst)| sum + *burst);
    (arrives.since(Time::ZERO + usual), again)
}

/// Typical time there and back.
fn typical(paths: &[Path; 2]) -> Duration {
    paths.iter().fold(Duration::ZERO, |sum, path| sum + path.delay + path.jitter.typical())
}
