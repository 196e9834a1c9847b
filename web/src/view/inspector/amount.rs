//! How long a fault lasts, read as zonefall-core reads it in scenarios.

use zonefall_core::kernel::time::Duration;
use zonefall_core::scenario::fault::read_quantity;
use zonefall_core::scenario::units::Span;

/// How long: nothing written means until it is mended.
///
/// # Errors
/// What is wrong with the text, in plain words.
pub fn lasts(text: &str) -> Result<Option<Duration>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    match read_quantity::<Span>(text, "5m or 90s")?.0 {
        Duration::ZERO => Err("Expected a duration above zero, such as 5m or 90s".to_owned()),
        long => Ok(Some(long)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_people_write_them() {
        let s = |s| Ok(Some(Duration::from_secs(s)));
        assert_eq!((lasts(" "), lasts("5m"), lasts("1m 30 s")), (Ok(None), s(300), s(90)));
        for wrong in ["5", "0s", "soon", "-1s"] {
            assert!(lasts(wrong).unwrap_err().contains("5m or 90s"), "{wrong}");
        }
    }
}
