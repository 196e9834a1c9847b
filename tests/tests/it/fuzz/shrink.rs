//! Makes a failing schedule small: takes away whatever it fails without, until nothing more can go.

use serde_json::Value;
use zonefall_tests::worlds::schedules::{LAST, millis};

use super::judge::{Case, Failure, Judge, cut};

/// Runs a shrinking may take.
const MOST_RUNS: usize = 2_000;

/// A failing case that fails in the same way, smaller; and how.
pub(crate) fn shrink(judge: Judge, case: &Case, failure: &Failure) -> (Case, Failure) {
    let mut shrinker = Shrinker { judge, best: case.clone(), failure: failure.clone(), runs: 0 };
    loop {
        let before = shrinker.best.file.clone();
        shrinker.end();
        for list in ["faults", "operations", "clients"] {
            shrinker.thin_out(list);
        }
        shrinker.simplify_faults();
        for place in ["/etcd/0/options", "/etcd/0/disk", "/etcd/0/initial", "/network"] {
            shrinker.use_defaults(place);
        }
        if shrinker.best.file == before || shrinker.runs >= MOST_RUNS {
            return (shrinker.best, shrinker.failure);
        }
    }
}

/// Seeds that are tried where one thing less does not fail under the last.
const MORE_SEEDS: u64 = 20;

struct Shrinker {
    judge: Judge,
    best: Case,
    failure: Failure,
    runs: usize,
}

impl Shrinker {
    /// Takes `file` if it fails in the same way.
    fn try_file(&mut self, file: Value) -> bool {
        if self.runs >= MOST_RUNS || file == self.best.file {
            return false;
        }
        self.runs += 1;
        let case = Case { file, ..self.best.clone() };
        match (self.judge)(&case) {
            Err(failure) if failure.is_like(&self.failure) => {
                (self.best, self.failure) = (case, failure);
                true
            }
            Err(_) | Ok(_) => false,
        }
    }

    /// What is left may fail in the same way with other luck.
    fn try_other_seeds(&mut self, file: &Value) -> bool {
        let seed = file["seed"].as_u64().unwrap_or(0);
        (1..=MORE_SEEDS).any(|more| {
            let mut file = file.clone();
            file["seed"] = Value::from(seed + more);
            self.try_file(file)
        })
    }

    /// Ends the run where the invariant is broken.
    fn end(&mut self) {
        if let Failure::Violation { at, .. } = self.failure {
            self.try_file(cut(&self.best.file, at));
        }
    }

    /// Removes items: half of them, a quarter, ... one.
    fn thin_out(&mut self, list: &str) {
        let count = |best: &Case| best.file[list].as_array().map_or(0, Vec::len);
        let mut size = count(&self.best).div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from < count(&self.best) {
                let mut file = self.best.file.clone();
                if let Some(items) = file[list].as_array_mut() {
                    let mut place = 0;
                    items.retain(|item| {
                        place += 1;
                        !(from + 1..=from + size).contains(&place) || (self.best.liveness && item["name"] == LAST)
                    });
                }
                if !(self.try_file(file.clone()) || (size == 1 && self.try_other_seeds(&file))) {
                    from += size;
                }
            }
            size /= 2;
        }
    }

    /// Shorter faults, at rounder times, without their refinements.
    fn simplify_faults(&mut self) {
        for list in ["faults", "operations"] {
            for k in 0..self.best.file[list].as_array().map_or(0, Vec::len) {
                for unit in [1_000, 100] {
                    let at = millis(&self.best.file[list][k]["at"]);
                    self.set(list, k, "at", format!("{}ms", at / unit * unit));
                }
                while self.best.file[list][k].get("for").is_some() {
                    let lasts = millis(&self.best.file[list][k]["for"]);
                    if lasts < 2 || !self.set(list, k, "for", format!("{}ms", lasts / 2)) {
                        break;
                    }
                }
                for detail in ["loss", "factor", "direction"] {
                    let mut file = self.best.file.clone();
                    if file[list][k].as_object_mut().is_some_and(|fault| fault.remove(detail).is_some()) {
                        self.try_file(file);
                    }
                }
            }
        }
    }

    fn set(&mut self, list: &str, k: usize, field: &str, value: String) -> bool {
        let mut file = self.best.file.clone();
        file[list][k][field] = Value::from(value);
        self.try_file(file)
    }

    /// Leaves out fields, so that they have their defaults.
    fn use_defaults(&mut self, place: &str) {
        let keys: Vec<String> =
            self.best.file.pointer(place).and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key.clone()).collect();
        for key in keys {
            let mut file = self.best.file.clone();
            if let Some(object) = file.pointer_mut(place).and_then(Value::as_object_mut) {
                object.remove(&key);
            }
            self.try_file(file);
        }
    }
}
