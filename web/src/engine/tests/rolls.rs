//! Rollouts that somebody asks for at the playhead.

use zonefall_core::ids::{KubeClusterId, NodeKey, WorkloadId};
use zonefall_core::scenario::kube::Task;

use super::*;

fn roll(cluster: u16, task: Task) -> Intervention {
    Intervention::Roll { cluster: KubeClusterId(cluster), task }
}

/// What a scenario asks for, and what somebody asks for at the same moments of the scenario without it.
#[test]
fn who_rolls_by_hand_gets_what_an_operation_does() {
    let mut by_hand: serde_json::Value = serde_json::from_str(text("rollback-order")).unwrap();
    by_hand["operations"] = serde_json::json!([]);
    let mut worker = Worker::new(Limits { spacing: 30_000, ..Limits::default() });
    worker.session.request(WorkerRequest::Load { load: LOAD, text: by_hand.to_string(), seed: None });
    worker.finish();
    let operations = &scenario("rollback-order").kube.operations;
    for (k, operation) in (0u32..).zip(operations) {
        worker.fork(k + 1, k, operation.at, roll(operation.cluster.0, operation.task));
    }
    let mut found = final_report(&worker.finish(), BranchId(operations.len() as u32));
    let expected = fresh(&Arc::new(scenario("rollback-order")));
    found.events = expected.events;
    assert_eq!(found.rollouts, expected.rollouts);
    assert_eq!(found, expected);
}

#[test]
fn the_picture_tells_revisions_and_pauses() {
    let mut worker = Worker::loaded("rollback-order");
    let views = [299, 310, 1_700].map(|at| worker.look(s(at), false).clusters[KubeClusterId(0)].clone());
    let stands = views.each_ref().map(|view| (view.rollouts[0].revision, view.rollouts[0].rolled));
    assert_eq!(stands, [(0, false), (1, true), (0, true)]);
    let of_revision = |revision| views[1].pods.iter().filter(|pod| pod.revision == revision).count();
    assert!(of_revision(0) > of_revision(1), "the rollout has begun");
}

#[test]
fn only_rollouts_of_what_is_there_can_be_asked_for() {
    let mut worker = Worker::loaded("rollback-order");
    let rows = [
        (roll(9, Task::RollComponent(WorkloadId(0))), "its cluster is not there"),
        (roll(0, Task::RollComponent(WorkloadId(900))), "its workload is not there"),
        (roll(0, Task::PauseRollout(WorkloadId(0))), "is not a Deployment"),
        (roll(0, Task::DrainNode(NodeKey(0))), "only rollouts"),
    ];
    for (number, (intervention, expected)) in (1u32..).zip(rows) {
        worker.fork(number, 0, s(1), intervention);
        let why = worker.finish().into_iter().find_map(|response| match response {
            WorkerResponse::GaveUp { branch, why, .. } if branch == BranchId(number) => Some(why),
            _ => None,
        });
        assert!(why.as_ref().is_some_and(|why| why.contains(expected)), "{expected}: {why:?}");
    }
}
