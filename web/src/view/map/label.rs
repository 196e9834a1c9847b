//! What a sighted person sees of each thing, as a sentence for those who listen.

use super::model::{LinkFace, MemberFace, NodeFace, ZoneFace, cut_words};
use super::objects::{Mark, NodeObject};
use zonefall_core::scenario::text;

/// What ails a zone, in few words; empty where nothing does.
pub(crate) fn zone_state(face: &ZoneFace) -> String {
    match (face.dark, face.cut, &face.degraded) {
        (true, ..) => "✕ no power".to_owned(),
        (_, Some(direction), _) => format!("⊘ {}", cut_words(direction)),
        (_, _, Some(worse)) => format!("△ {worse}"),
        _ => String::new(),
    }
}

/// A zone; what is seen of it stands there as it is seen.
pub(crate) fn zone(face: &ZoneFace) -> String {
    let state = match zone_state(face) {
        state if state.is_empty() => state,
        state => format!(" {state}"),
    };
    // What the state does not say already.
    let power = if face.dark { "" } else { ", has power" };
    let cut = face.cut.filter(|_| face.dark).map(|direction| format!(", {}", cut_words(direction))).unwrap_or_default();
    let worse = face.degraded.as_ref().map(|how| format!(", degraded network inside: {how}")).unwrap_or_default();
    format!("zone {}{state}{power}{cut}{worse}", face.name)
}

/// A node; of one of Kubernetes, what is to be said beside what is seen.
pub(crate) fn node(face: &NodeFace, object: Option<&NodeObject>) -> String {
    let power = if face.powered { "has power" } else { "no power" };
    let cut = face.cut.map(|direction| format!(", {}", cut_words(direction))).unwrap_or_default();
    let cut = cut + &face.link.as_ref().map(|words| format!(", link {words}")).unwrap_or_default();
    match object {
        Some(object) => format!("{}, {power}{cut}, {}", face.name, pods(&object.pods)),
        None => format!("node {}, {power}{cut}", face.name),
    }
}

/// How many pods there are of each kind: `17 pods: 15 ready, 2 starting`.
pub(crate) fn pods(counts: &[usize; 6]) -> String {
    let of: Vec<String> =
        Mark::ALL.iter().zip(counts).filter(|(_, n)| **n > 0).map(|(mark, n)| format!("{n} {}", mark.describe())).collect();
    match counts.iter().sum::<usize>() {
        0 => "no pods".to_owned(),
        1 => format!("1 pod: {}", of.join(", ")),
        all => format!("{all} pods: {}", of.join(", ")),
    }
}

/// A member; `seen`: what ails it, as far as its chip has room for that. The rest stands first, so that the label has what is seen in one
/// piece.
pub(crate) fn member(face: &MemberFace, seen: &str) -> String {
    let ails = |is_seen: bool| -> String {
        let those = [face.behind.as_str(), face.disk].into_iter().filter(|words| !words.is_empty());
        those.filter(|words| seen.contains(words) == is_seen).fold(String::new(), |all, words| all + words + ", ")
    };
    format!("{}member {}, {}{}, term {}", ails(false), face.name, ails(true), face.role, face.term)
}

/// How long a packet takes from one end of a link to the other.
pub(crate) fn one_way(face: &LinkFace) -> String {
    format!("{} one way", face.delay)
}

/// A link.
pub(crate) fn link(face: &LinkFace, ends: &(String, String)) -> String {
    let mut text = format!("link {} to {}, {}", ends.0, ends.1, one_way(face));
    if let Some(cut) = face.cut {
        text.push_str(", ");
        text.push_str(cut);
    }
    if let Some(worse) = &face.degraded {
        text.push_str(&format!(", degraded: {worse}"));
    }
    if face.rate > 0 {
        text.push_str(&format!(", {} per second", text::bytes(face.rate)));
    }
    text
}
