//! The browser's storage: the document and the preferences.

use gloo::storage::{LocalStorage, SessionStorage, Storage};
use serde::{Deserialize, Serialize};

use crate::state::{Theme, Ui};

/// Keys carry the version of what is kept under them.
const DOCUMENT: &str = "zonefall.document.1";
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

/// Keeps the document.
///
/// # Errors
/// Why it could not be kept, for the user: the storage is full, or not allowed.
pub fn save(text: &str) -> Result<(), String> {
    LocalStorage::set(DOCUMENT, text)
        .map_err(|_| "The browser cannot save your scenario (its storage is full or disabled): save it to a file.".to_owned())
}

/// The document that was kept, if any.
pub fn saved() -> Option<String> {
    LocalStorage::get(DOCUMENT).ok()
}

/// A page that goes away cannot change the address that it is loaded from again: notes, for this tab, that the document kept is newer
/// than this fragment.
pub(super) fn supersede(fragment: &str) {
    // Without it a reload right after an edit shows the scenario before the edit.
    SessionStorage::set(SUPERSEDED, fragment).ok();
}

/// Whether the document kept is newer than this fragment; answered so once.
pub(super) fn is_superseded(fragment: &str) -> bool {
    let noted = SessionStorage::get::<String>(SUPERSEDED);
    SessionStorage::delete(SUPERSEDED);
    noted.is_ok_and(|noted| noted == fragment)
}

/// Keeps the preferences.
///
/// # Errors
/// Why they could not be kept, for the user.
pub fn remember(ui: &Ui) -> Result<(), String> {
    LocalStorage::set(PREFERENCES, preferences(ui)).map_err(|_| "The browser cannot save your preferences.".to_owned())
}

/// The preferences that were kept.
pub fn remembered() -> Ui {
    looks(&LocalStorage::get(PREFERENCES).unwrap_or_default())
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
