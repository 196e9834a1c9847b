//! The things on the map: one component each, drawn anew only when what it says changes.

use yew::prelude::*;

use super::kube_items::{kube_head, pods_bar, seen};
use super::label;
use super::layout::{LinkPlace, Rect, ZONE_HEAD};
use super::model::{ClientFace, LinkFace, MemberFace, NodeFace, ZoneFace, cut_words, weight};
use super::objects::NodeObject;
use super::pick::{Pick, frame};
use super::shapes::{px, shape};
use crate::state::Selection;

#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct ZoneProps {
    pub face: ZoneFace,
    pub rect: Rect,
    pub pick: Pick,
}

/// A zone: the box that its nodes stand in.
#[component]
pub(crate) fn Zone(props: &ZoneProps) -> Html {
    let ZoneProps { face, rect, pick } = props;
    let state = label::zone_state(face);
    let class = classes!("zone", face.dark.then_some("dark"));
    let inside = html! {
        <>
            { frame(*rect, 8.0) }
            <text class="name" x={px(rect.x + 12.0)} y={px(rect.y + 21.0)}>{ &face.name }</text>
            if !state.is_empty() {
                <text class={classes!("state", face.dark.then_some("bad"), face.cut.map(|_| "bad"))} text-anchor="end"
                    x={px(rect.x + rect.w - 12.0)} y={px(rect.y + 21.0)}>{ format!(" {state}") }</text>
            }
        </>
    };
    html! {
        <>
            { pick.wrap(class, label::zone(face), format!("map-zone-{}", face.name), inside) }
            if face.cut.is_some() { <rect class="wall" x={px(rect.x - 5.0)} y={px(rect.y - 5.0)} width={px(rect.w + 10.0)}
                height={px(rect.h + 10.0)} rx="12" /> }
        </>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct NodeProps {
    pub face: NodeFace,
    /// As Kubernetes has it.
    pub object: Option<NodeObject>,
    /// Where its pods are a bar.
    pub bar: Rect,
    pub rect: Rect,
    pub pick: Pick,
}

/// A node: a card in its zone.
#[component]
pub(crate) fn Node(props: &NodeProps) -> Html {
    let NodeProps { face, object, bar, rect, pick } = props;
    // Of a node of Kubernetes its frame says it, and the inspector.
    let state = match (face.powered, face.cut, object) {
        (_, _, Some(_)) | (true, None, None) => "",
        (false, _, None) => "✕ no power",
        (true, Some(direction), None) => cut_words(direction),
    };
    let link = face.link.as_ref().filter(|_| state.is_empty() && object.is_none()).map(|words| format!("link {words}"));
    let state = link.as_deref().unwrap_or(state);
    let class = classes!("node", (!face.powered).then_some("dark"));
    let name = if object.is_some() { host(&face.name) } else { &face.name };
    let name = end_of_name(name, ((rect.w - 20.0 - state.chars().count() as f64 * 7.0) / 6.7) as usize);
    // What is seen stands in the label as it is seen.
    let label = match object {
        Some(object) => format!("node {name}{}, {}", seen(object, *bar), label::node(face, Some(object))),
        None => label::node(face, None),
    };
    let inside = html! {
        <>
            { frame(*rect, 6.0) }
            <text class="name" x={px(rect.x + 10.0)} y={px(rect.y + 16.5)}>{ name }</text>
            <text class="state bad" text-anchor="end" x={px(rect.x + rect.w - 10.0)} y={px(rect.y + 16.5)}>{ state }</text>
            if let Some(object) = object { { kube_head(object, *rect) } { pods_bar(object, *bar) } }
        </>
    };
    html! {
        <>
            { pick.wrap(class, label, format!("map-node-{}", face.name), inside) }
            if face.cut.is_some() { <rect class="wall" x={px(rect.x - 3.0)} y={px(rect.y - 3.0)} width={px(rect.w + 6.0)}
                height={px(rect.h + 6.0)} rx="8" /> }
        </>
    }
}

/// A host's name without its domain.
fn host(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// As many of the last parts of a name as have at most `most` letters; all of it where none has.
fn end_of_name(name: &str, most: usize) -> &str {
    let fits = |name: &&str| name.chars().count() <= most;
    let ends = name.match_indices('-').map(|(i, _)| &name[i + 1..]).filter(|end| !end.starts_with('-'));
    [name].into_iter().chain(ends).find(fits).unwrap_or(name)
}

#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct MemberProps {
    pub face: MemberFace,
    pub rect: Rect,
    pub compact: bool,
    /// Its role is written only where it fits.
    pub tight: bool,
    pub pick: Pick,
}

/// A member: a chip on its node.
#[component]
pub(crate) fn Member(props: &MemberProps) -> Html {
    let MemberProps { face, rect, compact, tight, pick } = props;
    let (left, right) = (rect.x + 28.0, rect.x + rect.w - 10.0);
    // Two lines, or one, in the middle of the chip.
    let first = rect.y + rect.h / 2.0 + if *compact { 4.0 } else { -4.0 };
    let class = classes!("member", face.role.replace(' ', "-"), term_class(face.term));
    // In the order of the label, each with a space before it, so that the label is found to contain what is seen.
    let role = format!(" {}", face.role);
    let fits = !tight || right - left - face.name.chars().count() as f64 * 7.6 >= face.role.len() as f64 * 6.4;
    let (also, term) = if *compact { (String::new(), None) } else { beside_role(face, right - left) };
    let label = label::member(face, &also);
    let inside = if *compact {
        html! { if fits { <text class="role" text-anchor="end" x={px(right)} y={px(first)}>{ role }</text> } }
    } else {
        html! {
            <>
                <text class={classes!("also", (!face.disk.is_empty()).then_some("warn"))} text-anchor="end" x={px(right)}
                    y={px(first + 16.0)}>{ format!(" {also}") }</text>
                <text class="role" x={px(left)} y={px(first + 16.0)}>
                    { role }if let Some(term) = term { <tspan class="term" dx="8">{ format!(" {term}") }</tspan> }
                </text>
            </>
        }
    };
    let inside = html! {
        <>
            { frame(*rect, 6.0) }
            { shape(face.shape, (rect.x + 15.0, first - 4.5)) }
            <text class="name" x={px(left)} y={px(first)}>{ &face.name }</text>
            { inside }
        </>
    };
    pick.wrap(class, label, format!("map-member-{}", face.name), inside)
}

/// What is written beside the role of a member in `room` pixels: what ails it, and its term where both have room. A chip that
/// is too small for all that ails it shows the disk, which is the cause of the rest.
fn beside_role(face: &MemberFace, room: f64) -> (String, Option<String>) {
    let fits = |words: &[&str]| words.iter().map(|words| words.chars().count() as f64 * 6.4 + 8.0).sum::<f64>() <= room + 8.0;
    let all = [face.behind.as_str(), face.disk].into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" · ");
    let also = [all.as_str(), face.disk, &face.behind].into_iter().find(|words| fits(&[face.role, words])).unwrap_or("");
    let term = format!("term {}", face.term);
    (also.to_owned(), fits(&[face.role, &term, also]).then_some(term))
}

/// The class of a term's colour.
pub(crate) fn term_class(term: u64) -> String {
    format!("term-{}", term % 6)
}

#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct ClientProps {
    pub face: ClientFace,
    pub rect: Rect,
    pub pick: Pick,
}

/// A client: a line at the foot of its zone.
#[component]
pub(crate) fn Client(props: &ClientProps) -> Html {
    let ClientProps { face, rect, pick } = props;
    let inside = html! {
        <>
            { frame(*rect, 10.0) }
            <text class="name" x={px(rect.x + 10.0)} y={px(rect.y + rect.h / 2.0 + 4.0)}>
                { &face.name }<tspan class="asks" dx="6">{ format!(" {}", fitting(&face.sends, rect.w - 26.0 - face.name.len() as f64 * 6.6)) }</tspan>
            </text>
        </>
    };
    pick.wrap(classes!("client"), format!("client {} {}", face.name, face.sends), format!("map-client-{}", face.name), inside)
}

/// As many parts of what a client asks as about fit into `room` pixels of small type: `read → nearest, 5/s`, else without the rate, else
/// without the target. Whole words: the label must contain what is seen.
fn fitting(text: &str, room: f64) -> &str {
    let most = (room / 6.0).max(0.0) as usize;
    let parts = [text, text.split(',').next().unwrap_or(""), text.split(" →").next().unwrap_or("")];
    parts.into_iter().find(|part| part.chars().count() <= most).unwrap_or("")
}

#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct LinkProps {
    pub face: LinkFace,
    pub place: LinkPlace,
    pub pick: Pick,
    /// Both zones' names.
    pub ends: (String, String),
}

/// The link between two zones.
#[component]
pub(crate) fn Link(props: &LinkProps) -> Html {
    let LinkProps { face, place, pick, ends } = props;
    let path = place.curve.path();
    let (x, y) = place.label;
    let wide = |words: &str| words.chars().count() as f64 * 6.2 + 10.0;
    let delay = Some(label::one_way(face)).filter(|words| wide(words) <= place.room).unwrap_or_else(|| face.delay.clone());
    let words = face.cut.map(str::to_owned).or_else(|| face.degraded.clone()).unwrap_or(delay);
    let class = classes!(
        "link",
        format!("weight-{}", weight(face.rate)),
        face.cut.map(|_| "cut"),
        face.degraded.as_ref().map(|_| "worse"),
        (!place.near).then_some("far")
    );
    let width = wide(&words);
    let inside = html! {
        <>
            <path class="reach" d={path.clone()} />
            <path class="line" d={path} />
            <rect class="plate" x={px(x - width / 2.0)} y={px(y - 7.5)} width={px(width)} height="15" rx="4" />
            <text class="words" text-anchor="middle" x={px(x)} y={px(y + 4.0)}>{ words }</text>
        </>
    };
    pick.wrap(class, label::link(face, ends), format!("map-link-{}-{}", ends.0, ends.1), inside)
}

/// Where the keyboard finds a thing: the middle of a box or of a link's words.
pub(crate) fn spot(is: Selection, layout: &super::layout::Layout) -> Option<(f64, f64)> {
    match is {
        Selection::Zone(zone) => layout.zones.get(zone).map(|r| (r.x + r.w / 2.0, r.y + ZONE_HEAD / 2.0)),
        Selection::Node(node) => layout.nodes.get(usize::from(node)).map(|r| (r.x + r.w / 2.0, r.y + 12.0)),
        Selection::Member(m) => layout.members.get(m.cluster)?.get(m.index as usize).map(|r| r.centre()),
        Selection::Machine(..) | Selection::Pod(..) => {
            let (_, rect) = layout.things.iter().find(|(thing, _)| *thing == is)?;
            Some((rect.x + rect.w / 2.0, rect.y + rect.h.min(24.0) / 2.0))
        }
        Selection::Balancer(..) | Selection::ApiClients(..) => {
            layout.access.iter().find(|(thing, _)| *thing == is).map(|(_, rect)| rect.centre())
        }
        // It is drawn with its group.
        Selection::ApiClient(..) => None,
        Selection::Client(client) => layout.clients.get(client).filter(|r| r.h > 0.0).map(|r| r.centre()),
        Selection::Link(a, b) => {
            let (zones, a, b) = (layout.zones.len(), usize::from(a), usize::from(b));
            let place = a * zones - a * (a + 1) / 2 + b - a - 1;
            layout.links.get(place).map(|l| l.label)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::map::model::Shape;
    use zonefall_core::ids::{EtcdId, MemberId};

    fn face(role: &'static str, behind: &str, disk: &'static str) -> MemberFace {
        MemberFace {
            id: MemberId { cluster: EtcdId(0), index: 0 },
            name: "etcd-main-0".to_owned(),
            shape: Shape::Down,
            role,
            term: 1,
            behind: behind.to_owned(),
            disk,
        }
    }

    #[test]
    fn the_label_of_a_member_has_what_is_seen_in_one_piece() {
        let check = |seen: &str, label: &str| assert_eq!(label::member(&face("down", "12k behind", "slow disk"), seen), label);
        check("", "12k behind, slow disk, member etcd-main-0, down, term 1");
        check("slow disk", "12k behind, member etcd-main-0, slow disk, down, term 1");
        check("12k behind · slow disk", "member etcd-main-0, 12k behind, slow disk, down, term 1");
    }

    #[test]
    fn words_on_a_member_leave_each_other_room() {
        let check = |face: MemberFace, room: f64, also: &str, term: bool| {
            assert_eq!(beside_role(&face, room), (also.to_owned(), term.then(|| "term 1".to_owned())), "{face:?} in {room}");
        };
        check(face("leader", "", ""), 110.0, "", true);
        check(face("down", "114k behind", ""), 130.0, "114k behind", false);
        check(face("down", "114k behind", ""), 180.0, "114k behind", true);
        check(face("follower", "12k behind", "slow disk"), 130.0, "slow disk", false);
        check(face("follower", "12k behind", "slow disk"), 300.0, "12k behind · slow disk", true);
        check(face("not in the cluster", "114k behind", ""), 130.0, "", false);
    }
}
