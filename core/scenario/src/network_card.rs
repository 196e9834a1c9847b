//! Bandwidth of a machine's network card by the cloud's name of its machine type.
//!
//! Figures are those that providers publish for all flows together, `up to` ones included: a machine that has been idle reaches them, and
//! what limits it after minutes (AWS: credits) is left out. Of a family that is not here, and of a machine without a type, [`DEFAULT`].
//!
//! - AWS: `aws ec2 describe-instance-types`, `NetworkInfo.NetworkPerformance` (m5, c5: seen second-hand; others from memory)
//! - Google Cloud: "General-purpose machine family", default egress bandwidth (from memory)
//! - Azure: size pages of the D and E series, expected network bandwidth (from memory; v3 agrees with measurements of 2017 that are 10 % lower)

/// Bytes per second of other machines: 10 Gbit/s, as an m5.2xlarge, which has as much as a machine of a pool by default.
pub const DEFAULT: u64 = mbit(10_000);

const fn mbit(mbit_per_s: u64) -> u64 {
    mbit_per_s * 125_000
}

/// Bytes per second that the card of a machine type carries.
pub fn of_type(machine: Option<&str>) -> u64 {
    machine.and_then(|name| aws(name).or_else(|| google(name)).or_else(|| azure(name))).map_or(DEFAULT, mbit)
}

/// The figure of the largest size that is not above this one: sizes (CPUs, or multiples of an `xlarge`) with Mbit/s.
fn by_size(size: u64, table: &[(u64, u64)]) -> Option<u64> {
    table.iter().rev().find(|(least, _)| *least <= size).map(|(_, mbit_per_s)| *mbit_per_s)
}

/// `m5.2xlarge`: family, generation, attributes, size.
fn aws(name: &str) -> Option<u64> {
    let (class, size) = name.split_once('.')?;
    let times = match size {
        "large" => 0,
        "xlarge" => 1,
        more => more.strip_suffix("xlarge")?.parse().ok()?,
    };
    match class {
        "t3" | "t3a" | "t4g" => Some(5_000),
        "m5" | "m5a" | "c5" | "c5a" | "r5" | "r5a" => by_size(times, &[(0, 10_000), (12, 12_000), (16, 20_000), (18, 25_000)]),
        "m6i" | "m6a" | "c6i" | "c6a" | "r6i" | "r6a" | "m7i" | "m7a" | "c7i" | "c7a" | "r7i" | "r7a" => {
            by_size(times, &[(0, 12_500), (12, 18_750), (16, 25_000), (24, 37_500), (32, 50_000)])
        }
        _ => None,
    }
}

/// `n2-standard-8`: series, kind, CPUs.
fn google(name: &str) -> Option<u64> {
    let mut parts = name.split('-');
    let (series, cpus) = (parts.next()?, parts.nth(1)?.parse().ok()?);
    match series {
        "n1" | "n2" | "n2d" => by_size(cpus, &[(1, 2_000), (2, 10_000), (8, 16_000), (16, 32_000)]),
        "e2" => by_size(cpus, &[(2, 4_000), (4, 8_000), (8, 16_000)]),
        _ => None,
    }
}

/// `Standard_D8s_v5`: series, CPUs, attributes, version.
fn azure(name: &str) -> Option<u64> {
    let (size, version) = name.strip_prefix("Standard_")?.split_once("_v")?;
    let size = size.strip_prefix(['D', 'E'])?;
    let digits = size.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(size.len());
    let cpus = size[..digits].parse().ok()?;
    match version {
        "3" => by_size(cpus, &[(2, 1_000), (4, 2_000), (8, 4_000), (16, 8_000), (32, 16_000), (48, 24_000), (64, 30_000)]),
        "4" => by_size(cpus, &[(2, 5_000), (4, 10_000), (8, 12_500), (32, 16_000), (48, 24_000), (64, 30_000)]),
        "5" => by_size(cpus, &[(2, 12_500), (32, 16_000), (48, 24_000), (64, 30_000), (96, 35_000)]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_known_by_its_machine_type() {
        let rows = [
            ("m5.large", 10_000),
            ("c5.12xlarge", 12_000),
            ("m5.24xlarge", 25_000),
            ("m6i.8xlarge", 12_500),
            ("m6i.16xlarge", 25_000),
            ("t3.xlarge", 5_000),
            ("n1-standard-8", 16_000),
            ("e2-standard-2", 4_000),
            ("n2-highmem-32", 32_000),
            ("Standard_D4s_v3", 2_000),
            ("Standard_E16ds_v5", 12_500),
            ("Standard_D64s_v4", 30_000),
        ];
        for (name, mbit_per_s) in rows {
            assert_eq!(of_type(Some(name)), mbit(mbit_per_s), "{name}");
        }
        for unknown in
            [None, Some("worker"), Some("m5.metal"), Some("x9.large"), Some("Standard_D1s_v3"), Some("n2-custom"), Some("16-cpu")]
        {
            assert_eq!(of_type(unknown), DEFAULT, "{unknown:?}");
        }
    }
}
