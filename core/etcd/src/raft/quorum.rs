//! Quorums: what a majority, or two of them at once, has acknowledged or voted.
//!
//! Source: `etcd-io/raft/quorum` (majority.go, joint.go); the joint form is the raft thesis, section 4.3. etcd changes one member
//! at a time, so its second half is empty.

/// A set of members, one bit per index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Members(u64);

impl Members {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// Whether `index` is in the set.
    pub const fn contains(self, index: u8) -> bool {
        self.0 >> index & 1 == 1
    }

    /// Adds `index` (below 64).
    pub const fn insert(&mut self, index: u8) {
        self.0 |= 1 << index;
    }

    /// Removes `index`.
    pub const fn remove(&mut self, index: u8) {
        self.0 &= !(1 << index);
    }

    /// How many.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Nobody is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// In either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The members, ascending.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let index = (rest != 0).then(|| rest.trailing_zeros() as u8)?;
            rest &= rest - 1;
            Some(index)
        })
    }
}

impl FromIterator<u8> for Members {
    fn from_iter<I: IntoIterator<Item = u8>>(indices: I) -> Self {
        let mut set = Self::EMPTY;
        indices.into_iter().for_each(|index| set.insert(index));
        set
    }
}

/// How an election stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VoteResult {
    /// The votes so far decide nothing.
    Pending,
    /// No quorum can be reached any more.
    Lost,
    /// A quorum has granted it.
    Won,
}

/// The voters: a majority of each non-empty half must agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Quorum {
    /// The configuration in force, or the one being entered.
    pub incoming: Members,
    /// The one being left in a joint change; else empty.
    pub outgoing: Members,
}

impl Quorum {
    /// A plain majority of `voters`.
    pub const fn majority(voters: Members) -> Self {
        Self { incoming: voters, outgoing: Members::EMPTY }
    }

    /// Every voter of either half.
    pub const fn voters(self) -> Members {
        self.incoming.union(self.outgoing)
    }

    /// The largest index that a quorum has acknowledged; `u64::MAX` without voters.
    pub fn committed(self, acked: impl Fn(u8) -> u64) -> u64 {
        committed_by(self.incoming, &acked).min(committed_by(self.outgoing, &acked))
    }

    /// The state of the election; won without voters.
    pub fn vote(self, vote: impl Fn(u8) -> Option<bool>) -> VoteResult {
        match (vote_of(self.incoming, &vote), vote_of(self.outgoing, &vote)) {
            (a, b) if a == b => a,
            (VoteResult::Lost, _) | (_, VoteResult::Lost) => VoteResult::Lost,
            _ => VoteResult::Pending,
        }
    }

    /// Whether those for whom `active` holds are a quorum.
    pub fn has(self, active: impl Fn(u8) -> bool) -> bool {
        self.vote(|index| Some(active(index))) == VoteResult::Won
    }
}

fn committed_by(half: Members, acked: &impl Fn(u8) -> u64) -> u64 {
    if half.is_empty() {
        return u64::MAX;
    }
    let mut indices = [0; 64];
    let n = half.len();
    for (place, index) in indices.iter_mut().zip(half.iter()) {
        *place = acked(index);
    }
    indices[..n].sort_unstable();
    // A majority of n is n / 2 + 1: that many have at least the index at this place.
    indices[n - (n / 2 + 1)]
}

fn vote_of(half: Members, vote: &impl Fn(u8) -> Option<bool>) -> VoteResult {
    let quorum = half.len() / 2 + 1;
    let (mut granted, mut open) = (0, 0);
    for index in half.iter() {
        match vote(index) {
            Some(true) => granted += 1,
            Some(false) => {}
            None => open += 1,
        }
    }
    if half.is_empty() || granted >= quorum {
        VoteResult::Won
    } else if granted + open >= quorum {
        VoteResult::Pending
    } else {
        VoteResult::Lost
    }
}
