//! What a keyframe costs when it is taken: the page keeps many, so a clone stays below 1 MiB. It shares with the run what has not changed;
//! what the run changes afterwards is copied then and counts for the run. (A program of its own: its allocator counts, and no other test
//! may allocate beside it.)

use std::alloc::System;
use std::sync::Arc;

use cap::Cap;
use zonefall_core::run::{Run, STEPS, milestone};
use zonefall_core::scenario::{Scenario, bundled};
use zonefall_core::sim::Options;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const MOST_BYTES: usize = 1 << 20;

/// The stories with the most to clone: hundreds of control planes, and a month of four in use.
const LARGEST: [&str; 2] = ["many-shoots", "cost-of-tolerance"];

/// A keyframe is a clone of a run; what the clones have in common (the scenario, logs) costs nothing again.
#[test]
fn keyframe_of_the_largest_stories_takes_less_than_one_mebibyte() {
    for name in LARGEST {
        let file = bundled().iter().find(|file| file.name == name).expect("it is bundled");
        let scenario = Arc::new(Scenario::from_json(file.json).expect("bundled scenarios are valid"));
        let mut run = Run::new(&scenario, scenario.seed, Options::default());
        let mut most = 0;
        for step in (0..=STEPS).step_by(5) {
            run.advance(milestone(scenario.duration, step), &mut |_, _| {});
            let before = ALLOCATOR.allocated();
            let keyframe = run.clone();
            most = most.max(ALLOCATOR.allocated() - before + size_of_val(&keyframe));
        }
        println!("{name}: {} KiB", most >> 10);
        assert!(most < MOST_BYTES, "{name}: a keyframe has {most} bytes, at most {MOST_BYTES}");
    }
}
