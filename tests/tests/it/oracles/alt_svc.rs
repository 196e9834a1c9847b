//! `altsvc_{parse,server,cache,select}_cases.json`: alternative services, a rule at a time (openshift/kubernetes,
//! `client-go/transport/patch_round_trippers.go` with its unit test, `apiserver/pkg/server/filters/alternative_services.go`).

use serde::Deserialize;
use zonefall_core::access::alt_svc::Rules;
use zonefall_core::access::alt_svc::advertiser::{Advertisement, Advertiser};
use zonefall_core::access::alt_svc::alternatives::{Alternative, Alternatives, Block};
use zonefall_core::access::alt_svc::{authority, header, selection};
use zonefall_core::kernel::time::Time;

use super::Outcome;
use super::form::{run_cases, same};
use super::seconds::at;

/// An alternative that a client knows.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    host: String,
    local: bool,
    blocked_at_s: Option<f64>,
    blocked_forever: bool,
}

impl Entry {
    fn alternative(&self) -> Result<Alternative<String>, String> {
        let block = match (self.blocked_at_s, self.blocked_forever) {
            (None, false) => Block::Free,
            (Some(error), false) => Block::Since(at(error)?),
            (None, true) => Block::Forever,
            (Some(_), true) => return Err(format!("{} is blocked for a time and for ever", self.host)),
        };
        Ok(Alternative { authority: self.host.clone(), local: self.local, block })
    }

    fn of(alternative: &Alternative<String>) -> Self {
        let Alternative { authority, local, block } = alternative;
        let blocked_at_s = if let Block::Since(error) = block { Some(error.as_secs_f64()) } else { None };
        Self { host: authority.clone(), local: *local, blocked_at_s, blocked_forever: *block == Block::Forever }
    }
}

/// Entries as a client knows them.
pub(super) fn alternatives(entries: &[Entry]) -> Result<Alternatives<String>, String> {
    Ok(Alternatives::new(entries.iter().map(Entry::alternative).collect::<Result<_, _>>()?, Time::ZERO))
}

/// What a client knows, as entries.
pub(super) fn entries(alternatives: &Alternatives<String>) -> Vec<Entry> {
    alternatives.listed().iter().map(Entry::of).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parse {
    header: String,
    answered_by: Option<String>,
    want_hosts: Option<Vec<String>>,
}

pub(super) fn run_parse(text: &str) -> Outcome {
    run_cases(text, |row: &Parse| same(&header::parse(&row.header, row.answered_by.as_deref()), &row.want_hosts))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Server {
    requests: Vec<Answered>,
    want_headers: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answered {
    at_s: f64,
    fetch_ok: bool,
    /// Addresses by subset.
    endpoints: Vec<Vec<String>>,
}

pub(super) fn run_server(text: &str) -> Outcome {
    run_cases(text, check_server)
}

fn check_server(row: &Server) -> Result<(), String> {
    let mut advertiser: Advertiser<String> = Advertiser::prototype();
    let mut headers = Vec::new();
    for request in &row.requests {
        match advertiser.answer(at(request.at_s)?) {
            Advertisement::List(list) => headers.push(header::text(list.iter().map(String::as_str))),
            Advertisement::Refresh => {
                headers.push(String::new());
                if request.fetch_ok {
                    advertiser.endpoints_read(request.endpoints.iter().flatten().cloned());
                }
            }
        }
    }
    same(&headers, &row.want_headers)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cache {
    before: Vec<Entry>,
    op: Operation,
    hosts: Vec<String>,
    forever: bool,
    now_s: f64,
    local_hosts: Vec<String>,
    want: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Replace,
    Block,
}

pub(super) fn run_cache(text: &str) -> Outcome {
    run_cases(text, check_cache)
}

fn check_cache(row: &Cache) -> Result<(), String> {
    let mut known = alternatives(&row.before)?;
    let now = at(row.now_s)?;
    match (&row.op, &row.hosts[..], row.forever) {
        (Operation::Replace, hosts, false) => {
            known.replace(hosts.iter().cloned(), Rules::Code, now, |host| authority::is_one_of(host, &row.local_hosts));
        }
        (Operation::Block, [host], forever) => known.block(host, if forever { Block::Forever } else { Block::Since(now) }),
        (Operation::Replace, _, true) => return Err("a list that is replaced for ever".to_owned()),
        (Operation::Block, hosts, _) => return Err(format!("{} hosts to block", hosts.len())),
    }
    same(&entries(&known), &row.want)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Select {
    now_s: f64,
    cache: Vec<Entry>,
    last: Option<String>,
    host: String,
    /// Hosts that are equally right, sorted.
    want_any: Vec<String>,
}

pub(super) fn run_select(text: &str) -> Outcome {
    run_cases(text, check_select)
}

fn check_select(row: &Select) -> Result<(), String> {
    let (known, now) = (alternatives(&row.cache)?, at(row.now_s)?);
    let mut found = selection::candidates(&known, row.last.as_ref(), &row.host, Rules::Code, now);
    found.sort_unstable();
    same(&found, &row.want_any.iter().collect())
}
