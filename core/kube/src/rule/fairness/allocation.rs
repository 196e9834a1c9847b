//! Shares of a sum, in proportion to targets, as far as bounds permit (kubernetes/apiserver@24a394e5 `pkg/util/flowcontrol/conc_alloc.go`,
//! `computeConcurrencyAllocation`; KEP-1040).
//!
//! ```text
//!  share                                        total
//!    |      .------- upper bound                  |            .-----
//!    |     /                                      |        .-'
//!    |    / target * proportion                   |     .-'
//!    |---'  lower bound                           |--.-'               the proportion at which all shares make up the sum
//!    '--------------- proportion                  '------------------- proportion
//! ```

/// Who gets a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// What it would get with a proportion of 1; at least the lower bound, and counted as at least [`LEAST_TARGET`].
    pub target: f64,
    /// It gets no less than this, at least 0.
    pub lower_bound: f64,
    /// It gets no more than this, at least the lower bound.
    pub upper_bound: f64,
}

/// Targets below this count as this much, so that nobody's share stays at zero (`MinTarget`).
pub const LEAST_TARGET: f64 = 0.001;

/// Sums that differ by less are equal.
const EPSILON: f64 = 1e-7;

/// Why there are no such shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impossible {
    /// A bound is negative, above the target, or above the upper bound.
    Bounds,
    /// The lower bounds add up to more than the sum.
    TooMuch,
    /// The upper bounds add up to less than the sum.
    TooLittle,
}

impl Claim {
    fn target(&self) -> f64 {
        self.target.max(LEAST_TARGET)
    }

    /// Its share where all get this proportion of their targets.
    fn share(&self, proportion: f64) -> f64 {
        (proportion * self.target()).min(self.upper_bound).max(self.lower_bound)
    }

    /// Proportions at which its share leaves the lower bound, and reaches the upper.
    fn ends(&self) -> [f64; 2] {
        [self.lower_bound / self.target(), self.upper_bound / self.target()]
    }
}

/// Shares that add up to `sum`, and their proportion: each is that proportion of its target, or the bound that it would pass.
///
/// # Errors
/// Where there are none: [`Impossible`].
pub fn allocate(sum: u32, claims: &[Claim]) -> Result<(Vec<f64>, f64), Impossible> {
    let sum = f64::from(sum);
    let is_valid = |claim: &Claim| 0.0 <= claim.lower_bound && claim.lower_bound <= claim.target.min(claim.upper_bound);
    if !claims.iter().all(is_valid) {
        return Err(Impossible::Bounds);
    }
    let (lowest, highest) =
        claims.iter().fold((0.0, 0.0), |(low, high), claim| (low + claim.lower_bound, high + claim.upper_bound));
    if lowest - sum > EPSILON {
        return Err(Impossible::TooMuch);
    }
    if sum - highest > EPSILON {
        return Err(Impossible::TooLittle);
    }
    if sum == 0.0 {
        return Ok((vec![0.0; claims.len()], 0.0));
    }
    let ends = || claims.iter().flat_map(Claim::ends);
    if lowest - sum > -EPSILON {
        let least = claims.iter().map(|claim| claim.ends()[0]).fold(f64::INFINITY, f64::min);
        return Ok((claims.iter().map(|claim| claim.lower_bound).collect(), least));
    }
    if sum - highest > -EPSILON {
        return Ok((claims.iter().map(|claim| claim.upper_bound).collect(), ends().fold(0.0, f64::max)));
    }
    // The total grows with the proportion, in a straight line from each of its ends to the next.
    let total = |proportion: f64| claims.iter().map(|claim| claim.share(proportion)).sum::<f64>();
    let from = ends().filter(|end| total(*end) <= sum).fold(0.0, f64::max);
    let grows = |claim: &&Claim| claim.ends()[0] <= from && from < claim.ends()[1];
    let slope: f64 = claims.iter().filter(grows).map(Claim::target).sum();
    let proportion = if slope > 0.0 { from + (sum - total(from)) / slope } else { from }; // none grows: rounding hid the next end
    Ok((claims.iter().map(|claim| claim.share(proportion)).collect(), proportion))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1.0)
    }

    fn claims(bounds: &[(f64, f64, f64)]) -> Vec<Claim> {
        bounds
            .iter()
            .map(|(lower_bound, target, upper_bound)| Claim {
                target: *target,
                lower_bound: *lower_bound,
                upper_bound: *upper_bound,
            })
            .collect()
    }

    /// Bounds as `TestConcAlloc` of apiserver `conc_alloc_test.go` draws them: some start at zero, some targets are zero.
    fn any_claims() -> impl Strategy<Value = Vec<Claim>> {
        let usual = (-1.0..4.0_f64, 0.0..2.0_f64, 0.0..3.0_f64).prop_map(|(low, target, high)| {
            let low = low.max(0.0);
            Claim { target: low + target, lower_bound: low, upper_bound: low + high }
        });
        let empty = (0.000_01..1.0_f64).prop_map(|upper_bound| Claim { target: 0.0, lower_bound: 0.0, upper_bound });
        proptest::collection::vec(prop_oneof![4 => usual, 1 => empty], 1..10)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_096, max_global_rejects: 100_000, ..ProptestConfig::default() })]

        /// The properties that `conc_alloc.go` promises, and `TestConcAlloc` checks.
        #[test]
        fn shares_add_up_and_are_in_proportion_or_at_a_bound(claims in any_claims(), part in 0.0..=1.0_f64) {
            let (lowest, highest) = claims.iter().fold((0.0, 0.0), |(low, high), claim| (low + claim.lower_bound, high + claim.upper_bound));
            let sum = (lowest + (highest - lowest) * part).round();
            prop_assume!(sum >= lowest && sum <= highest);
            let (shares, proportion) = allocate(sum as u32, &claims).expect("the sum is between the bounds");
            prop_assert!(close(shares.iter().sum(), sum));
            for (claim, share) in claims.iter().zip(&shares) {
                let wanted = proportion * claim.target.max(LEAST_TARGET);
                let expected = if wanted <= claim.lower_bound { claim.lower_bound } else { wanted.min(claim.upper_bound) };
                prop_assert!(sum == 0.0 || close(*share, expected), "{claim:?} gets {share}, expected {expected}");
            }
        }
    }

    /// Rows of apiserver `queueset_test.go` (`TestFairAlloc`): with equal targets and demands as upper bounds, shares are max-min fair.
    #[test]
    fn shares_of_equal_targets_are_max_min_fair() {
        for (demands, sum, expected) in [
            (vec![47.0, 0.0], 42, vec![42.0, 0.0]),
            (vec![1.0, 47.0], 42, vec![1.0, 41.0]),
            (vec![3.0, 7.0, 9.0, 1.0], 14, vec![3.0, 5.0, 5.0, 1.0]),
            (vec![1.0, 9.0, 7.0, 3.0], 20, vec![1.0, 9.0, 7.0, 3.0]),
        ] {
            let claims: Vec<Claim> =
                demands.iter().map(|demand| Claim { target: 1.0, lower_bound: 0.0, upper_bound: *demand }).collect();
            let (shares, _) = allocate(sum, &claims).expect("the demands exceed the sum");
            assert!(shares.iter().zip(&expected).all(|(share, expected)| close(*share, *expected)), "{demands:?}: {shares:?}");
        }
    }

    /// N greedy claims of one target get an N-th each, whatever their lower bounds below that are.
    #[test]
    fn equal_greedy_claims_share_equally() {
        for n in 1..=20_u32 {
            let greedy: Vec<Claim> =
                (0..n).map(|k| Claim { target: 100.0, lower_bound: f64::from(k % 5), upper_bound: 1_000.0 }).collect();
            let (shares, _) = allocate(600, &greedy).expect("they want more");
            assert!(shares.iter().all(|share| close(*share, (600.0 / f64::from(n)).min(1_000.0))), "{n}: {shares:?}");
        }
    }

    #[test]
    fn impossible_sums_are_told_apart() {
        for (sum, bounds, expected) in [
            (1, claims(&[(2.0, 1.0, 3.0)]), Impossible::Bounds),
            (1, claims(&[(2.0, 2.0, 1.0)]), Impossible::Bounds),
            (1, claims(&[(1.0, 1.0, 1.0), (1.0, 2.0, 3.0)]), Impossible::TooMuch),
            (5, claims(&[(1.0, 1.0, 1.0), (1.0, 2.0, 3.0)]), Impossible::TooLittle),
        ] {
            assert_eq!(allocate(sum, &bounds), Err(expected), "{sum} of {bounds:?}");
        }
        let tight = claims(&[(1.0, 1.0, 1.0), (1.0, 2.0, 3.0)]);
        assert_eq!(allocate(2, &tight), Ok((vec![1.0, 1.0], 0.5)));
        assert_eq!(allocate(4, &tight), Ok((vec![1.0, 3.0], 1.5)));
    }
}
