//! Standard output: colours on a terminal only (and not under `NO_COLOR`), and a reader that goes away is no error.

use std::io::{ErrorKind, Write};

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};

/// A heading.
pub(crate) const HEAD: Style = Style::new().bold();
/// Something is as it must be.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Something is not.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Less important.
pub(crate) const DIM: Style = Style::new().dimmed();

/// Columns of the terminal that standard output is; `None`: it is none, and lines may be as long as they like.
pub(crate) fn width() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0))
}

/// Prints `text`, which may hold ANSI styles. Where nobody reads on (`zonefall | head`), that is the reader's choice.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = anstream::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write to standard output"),
        _ => Ok(()),
    }
}
