//! Connections between peers, one direction each, as TCP carries them.
//!
//! The receiver dials; the sender writes. What is lost is sent again ([`tcp`](crate::tcp)), and what follows waits behind it.
//! While the path is blocked, written data is held; it arrives at the first retransmission after the path heals, unless the reader
//! has given up by then (it expects a keep-alive every 5/3 s and waits 5 s).
//!
//! ```text
//!            reset (living kernel)             next dial succeeds
//!   Open ------------------------> Closed ------------------------> Open (new epoch: what was under way is gone)
//!     \--path blocked--> held --5 s silence--^
//! ```

use crate::ledger::Class;
pub use crate::tcp::{RETRANSMIT_MAX, RETRANSMIT_MIN};
use crate::tcp::{Start, Tcp, alone};
use crate::wire::{Burst, HEADERS};
use zonefall_kernel::rng::{Purpose, Stream as Draws};
use zonefall_kernel::time::{Duration, Time};
use zonefall_kernel::timer::Timer;
use zonefall_scenario::Path;

/// A reader that hears nothing for this long closes (`rafthttp.ConnReadTimeout`).
pub const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// A writer without messages says so this often (`ConnReadTimeout / 3`).
pub const KEEP_ALIVE: Duration = Duration::from_nanos(READ_TIMEOUT.as_nanos() / 3);
/// A refused dial is tried again after this (`rafthttp.dialRetry...`, 100 ms).
pub const DIAL_RETRY: Duration = Duration::from_millis(100);
/// A lost SYN is sent again after this; the dial's time-out of two of them starts over (Linux `TCP_TIMEOUT_INIT`, etcd's dial time-out).
pub const SYN_RETRY: Duration = Duration::from_secs(1);
/// Bytes of a keep-alive with its framing (the message stream's; the append stream's is smaller).
const KEEP_ALIVE_BYTES: u64 = 66;

/// Lanes of one direction: separate connections, alike in everything but their queues.
pub const LANES: usize = 2;

#[derive(Clone, Copy, Debug, Default)]
struct Fifo {
    free: Time,
    /// When the network card has carried what was written.
    carded: Time,
    last_arrival: Time,
}

/// One direction between two peers.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The sender's end takes messages (until [`Stream::reset_at`]).
    pub writer_open: bool,
    /// When the reset of a receiver that is gone arrives at the sender.
    pub reset_at: Option<Time>,
    /// The receiver's end is connected.
    pub reader_open: bool,
    /// Raised with every new connection: messages of an older one are lost.
    pub epoch: u32,
    /// When it was connected.
    pub since: Time,
    /// When the reader began to dial.
    pub dialing_since: Time,
    /// Dials are refused (the host lives) rather than swallowed.
    pub refused: bool,
    /// Last arrival of a message.
    pub last_heard: Time,
    /// Since when nothing the sender writes gets through.
    pub silent_since: Option<Time>,
    /// When the first message that waits for the path was written.
    pub held_since: Option<Time>,
    /// Fires when the stream connects, gives up or sends again.
    pub timer: Timer,
    fifo: [Fifo; LANES],
    /// While packets are lost.
    tcp: [Option<Box<Tcp>>; LANES],
    delays: Draws,
    losses: Draws,
    sent: u64,
    /// Bytes per second at which what was written so far leaves.
    speed: u64,
}

/// A message's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// When its connection has carried its last byte.
    pub leaves: Time,
    /// When it arrives.
    pub at: Time,
}

/// A message for the network.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Its packets.
    pub burst: Burst,
    /// What the sender calls it.
    pub tag: u32,
    /// What it is.
    pub class: Class,
}

/// What became of messages after another was sent, or the path changed.
#[derive(Clone, Debug, Default)]
pub struct Moved {
    /// Those that arrive at another time than was told before, in order.
    pub arrivals: Vec<(u32, Time)>,
    /// Packets sent again.
    pub resent: Vec<(Class, Burst)>,
}

/// How a change of bandwidth moves what waits for it.
#[derive(Clone, Copy, Debug)]
pub struct SpeedChange {
    now: Time,
    was: u64,
    is: u64,
}

impl SpeedChange {
    /// When something leaves that was to leave at `leaves`.
    pub fn of(self, leaves: Time) -> Time {
        let waits = u128::from(leaves.since(self.now).as_nanos()) * u128::from(self.was) / u128::from(self.is.max(1));
        if leaves <= self.now { leaves } else { self.now + Duration::from_nanos(u64::try_from(waits).unwrap_or(u64::MAX / 2)) }
    }
}

impl Stream {
    /// A stream that is connected from the start, or not at all. `entity` names it among the draws.
    pub fn new(seed: u64, entity: u64, open: bool) -> Self {
        Self {
            writer_open: open,
            reset_at: None,
            reader_open: open,
            epoch: 0,
            since: Time::ZERO,
            dialing_since: Time::ZERO,
            refused: false,
            last_heard: Time::ZERO,
            silent_since: None,
            held_since: None,
            timer: Timer::new(),
            fifo: [Fifo::default(); LANES],
            tcp: Default::default(),
            delays: Draws::new(seed, Purpose::Delay, entity),
            losses: Draws::new(seed, Purpose::Loss, entity),
            sent: 0,
            speed: 0,
        }
    }

    /// Both ends are open, and what is written gets through.
    pub fn is_alive(&self) -> bool {
        self.writer_open && self.reader_open && self.silent_since.is_none()
    }

    /// Whether the sender's end takes a message.
    pub fn takes(&self, now: Time) -> bool {
        self.writer_open && self.reset_at.is_none_or(|at| now < at)
    }

    /// Connected anew.
    pub fn connect(&mut self, now: Time) {
        self.writer_open = true;
        self.reset_at = None;
        self.reader_open = true;
        self.epoch += 1;
        self.since = now;
        self.last_heard = now;
        self.resume();
        self.fifo = [Fifo::default(); LANES];
        self.tcp = Default::default();
    }

    /// Nothing is silent or held any more.
    pub fn resume(&mut self) {
        self.silent_since = None;
        self.held_since = None;
    }

    /// A message is through its host's network card at `carded`, but not before those that were written before it on its connection.
    pub fn in_order(&mut self, lane: usize, carded: Time) -> Time {
        let fifo = &mut self.fifo[lane];
        fifo.carded = fifo.carded.max(carded);
        fifo.carded
    }

    /// Sends a message over an open path that loses nothing, or `None`: [`Self::send_lossy`] is for others. `carded`: when the host's
    /// network card has carried it.
    pub fn send(&mut self, now: Time, lane: usize, [path, back]: [&Path; 2], (burst, carded): (Burst, Time)) -> Option<Delivery> {
        let fifo = &mut self.fifo[lane];
        if path.loss > 0.0 || back.loss > 0.0 || (self.tcp[lane].is_some() && fifo.last_arrival > now) {
            return None;
        }
        self.tcp[lane] = None;
        let k = self.sent;
        self.sent += 1;
        self.speed = path.bytes_per_s;
        let leaves = now.max(fifo.free) + Duration::of_transfer(burst.bytes, path.bytes_per_s);
        fifo.free = leaves;
        let at = (leaves.max(carded) + delay(self.delays, k, path)).max(fifo.last_arrival);
        fifo.last_arrival = at;
        Some(Delivery { leaves, at })
    }

    /// Sends a message over an open path that loses packets.
    pub fn send_lossy(&mut self, now: Time, lane: usize, paths: [&Path; 2], message: Outgoing) -> Moved {
        let Outgoing { burst, tag, class } = message;
        let Fifo { free, last_arrival, .. } = self.fifo[lane];
        let start = Start {
            draws: [self.losses, self.delays],
            // Apart from those of messages, which have their number.
            first_draw: 1 << 55 | self.sent << 24 | (lane as u64) << 23,
            now,
            free,
            last_arrival,
            keep_alive: (self.since, KEEP_ALIVE, KEEP_ALIVE_BYTES),
        };
        self.sent += 1;
        self.speed = paths[0].bytes_per_s;
        let tcp = self.tcp[lane].get_or_insert_with(|| Box::new(Tcp::new(start, paths)));
        let arrivals = tcp.write(now, paths, burst.bytes - burst.packets * HEADERS, tag, class);
        self.moved(lane, arrivals)
    }

    /// The path has changed: so does what is lost of the messages under way on a lossy one.
    pub fn change_loss(&mut self, now: Time, lane: usize, paths: [&Path; 2]) -> Moved {
        let Some(tcp) = &mut self.tcp[lane] else { return Moved::default() };
        let arrivals = tcp.set_paths(now, paths);
        self.moved(lane, arrivals)
    }

    fn moved(&mut self, lane: usize, arrivals: Vec<(u32, Time)>) -> Moved {
        let tcp = self.tcp[lane].as_mut().expect("its path loses packets");
        let fifo = &mut self.fifo[lane];
        (fifo.free, fifo.last_arrival) = (tcp.link_free(), tcp.last_arrival());
        Moved { arrivals, resent: tcp.take_resent() }
    }

    /// How long a message takes on a connection of its own that is open and idle, and what is sent again of it.
    pub fn post(&mut self, paths: [&Path; 2], burst: Burst) -> (Duration, Burst) {
        let k = self.sent;
        self.sent += 1;
        let (late, again) = alone([self.losses, self.delays], k, paths, burst);
        (self.delay_of(k, paths[0], burst) + late, again)
    }

    /// When the reader closes because what was written so far is lost too often to arrive in time: what was lost holds up what comes
    /// after it, keep-alives too.
    pub fn gives_up(&self) -> Option<Time> {
        self.tcp.iter().flatten().filter_map(|tcp| tcp.gives_up(READ_TIMEOUT)).min()
    }

    /// When the last message sent on this connection arrives.
    pub fn last_arrival(&self) -> Time {
        self.fifo.iter().map(|fifo| fifo.last_arrival).max().unwrap_or(Time::ZERO)
    }

    /// Delay of the message number `k` of this stream, on an idle connection.
    pub fn delay_of(&self, k: u64, path: &Path, burst: Burst) -> Duration {
        Duration::of_transfer(burst.bytes, path.bytes_per_s) + delay(self.delays, k, path)
    }

    /// Messages sent so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Accounts for `count` messages that were not sent one by one; the last has left at `leaves` and arrives at `arrives`: what is sent
    /// next does not overtake it. `speed` is the path's, in bytes per second.
    pub fn skip(&mut self, count: u64, lane: usize, leaves: Time, arrives: Time, speed: u64) {
        self.tcp[lane] = None;
        self.sent += count;
        self.speed = speed;
        let fifo = &mut self.fifo[lane];
        fifo.free = fifo.free.max(leaves);
        fifo.last_arrival = fifo.last_arrival.max(arrives);
    }

    /// The path carries `speed` bytes per second from now on, and what has not left yet leaves at that. `None` where nothing waits or nothing
    /// changes.
    pub fn change_speed(&mut self, now: Time, speed: u64) -> Option<SpeedChange> {
        let stretch = SpeedChange { now, was: std::mem::replace(&mut self.speed, speed), is: speed };
        let waits = self.fifo.iter().any(|fifo| fifo.free > now);
        if !waits || stretch.was == stretch.is {
            return None;
        }
        self.fifo.iter_mut().for_each(|fifo| fifo.free = stretch.of(fifo.free));
        Some(stretch)
    }

    /// The last message of a lane arrives at another time than it was told.
    pub fn last_arrives(&mut self, lane: usize, at: Time) {
        self.fifo[lane].last_arrival = at;
    }

    /// The last keep-alive written before `at`.
    fn keep_alive_before(&self, at: Time) -> Time {
        self.since + KEEP_ALIVE * (at.since(self.since).as_nanos() / KEEP_ALIVE.as_nanos())
    }

    /// When the reader of a silent stream gives up: it last heard a message, or a keep-alive.
    pub fn patience_ends(&self) -> Time {
        let silent_since = self.silent_since.unwrap_or(Time::MAX);
        self.last_heard.max(self.keep_alive_before(silent_since)) + READ_TIMEOUT
    }

    /// On a path that has healed at `now`: when what was lost meanwhile is sent again; `None` if nothing was lost.
    pub fn next_retransmission(&self, now: Time) -> Option<Time> {
        let keep_alive = self.keep_alive_before(self.silent_since?) + KEEP_ALIVE;
        let at = self.held_since.map_or(keep_alive, |held| held.min(keep_alive));
        (at <= now).then(|| retransmission(at, now))
    }

    /// The first attempt to connect at or after `now`.
    pub fn next_dial(&self, now: Time) -> Time {
        let period = if self.refused { DIAL_RETRY } else { SYN_RETRY }.as_nanos();
        let waited = now.since(self.dialing_since).as_nanos();
        self.dialing_since + Duration::from_nanos(waited.div_ceil(period) * period)
    }
}

fn delay(draws: Draws, k: u64, path: &Path) -> Duration {
    path.delay + path.jitter.sample(|| draws.draw(k))
}

/// When what was first sent at `since`, into a blocked path, is next sent again at `now` or later (RFC 6298, 5.5: the wait doubles).
pub fn retransmission(since: Time, now: Time) -> Time {
    let (mut at, mut wait) = (since, RETRANSMIT_MIN);
    while at < now {
        at += wait;
        wait = (wait * 2).min(RETRANSMIT_MAX);
    }
    at
}

/// Longest one-way delay of a path, `None` where loss makes it unbounded.
pub fn bound(path: &Path, burst: Burst) -> Option<Duration> {
    (path.loss <= 0.0).then(|| path.delay + path.jitter.bound() + Duration::of_transfer(burst.bytes, path.bytes_per_s))
}
