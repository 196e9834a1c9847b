//! The scenarios of apiserver `pkg/util/flowcontrol/fairqueuing/queueset/queueset_test.go`, with its margins.

use super::uniform::{Client, Expected, Scenario, check, client};
use Expected::{Fair, Unfair};

use crate::spec::fairness::{Excess, Queuing};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const S: i64 = SECOND as i64;

/// Flows of the original, by the hashes that it gives them.
const FLOW_1: u64 = 1_001_001_001;
const FLOW_2: u64 = 2_002_002_002;

const fn waits(queues: u32, queue_length_limit: u32, hand_size: u32) -> Excess {
    Excess::Waits(Queuing { queues, hand_size, queue_length_limit })
}

/// A name, what becomes of excess requests, seats, clients, seconds, what is expected.
type Row<'a> = (&'a str, Excess, u32, &'a [Client], u64, &'a [Expected]);

#[test]
fn levels_are_as_fair_as_real_ones() {
    const QUARTER: u64 = 91 * 24 * 3_600 * SECOND;
    const Q: i64 = QUARTER as i64;
    let wide = |hash, seats| client(hash, 15, 21, SECOND, S - 1).wide(seats);
    let windup = [client(FLOW_1, 2, 40, SECOND, -1), client(FLOW_2, 2, 40, SECOND, -1).split()];
    let rows: [Row<'_>; 11] = [
        ("Baseline", waits(9, 8, 3), 1, &[client(FLOW_1, 1, 21, SECOND, 0)], 20, &[Fair(0.0)]),
        (
            "UniformFlowsHandSize1",
            waits(9, 8, 1),
            4,
            &[client(FLOW_1, 8, 20, SECOND, S - 1), client(FLOW_2, 8, 20, SECOND, S - 1)],
            50,
            &[Fair(0.01)],
        ),
        (
            "UniformFlowsHandSize3",
            waits(8, 16, 3),
            4,
            &[client(400_900_100_100, 8, 30, SECOND, S - 1), client(300_900_200_200, 8, 30, SECOND, S - 1)],
            60,
            &[Fair(0.03)],
        ),
        (
            "DifferentFlowsExpectEqual",
            waits(9, 8, 1),
            4,
            &[client(FLOW_1, 8, 20, SECOND, S), client(FLOW_2, 7, 30, SECOND, S / 2)],
            40,
            &[Fair(0.01)],
        ),
        (
            "SeatSecondsRollover",
            waits(9, 8, 1),
            2_000,
            &[client(FLOW_1, 8, 20, QUARTER, Q).wide(500), client(FLOW_2, 7, 30, QUARTER, Q / 2).wide(500)],
            40 * QUARTER / SECOND,
            &[Fair(0.01)],
        ),
        (
            "DifferentFlowsExpectUnequal",
            waits(9, 6, 1),
            3,
            &[client(FLOW_1, 4, 20, SECOND, S - 1), client(FLOW_2, 2, 20, SECOND, S - 1)],
            20,
            &[Fair(0.01)],
        ),
        (
            "DifferentWidths",
            waits(64, 13, 7),
            6,
            &[client(10_010_010_010_010, 13, 10, SECOND, S - 1), client(20_020_020_020_020, 7, 10, SECOND, S - 1).wide(2)],
            20,
            &[Fair(0.155)],
        ),
        (
            "TooWide",
            waits(64, 35, 7),
            6,
            &[
                wide(40_040_040_040_040, 2),
                wide(50_050_050_050_050, 2),
                wide(60_060_060_060_060, 2),
                wide(70_070_070_070_070, 2),
                wide(90_090_090_090_090, 7),
            ],
            400,
            &[Fair(0.35)],
        ),
        ("Windup/upper-bound", waits(9, 6, 1), 3, &windup, 40, &[Fair(0.01), Fair(0.26)]),
        ("Windup/lower-bound", waits(9, 6, 1), 3, &windup, 40, &[Fair(0.01), Unfair(0.1)]),
        (
            "DifferentFlowsWithoutQueuing",
            Excess::IsRejected,
            4,
            &[client(FLOW_1, 6, 10, SECOND, 57 * MS as i64), client(FLOW_2, 4, 15, SECOND, 750 * MS as i64)],
            13,
            &[Unfair(0.2)],
        ),
    ];
    for (name, excess, seats, clients, duration_s, expected) in rows {
        let rejects = excess == Excess::IsRejected;
        let duration = duration_s * SECOND;
        check(&Scenario { name, excess, seats, clients, duration, expected, averages: None, rejects });
    }
}

/// `TestExampt` of that file.
#[test]
fn requests_at_an_exempt_level_execute_whatever_seats_there_are() {
    for seats in [0, 2] {
        let clients = [client(FLOW_1, 5, 20, SECOND, S).wide(3)];
        let (name, excess, duration) = ("Exempt", Excess::Executes, 40 * SECOND);
        let (expected, averages) = (&[Fair(1e-8)][..], Some(&[7.5][..]));
        check(&Scenario { name, excess, seats, clients: &clients, duration, expected, averages, rejects: false });
    }
}

/// `TestSeparations` of that file: think time in ms, additional latency in ms, seats in that, seats of the level, clients, averages that
/// are not those of clients without additional latency.
#[test]
fn clients_get_exactly_what_think_time_and_additional_latency_leave() {
    const THIRD: f64 = 1.0 / 3.0;
    let rows: [(u64, u64, u32, u32, usize, Option<f64>); 24] = [
        (1_000, 0, 1, 1, 1, None),
        (1_000, 0, 1, 2, 1, None),
        (1_000, 0, 2, 2, 1, None),
        (1_000, 0, 1, 1, 2, None),
        (1_000, 0, 1, 2, 2, None),
        (1_000, 0, 2, 2, 2, None),
        (0, 1_000, 1, 1, 1, Some(0.5)),
        (0, 1_000, 1, 2, 1, None),
        (0, 1_000, 2, 2, 1, Some(0.5)),
        (0, 1_000, 1, 1, 2, Some(0.25)),
        (0, 1_000, 1, 2, 2, Some(0.5)),
        (0, 1_000, 2, 2, 2, Some(0.25)),
        (1_000, 500, 1, 1, 1, None),
        (1_000, 500, 1, 2, 1, None),
        (1_000, 500, 2, 2, 1, None),
        (1_000, 500, 1, 1, 2, Some(THIRD)),
        (1_000, 500, 1, 2, 2, None),
        (1_000, 500, 2, 2, 2, Some(THIRD)),
        (500, 1_000, 1, 1, 1, Some(0.5)),
        (500, 1_000, 1, 2, 1, None),
        (500, 1_000, 2, 2, 1, Some(0.5)),
        (500, 1_000, 1, 1, 2, Some(0.25)),
        (500, 1_000, 1, 2, 2, Some(0.5)),
        (500, 1_000, 2, 2, 2, Some(0.25)),
    ];
    for row in rows {
        let (thinks, pad, final_seats, seats, count, average) = row;
        let flow = |hash| client(hash, 1, 25, SECOND, (thinks * MS) as i64).padded(final_seats, pad * MS);
        let (name, clients) = (format!("{row:?}"), [flow(FLOW_1), flow(FLOW_2)]);
        let averages = average.map(|average| vec![average; count]);
        check(&Scenario {
            name: &name,
            excess: waits(9, 8, 3),
            seats,
            clients: &clients[..count],
            duration: 24 * SECOND,
            expected: &[Fair(0.0)],
            averages: averages.as_deref(),
            rejects: false,
        });
    }
}
