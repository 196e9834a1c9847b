//! What happens at the sender's end: ACKs, alarms, and what is sent then.

use super::{Alarm, RETRANSMIT_MAX, RETRANSMIT_MIN, Recovery, Segment, State, Tcp, typical};
use crate::wire::{Burst, HEADERS, SEGMENT};
use zonefall_kernel::time::{Duration, Time};
use zonefall_scenario::Path;

/// Linux gives up after so many (`tcp_retries2`); here the next one gets through, for the connection is long gone by then.
const RETRIES: u32 = 15;
/// Least time of a timer (Linux `TCP_TIMEOUT_MIN_US`).
const TIMER_MIN: Duration = Duration::from_millis(2);
/// Packets acknowledged out of order that show a loss without a wait (Linux `tcp_reordering`).
const DUPLICATES: usize = 3;

impl Tcp {
    /// From the first that is not acknowledged on.
    pub(super) fn open(&self) -> &[Segment] {
        &self.segments[self.acknowledged..]
    }

    fn acknowledged_to(&self) -> u64 {
        self.open().first().map_or(self.sent_to, |segment| segment.end - segment.bytes)
    }

    fn count(&self, state: State) -> usize {
        self.open().iter().filter(|segment| segment.state == state).count()
    }

    fn in_flight(&self) -> u64 {
        self.count(State::Sent) as u64
    }

    /// An ACK arrives that was sent at `sent`, when everything that had arrived by then was known.
    pub(super) fn acknowledge(&mut self, now: Time, sent: Time) {
        let (least, in_flight, before) = (typical(&self.paths), self.in_flight(), self.acknowledged);
        let (mut newly, mut repaired, mut sample) = (0, false, None);
        for segment in &mut self.segments[before..] {
            if segment.state != State::Acknowledged && segment.arrives.is_some_and(|at| at <= sent) {
                segment.state = State::Acknowledged;
                newly += 1;
                let trip = now.since(segment.sent);
                repaired |= segment.again && segment.arrives >= Some(segment.sent);
                if !segment.again {
                    sample = Some(trip);
                }
                // Of a packet sent again, an ACK that comes too soon answers the first time.
                if (!segment.again || trip >= least) && (segment.sent, segment.end) > self.latest.0 {
                    self.latest = ((segment.sent, segment.end), trip);
                }
            }
        }
        if newly == 0 {
            return;
        }
        if let Some(sample) = sample {
            let (smooth, variation) = self.round_trip;
            let off = if sample > smooth { sample - smooth } else { smooth - sample };
            self.round_trip = ((smooth * 7 + sample) / 8, (variation * 3 + off) / 4);
        }
        self.acknowledged += self.open().iter().take_while(|segment| segment.state == State::Acknowledged).count();
        let until = self.acknowledged_to();
        let advanced = self.acknowledged > before;
        if advanced {
            self.retries = 0;
            if self.probed.take_if(|probed| *probed <= until).is_some() && repaired && self.recovery.is_none() {
                self.threshold = reduced(self.window);
                self.window = self.threshold;
            }
            if let Some(over) = self.recovery.take_if(|recovery| recovery.until <= until)
                && over.reduction.is_some()
            {
                self.window = self.threshold;
            }
        }
        let late = self.detect(now);
        self.adjust_window(newly, in_flight, advanced);
        self.push(now);
        if self.open().is_empty() {
            self.alarm = None;
        } else if let Some(late) = late {
            self.alarm = Some((late + TIMER_MIN, Alarm::Reorder));
        } else if advanced {
            self.set_alarm(now, now + self.timeout());
        } else if self.alarm.is_none_or(|(_, alarm)| alarm == Alarm::Reorder) {
            self.alarm = Some((now + self.timeout(), Alarm::Timeout));
        }
    }

    /// RACK: what was sent before something acknowledged, a round trip and a quarter ago, is lost. When the latest of the rest will be.
    fn detect(&mut self, now: Time) -> Option<Time> {
        let is_certain = self.recovery.is_some() || self.count(State::Acknowledged) >= DUPLICATES;
        let window = if is_certain { Duration::ZERO } else { typical(&self.paths) / 4 };
        let (latest, trip) = self.latest;
        let (mut late, mut lost) = (None, false);
        for segment in &mut self.segments[self.acknowledged..] {
            if segment.state == State::Sent && (segment.sent, segment.end) < latest {
                let due = segment.sent + trip + window;
                if due <= now {
                    segment.state = State::Lost;
                    lost = true;
                } else {
                    late = late.max(Some(due));
                }
            }
        }
        if lost && self.recovery.is_none() {
            self.recovery = Some(Recovery { until: self.sent_to, reduction: Some([self.window, 0, 0]) });
            self.threshold = reduced(self.window);
        }
        late
    }

    /// `newly` packets were acknowledged, of so many in flight.
    fn adjust_window(&mut self, newly: u64, before: u64, advanced: bool) {
        let in_flight = self.in_flight();
        if let Some(Recovery { reduction: Some([prior, delivered, sent]), .. }) = &mut self.recovery {
            *delivered += newly;
            let more = if in_flight > self.threshold {
                (self.threshold * *delivered).div_ceil(*prior).saturating_sub(*sent)
            } else {
                let more = delivered.saturating_sub(*sent).max(newly) + u64::from(advanced);
                more.min(self.threshold - in_flight)
            };
            // The first retransmission is never held back.
            self.window = in_flight + more.max(u64::from(*sent == 0));
        } else if self.window < self.threshold && self.window < 2 * before {
            self.window += newly.min(self.threshold - self.window);
        } else if self.limited.is_some() {
            // RFC 9438, 4.3: 0.53 packets per round trip.
            self.credit += newly * 8;
            while self.credit >= self.window * 15 {
                self.credit -= self.window * 15;
                self.window += 1;
            }
        }
    }

    /// Sends what the window allows, first what was lost.
    pub(super) fn push(&mut self, now: Time) {
        let (mut in_flight, mut fresh) = (self.in_flight(), false);
        while in_flight < self.window {
            if let Some(lost) = self.open().iter().position(|segment| segment.state == State::Lost) {
                self.send_again(self.acknowledged + lost, now);
                if lost == 0 {
                    self.alarm = Some((now + self.timeout(), Alarm::Timeout));
                }
            } else if self.unsent > 0 {
                self.send_new(now);
                fresh = true;
            } else {
                break;
            }
            in_flight += 1;
        }
        let until = self.acknowledged_to();
        if in_flight >= self.window {
            self.limited = Some(self.sent_to);
        } else if fresh {
            self.limited.take_if(|limited| *limited <= until);
        }
        if fresh {
            let head = self.open()[0].sent;
            if self.is_open() {
                self.set_alarm(now, now.max(head + self.timeout()));
            } else if self.alarm.is_none() {
                self.alarm = Some((now + self.timeout(), Alarm::Timeout));
            }
        }
    }

    /// Nothing seems lost: the tail may be probed, once.
    fn is_open(&self) -> bool {
        self.recovery.is_none() && self.probed.is_none() && self.count(State::Acknowledged) == 0
    }

    /// The next alarm, `timeout` at the latest.
    fn set_alarm(&mut self, now: Time, timeout: Time) {
        // One packet alone may be answered late (delayed ACK).
        let wait = if self.open().len() == 1 { RETRANSMIT_MIN } else { TIMER_MIN };
        let probe = now + self.round_trip.0 * 2 + wait;
        self.alarm = Some(if self.is_open() { (probe.min(timeout), Alarm::Probe) } else { (timeout, Alarm::Timeout) });
    }

    fn timeout(&self) -> Duration {
        let (smooth, variation) = self.round_trip;
        ((smooth + RETRANSMIT_MIN.max(variation * 4)) * (1 << self.retries)).min(RETRANSMIT_MAX)
    }

    pub(super) fn ring(&mut self, now: Time, alarm: Alarm) {
        match alarm {
            Alarm::Reorder => {
                self.detect(now);
                self.adjust_window(0, 0, false);
                self.push(now);
                let head = self.open()[0].sent;
                self.alarm.get_or_insert((now.max(head + self.timeout()), Alarm::Timeout));
            }
            Alarm::Probe => {
                if self.unsent > 0 {
                    self.send_new(now);
                } else {
                    self.send_again(self.segments.len() - 1, now);
                }
                self.probed = Some(self.sent_to);
                self.alarm = Some((now + self.timeout(), Alarm::Timeout));
            }
            Alarm::Timeout => {
                let least = typical(&self.paths);
                for (place, segment) in self.segments[self.acknowledged..].iter_mut().enumerate() {
                    if segment.state == State::Sent && (place == 0 || segment.sent + least <= now) {
                        segment.state = State::Lost;
                    }
                }
                if self.recovery.is_none() {
                    self.threshold = reduced(self.window);
                }
                self.probed = None;
                self.recovery = Some(Recovery { until: self.sent_to, reduction: None });
                self.window = self.in_flight() + 1;
                self.retries = (self.retries + 1).min(RETRIES);
                self.push(now);
            }
        }
    }

    fn send_new(&mut self, now: Time) {
        let bytes = self.unsent.min(SEGMENT);
        self.unsent -= bytes;
        self.sent_to += bytes;
        let (end, class) = (self.sent_to, self.class);
        self.segments.push(Segment { end, bytes, class, sent: now, again: false, state: State::Sent, arrives: None });
        self.transmit(self.segments.len() - 1, now);
    }

    fn send_again(&mut self, place: usize, now: Time) {
        let segment = &mut self.segments[place];
        segment.again = true;
        self.resent.push((segment.class, Burst { packets: 1, bytes: segment.bytes + HEADERS }));
        self.transmit(place, now);
    }

    fn transmit(&mut self, place: usize, now: Time) {
        let [path, back] = &*self.paths;
        let segment = &mut self.segments[place];
        (segment.sent, segment.state) = (now, State::Sent);
        if let Some(Recovery { reduction: Some([_, _, sent]), .. }) = &mut self.recovery {
            *sent += 1;
        }
        self.link_free = self.link_free.max(now) + Duration::of_transfer(segment.bytes + HEADERS, path.bytes_per_s);
        let k = self.draw;
        self.draw += 2;
        let (mut luck, is_last) = (self.losses.draw(k), self.retries == RETRIES);
        if luck.unit() < path.loss && !is_last {
            return;
        }
        let way = |path: &Path, k: u64| path.delay + path.jitter.sample(|| self.delays.draw(k));
        self.last_there = self.last_there.max(self.link_free + way(path, k));
        segment.arrives.get_or_insert(self.last_there);
        if luck.unit() >= back.loss || is_last {
            let here = self.acks.back().map_or(Time::ZERO, |(at, _)| *at).max(self.last_there + way(back, k + 1));
            self.acks.push_back((here, self.last_there));
        }
    }
}

/// Cubic's window after a loss.
fn reduced(window: u64) -> u64 {
    (window * 717 / 1_024).max(2)
}
