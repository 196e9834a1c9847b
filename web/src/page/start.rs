//! What the page starts with: the link's scenario, else the one that was kept, else the default one.

use zonefall_core::scenario::{Scenario, default_scenario};

use super::{address, storage};
use crate::state::bookmark::Bookmark;
use crate::state::share::{LinkError, decode, encode, encode_bookmark};
use crate::state::{Notice, Start, Tone};

/// The scenario of a fragment; `None` where the fragment says nothing.
pub fn linked(fragment: &str) -> Option<Result<(String, Bookmark), LinkError>> {
    let said = fragment.trim_start_matches('#');
    (!said.is_empty()).then(|| decode(said))
}

/// Restores what the browser knows.
pub fn restore() -> Start {
    let shown = address::fragment();
    let fragment = storage::newer(&shown, address::is_reload()).unwrap_or_else(|| shown.clone());
    let ((text, bookmark), is_linked, notice) = choose(&fragment, storage::saved());
    if !is_linked {
        // Back comes here again, and the next reload finds here what was found in the storage.
        address::put(&(encode(&text) + &encode_bookmark(&bookmark)), false);
    } else if fragment == shown {
        storage::note(&shown, &shown);
    } else {
        address::put(&fragment, false);
    }
    let notice = if storage::is_allowed() { notice } else { Some(unkept(notice)) };
    let query = gloo::utils::window().match_media("(prefers-reduced-motion: reduce)");
    let reduced_motion = query.ok().flatten().is_some_and(|query| query.matches());
    Start { text, bookmark, ui: storage::remembered(), notice, reduced_motion }
}

/// What is said where nothing can be kept, after what there is to say already.
fn unkept(notice: Option<Notice>) -> Notice {
    let (tone, before) = notice.map_or((Tone::Info, String::new()), |notice| (notice.tone, notice.text + " "));
    let text = "The browser's settings block site data: what you change is lost when you close the page, unless you save it to a file or \
                share it as a link.";
    Notice { tone, text: before + text }
}

/// The scenario, whether it is that of the link, and what there is to say. Links and storage may hold anything: what is no scenario is passed
/// over, and said.
fn choose(fragment: &str, saved: Option<(String, Bookmark)>) -> ((String, Bookmark), bool, Option<Notice>) {
    let refused = match linked(fragment) {
        Some(Ok(found)) => return (found, true, None),
        Some(Err(error)) => Some(Notice { tone: Tone::Error, text: error.to_string() }),
        None => None,
    };
    let default = || (default_scenario().json.to_owned(), Bookmark::default());
    match saved {
        Some(saved) if Scenario::from_json(&saved.0).is_ok() => (saved, false, refused),
        Some(_) => {
            let text = "This version cannot read the saved scenario of this browser.".to_owned();
            (default(), false, refused.or(Some(Notice { tone: Tone::Info, text })))
        }
        None => (default(), false, refused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_core::scenario::bundled;

    #[test]
    fn the_link_comes_first_then_the_storage_then_the_default() {
        let [default, one, two] = [bundled()[0].json, bundled()[1].json, bundled()[2].json];
        let link = encode(two);
        for (fragment, saved, expected, says) in [
            (link.as_str(), Some(one), two, ""),
            ("", Some(one), one, ""),
            ("#", None, default, ""),
            ("#z9.abc", Some(one), one, "version"),
            ("#z1.abc", None, default, "damaged"),
            ("", Some("{}"), default, "saved scenario"),
            ("#z1.abc", Some("{}"), default, "damaged"),
        ] {
            let ((text, _), linked, notice) = choose(fragment, saved.map(|text| (text.to_owned(), Bookmark::default())));
            assert_eq!((text.as_str(), linked), (expected, expected == two), "{fragment}");
            assert_eq!(notice.is_none(), says.is_empty());
            assert!(notice.is_none_or(|notice| notice.text.contains(says)));
        }
    }
}
