//! A scenario, its seed included, in a link: `#z1.` and the text, deflated, in base64url; then, where there is one, a point and the bookmark
//! in the same way.
//!
//! ```text
//!   text --deflate--> bytes --base64url--> "#z1.…"  or  "#z1.….…"
//! ```
//!
//! Links come from anywhere. Every step refuses what it does not know and says so in plain words; nothing is inflated past the
//! largest scenario that is read.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};
use zonefall_core::scenario::{Errors, MAX_BYTES, Scenario};

use super::bookmark::Bookmark;

/// What a fragment of this version begins with, after its `#`.
const VERSION: &str = "z1.";
/// miniz's best.
const LEVEL: u8 = 9;

/// Why a link is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Another version, or something else altogether.
    #[error("This version of Zonefall cannot read this link: expected it to begin with \"z1.\", found {0:?}.")]
    Version(String),
    /// Not base64url.
    #[error("This link is damaged: some of its characters are wrong or missing.")]
    Letters,
    /// Does not inflate.
    #[error("This link is damaged: its content cannot be unpacked.")]
    Packed,
    /// Inflates past the largest scenario.
    #[error("This link contains more than the {MAX_BYTES} bytes that a scenario may have.")]
    TooLarge,
    /// Not UTF-8.
    #[error("This link is damaged: its content is not text.")]
    NotText,
    /// The second part is no bookmark.
    #[error("This link is damaged: what it says of branches and view cannot be read.")]
    Bookmark,
    /// Not a scenario.
    #[error("The content of this link is not a valid scenario:\n{0}")]
    Scenario(Errors),
}

/// The fragment for a scenario, `#` included.
pub fn encode(text: &str) -> String {
    format!("#{VERSION}{}", pack(text))
}

/// What follows the fragment for a scenario: nothing, or a bookmark.
pub fn encode_bookmark(bookmark: &Bookmark) -> String {
    if bookmark.is_empty() {
        return String::new();
    }
    format!(".{}", pack(&serde_json::to_string(bookmark).expect("a bookmark is plain data")))
}

fn pack(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(compress_to_vec(text.as_bytes(), LEVEL))
}

fn unpack(letters: &str) -> Result<String, LinkError> {
    // Deflate never makes four bytes of three: what is longer than that cannot be ours.
    if letters.len() > MAX_BYTES * 2 {
        return Err(LinkError::TooLarge);
    }
    let packed = URL_SAFE_NO_PAD.decode(letters).map_err(|_| LinkError::Letters)?;
    let bytes = decompress_to_vec_with_limit(&packed, MAX_BYTES).map_err(|error| match error.status {
        TINFLStatus::HasMoreOutput => LinkError::TooLarge,
        _ => LinkError::Packed,
    })?;
    String::from_utf8(bytes).map_err(|_| LinkError::NotText)
}

/// The scenario's text in a fragment, with or without its `#`, and the bookmark, empty where the fragment has none.
///
/// # Errors
/// Why there is none, for the user.
pub fn decode(fragment: &str) -> Result<(String, Bookmark), LinkError> {
    let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
    let Some(letters) = fragment.strip_prefix(VERSION) else {
        return Err(LinkError::Version(fragment.chars().take(8).collect()));
    };
    let (letters, bookmark) = letters.split_once('.').map_or((letters, None), |(letters, bookmark)| (letters, Some(bookmark)));
    let text = unpack(letters)?;
    Scenario::from_json(&text).map_err(LinkError::Scenario)?;
    let bookmark = match bookmark {
        Some(letters) => serde_json::from_str(&unpack(letters)?).map_err(|_| LinkError::Bookmark)?,
        None => Bookmark::default(),
    };
    Ok((text, bookmark))
}
