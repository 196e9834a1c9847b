//! `zonefall capacity`: how many control planes the seeds can host.

use std::path::Path;

use anyhow::{Result, anyhow};
use zonefall_core::capacity::{
    Constraint, DemandReport, Figure, Headroom, Needed, NodesPlan, Plan, SeedPlan, ShootLimit, plan, plan_nodes,
};
use zonefall_core::observe::kube::pending::pending;
use zonefall_core::report::PendingReport;
use zonefall_core::scenario::{RawScenario, text};

use crate::args::Format;
use crate::output::{DIM, HEAD, print, width};
use crate::page::Page;
use crate::{OK, input, kube};

pub(crate) fn capacity(file: &Path, nodes: bool, format: Format) -> Result<u8> {
    let text = input::text(file)?;
    let scenario = input::parse(file, &text)?;
    let raw = RawScenario::from_json(&text).map_err(|errors| anyhow!("{}: {errors}", file.display()))?;
    let no_seeds = || anyhow!("{}: no seeds, so there is no capacity to plan", file.display());
    let page = Page::new(width());
    let text = if nodes {
        let plan = plan_nodes(&raw, &scenario).ok_or_else(no_seeds)?;
        if is_nothing(&plan.demand) {
            return Err(anyhow!("{}: `capacity.demand` is empty: expected the shoots that need nodes", file.display()));
        }
        match format {
            Format::Table => nodes_table(&plan, &page),
            Format::Json => serde_json::to_string_pretty(&plan)? + "\n",
        }
    } else {
        let plan = plan(&raw, &scenario).ok_or_else(no_seeds)?;
        match format {
            Format::Table => table(&plan, pending(&scenario, &[], |_, _| 0).as_ref(), &page),
            Format::Json => serde_json::to_string_pretty(&plan)? + "\n",
        }
    };
    print(&text)?;
    Ok(OK)
}

fn table(plan: &Plan, pending: Option<&PendingReport>, page: &Page) -> String {
    let hosted: u32 = plan.seeds.iter().map(|seed| seed.hosted).sum();
    let beside = if hosted > 0 { format!(", in addition to the {hosted} already hosted") } else { String::new() };
    let mut parts: Vec<String> = kube::pending_control_planes(pending, page).into_iter().collect();
    parts.push(format!(
        "{HEAD}Headroom for shoots{HEAD:#} {DIM}(of one failure tolerance, on each seed{beside}){DIM:#}\n{}",
        bounds(plan, page, &|room| Some(&room.all_zones), false)
    ));
    if plan.seeds.iter().any(|seed| seed.needed_after_zone_loss.is_some()) {
        parts.push(format!(
            "{HEAD}Headroom after the loss of a zone{HEAD:#} {DIM}(all pods that can move are scheduled elsewhere){DIM:#}\n{}",
            bounds(plan, page, &|room| room.after_zone_loss.as_ref(), true)
        ));
    }
    parts.extend(needed(plan, page));
    parts.join("\n")
}

/// A row for each seed and failure tolerance.
fn bounds(plan: &Plan, page: &Page, which: &dyn Fn(&Headroom) -> Option<&ShootLimit>, lost: bool) -> String {
    let rooms = plan.seeds.iter().flat_map(|seed| seed.headroom.iter().map(move |room| (seed, room)));
    let rows = rooms.map(|(seed, room)| {
        let bound = which(room);
        let told = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let mut row = vec![seed.name.clone(), room.failure_tolerance.describe().to_owned()];
        row.push(told(bound.map(|bound| bound.shoots.to_string())));
        if lost {
            row.push(told(bound.and_then(|bound| bound.zone.clone())));
        }
        row.push(
            bound.map_or_else(|| "the seed has one zone".to_owned(), |limit| overfull(seed).unwrap_or_else(|| limiting(limit))),
        );
        row
    });
    if lost {
        page.table(&["seed", "failure tolerance", "shoots", "worst zone", "limiting resource"], rows, &[2])
    } else {
        page.table(&["seed", "failure tolerance", "shoots", "limiting resource"], rows, &[2])
    }
}

/// What is said of a seed that has no room for what it hosts.
fn overfull(seed: &SeedPlan) -> Option<String> {
    let (out, all) = (seed.hosted_without_room, seed.hosted);
    let verb = if out == 1 { "does" } else { "do" };
    (out > 0).then(|| format!("{out} of the {all} that are there {verb} not fit"))
}

fn limiting(limit: &ShootLimit) -> String {
    if limit.limiting_resources.is_empty() {
        return "scheduling constraints".to_owned();
    }
    let figures: Vec<String> = limit.limiting_resources.iter().map(figure).collect();
    let or: Vec<&str> = limit.alternatives.iter().map(|other| name(*other)).collect();
    let or = if or.is_empty() { String::new() } else { format!(" (or {})", or.join(", ")) };
    format!("{}{or}", figures.join(" and "))
}

/// `CPU: 69.5 of 72, 72.5 with one more`
fn figure(figure: &Figure) -> String {
    let Figure { constraint, used, available, needed_for_one_more, .. } = *figure;
    let amount = |n: u64| match constraint {
        Constraint::Cpu => format!("{}", n as f64 / 1_000.0),
        Constraint::Memory => text::bytes(n),
        Constraint::AllocatableShoots
        | Constraint::Surge
        | Constraint::NodeCidr
        | Constraint::Stock
        | Constraint::Volumes
        | Constraint::Pods
        | Constraint::Maximum => n.to_string(),
    };
    let pieces = if needed_for_one_more <= available { " (fragmented)" } else { "" };
    format!(
        "{}: {} of {}, {} with one more{pieces}",
        name(constraint),
        amount(used),
        amount(available),
        amount(needed_for_one_more)
    )
}

const fn name(constraint: Constraint) -> &'static str {
    match constraint {
        Constraint::AllocatableShoots => "allocatable shoots",
        Constraint::Surge => "surge",
        Constraint::NodeCidr => "node CIDR",
        Constraint::Stock => "machine stock",
        Constraint::Cpu => "CPU",
        Constraint::Memory => "memory",
        Constraint::Volumes => "volumes",
        Constraint::Pods => "pods",
        Constraint::Maximum => "pool maximum",
    }
}

fn needed(plan: &Plan, page: &Page) -> Option<String> {
    if is_nothing(&plan.demand) {
        return None;
    }
    let rows = plan.seeds.iter().map(|seed| (vec![seed.name.clone()], &seed.needed, seed.needed_after_zone_loss.as_ref()));
    let note = "(by failure tolerance; together: for all shoots that such a seed can host)";
    let table = needed_table(&["seeds like"], rows, &plan.demand, page);
    Some(format!("{HEAD}Seeds needed{HEAD:#} {DIM}{note}{DIM:#}\n{table}"))
}

fn nodes_table(plan: &NodesPlan, page: &Page) -> String {
    let rows = plan.pools.iter().map(|pool| {
        let machine = pool.machine.clone().unwrap_or_else(|| "-".to_owned());
        (vec![pool.seed.clone(), pool.pool.clone(), machine], &pool.needed, pool.needed_after_zone_loss.as_ref())
    });
    let note =
        "(of each pool on one such seed, whatever limits it; by failure tolerance; together: for all shoots that it can host)";
    let table = needed_table(&["seed", "pool", "machine type"], rows, &plan.demand, page);
    format!("{HEAD}Nodes needed{HEAD:#} {DIM}{note}{DIM:#}\n{table}")
}

const fn is_nothing(demand: &DemandReport) -> bool {
    demand.none == 0 && demand.node == 0 && demand.zone == 0
}

/// Two rows for each subject: without a reserve, and with one for the loss of a zone.
fn needed_table<'a>(
    subject: &[&str],
    all: impl Iterator<Item = (Vec<String>, &'a Needed, Option<&'a Needed>)>,
    demand: &DemandReport,
    page: &Page,
) -> String {
    let count = |count: Option<u32>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
    let row = |subject: &[String], needed: &Needed, kept: &str| {
        let counts = [needed.none, needed.node, needed.zone, needed.together].map(count);
        subject.iter().cloned().chain([kept.to_owned()]).chain(counts).collect::<Vec<_>>()
    };
    let rows = all.flat_map(|(subject, needed, after)| {
        let after = after.map(|needed| row(&subject, needed, "loss of a zone"));
        std::iter::once(row(&subject, needed, "none")).chain(after)
    });
    let heads =
        [format!("{} with none", demand.none), format!("{} with node", demand.node), format!("{} with zone", demand.zone)];
    let head = subject.iter().copied().chain(["reserve", &heads[0], &heads[1], &heads[2], "together"]).collect::<Vec<_>>();
    let numbers: Vec<usize> = (1..5).map(|k| subject.len() + k).collect();
    page.table(&head, rows, &numbers)
}
