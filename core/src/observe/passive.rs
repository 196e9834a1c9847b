//! Facts of active-passive clusters in plain words.

use crate::etcd::passive::PassiveRecord;
use crate::ids::{EtcdId, MemberId};
use crate::scenario::{Scenario, text};

/// A fact of an active-passive cluster in plain words.
pub(crate) fn describe(record: PassiveRecord, cluster: EtcdId, scenario: &Scenario) -> String {
    let name = |index: u8| text::member(scenario, MemberId { cluster, index });
    let kind = |full: bool| if full { "full" } else { "delta" };
    match record {
        PassiveRecord::Uploaded { by, full, index, bytes } => {
            format!("{} has uploaded a {} snapshot up to index {index} ({})", name(by), kind(full), text::bytes(bytes))
        }
        PassiveRecord::NotUploaded { by, full } => format!("{} cannot upload a {} snapshot", name(by), kind(full)),
        PassiveRecord::Applied { by, index, bytes } => {
            format!("{} has applied snapshots up to index {index} ({})", name(by), text::bytes(bytes))
        }
        PassiveRecord::Ready { member, ready: true } => format!("{} is ready to take over", name(member)),
        PassiveRecord::Ready { member, ready: false } => format!("{} cannot take over", name(member)),
        PassiveRecord::Detected { from, to, silent } => {
            let silent = text::duration(silent);
            format!("{} starts to take over: {} has not answered for {silent}", name(to), name(from))
        }
        PassiveRecord::Alone { member } => format!("{} does not answer, and no member can take over", name(member)),
        PassiveRecord::Forked { member, index, lost: 0, .. } => {
            format!("{} starts a new cluster with all entries (up to index {index})", name(member))
        }
        PassiveRecord::Forked { member, index, lost, .. } => {
            format!("{} starts a new cluster without the last {lost} entries (up to index {index})", name(member))
        }
        PassiveRecord::Serving { member } => format!("{} has taken over", name(member)),
        PassiveRecord::Discarded { member, lost: 0 } => format!("{} discards its data", name(member)),
        PassiveRecord::Discarded { member, lost } => {
            format!("{} discards its data, including {lost} entries that it committed in the meantime", name(member))
        }
    }
}
