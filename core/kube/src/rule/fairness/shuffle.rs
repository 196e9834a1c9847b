//! Shuffle sharding: each flow is dealt a hand of a level's queues, by a hash, so that two flows rarely have all of them in common
//! (kubernetes/apiserver@24a394e5 `pkg/util/shufflesharding/shufflesharding.go`; `pkg/util/flowcontrol/apf_controller.go`, `hashFlowID`).
//!
//! ```text
//!  hash, a number in base (queues) (queues - 1) ... --digits--> first queue, second of the rest, third of the rest ...
//! ```

use crate::spec::fairness::Queuing;
use smallvec::SmallVec;

/// Queues of a flow, in the order in which they were dealt: different numbers below the number of queues. There are at most 15: more would
/// need more bits of the hash than [`Queuing::MOST_HASH_BITS`].
pub type Hand = SmallVec<[u32; 15]>;

/// The hash of a flow, by the name of its schema and by what distinguishes it there.
pub fn flow_hash(schema: &str, distinguisher: &str) -> u64 {
    let mut hash = hmac_sha256::Hash::new();
    hash.update(schema);
    hash.update([0]);
    hash.update(distinguisher);
    u64::from_le_bytes(*hash.finalize().first_chunk().expect("it has 32 bytes"))
}

/// The hand of a flow with this hash.
pub fn deal(hash: u64, queuing: &Queuing) -> Hand {
    let mut rest = hash;
    let mut digits = Hand::new(); // each a place among the queues that were left then
    let mut hand = Hand::new();
    for dealt in 0..queuing.hand_size {
        let left = u64::from(queuing.queues - dealt);
        let digit = (rest % left) as u32;
        rest /= left;
        // Back to places among all queues: what was dealt before is put back, the last first.
        hand.push(digits.iter().rev().fold(digit, |place, earlier| place + u32::from(place >= *earlier)));
        digits.push(digit);
    }
    hand
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};
    use zonefall_kernel::rng::{Purpose, Stream};

    const fn queuing(queues: u32, hand_size: u32) -> Queuing {
        Queuing { queues, hand_size, queue_length_limit: 50 }
    }

    /// Configurations of apiserver `shufflesharding_test.go` (`TestCardDuplication`), and of new clusters.
    const CONFIGURATIONS: [(u32, u32); 11] =
        [(4, 4), (8, 8), (10, 10), (12, 12), (128, 8), (256, 7), (512, 6), (64, 6), (128, 6), (16, 4), (1, 1)];

    proptest! {
        #[test]
        fn hand_has_different_queues_of_the_deck(hash: u64, (queues, hand_size) in proptest::sample::select(CONFIGURATIONS.to_vec())) {
            let hand = deal(hash, &queuing(queues, hand_size));
            prop_assert_eq!(hand.len(), hand_size as usize);
            prop_assert_eq!(hand.iter().collect::<BTreeSet<_>>().len(), hand_size as usize);
            prop_assert!(hand.iter().all(|queue| *queue < queues));
        }
    }

    /// As `TestUniformDistribution` of apiserver `shufflesharding_test.go`, in the orders in which queues are dealt: hashes below the
    /// number of hands give as many different ones.
    #[test]
    fn hashes_give_every_hand_equally_often() {
        for (queues, hand_size) in [(64_u32, 3_u32), (128, 3), (50, 4)] {
            let hands: u64 = (0..hand_size).map(|dealt| u64::from(queues - dealt)).product();
            let mut seen = vec![0_u8; (queues as usize).pow(hand_size)];
            for hash in 0..hands {
                let hand = deal(hash, &queuing(queues, hand_size));
                seen[hand.iter().fold(0, |code, queue| code * queues as usize + *queue as usize)] += 1;
            }
            assert!(seen.iter().all(|times| *times <= 1), "{queues}, {hand_size}: a hand twice");
        }
    }

    /// The digits by hand: 9 is 1 in base 4, and then 2 in base 3.
    #[test]
    fn hand_is_read_from_the_digits_of_the_hash() {
        for (hash, queues, hand_size, expected) in [
            (9, 4, 2, vec![1, 3]), // the third of 0, 2, 3
            (0, 4, 4, vec![0, 1, 2, 3]),
            (23, 4, 4, vec![3, 2, 1, 0]),
            (14 + 128 * (13 + 127 * 126), 128, 3, vec![14, 13, 0]),
        ] {
            assert_eq!(deal(hash, &queuing(queues, hand_size)).to_vec(), expected, "{hash}");
        }
    }

    /// SHA-256 of both words with a zero byte between, by another program; its first eight bytes, the lowest first.
    #[test]
    fn flow_hash_is_that_of_real_servers() {
        for (schema, distinguisher, expected) in
            [("system-nodes", "system:node:n1", 0x7c71_ae11_7bf7_8d24), ("global-default", "", 0x4ba1_7d43_ad24_f583)]
        {
            assert_eq!(flow_hash(schema, distinguisher), expected, "{schema}");
        }
    }

    /// Rows of the table "Example Shuffle Sharding Configurations" of Kubernetes' documentation (API Priority and Fairness) that are
    /// likely enough to be seen: how often all queues of a light flow are also those of heavy flows.
    #[test]
    fn light_flows_share_all_queues_with_heavy_ones_as_often_as_documented() {
        const SEEDS: u64 = 200;
        const FLOWS: u64 = 500;
        for (hand_size, queues, heavy, documented) in [
            (12, 32, 4, 0.114_313_488_300_991_44),
            (10, 32, 4, 0.062_647_984_022_354_5),
            (10, 64, 16, 0.499_999_291_500_893_45),
            (9, 64, 16, 0.428_231_487_645_485_8),
            (8, 64, 16, 0.359_351_146_811_230_76),
            (8, 128, 16, 0.027_461_731_371_550_63),
            (7, 128, 16, 0.024_061_573_863_401_47),
        ] {
            let stream = Stream::new(u64::from(hand_size * queues), Purpose::Tie, heavy);
            let mut squished: BTreeMap<bool, u64> = BTreeMap::new();
            for k in 0..SEEDS * FLOWS {
                let mut draw = stream.draw(k);
                let mut hand = || deal(draw.word(), &queuing(queues, hand_size));
                let taken = (0..heavy).fold(0_u128, |taken, _| hand().iter().fold(taken, |taken, queue| taken | 1 << queue));
                *squished.entry(hand().iter().all(|queue| taken & 1 << queue != 0)).or_default() += 1;
            }
            let flows = (SEEDS * FLOWS) as f64;
            let share = squished.get(&true).copied().unwrap_or(0) as f64 / flows;
            let interval = 2.576 * (documented * (1.0 - documented) / flows).sqrt();
            assert!(
                (share - documented).abs() < interval,
                "{hand_size} of {queues}, {heavy}: {share}, expected {documented} +- {interval}"
            );
        }
    }
}
