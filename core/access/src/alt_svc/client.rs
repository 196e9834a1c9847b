//! Requests of a client that uses alternative services (openshift/kubernetes@f9e4430a
//! `client-go/transport/patch_round_trippers.go`, `RoundTrip`).
//!
//! ```text
//!  request --choose--> attempt --> answer of the original host: success or error is returned
//!             ^           |
//!             |           '------> answer of an alternative: success (stay with it) and other errors are returned
//!             '--- network error (blocked for a time), wrong certificate (for ever)
//! ```

use super::Rules;
use super::alternatives::{Alternatives, Block};
use super::authority::is_localhost;
use super::selection::candidates;
use zonefall_kernel::time::Time;

/// The name that alternatives have a certificate for (`defaultKubernetesService`).
pub const SERVER_NAME: &str = "kubernetes.default";

/// Whether a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// It is.
    Https,
    /// It is not: alternatives could be forged.
    Http,
}

/// What of a request decides whether it may use alternatives.
#[derive(Clone, Copy, Debug)]
pub struct RequestLine<'a> {
    /// Scheme of its URL.
    pub scheme: Scheme,
    /// Host of its URL, with or without port.
    pub host: &'a str,
    /// It carries `Alt-Used`: somebody has chosen an alternative for it already.
    pub alt_used: bool,
}

impl RequestLine<'_> {
    /// Whether alternatives may be used and learned; otherwise the request passes as it is. `localhost`: requests to the client's own
    /// machine may, too.
    pub fn may_use_alternatives(&self, localhost: bool) -> bool {
        self.scheme == Scheme::Https && !self.alt_used && (localhost || !is_localhost(self.host))
    }
}

/// An attempt to have a request answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt<A> {
    /// Host that the request is sent to.
    pub to: A,
    /// It is another one than the request names.
    pub is_alternative: bool,
}

/// What differs in a request to an alternative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewritten<'a, A> {
    /// Host of its URL.
    pub url_host: &'a A,
    /// Its header `Host`, in HTTP/2 `:authority`.
    pub host: &'static str,
    /// Server name that the certificate must cover (SNI).
    pub server_name: &'static str,
    /// Its header `Alt-Used` (RFC 7838, section 5), against loops.
    pub alt_used: &'a A,
}

impl<A> Attempt<A> {
    /// What the attempt changes in the request; `None`: nothing.
    pub fn rewritten(&self) -> Option<Rewritten<'_, A>> {
        let rewritten = Rewritten { url_host: &self.to, host: SERVER_NAME, server_name: SERVER_NAME, alt_used: &self.to };
        self.is_alternative.then_some(rewritten)
    }
}

/// What comes of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<A> {
    /// A response, whatever its status.
    Response {
        /// Authorities that its header `Alt-Svc` lists; `None` without a header, with an empty one or with one that is void.
        listed: Option<Vec<A>>,
    },
    /// The connection failed, was lost, or nobody answered in time.
    NetworkError,
    /// The certificate does not cover the server name.
    CertificateError,
    /// Any other error.
    OtherError,
}

/// What the client does after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The caller gets the answer.
    Return,
    /// It chooses again.
    Retry,
}

/// A client that uses alternatives with addresses of type `A`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client<A> {
    rules: Rules,
    pub(super) alternatives: Alternatives<A>,
    last: Option<A>,
}

impl<A: Clone + PartialEq> Client<A> {
    /// A client that knows these alternatives. `last`: the one that answered its last request.
    pub const fn new(rules: Rules, alternatives: Alternatives<A>, last: Option<A>) -> Self {
        Self { rules, alternatives, last }
    }

    /// Rules that it follows.
    pub const fn rules(&self) -> Rules {
        self.rules
    }

    /// Alternatives that it knows.
    pub const fn alternatives(&self) -> &Alternatives<A> {
        &self.alternatives
    }

    /// When its list is too old.
    pub fn expires(&self) -> Option<Time> {
        match self.rules {
            Rules::Text { keep } if !self.alternatives.listed().is_empty() => Some(self.alternatives.since() + keep),
            Rules::Text { .. } | Rules::Code | Rules::Configured => None,
        }
    }

    /// The alternative that answered its last request.
    pub const fn last(&self) -> Option<&A> {
        self.last.as_ref()
    }

    /// Where to send a request to `origin`. `draw` picks one of several hosts that are equally right: a number below the one given.
    pub fn choose(&mut self, origin: &A, now: Time, draw: impl FnOnce(usize) -> usize) -> Attempt<A> {
        if self.rules != Rules::Code || self.last.is_none() {
            self.alternatives.refresh(self.rules, now);
        }
        let candidates = candidates(&self.alternatives, self.last.as_ref(), origin, self.rules, now);
        let chosen = if let [only] = candidates[..] { only } else { candidates[draw(candidates.len())] };
        let attempt = Attempt { to: chosen.clone(), is_alternative: chosen != origin };
        if !attempt.is_alternative {
            self.last = None;
        }
        attempt
    }

    /// An attempt was answered. `is_local` tells whether an address that is listed for the first time is on the client's machine.
    pub fn answered(&mut self, attempt: &Attempt<A>, answer: Answer<A>, now: Time, is_local: impl Fn(&A) -> bool) -> Next {
        let block = match answer {
            Answer::Response { listed } => {
                self.last = attempt.is_alternative.then(|| attempt.to.clone());
                if let Some(listed) = listed.filter(|_| self.rules != Rules::Configured) {
                    self.alternatives.replace(listed, self.rules, now, is_local);
                }
                return Next::Return;
            }
            Answer::NetworkError => Some(Block::Since(now)),
            Answer::CertificateError => Some(Block::Forever),
            Answer::OtherError => None,
        };
        self.last = None;
        match block.filter(|_| attempt.is_alternative) {
            Some(block) => {
                self.alternatives.block(&attempt.to, block);
                Next::Retry
            }
            None => Next::Return,
        }
    }
}
