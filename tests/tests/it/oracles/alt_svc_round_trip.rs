//! `altsvc_round_trip_cases.json`: requests of a client that uses alternative services (openshift/kubernetes,
//! `client-go/transport/patch_round_trippers.go` with its unit test).

use std::collections::BTreeMap;

use serde::Deserialize;
use zonefall_core::access::alt_svc::Rules;
use zonefall_core::access::alt_svc::client::{Answer, Attempt, Client, Next, RequestLine, Rewritten, Scheme};
use zonefall_core::access::alt_svc::{authority, header};

use super::Outcome;
use super::alt_svc::{Entry, alternatives, entries};
use super::form::{run_cases, same};
use super::seconds::at;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    local_hosts: Vec<String>,
    allow_localhost: bool,
    cache: Vec<Entry>,
    last: Option<String>,
    requests: Vec<Request>,
    want: Vec<Want>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    at_s: f64,
    scheme: RawScheme,
    host: String,
    alt_used: bool,
    /// By host, what it would answer.
    answers: BTreeMap<String, RawAnswer>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawScheme {
    Http,
    Https,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAnswer {
    kind: Kind,
    alt_svc: Option<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Ok,
    NetworkError,
    CertificateError,
    OtherError,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Want {
    tried: Vec<String>,
    error: bool,
    rewritten: bool,
    last: Option<String>,
    cache: Vec<Entry>,
}

pub(super) fn run(text: &str) -> Outcome {
    run_cases(text, check)
}

fn check(case: &Case) -> Result<(), String> {
    let mut client = Client::new(Rules::Code, alternatives(&case.cache)?, case.last.clone());
    let mut found = Vec::new();
    for request in &case.requests {
        let (tried, error, rewritten) = round_trip(&mut client, request, case)?;
        let (last, cache) = (client.last().cloned(), entries(client.alternatives()));
        found.push(Want { tried, error, rewritten, last, cache });
    }
    same(&found, &case.want)
}

/// Hosts that a request is sent to, whether its caller gets an error, and whether the last attempt was rewritten.
fn round_trip(client: &mut Client<String>, request: &Request, case: &Case) -> Result<(Vec<String>, bool, bool), String> {
    let answer = |host: &String| request.answers.get(host).ok_or_else(|| format!("what {host} answers is not said"));
    let scheme = if let RawScheme::Https = request.scheme { Scheme::Https } else { Scheme::Http };
    let line = RequestLine { scheme, host: &request.host, alt_used: request.alt_used };
    if !line.may_use_alternatives(case.allow_localhost) {
        return Ok((vec![request.host.clone()], answer(&request.host)?.kind != Kind::Ok, false));
    }
    let now = at(request.at_s)?;
    let mut tried = Vec::new();
    loop {
        let attempt = client.choose(&request.host, now, |_| 0);
        let (to, raw) = (attempt.to.clone(), answer(&attempt.to)?);
        tried.push(to);
        let answer = match raw.kind {
            Kind::Ok => Answer::Response { listed: listed(raw.alt_svc.as_deref(), &attempt.to) },
            Kind::NetworkError => Answer::NetworkError,
            Kind::CertificateError => Answer::CertificateError,
            Kind::OtherError => Answer::OtherError,
        };
        let next = client.answered(&attempt, answer, now, |host| authority::is_one_of(host, &case.local_hosts));
        if next == Next::Return {
            return Ok((tried, raw.kind != Kind::Ok, is_rewritten(&attempt)));
        }
    }
}

/// The list in a header, if there is one that is not void.
fn listed(header: Option<&str>, answered_by: &str) -> Option<Vec<String>> {
    header::parse(header.filter(|header| !header.is_empty())?, Some(answered_by))
}

fn is_rewritten(attempt: &Attempt<String>) -> bool {
    let to = &attempt.to;
    let name = "kubernetes.default";
    attempt.rewritten() == Some(Rewritten { url_host: to, host: name, server_name: name, alt_used: to })
}
