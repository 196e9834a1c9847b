//! Components as they are rendered, without a browser.

use std::rc::Rc;
use std::sync::Arc;

use yew::{BaseComponent, Callback, LocalServerRenderer};
use zonefall_core::ids::{ClientId, EtcdId, KubeClusterId, MemberId, ZoneId};
use zonefall_core::kernel::time::Time;
use zonefall_core::kube::record::Reason;
use zonefall_core::report::{CostSplit, PendingReport, PendingShootReport, RefusedReport, Report, StoryKind};
use zonefall_core::run::{Run, lasting};
use zonefall_core::scenario::kube::gardener::FailureTolerance;
use zonefall_core::scenario::text;
use zonefall_core::scenario::{Scenario, bundled, default_scenario};
use zonefall_core::sim::Options;
use zonefall_core::sim::view::SimulationView;

use super::export::csv;
use super::inspector::{Inspector, InspectorProps};
use super::same::Same;
use super::tabs::{Contents, Tabs, TabsProps};
use super::timeline::axis::Range;
use super::verdict::{Verdict, VerdictProps};
use crate::state::{Selection, Tab};

/// The bundled zone outage, a little after the zone has lost its power.
struct World {
    scenario: Same<Scenario>,
    view: Same<SimulationView>,
    report: Same<Report>,
}

fn world() -> World {
    let at = Time::from_nanos(70_000_000_000);
    let scenario = Scenario::from_json(default_scenario().json).unwrap();
    let scenario = Arc::new(lasting(&scenario, at.since(Time::ZERO)));
    let mut run = Run::new(&scenario, 1, Options::default());
    run.advance(at, &mut |_, _| {});
    let (view, report) = (run.simulation().view(), run.report());
    World { scenario: Same(Rc::new((*scenario).clone())), view: Same(Rc::new(view)), report: Same(Rc::new(report)) }
}

fn render<C: BaseComponent>(props: C::Properties) -> String {
    let renderer = LocalServerRenderer::<C>::with_props(props).hydratable(false);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(tokio::task::LocalSet::new().run_until(renderer.render()))
}

fn inspector(world: &World, is: impl Into<Option<Selection>>) -> String {
    let World { scenario, view, report } = world;
    render::<Inspector>(InspectorProps {
        scenario: Some(scenario.clone()),
        view: Some(view.clone()),
        report: Some(report.clone()),
        selection: is.into(),
        dispatch: Callback::noop(),
    })
}

#[test]
fn the_inspector_offers_what_fits_and_tells_what_happened_to_it() {
    let world = world();
    let zone = inspector(&world, Selection::Zone(ZoneId(0)));
    // What is broken is mended, not broken again; a zone's events are also those of its members.
    for there in ["intervention-repair-", "intervention-cut-off", "amount-delay", "intervention-lasts", "etcd-main-0 stops"] {
        assert!(zone.contains(there), "{there} in {zone}");
    }
    assert!(!zone.contains("intervention-power-off"), "{zone}");
    let member = inspector(&world, Selection::Member(MemberId { cluster: EtcdId(0), index: 1 }));
    for there in ["intervention-kill", "value=\"500ms\"", "eu-west-1b"] {
        assert!(member.contains(there), "{there} in {member}");
    }
    let client = inspector(&world, Selection::Client(ClientId(0)));
    for there in ["the leader", "p50 / p90 / p99", "100 per second"] {
        assert!(client.contains(there), "{there} in {client}");
    }
    assert!(!client.contains("data-testid=\"intervention"), "{client}");
}

#[test]
fn where_nothing_is_selected_there_are_things_to_try() {
    let html = inspector(&world(), None);
    for there in ["Quick actions, at 00:01:10", "Power off eu-west-1c, the leader", "Kill etcd-main-2", "try-cut-off"] {
        assert!(html.contains(there), "{there} in {html}");
    }
}

/// The published zone outage, at this minute.
fn outage(minute: u64) -> World {
    let json = bundled().iter().find(|scenario| scenario.name == "eu-west-1a-outage").unwrap().json;
    let scenario = Scenario::from_json(json).unwrap();
    let at = Time::from_nanos(60_000_000_000 * minute);
    let mut run = Run::new(&Arc::new(lasting(&scenario, at.since(Time::ZERO))), 1, Options::default());
    run.advance(at, &mut |_, _| {});
    let (view, report) = (run.simulation().view(), run.report());
    World { scenario: Same(Rc::new(scenario)), view: Same(Rc::new(view)), report: Same(Rc::new(report)) }
}

#[test]
fn the_inspector_tells_of_pods_machines_and_nodes() {
    let world = outage(50);
    let cluster = KubeClusterId(0);
    let pod = world.view.clusters[KubeClusterId(0)].pods.iter().find(|pod| pod.unschedulable == Some(Reason::VolumeZone));
    let pod = pod.expect("a member of etcd waits for its volume");
    let html = inspector(&world, Selection::Pod(cluster, pod.name));
    for there in ["Pending", "its volume is in another zone", "shoot--garden--aws-ha", "etcd-"] {
        assert!(html.contains(there), "{there} in {html}");
    }
    let machine = world.view.clusters[KubeClusterId(0)].machines.iter().find(|machine| machine.node.is_none()).unwrap();
    let html = inspector(&world, Selection::Machine(cluster, machine.name));
    for there in ["Terminating", "eu-west-1a", "none"] {
        assert!(html.contains(there), "{there} in {html}");
    }
    let first = world.scenario.nodes.position(|node| node.name.starts_with("ip-10-242-20-17")).unwrap();
    let html = inspector(&world, Selection::Node(first));
    for there in ["its kubelet sends no heartbeats", "node.kubernetes.io/unreachable:NoExecute", "pjq6n: Unknown"] {
        assert!(html.contains(there), "{there} in {html}");
    }
    let html = inspector(&world, Selection::Zone(ZoneId(0)));
    assert!(html.contains("0 ready, 3 not ready, 0 cordoned") && html.contains("3 CrashLoopBackOff"), "{html}");
}

#[test]
fn a_lost_node_that_reads_ready_tells_when_that_is_noticed() {
    let world = outage(11);
    let first = world.scenario.nodes.position(|node| node.name.starts_with("ip-10-242-20-17")).unwrap();
    let html = inspector(&world, Selection::Node(first));
    // The zone is cut off at ten minutes; two minutes of grace, and at most one look of five seconds before they begin.
    assert!(html.contains("△ True, though it is cut off: Kubernetes notices within 1:05"), "{html}");
}

#[test]
fn a_component_tells_what_its_pods_waited_for() {
    let World { report, .. } = outage(50);
    let tabs = |contents| {
        render::<Tabs>(TabsProps {
            tab: Tab::Recovery,
            scenario: None,
            view: None,
            tall: false,
            report: Some(report.clone()),
            close_up: None,
            clusters: Same(Rc::new(report.etcd.keys().cloned().collect())),
            cluster: 0,
            on_cluster: Callback::noop(),
            filter: String::new(),
            kinds: std::collections::BTreeSet::new(),
            at: Time::ZERO,
            range: Range::whole(Time::from_nanos(3_000_000_000_000)),
            on_range: Callback::noop(),
            contents,
            dark: false,
            tables: false,
            provider: None,
            dispatch: Callback::noop(),
        })
    };
    let html = tabs(Contents { kube: true, ..Contents::default() });
    // What is not back comes first, and is shown.
    for there in [
        "component-kube-apiserver",
        "not recovered after 40 min",
        "topology spread constraints are not satisfied",
        "wait-scheduled",
    ] {
        assert!(html.contains(there), "{there} in {html}");
    }
    assert!(!tabs(Contents::default()).contains("component-"));
    let rows = csv::of(Tab::Recovery, &report, "");
    assert_eq!(rows.lines().count(), 1 + report.recovery.iter().map(|pod| pod.waits.len()).sum::<usize>());
}

#[test]
fn the_list_has_a_switch_for_each_kind_of_event_there_is() {
    let World { report, .. } = world();
    let count = |kinds: &[StoryKind], filter: &str| {
        let html = render::<Tabs>(TabsProps {
            tab: Tab::Events,
            scenario: None,
            view: None,
            tall: false,
            report: Some(report.clone()),
            close_up: None,
            clusters: Same(Rc::new(report.etcd.keys().cloned().collect())),
            cluster: 0,
            on_cluster: Callback::noop(),
            filter: filter.to_owned(),
            kinds: kinds.iter().copied().collect(),
            at: Time::ZERO,
            range: Range::whole(Time::from_nanos(70_000_000_000)),
            on_range: Callback::noop(),
            contents: Contents::default(),
            dark: false,
            tables: false,
            provider: None,
            dispatch: Callback::noop(),
        });
        assert!(html.contains("kind-faults") && html.contains("kind-elections") && !html.contains("kind-data-loss"), "{html}");
        html.matches("data-testid=\"event\"").count()
    };
    let elections = report.story.iter().filter(|line| line.kind == StoryKind::Election).count();
    assert!(elections > 0 && count(&[], "") > elections);
    assert_eq!((count(&[StoryKind::Election], ""), count(&[], "lost POWER")), (elections, 1));
    assert_eq!(count(&[StoryKind::Election], "lost power"), 0);
}

/// A tab at the start of a run.
fn tab(tab: Tab, report: &Same<Report>, tables: bool) -> String {
    tab_of(tab, report, tables, None)
}

/// The same, with the provider that was chosen.
fn tab_of(tab: Tab, report: &Same<Report>, tables: bool, provider: Option<&str>) -> String {
    render::<Tabs>(TabsProps {
        tab,
        scenario: None,
        view: None,
        tall: false,
        report: Some(report.clone()),
        close_up: None,
        clusters: Same(Rc::new(report.etcd.keys().cloned().collect())),
        cluster: 0,
        on_cluster: Callback::noop(),
        filter: String::new(),
        kinds: std::collections::BTreeSet::new(),
        at: Time::ZERO,
        range: Range::whole(Time::from_nanos((report.simulated_s * 1e9) as u64)),
        on_range: Callback::noop(),
        contents: Contents { kube: true, ..Contents::default() },
        dark: false,
        tables,
        provider: provider.map(str::to_owned),
        dispatch: Callback::noop(),
    })
}

#[test]
fn the_matrix_has_the_bytes_of_each_pair_of_zones() {
    let World { report, .. } = world();
    let html = tab(Tab::Traffic, &report, false);
    assert_eq!(html.matches("data-testid=\"matrix-").count(), report.zone_pairs.len());
    for pair in &report.zone_pairs {
        let id = format!("data-testid=\"matrix-{}-{}\"", pair.from_zone, pair.to_zone);
        let cell = html.split_once(&id).unwrap_or_else(|| panic!("{id} in {html}")).1;
        let cell = cell.split_once("</td>").unwrap().0;
        assert!(cell.contains(&text::bytes(pair.wire_bytes)) && cell.contains("/s"), "{cell}");
    }
    for there in ["<caption>Bytes from zone", "scope=\"row\"", "scope=\"col\"", "shade-4"] {
        assert!(html.contains(there), "{there} in {html}");
    }
}

#[test]
fn latency_is_told_by_path() {
    let World { report, .. } = world();
    let html = tab(Tab::Latency, &report, true);
    for there in ["put, eu-west-1b → leader", "serializable read, eu-west-1b → nearest"] {
        assert!(html.contains(there), "{there} in {html}");
    }
}

/// A bundled scenario after an hour.
fn an_hour_of(name: &str) -> Same<Report> {
    let json = bundled().iter().find(|scenario| scenario.name == name).unwrap().json;
    let at = Time::from_nanos(3_600_000_000_000);
    let scenario = lasting(&Scenario::from_json(json).unwrap(), at.since(Time::ZERO));
    let mut run = Run::new(&Arc::new(scenario), 1, Options::default());
    run.advance(at, &mut |_, _| {});
    Same(Rc::new(run.report()))
}

/// The same without prices.
fn uncharged(report: &Report) -> Same<Report> {
    Same(Rc::new(Report { cost: Vec::new(), prices: Vec::new(), bill: None, ..report.clone() }))
}

#[test]
fn the_cost_tab_has_the_bill_and_what_it_rests_on_or_says_how_to_get_one() {
    let World { report, .. } = world();
    let html = tab(Tab::Cost, &report, false);
    assert!(!html.contains("no-prices") && html.contains("data-testid=\"chart\""), "{html}");
    let html = tab(Tab::Cost, &uncharged(&report), false);
    assert!(html.contains("no-prices") && !html.contains("data-testid=\"chart\""), "{html}");
    let report = an_hour_of("cost-of-tolerance");
    let html = tab(Tab::Cost, &report, false);
    for there in ["data-testid=\"chart\"", "aws eu-west-1", "machines, shared", "none → node", "unverified", "second-hand"] {
        assert!(html.contains(there), "{there} in {html}");
    }
    // Machines of a month, whoever has them: 22 of 0.428 dollars an hour.
    assert!(html.contains("$6,873.68"), "{html}");
    let rows = csv::of(Tab::Cost, &report, "");
    assert_eq!(rows.lines().count(), 1 + report.cost.len());
}

#[test]
fn the_bill_is_that_of_the_provider_that_is_chosen() {
    let report = an_hour_of("cost-of-tolerance");
    let html = |provider: Option<&str>| tab_of(Tab::Cost, &report, true, provider);
    for (wanted, shown) in [(None, "aws"), (Some("gcp"), "gcp"), (Some("nobody"), "aws")] {
        let html = html(wanted);
        let title = report.provider_title(shown);
        for there in [format!("The running bill of {shown}"), format!("Projected monthly cost with {title}")] {
            assert!(html.contains(&there), "{there} in {html}");
        }
        assert_eq!(html.matches("type=\"radio\"").count(), 3, "{html}");
    }
    // What is dearest comes first, and what is left out is counted: 30 shoots, and what is of none of them.
    let html = html(Some("gcp"));
    let split = |id: &str| {
        let part = html.split_once(&format!("data-testid=\"split-{id}\"")).unwrap_or_else(|| panic!("{id} in {html}")).1;
        part.split_once("</details>").unwrap().0
    };
    let shoots = split("shoot");
    assert!(
        shoots.contains("By shoot (31)") && shoots.contains("11 more: $") && shoots.matches("<tr>").count() == 21,
        "{shoots}"
    );
    assert!(split("component").contains("unused") && split("zone-pair").contains("za → zb"), "{html}");
    let sum: f64 = report.cost_split("gcp", CostSplit::Shoot).iter().map(|(_, usd)| usd).sum();
    assert!(report.month().unwrap().contains(&format!(", {} (gcp)", text::dollars(sum))), "{:?}", report.month());
}

fn verdict(report: &Same<Report>, forked: bool, done: bool) -> String {
    let (report, stopped, gave_up) = (Some(report.clone()), false, None);
    render::<Verdict>(VerdictProps { report, loaded: true, forked, done, stopped, gave_up, on_visit: Callback::noop() })
}

#[test]
fn every_moment_of_the_verdict_is_a_button_and_a_fork_is_not_judged() {
    let World { report, .. } = world();
    let html = verdict(&report, true, false);
    assert!(html.contains("verdict-moment") && html.contains("so-far") && !html.contains("expectations-failed"), "{html}");
    let html = verdict(&uncharged(&report), false, true);
    assert!(!html.contains("so-far") && !html.contains("a month"), "{html}");
    let priced = an_hour_of("cost-of-tolerance");
    let html = verdict(&priced, false, true);
    assert!(html.contains(&priced.month().unwrap()), "{html}");
}

#[test]
fn what_is_not_there_comes_first_and_refusals_are_told() {
    let World { report, .. } = world();
    assert!(!verdict(&report, false, true).contains("verdict-headline") && !tab(Tab::Report, &report, false).contains("Pending"));
    let shoot = |shoot: &str| PendingShootReport {
        shoot: shoot.to_owned(),
        failure_tolerance: FailureTolerance::None,
        reason: "no seed".to_owned(),
    };
    let pending = Some(PendingReport {
        control_planes: 40,
        shoots: vec![shoot("s-39"), shoot("s-40")],
        pods: Vec::new(),
        workloads: Vec::new(),
    });
    let refused =
        RefusedReport { at_s: 90.0, operation: "remove etcd-main-1".to_owned(), reason: "unhealthy cluster".to_owned() };
    let report = Same(Rc::new(Report { pending, refused: vec![refused], ..(*report).clone() }));
    let html = verdict(&report, false, true);
    let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} in {html}"));
    assert!(place("2 of 40 control planes were never created: no seed.") < place("linearizable reads"), "{html}");
    let html = tab(Tab::Report, &report, false);
    for there in
        ["Pending control planes", "s-39 to s-40 (2)", "no seed", "Refused operations", "remove etcd-main-1", "unhealthy cluster"]
    {
        assert!(html.contains(there), "{there} in {html}");
    }
}

#[test]
fn the_data_that_is_taken_home_is_the_reports() {
    let World { report, .. } = world();
    let rows = |tab| -> Vec<Vec<String>> {
        let text = csv::of(tab, &report, "etcd-main");
        text.split_terminator("\r\n").map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    let cluster = &report.etcd["etcd-main"];
    let outages = rows(Tab::Availability);
    let first = &cluster.outages[0];
    assert_eq!(outages[0], ["service", "from_s", "to_s", "completed", "root_cause", "unavailable_s"]);
    assert_eq!(outages[1][..4], ["writes".to_owned(), first.from_s.to_string(), first.to_s.to_string(), "true".to_owned()]);
    assert!(outages[1][4].starts_with("zone eu-west-1a lost power"), "{outages:?}");
    assert_eq!((outages.len(), rows(Tab::Events).len()), (1 + cluster.outages.len(), 1 + report.story.len()));
    // Windows add up to the whole: a request is counted once.
    let writer = zonefall_plots::latency::label(&cluster.latency[0]);
    let text = csv::of(Tab::Latency, &report, "etcd-main");
    let counts =
        text.lines().filter_map(|line| line.strip_prefix(&format!("\"{writer}\",")).or(line.strip_prefix(&format!("{writer},"))));
    let counted: u64 = counts.map(|rest| rest.split(',').nth(1).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(counted, cluster.latency[0].count, "{text:.400}");
    let links = rows(Tab::Report);
    let sum = |column: usize| links[1..].iter().map(|row| row[column].parse::<u64>().unwrap()).sum::<u64>();
    assert_eq!(sum(6), report.links.iter().map(|link| link.wire_bytes).sum::<u64>());
}
