//! Requests under way: slots that are used again, told apart by generation.

use crate::client::in_flight::Place;
use crate::etcd::raft::entry::Token;
use crate::ids::ClientId;
use crate::kernel::time::{Duration, Time};

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its API server has not let it in; it was made there, for the last time, at this time.
    AtServer(Time),
    /// It is on its way to its member, or there; its API server let it in at this time.
    AtMember(Time),
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Number among the requests of its client; it goes down by one with each.
    pub number: u64,
    /// When it was first sent.
    pub since: Time,
    /// Further members tried.
    pub tries: u32,
    /// Whom it is at now.
    pub member: u8,
    /// Whether the process of that member did not run when it was sent there.
    pub is_down: bool,
    /// Where it is.
    pub stage: Stage,
    /// How often its API server has rejected it.
    pub rejections: u32,
    /// What it has at its API server.
    pub place: Option<Place>,
    /// Whether it was to be answered within the probe's deadline, as things stood; `None`: it is no request of an API.
    pub expected: Option<Duration>,
}

impl Request {
    /// How long its API server has kept it waiting, or had it made again.
    pub fn waited(&self, now: Time) -> Duration {
        let until = if let Stage::AtMember(since) = self.stage { since } else { now };
        until.since(self.since)
    }
}

/// The requests of one client.
#[derive(Clone, Debug)]
pub struct Requests {
    client: ClientId,
    slots: Vec<(u32, Option<Request>)>,
    free: Vec<u32>,
}

impl Requests {
    /// None yet.
    pub fn new(client: ClientId) -> Self {
        Self { client, slots: Vec::new(), free: Vec::new() }
    }

    /// Opens a slot.
    pub fn open(&mut self, request: Request) -> Token {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() as u32 - 1
        });
        let (generation, place) = &mut self.slots[slot as usize];
        *generation += 1;
        *place = Some(request);
        Token { slot, generation: *generation, client: self.client, member: request.member }
    }

    /// The request, if it is still open and this is its last try.
    pub fn get(&self, token: Token) -> Option<Request> {
        self.slots.get(token.slot as usize).filter(|(generation, _)| *generation == token.generation)?.1
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, token: Token) -> Option<&mut Request> {
        self.slots.get_mut(token.slot as usize).filter(|(generation, _)| *generation == token.generation)?.1.as_mut()
    }

    /// The next try, at another member: answers to earlier ones are void.
    pub fn retry(&mut self, token: Token, member: u8) -> Token {
        let (generation, place) = &mut self.slots[token.slot as usize];
        *generation += 1;
        let request = place.as_mut().expect("an open request");
        request.tries += 1;
        request.member = member;
        Token { generation: *generation, member, ..token }
    }

    /// Closes a slot.
    pub fn close(&mut self, token: Token) -> Request {
        let (generation, place) = &mut self.slots[token.slot as usize];
        *generation += 1;
        self.free.push(token.slot);
        place.take().expect("an open request")
    }

    /// The requests that have not ended.
    pub fn open_ones(&self) -> impl Iterator<Item = &Request> {
        self.slots.iter().filter_map(|(_, request)| request.as_ref())
    }

    /// The requests that are at a member.
    pub fn at(&self, member: u8) -> Vec<Token> {
        self.sent().filter(|token| token.member == member).collect()
    }

    /// The requests that are at members.
    pub fn sent(&self) -> impl Iterator<Item = Token> {
        let open = (0u32..).zip(&self.slots).filter_map(|(slot, (generation, place))| Some((slot, *generation, place.as_ref()?)));
        open.filter(|(.., request)| matches!(request.stage, Stage::AtMember(_))).map(|(slot, generation, request)| Token {
            slot,
            generation,
            client: self.client,
            member: request.member,
        })
    }
}
