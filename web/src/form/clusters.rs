//! etcd clusters: members and where they are, what the cluster looks like at the start, its timers.

use serde_json::{Value, json};
use yew::prelude::*;

use super::field::{As, FormCtx, fresh, plain};
use super::{landscape, schema};

pub(super) fn section(ctx: &FormCtx<'_>) -> Html {
    let names = ctx.names("etcd");
    let nodes = ctx.names("topology/nodes");
    let new = fresh("etcd-", names.len() + 1, &names);
    let members: Vec<Value> =
        nodes.iter().take(3).enumerate().map(|(m, node)| json!({"name": format!("{new}-{m}"), "node": node})).collect();
    let body = html! {
        <>
            { ctx.group("etcd") }
            { for names.iter().enumerate().map(|(c, name)| cluster(ctx, c, name, &nodes)) }
            { ctx.add("etcd", "cluster", json!({"name": new, "members": members})) }
        </>
    };
    ctx.section("etcd", "etcd clusters", &names.join(", "), true, body)
}

fn cluster(ctx: &FormCtx<'_>, c: usize, name: &str, nodes: &[String]) -> Html {
    let path = format!("etcd/{c}");
    let members = ctx.names(&format!("{path}/members"));
    let new = json!({"name": fresh(&format!("{name}-"), members.len(), &members), "node": emptiest(ctx, &path, nodes)});
    let mut leaders = plain(&members);
    leaders.push(("none".to_owned(), "none: they elect one".to_owned()));
    html! {
        <fieldset class="item">
            <legend>{ name }</legend>
            <div class="row">{ ctx.text(&format!("{path}/name"), "Cluster", As::Name) }{ ctx.remove(&path, &format!("cluster {name}")) }</div>
            { ctx.group(&format!("{path}/members")) }
            { for members.iter().enumerate().map(|(m, name)| member(ctx, &format!("{path}/members/{m}"), name, nodes)) }
            { ctx.add(&format!("{path}/members"), "member", new) }
            <div class="fields">{ ctx.choice(&format!("{path}/initial/leader"), "Initial leader", Some("first eligible member (default)"), &leaders) }<div class="wide">{ landscape::mode(ctx, &format!("{path}/mode")) }</div></div>
            { schema::rest(ctx, &path, &["name", "members", "mode", "initial/leader"]) }
        </fieldset>
    }
}

fn member(ctx: &FormCtx<'_>, path: &str, name: &str, nodes: &[String]) -> Html {
    html! {
        <div class="row" role="group" aria-label={format!("member {name}")}>
            { ctx.text(&format!("{path}/name"), "Member", As::Name) }
            { ctx.choice(&format!("{path}/node"), "Node", None, &plain(nodes)) }
            { ctx.check(&format!("{path}/learner"), "Learner") }
            { ctx.remove(path, &format!("member {name}")) }
        </div>
    }
}

/// The node with the fewest members of this cluster.
fn emptiest(ctx: &FormCtx<'_>, cluster: &str, nodes: &[String]) -> String {
    let members = ctx.list(&format!("{cluster}/members"));
    let count = |node: &&String| members.iter().filter(|member| member.get("node").is_some_and(|n| n == node.as_str())).count();
    nodes.iter().min_by_key(count).cloned().unwrap_or_default()
}
