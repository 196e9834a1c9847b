//! A worker pool's numbers, spread over the machine deployments of its zones (gardener/gardener `extensions/pkg/controller/worker`:
//! `DistributeOverZones`, `DistributePercentOverZones`, `DistributePositiveIntOrPercent`).

use zonefall_kube::spec::int_or_percent::IntOrPercent;
pub use zonefall_kube::spec::seed::over_zones;

/// The percentage that zone `index` of `zones` has of its own share of `total`, where the pool has `percent` of `total`: by how much
/// the zone's share is above or below the average, rounded up. Unchanged where all shares are alike.
pub fn percent_over_zones(index: u32, percent: u32, zones: u32, total: u32) -> u32 {
    if total.is_multiple_of(zones) {
        return percent;
    }
    // In the source's order: rounding up makes the last bit count.
    let average = f64::from(total) / f64::from(zones);
    let ratio = 100.0 / average * f64::from(over_zones(index, total, zones));
    libm::ceil(ratio * f64::from(percent) / 100.0) as u32
}

/// The share of zone `index` of `zones` in a number, or in a percentage of `total`.
pub fn int_or_percent_over_zones(index: u32, value: IntOrPercent, zones: u32, total: u32) -> IntOrPercent {
    match value {
        IntOrPercent::Int(size) => IntOrPercent::Int(over_zones(index, size, zones)),
        IntOrPercent::Percent(percent) => IntOrPercent::Percent(percent_over_zones(index, percent, zones, total)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_that_of_the_average_zone() {
        for (total, zones) in (1..40).flat_map(|total| (1..8).map(move |zones| (total, zones))) {
            for index in 0..zones {
                let stepping = u64::from(50 * zones * over_zones(index, total, zones)).div_ceil(u64::from(total));
                let found = u64::from(percent_over_zones(index, 50, zones, total));
                assert!(
                    found == stepping || found == stepping + 1,
                    "50% of {total} over {zones}, zone {index}: {found}, exactly {stepping}"
                );
            }
        }
    }
}
