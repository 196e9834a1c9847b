//! What is said of services that nobody asks for, or only clients that name a member, while disks are slow.

use super::*;
use zonefall_core::report::{OutageKind, Report};
use zonefall_core::scenario::{Client, DiskSlow};

const LASTS: u64 = 100;

/// Three disks that take 1.2 s more for each sync, and this client.
fn slow_disks(client: Client) -> Report {
    let slow = |volume: u16| {
        Fault::DiskSlow(DiskSlow { volume: FaultTarget::Named(VolumeId(volume)), factor: 1.0, add: Duration::from_millis(1_200) })
    };
    let mut scenario = faulty(LASTS, slow(0));
    let [first, ..] = &scenario.faults[..] else { panic!("one fault") };
    let (at, lasts) = (first.at, first.lasts);
    scenario.faults.extend([1, 2].map(|volume| PlannedFault { at, lasts, fault: slow(volume) }));
    // Longer than a write takes on idle disks.
    scenario.probe.deadline = Duration::from_secs(2);
    scenario.clients = vec![client].into();
    check_modes(&scenario, 1)
}

#[test]
fn a_client_that_names_the_leader_tells_what_others_would_meet() {
    for target in [Target::Member(0), Target::Leader] {
        let etcd = &slow_disks(Client { target, ..puts(20) }).etcd["etcd-main"];
        assert!((LASTS as f64 * 0.9..LASTS as f64 * 1.1).contains(&etcd.write_unavailable_s), "{target:?}: {:?}", etcd.outages);
        assert_eq!(etcd.unobserved, [OutageKind::ReadLinearizable, OutageKind::ReadSerializable], "{target:?}");
    }
}

#[test]
fn nothing_is_said_of_services_that_nobody_asks_for_but_what_the_state_tells() {
    let known = "were always available by the members' state; no requests tell of them, and others were late.";
    let all = slow_disks(Client { target: Target::All, ..puts(20) });
    let verdict = all.verdict().replace('\n', " ");
    assert!(verdict.contains(&format!("Linearizable reads {known}")), "{verdict}");
    // A follower's own trouble, perhaps.
    let bound = slow_disks(Client { target: Target::Member(1), retries: 0, ..puts(20) });
    let verdict = bound.verdict().replace('\n', " ");
    assert!(verdict.contains(&format!("Writes and linearizable reads {known}")), "{verdict}");
    let quiet = slow_disks(Client { target: Target::All, stop: at(30), ..puts(20) });
    assert_eq!(quiet.etcd["etcd-main"].unobserved, []);
}
