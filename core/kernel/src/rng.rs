//! Counter-based randomness: draw *k* of stream *(purpose, entity)* depends on the seed, the stream and *k* only.
//!
//! Changing one part of a scenario leaves the draws of all others alone, and a draw can be made (or skipped) without the ones
//! before it: work at rest advances a counter instead of drawing. The generator is "squares" (Widynski 2020, arXiv:2004.06278):
//! five rounds of squaring over a counter, keyed by a SipHash of seed and stream.

use std::convert::Infallible;
use std::hash::Hasher;

use rand::rand_core::TryRng;
use siphasher::sip::SipHasher13;

/// What a stream of draws is for. The number is part of the draw: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Purpose {
    /// One-way delay of a message.
    Delay = 1,
    /// Loss of a message.
    Loss = 2,
    /// Time of an fsync.
    Fsync = 3,
    /// Phase of a process's clock.
    TickPhase = 4,
    /// Randomised election timeout.
    ElectionTimeout = 5,
    /// Gaps between requests.
    Arrival = 6,
    /// Time between failures and to repair.
    Lifetime = 7,
    /// Dialling a peer.
    Dial = 8,
    /// Phase of work that repeats.
    Phase = 9,
    /// Made-up parts of names.
    Suffix = 10,
    /// Which of several equals.
    Tie = 11,
    /// When, or where, something is tried again.
    Retry = 12,
    /// What a fault hits at random, while it lasts.
    Fault = 13,
    /// Which of several connections something goes over, and which server one is with.
    Connection = 14,
    /// Phases of a load balancer's checks.
    Balancer = 15,
    /// Choices and phases of a client of an API.
    ApiClient = 16,
}

/// A stream of independent draws, addressed by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// The stream of `purpose` for `entity` (any number that names what it is for) under `seed`.
    pub fn new(seed: u64, purpose: Purpose, entity: u64) -> Self {
        let mut hasher = SipHasher13::new_with_keys(seed, 0x5A6F_6E65_6661_6C6C);
        hasher.write(&[purpose as u8]);
        hasher.write(&entity.to_le_bytes());
        // The key must be odd and should have no runs of equal digits; a hash is as good as any.
        Self { key: hasher.finish() | 1 }
    }

    /// Draw `k`: a generator whose words belong to that draw alone.
    pub const fn draw(self, k: u64) -> Draw {
        Draw { key: self.key, counter: k << 8 }
    }
}

/// The words of one draw: at most 256 of them.
#[derive(Clone, Debug)]
pub struct Draw {
    key: u64,
    counter: u64,
}

impl Draw {
    /// A word of 64 random bits.
    pub const fn word(&mut self) -> u64 {
        let y = self.counter.wrapping_mul(self.key);
        let z = y.wrapping_add(self.key);
        self.counter += 1;
        let mut x = y;
        x = x.wrapping_mul(x).wrapping_add(y).rotate_left(32);
        x = x.wrapping_mul(x).wrapping_add(z).rotate_left(32);
        x = x.wrapping_mul(x).wrapping_add(y).rotate_left(32);
        x = x.wrapping_mul(x).wrapping_add(z);
        let t = x;
        x = x.rotate_left(32);
        t ^ (x.wrapping_mul(x).wrapping_add(y) >> 32)
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Uniform in (0, 1].
    pub fn unit_open(&mut self) -> f64 {
        1.0 - self.unit()
    }

    /// Uniform integer in `0..n`; `n` at least 1. Multiply-shift: the bias is below n / 2^64.
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.word() as u128 * n as u128) >> 64) as u64
    }

    /// Exponential with a mean of 1; at most 37.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.unit_open())
    }

    /// Standard normal by Box and Muller; never beyond 8.6 standard deviations.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(self.unit_open())).sqrt(); // exact everywhere: IEEE 754 asks for it
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }
}

/// So that `rand`'s own tools (shuffles, choices) can work on a draw.
impl TryRng for Draw {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.word() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.word())
    }

    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        for chunk in dst.chunks_mut(8) {
            chunk.copy_from_slice(&self.word().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_its_number_alone() {
        let stream = Stream::new(7, Purpose::Delay, 3);
        let forward: Vec<u64> = (0..100).map(|k| stream.draw(k).word()).collect();
        let backward: Vec<u64> = (0..100).rev().map(|k| stream.draw(k).word()).collect();
        assert!(forward.iter().eq(backward.iter().rev()));
        assert_ne!(stream, Stream::new(7, Purpose::Delay, 4));
        assert_ne!(stream, Stream::new(7, Purpose::Loss, 3));
        assert_ne!(stream, Stream::new(8, Purpose::Delay, 3));
    }

    #[test]
    fn draws_are_portable() {
        let mut draw = Stream::new(1, Purpose::Fsync, 2).draw(3);
        assert_eq!([draw.word(), draw.word()], PORTABLE);
    }
    const PORTABLE: [u64; 2] = [3_241_494_503_983_452_441, 7_948_561_639_600_006_619];

    #[test]
    fn moments_are_right() {
        let stream = Stream::new(42, Purpose::Arrival, 0);
        let n = 200_000;
        let mean = |f: &dyn Fn(&mut Draw) -> f64| (0..n).map(|k| f(&mut stream.draw(k))).sum::<f64>() / n as f64;
        assert!((mean(&|d| d.unit()) - 0.5).abs() < 0.005);
        assert!((mean(&|d| d.below(10) as f64) - 4.5).abs() < 0.03);
        assert!(mean(&Draw::normal).abs() < 0.01);
        assert!((mean(&|d| libm::pow(d.normal(), 2.0)) - 1.0).abs() < 0.02);
    }
}
