//! What is reported of an API besides what its state says: times in which requests were late, and causes.

use super::apis::{ApiOutages, LateRequests, LateSpan};
use super::late::Rules;
use crate::ids::KubeClusterId;
use crate::kernel::time::{Duration, Time};
use crate::kube::record::Verb;
use crate::observe::causes::{ApiOutage, ApiOutageKind, Causes};
use crate::report::{ApiOutageReport, length, seconds};
use crate::scenario::Vantage;

/// What requests to an API met until a time, and why it was unavailable.
#[derive(Clone, Debug)]
pub struct ApiRows<'a> {
    causes: &'a Causes,
    rules: &'a Rules,
    cluster: KubeClusterId,
    /// `None`: all was always served.
    api: Option<&'a ApiOutages>,
    /// By [`Verb`], with all that is known then.
    late: [LateRequests; 2],
    now: Time,
}

impl<'a> ApiRows<'a> {
    pub(super) fn new(
        (causes, rules): (&'a Causes, &'a Rules),
        (cluster, api): (KubeClusterId, Option<&'a ApiOutages>),
        now: Time,
    ) -> Self {
        let late = api.map(|api| api.late.each_ref().map(|late| late.settled(now, rules)));
        Self { causes, rules, cluster, api, late: late.unwrap_or_default(), now }
    }

    /// Why its state has not served all since `from`, or did not for a time that began then.
    pub fn cause(&self, verb: Verb, from: Time) -> String {
        let over = self.api.and_then(|api| api.over.iter().find(|(v, at, _)| (*v, *at) == (verb, from)));
        let how = || ApiOutageKind::of_state(self.api.is_some_and(|api| api.shares[verb as usize].is_part()));
        let composed = || self.causes.of_api(&ApiOutage { cluster: self.cluster, verb, from, to: None, how: how() });
        over.map_or_else(composed, |(.., cause)| cause.clone())
    }

    /// Outages in which requests were late.
    pub fn late(&self, verb: Verb) -> impl Iterator<Item = ApiOutageReport> {
        self.late[verb as usize].outages(self.rules).map(move |span| ApiOutageReport {
            verb: verb.name().to_owned(),
            from_s: seconds(span.from),
            to_s: seconds(span.to),
            completed: span.to < self.now,
            // All of the first second counts where its first request was late.
            share: (length(span.unavailable) / length(span.to.since(span.from))).min(1.0),
            late: true,
            unavailable_s: length(span.unavailable),
            root_cause: span.cause.clone().unwrap_or_else(|| self.causes.of_api(&span.explained(self.cluster, verb))),
        })
    }

    /// For how long it was too slow, as it counts.
    pub fn unavailable(&self, verb: Verb) -> Duration {
        self.late[verb as usize].unavailable(self.rules)
    }

    /// The same for clients at a vantage.
    pub fn unavailable_at(&self, verb: Verb, vantage: Vantage) -> Duration {
        self.late[verb as usize].at(vantage, self.rules)
    }
}

impl LateSpan {
    /// What is to be explained.
    pub(super) const fn explained(&self, cluster: KubeClusterId, verb: Verb) -> ApiOutage {
        let how = ApiOutageKind::Late { rejected: self.rejected };
        ApiOutage { cluster, verb, from: self.from, to: Some(self.to), how }
    }
}
