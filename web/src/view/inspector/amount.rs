//! How long a fault lasts, read as zonefall-core reads it in scenarios.

use zonefall_core::kernel::time::Duration;
use zonefall_core::scenario::fault::read_quantity;
use zonefall_core::scenario::units::Span;

/// Durations as they are written.
const USE: &str = "2m, 1.3s or 1h30m";

/// How long: nothing written means until it is repaired.
///
/// # Errors
/// What is wrong with the text, in plain words.
pub fn lasts(text: &str) -> Result<Option<Duration>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    match read_quantity::<Span>(text, USE) {
        Ok(Span(Duration::ZERO)) | Err(_) => Err(format!("Not a duration: \"{}\". Use {USE}", text.trim())),
        Ok(Span(long)) => Ok(Some(long)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_people_write_them() {
        let s = |s| Ok(Some(Duration::from_secs(s)));
        assert_eq!((lasts(" "), lasts("5m"), lasts("1m 30 s")), (Ok(None), s(300), s(90)));
        for wrong in ["5", "0s", "soon", " -1s "] {
            let expected = format!("Not a duration: \"{}\". Use 2m, 1.3s or 1h30m", wrong.trim());
            assert_eq!(lasts(wrong), Err(expected));
        }
    }
}
