//! What a link, a file and the browser's storage hold beside the scenario: what was done to it, and where the user was.
//!
//! ```text
//!   State::bookmark --> Bookmark --JSON--> second part of a link | field `bookmark` of a file | storage
//!   State::returns  <-- Bookmark <--------'
//! ```
//!
//! Bookmarks come from anywhere, other versions included: what cannot be read, or does not fit the scenario, is left out, and said.

use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use zonefall_core::ids::TiVec;
use zonefall_core::kernel::time::Time;
use zonefall_core::scenario::Scenario;

use super::branches::{MOST, ORIGINAL, clock};
use super::layout::layout;
use super::playback::Playback;
use super::ui::SHORTEST_S;
use super::{Branch, Effect, Selection, State, Tab, Tone};
use crate::engine::protocol::{BranchId, Intervention};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bookmark {
    /// Branches beside the original, each after the one it left.
    branches: Vec<Fork>,
    /// The one on the screen: 0 is the original, 1 the first of `branches`.
    shown: u32,
    /// The playhead, in nanoseconds.
    at_ns: u64,
    /// The part of the run that is shown, from and to, in seconds; `None`: all of it.
    range: Option<[f64; 2]>,
    tab: Tab,
    selection: Option<Selection>,
    /// What this version cannot read of it, in words.
    #[serde(skip)]
    unread: Vec<&'static str>,
}

impl<'de> Deserialize<'de> for Bookmark {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let mut unread = Vec::new();
        let all: Vec<Value> = read(&mut fields, "branches", "its branches", &mut unread);
        let forks = all.iter().map_while(|fork| Fork::deserialize(fork).ok());
        let branches: Vec<Fork> = forks.collect();
        if branches.len() < all.len() {
            // Those after it may have left it.
            unread.push("some of its branches");
        }
        Ok(Self {
            branches,
            shown: read(&mut fields, "shown", "the branch shown", &mut unread),
            at_ns: read(&mut fields, "at_ns", "the time", &mut unread),
            range: read(&mut fields, "range", "the zoom", &mut unread),
            tab: read(&mut fields, "tab", "the tab", &mut unread),
            selection: read(&mut fields, "selection", "the selection", &mut unread),
            unread,
        })
    }
}

/// A field's value; the default where it is missing, and where it cannot be read, which is noted.
fn read<T: DeserializeOwned + Default>(
    fields: &mut Map<String, Value>,
    key: &str,
    what: &'static str,
    unread: &mut Vec<&'static str>,
) -> T {
    let value = fields.shift_remove(key).map(serde_json::from_value).transpose();
    value
        .unwrap_or_else(|_| {
            unread.push(what);
            None
        })
        .unwrap_or_default()
}

/// A branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Fork {
    name: String,
    /// The branch it left, numbered as in [`Bookmark::shown`], and when, in nanoseconds.
    parent: u32,
    at_ns: u64,
    intervention: Intervention,
}

/// Letters of a branch's name, at most.
const LONGEST_NAME: usize = 200;

impl Bookmark {
    /// Whether it says nothing: a fresh start.
    pub fn is_empty(&self) -> bool {
        *self == Self { unread: self.unread.clone(), ..Self::default() }
    }

    /// The bookmark in a file, and the scenario without it.
    pub fn take(text: String) -> (String, Self) {
        // A look at the text spares most files the reading.
        if !text.contains("\"bookmark\"") {
            return (text, Self::default());
        }
        let Ok(Value::Object(mut fields)) = serde_json::from_str(&text) else { return (text, Self::default()) };
        let Some(bookmark) = fields.shift_remove("bookmark") else { return (text, Self::default()) };
        let nothing = |_| Self { unread: vec!["its branches and its view"], ..Self::default() };
        (layout(&Value::Object(fields)), serde_json::from_value(bookmark).unwrap_or_else(nothing))
    }

    /// The scenario with the bookmark in it.
    fn put_into(&self, text: &str) -> String {
        match serde_json::from_str(text) {
            Ok(Value::Object(mut fields)) => {
                fields.insert("bookmark".to_owned(), serde_json::to_value(self).expect("a bookmark is plain data"));
                layout(&Value::Object(fields))
            }
            _ => text.to_owned(),
        }
    }

    /// What is in it, for the user: `2 branches (zone a lost power at 1m 0s; ...) and this view, at 1m 2s`.
    pub fn text(&self) -> String {
        let names: Vec<&str> = self.branches.iter().map(|fork| fork.name.as_str()).collect();
        let branches = match names.len() {
            0 => "no branch".to_owned(),
            1 => format!("1 branch ({})", names[0]),
            2..=3 => format!("{} branches ({})", names.len(), names.join("; ")),
            count => format!("{count} branches"),
        };
        format!("{branches}, and this view at {}", clock(Time::from_nanos(self.at_ns)))
    }
}

impl State {
    /// What is to be found again. A branch that was deleted is not in it.
    pub fn bookmark(&self) -> Bookmark {
        let kept: Vec<&Branch> = self.branches.iter().filter(|branch| !branch.deleted).collect();
        let number = |id: BranchId| kept.iter().position(|branch| branch.id == id).unwrap_or(0) as u32;
        let fork = |branch: &&Branch| {
            let (parent, at, intervention) = branch.fork.clone()?;
            Some(Fork { name: branch.name.clone(), parent: number(parent), at_ns: at.as_nanos(), intervention })
        };
        Bookmark {
            branches: kept.iter().filter_map(fork).collect(),
            shown: number(self.shown),
            at_ns: self.playback.at.as_nanos(),
            range: self.ui.range,
            tab: self.ui.tab,
            selection: self.selection,
            unread: Vec::new(),
        }
    }

    /// The text of the scenario that runs.
    pub fn running(&self) -> Rc<str> {
        self.worker.text()
    }

    /// Branches and view of a bookmark, in a scenario that is to be loaded; whether all of it fits.
    pub(super) fn returns(&mut self, bookmark: &Bookmark, scenario: &Scenario) -> bool {
        let end = Time::ZERO + scenario.duration;
        let (branches, all) = branches(bookmark, scenario);
        self.branches = branches;
        let shown = BranchId(bookmark.shown);
        self.shown = if self.branches.get(shown).is_some() { shown } else { BranchId(0) };
        self.goes_to(bookmark, end);
        all
    }

    /// The view of a bookmark.
    fn goes_to(&mut self, bookmark: &Bookmark, end: Time) {
        let at = Time::from_nanos(bookmark.at_ns).min(end);
        self.playback = Playback { at, playing: false, ..Playback::default() };
        let fits = |[from_s, to_s]: &[f64; 2]| *from_s >= 0.0 && to_s - from_s >= SHORTEST_S && *to_s <= end.as_secs_f64();
        self.ui.range = bookmark.range.filter(fits);
        self.ui.tab = bookmark.tab;
        self.selection = bookmark.selection.filter(|selection| self.exists(*selection));
    }

    /// Whether a bookmark is of what is loaded: of its branches, maybe of fewer. Then nothing need be simulated again to go there.
    pub(super) fn goes_back(&mut self, text: &str, bookmark: &Bookmark, effects: &mut Vec<Effect>) -> bool {
        let Some(scenario) = self.scenario.clone().filter(|_| *self.running() == *text) else { return false };
        let Some(branches) = self.branches_of(bookmark) else { return false };
        let Some(shown) = branches.get(bookmark.shown as usize) else { return false };
        for id in &branches {
            self.undelete(*id, effects);
        }
        self.show(*shown, effects);
        self.goes_to(bookmark, Time::ZERO + scenario.duration);
        self.say_what_is_left_out(bookmark, true);
        true
    }

    /// The branches of a bookmark among those that are loaded, the original first: each left the same branch at the same moment by the same
    /// intervention. What they are called, and whether they were deleted since, does not matter. `None`: one is not loaded.
    fn branches_of(&self, bookmark: &Bookmark) -> Option<Vec<BranchId>> {
        let mut found = vec![BranchId(0)];
        for Fork { parent, at_ns, intervention, .. } in &bookmark.branches {
            let fork = (*found.get(*parent as usize)?, Time::from_nanos(*at_ns), intervention.clone());
            let same = self.branches.iter().filter(|branch| branch.fork.as_ref() == Some(&fork) && !found.contains(&branch.id));
            let id = same.min_by_key(|branch| branch.deleted)?.id;
            found.push(id);
        }
        Some(found)
    }

    /// Tells the browser to keep where the user is, if that has changed; `push`: as a step to come back to.
    pub(super) fn keeps(&mut self, push: bool, effects: &mut Vec<Effect>) {
        let kept = (self.running(), self.bookmark());
        if self.scenario.is_none() || kept == self.kept {
            return;
        }
        let push = push && (kept.0 != self.kept.0 || kept.1.shown != self.kept.1.shown);
        let (text, bookmark) = kept.clone();
        effects.push(Effect::Keep { text, bookmark, push });
        self.kept = kept;
    }

    /// The scenario as it is edited, in a file.
    pub(super) fn save(&mut self, effects: &mut Vec<Effect>) {
        let bookmark = self.bookmark();
        // Branches are of the scenario that runs: a text with errors is saved as it is.
        let has_branches = !bookmark.branches.is_empty() && self.document.text == self.running();
        let inside = if has_branches { format!(", {}", bookmark.text()) } else { String::new() };
        let text = if has_branches { bookmark.put_into(&self.document.text) } else { self.document.text.to_string() };
        effects.push(Effect::Download(self.document.file_name(), text));
        self.say(Tone::Info, format!("Saved the scenario{inside}."));
    }

    /// Says what of a bookmark is left out; `fits`: all branches that could be read fit the scenario.
    pub(super) fn say_what_is_left_out(&mut self, bookmark: &Bookmark, fits: bool) {
        let unfit = "Some branches do not fit this scenario, and were left out.";
        let unread = bookmark.unread.join(", ");
        let unread = format!("The scenario is open, but this version of Zonefall cannot read all that came with it: {unread}.");
        match (fits, bookmark.unread.is_empty()) {
            (true, true) => {}
            (false, true) => self.say(Tone::Error, unfit.to_owned()),
            (true, false) => self.say(Tone::Error, unread),
            (false, false) => self.say(Tone::Error, format!("{unread} {unfit}")),
        }
    }
}

/// The original and the branches of a bookmark; whether all of them fit the scenario.
fn branches(bookmark: &Bookmark, scenario: &Scenario) -> (TiVec<BranchId, Branch>, bool) {
    let end = Time::ZERO + scenario.duration;
    let mut all: TiVec<BranchId, Branch> = vec![Branch::new(BranchId(0), ORIGINAL.to_owned(), None)].into();
    for fork in &bookmark.branches {
        let (id, at) = (all.next_key(), Time::from_nanos(fork.at_ns));
        let parent = BranchId(fork.parent);
        if fork.intervention.check(scenario).is_err() || parent >= id || at >= end || all.len() >= MOST {
            // Those after it may have left it.
            return (all, false);
        }
        let name = fork.name.chars().take(LONGEST_NAME).collect();
        all.push(Branch::new(id, name, Some((parent, at, fork.intervention.clone()))));
    }
    (all, true)
}
