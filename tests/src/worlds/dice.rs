//! Choices for random scenarios, drawn from the engine's own portable randomness: the same number gives the same scenario anywhere.

use serde_json::{Value, json};
use zonefall_core::kernel::rng::{Draw, Purpose, Stream};

/// Draws in a row.
pub struct Dice {
    stream: Stream,
    rolled: u64,
}

impl Dice {
    /// Those of a number, apart from every draw of the engine under any seed that tests use.
    pub fn new(of: &str, number: u64) -> Self {
        let salt = of.bytes().fold(0xD1CE, |salt: u64, byte| salt.wrapping_mul(257).wrapping_add(u64::from(byte)));
        Self { stream: Stream::new(salt, Purpose::Arrival, number), rolled: 0 }
    }

    fn draw(&mut self) -> Draw {
        self.rolled += 1;
        self.stream.draw(self.rolled)
    }

    /// Below `n`, which is at least 1.
    pub fn below(&mut self, n: u64) -> u64 {
        self.draw().below(n)
    }

    /// From `least` to `most`, both included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// True in `of` cases out of a hundred.
    pub fn percent(&mut self, of: u64) -> bool {
        self.below(100) < of
    }

    /// One of these.
    pub fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len() as u64) as usize]
    }

    /// One of these, by their shares.
    pub fn weighted<K: Copy>(&mut self, of: &[(K, u64)]) -> K {
        let mut left = self.below(of.iter().map(|(_, share)| share).sum());
        let drawn = of.iter().find(|(_, share)| {
            let here = left < *share;
            left = left.saturating_sub(*share);
            here
        });
        drawn.expect("it is below the sum of the shares").0
    }

    /// Some of these: each is left out in two cases of five. All of them, if none would be left.
    pub fn swarm<K: Copy>(&mut self, of: &[(K, u64)]) -> Vec<(K, u64)> {
        let kept: Vec<_> = of.iter().filter(|_| self.percent(60)).copied().collect();
        if kept.is_empty() { of.to_vec() } else { kept }
    }

    /// A length between two, in milliseconds, small ones as likely as large ones.
    pub fn ms(&mut self, least: u64, most: u64) -> u64 {
        let most = if self.percent(50) { least + (most - least) / 8 } else { most };
        self.between(least, most)
    }

    /// A delay of one of the engine's distributions, around `us` microseconds.
    pub fn latency(&mut self, us: u64) -> Value {
        let span = |us: u64| format!("{us}us");
        match self.below(4) {
            0 => json!(span(us)),
            1 => json!({"uniform": [span(us / 2), span(us * 2)]}),
            2 => json!({"lognormal": {"median": span(us), "sigma": 0.5}}),
            _ => json!({"empirical": [span(us / 4), span(us / 2), span(us), span(us * 3)]}),
        }
    }
}

/// A length of time as scenario files have it.
pub fn ms(ms: u64) -> String {
    format!("{ms}ms")
}
