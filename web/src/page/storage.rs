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
const ADDRESS: &str = "zonefall.address.1";
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

/// What a tab had in its address last.
#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    /// The fragment that the browser has.
    shown: String,
    /// The fragment of the document as it is: another one where the browser refused it, or loads the page again meanwhile.
    newest: String,
}

/// Notes for this tab that the browser's address has the fragment `shown`, and the document is `newest`.
pub(super) fn note(shown: &str, newest: &str) {
    if is_allowed() {
        let noted = Noted { shown: shown.to_owned(), newest: newest.to_owned() };
        if SessionStorage::set(ADDRESS, noted).is_err() {
            SessionStorage::delete(ADDRESS);
        }
    }
}

/// The page goes away with `shown` in its address, whatever it has put there since.
pub(super) fn leave(shown: &str) {
    if let Some(noted) = noted() {
        note(shown, &noted.newest);
    }
}

/// The fragment of what this tab showed last, where the browser loads an older one, `shown`: because it refused the newer one, or because it
/// loads what was in the address when the loading began (`is_reload`), whatever was put there meanwhile.
pub(super) fn newer(shown: &str, is_reload: bool) -> Option<String> {
    noted().filter(|noted| is_reload || noted.shown == shown).map(|noted| noted.newest)
}

fn noted() -> Option<Noted> {
    is_allowed().then(|| SessionStorage::get(ADDRESS).ok()).flatten()
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
