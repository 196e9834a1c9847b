//! What happens to an active-passive cluster that a quorum knows nothing of.

use serde::{Deserialize, Serialize};

use zonefall_kernel::time::Duration;
use zonefall_kernel::traced;

/// A fact of one active-passive cluster; members by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PassiveRecord {
    /// A snapshot is in the backup bucket.
    Uploaded {
        /// Member that uploaded it.
        by: u8,
        /// Of everything; otherwise of what came since the last one.
        full: bool,
        /// Last index in it.
        index: u64,
        /// Its bytes.
        bytes: u64,
    },
    /// A snapshot did not get into the bucket: it, or the member's process, was out of reach.
    NotUploaded {
        /// Member that tried to upload it.
        by: u8,
        /// Of everything; otherwise of what came since the last one.
        full: bool,
    },
    /// A standby has applied what the bucket held.
    Applied {
        /// Standby that has applied them.
        by: u8,
        /// Last index it has now.
        index: u64,
        /// Bytes fetched and applied.
        bytes: u64,
    },
    /// The other member could take over now, or could no longer.
    Ready {
        /// Member that stands by.
        member: u8,
        /// Whether it could.
        ready: bool,
    },
    /// The member that serves has failed enough checks: clients are sent to the other one, which takes over.
    Detected {
        /// Who served.
        from: u8,
        /// Who takes over.
        to: u8,
        /// For how long the controller has not heard the one that served.
        silent: Duration,
    },
    /// The member that serves has failed enough checks, and the other cannot take over.
    Alone {
        /// Who served.
        member: u8,
    },
    /// A member has begun a cluster of its own with what it has: what was committed beyond is lost.
    Forked {
        /// Member that goes on alone.
        member: u8,
        /// Last index it has.
        index: u64,
        /// Committed entries that it has not.
        lost: u64,
        /// The last of them was committed so long after the last one kept, at most (for a learner that was more than 4,096 entries
        /// behind: at least).
        window: Duration,
    },
    /// The member that took over serves.
    Serving {
        /// Member that has taken over.
        member: u8,
    },
    /// The member that another has taken over from is back, and has thrown its data away.
    Discarded {
        /// Member that discards its data.
        member: u8,
        /// Entries it had committed after the other took over: lost as well.
        lost: u64,
    },
}

traced! {
    enum PassiveRecord {
        Uploaded { by, full, index, bytes } = 0,
        NotUploaded { by, full } = 1,
        Applied { by, index, bytes } = 2,
        Ready { member, ready } = 3,
        Detected { from, to, silent } = 4,
        Alone { member } = 5,
        Forked { member, index, lost, window } = 6,
        Serving { member } = 7,
        Discarded { member, lost } = 8,
    }
}
