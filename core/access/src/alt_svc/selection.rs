//! Which host a request is sent to (openshift/kubernetes@f9e4430a `client-go/transport/patch_round_trippers.go`, `getAltSvc`; Resilient
//! Control Plane Networking, section Client-go, steps 1 to 3).
//!
//! 1. The alternative that answered last, so that clients do not flap.
//! 2. A free alternative on the client's own machine.
//! 3. The original host, if it is listed as an alternative and free.
//! 4. Any free alternative. (The document does not name this step; its example takes it.)
//! 5. The original host.

use super::Rules;
use super::alternatives::{Alternative, Alternatives};
use zonefall_kernel::time::Time;

/// Hosts that are equally right for a request to `origin`, at least one: the prototype takes the first in the random order of a map.
/// `last`: the alternative that answered last.
pub fn candidates<'a, A: Clone + PartialEq>(
    alternatives: &'a Alternatives<A>,
    last: Option<&'a A>,
    origin: &'a A,
    rules: Rules,
    now: Time,
) -> Vec<&'a A> {
    let is_free = |entry: &&Alternative<A>| !entry.block.holds(now);
    let may_stay = |last: &&A| match rules {
        Rules::Code => true,
        Rules::Text { .. } | Rules::Configured => alternatives.get(last).as_ref().is_some_and(is_free),
    };
    if let Some(last) = last.filter(may_stay) {
        return vec![last];
    }
    let free: Vec<&Alternative<A>> = alternatives.listed().iter().filter(is_free).collect();
    let local: Vec<&A> = free.iter().filter(|entry| entry.local).map(|entry| &entry.authority).collect();
    if !local.is_empty() {
        return local;
    }
    if free.is_empty() || free.iter().any(|entry| entry.authority == *origin) {
        return vec![origin];
    }
    free.into_iter().map(|entry| &entry.authority).collect()
}
