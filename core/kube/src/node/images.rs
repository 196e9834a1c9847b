//! Images on a node: pulled one after the other (`serializeImagePulls`, the kubelet's default), each once.

use std::collections::BTreeMap;

use crate::spec::Image;
use zonefall_kernel::time::{Duration, Time};

/// Which images a node has from when on.
#[derive(Clone, Debug, Default)]
pub struct Images {
    there: BTreeMap<u16, Time>,
    /// When the pulls under way are done.
    free: Time,
}

impl Images {
    /// The node has had an image for long.
    pub fn start_warm(&mut self, image: Image) {
        self.there.insert(image.id, Time::ZERO);
    }

    /// When an image is there that is needed now; it is pulled if need be.
    pub fn pull(&mut self, image: Image, bytes_per_s: u64, now: Time) -> Time {
        let free = &mut self.free;
        let pull = || {
            let takes = u128::from(image.bytes) * 1_000_000_000 / u128::from(bytes_per_s);
            *free = now.max(*free) + Duration::from_nanos(u64::try_from(takes).unwrap_or(u64::MAX / 4));
            *free
        };
        *self.there.entry(image.id).or_insert_with(pull)
    }

    /// The node loses power: of what is under way nothing stays.
    pub fn power_lost(&mut self, now: Time) {
        self.there.retain(|_, at| *at <= now);
        self.free = now;
    }
}
