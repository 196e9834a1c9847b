//! etcd clusters: members and where they are, what the cluster looks like at the start, its timers.

use serde_json::{Value, json};
use yew::prelude::*;

use super::field::{As, Cx, fresh, plain};

pub(super) fn section(cx: &Cx<'_>) -> Html {
    let names = cx.names("etcd");
    let nodes = cx.names("topology/nodes");
    let new = fresh("etcd-", names.len() + 1, &names);
    let members: Vec<Value> =
        nodes.iter().take(3).enumerate().map(|(m, node)| json!({"name": format!("{new}-{m}"), "node": node})).collect();
    let body = html! {
        <>
            { cx.group("etcd") }
            { for names.iter().enumerate().map(|(c, name)| cluster(cx, c, name, &nodes)) }
            { cx.add("etcd", "cluster", json!({"name": new, "members": members})) }
        </>
    };
    cx.section("etcd", "etcd clusters", &names.join(", "), true, body)
}

fn cluster(cx: &Cx<'_>, c: usize, name: &str, nodes: &[String]) -> Html {
    let path = format!("etcd/{c}");
    let members = cx.names(&format!("{path}/members"));
    let new = json!({"name": fresh(&format!("{name}-"), members.len(), &members), "node": emptiest(cx, &path, nodes)});
    let mut leaders = plain(&members);
    leaders.push(("none".to_owned(), "nobody: they elect one".to_owned()));
    html! {
        <fieldset class="item">
            <legend>{ name }</legend>
            <div class="row">{ cx.text(&format!("{path}/name"), "Cluster", As::Name) }{ cx.remove(&path, &format!("cluster {name}")) }</div>
            { cx.group(&format!("{path}/members")) }
            { for members.iter().enumerate().map(|(m, name)| member(cx, &format!("{path}/members/{m}"), name, nodes)) }
            { cx.add(&format!("{path}/members"), "member", new) }
            <details class="more" data-testid={format!("form-etcd-{c}-more")}>
                <summary>{ "At the start, timers, sizes" }</summary>
                <div class="fields">
                    { cx.choice(&format!("{path}/initial/leader"), "Leader at the start", Some("first that can"), &leaders) }
                    { cx.text(&format!("{path}/initial/database"), "Database", As::Text) }
                    { cx.text(&format!("{path}/initial/revision"), "Revision", As::Number) }
                    { cx.text(&format!("{path}/options/heartbeat_interval"), "Heartbeat interval", As::Text) }
                    { cx.text(&format!("{path}/options/election_timeout"), "Election timeout", As::Text) }
                    { cx.text(&format!("{path}/options/snapshot_count"), "Snapshot count", As::Number) }
                    { cx.text(&format!("{path}/options/catch_up_entries"), "Catch-up entries", As::Number) }
                    { cx.text(&format!("{path}/options/start_up"), "Start-up", As::Text) }
                    { cx.check(&format!("{path}/options/pre_vote"), "Pre-vote") }
                    { cx.check(&format!("{path}/options/check_quorum"), "Check quorum") }
                </div>
            </details>
        </fieldset>
    }
}

fn member(cx: &Cx<'_>, path: &str, name: &str, nodes: &[String]) -> Html {
    html! {
        <div class="row" role="group" aria-label={format!("member {name}")}>
            { cx.text(&format!("{path}/name"), "Member", As::Name) }
            { cx.choice(&format!("{path}/node"), "Node", None, &plain(nodes)) }
            { cx.check(&format!("{path}/learner"), "Learner") }
            { cx.remove(path, &format!("member {name}")) }
        </div>
    }
}

/// The node with the fewest members of this cluster.
fn emptiest(cx: &Cx<'_>, cluster: &str, nodes: &[String]) -> String {
    let members = cx.list(&format!("{cluster}/members"));
    let count = |node: &&String| members.iter().filter(|member| member.get("node").is_some_and(|n| n == node.as_str())).count();
    nodes.iter().min_by_key(count).cloned().unwrap_or_default()
}
