//! The browser's storage: the document and the preferences.
//!
//! Where the user's settings block site data, asking for a storage throws, and nothing is kept: the page says so once, at the start
//! ([`is_allowed`]).

use gloo::storage::errors::StorageError;
use gloo::storage::{LocalStorage, SessionStorage, Storage};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::state::bookmark::Bookmark;
use crate::state::{Theme, Ui};

/// Keys carry the version of what is kept under them.
const DOCUMENT: &str = "zonefall.document.1";
const BOOKMARK: &str = "zonefall.bookmark.1";
const SUPERSEDED: &str = "zonefall.superseded.1";
const PREFERENCES: &str = "zonefall.preferences.1";

/// What is kept of [`Ui`].
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Preferences {
    theme: String,
    as_json: bool,
    tables: bool,
}

/// Whether the browser lets the page keep anything.
pub(super) fn is_allowed() -> bool {
    let window = gloo::utils::window();
    matches!((window.local_storage(), window.session_storage()), (Ok(Some(_)), Ok(Some(_))))
}

/// Keeps the document and the bookmark, where that is allowed.
///
/// # Errors
/// Why it could not be kept, for the user: the storage is full.
pub fn save(text: &str, bookmark: &Bookmark) -> Result<(), String> {
    keep(DOCUMENT, text)
        .and_then(|()| keep(BOOKMARK, bookmark))
        .map_err(|_| "The browser cannot save your scenario, its storage is full: save it to a file.".to_owned())
}

fn keep(key: &str, value: impl Serialize) -> Result<(), StorageError> {
    if is_allowed() { LocalStorage::set(key, value) } else { Ok(()) }
}

fn kept<T: DeserializeOwned>(key: &str) -> Option<T> {
    is_allowed().then(|| LocalStorage::get(key).ok()).flatten()
}

/// The document and the bookmark that were kept, if any.
pub fn saved() -> Option<(String, Bookmark)> {
    Some((kept(DOCUMENT)?, kept(BOOKMARK).unwrap_or_default()))
}

/// A page that goes away cannot change the address that it is loaded from again: notes, for this tab, that the document kept is newer
/// than this fragment.
pub(super) fn supersede(fragment: &str) {
    // Without it a reload right after an edit shows the scenario before the edit.
    if is_allowed() {
        SessionStorage::set(SUPERSEDED, fragment).ok();
    }
}

/// Whether the document kept is newer than this fragment, however often that is loaded: until the address changes ([`settle`]).
pub(super) fn is_superseded(fragment: &str) -> bool {
    is_allowed() && SessionStorage::get::<String>(SUPERSEDED).is_ok_and(|noted| noted == fragment)
}

/// The address is about to say what the document kept does.
pub(super) fn settle() {
    if is_allowed() {
        SessionStorage::delete(SUPERSEDED);
    }
}

/// Keeps the preferences.
///
/// # Errors
/// Why they could not be kept, for the user.
pub fn remember(ui: &Ui) -> Result<(), String> {
    keep(PREFERENCES, preferences(ui)).map_err(|_| "The browser cannot save your preferences.".to_owned())
}

/// The preferences that were kept.
pub fn remembered() -> Ui {
    looks(&kept(PREFERENCES).unwrap_or_default())
}

fn preferences(ui: &Ui) -> Preferences {
    let theme = match ui.theme {
        Theme::System => "system",
        Theme::Light => "light",
        Theme::Dark => "dark",
    };
    Preferences { theme: theme.to_owned(), as_json: ui.as_json, tables: ui.tables }
}

fn looks(preferences: &Preferences) -> Ui {
    let theme = match preferences.theme.as_str() {
        "light" => Theme::Light,
        "dark" => Theme::Dark,
        _ => Theme::System,
    };
    Ui { theme, as_json: preferences.as_json, tables: preferences.tables, ..Ui::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferences_come_back_and_others_are_as_by_default() {
        for theme in [Theme::System, Theme::Light, Theme::Dark] {
            let ui = Ui { theme, tables: true, ..Ui::default() };
            let kept = serde_json::to_string(&preferences(&ui)).unwrap();
            assert_eq!(looks(&serde_json::from_str(&kept).unwrap()), ui);
        }
        for other in ["{}", r#"{"theme": "sepia", "more": 1}"#] {
            assert_eq!(looks(&serde_json::from_str(other).unwrap()), Ui::default());
        }
    }
}
