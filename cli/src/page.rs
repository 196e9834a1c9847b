//! How text and tables fit a terminal.
//!
//! Numbers and names stay on their line; what is prose (the last column of a table, a sentence) is wrapped where a terminal is narrow.
//! Where there is no terminal, tables are as wide as they like: programs and pagers want whole lines.

use std::collections::BTreeSet;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use textwrap::core::display_width;
use zonefall_core::report::Report;

use crate::output::DIM;

/// Sentences are not wider than this: longer lines are hard to read.
const READABLE: usize = 100;

/// Prose in a narrow column still gets this.
const LEAST: usize = 24;

/// Rows of a table; a run of months under random faults has thousands.
const MOST_ROWS: usize = 60;

/// What is printed on.
pub(crate) struct Page {
    /// Columns; `None`: no end.
    width: Option<usize>,
}

impl Page {
    /// A page of so many columns, or without end.
    pub(crate) fn new(width: Option<usize>) -> Self {
        Self { width }
    }

    /// A sentence or paragraph in lines, `first` before the first of them and as many blanks before the others.
    pub(crate) fn text(&self, first: &str, text: &str) -> String {
        let width = self.width.unwrap_or(READABLE).clamp(LEAST, READABLE);
        Self::wrapped(first, text, width)
    }

    /// A line that is only wrapped where a terminal is narrower.
    pub(crate) fn line(&self, first: &str, text: &str) -> String {
        Self::wrapped(first, text, self.width.unwrap_or(usize::MAX).max(LEAST))
    }

    fn wrapped(first: &str, text: &str, width: usize) -> String {
        let indent = " ".repeat(display_width(first));
        let options = textwrap::Options::new(width).initial_indent(first).subsequent_indent(&indent).break_words(false);
        let options = options.word_splitter(textwrap::WordSplitter::NoHyphenation);
        textwrap::fill(text, options) + "\n"
    }

    /// Columns without lines; those of `right` are numbers, and the last, if it is not, may be prose.
    pub(crate) fn table(&self, head: &[&str], rows: impl IntoIterator<Item = Vec<String>>, right: &[usize]) -> String {
        let mut rows: Vec<_> = rows.into_iter().collect();
        let more = rows.len().saturating_sub(MOST_ROWS);
        rows.truncate(MOST_ROWS);
        let mut text = self.whole_table(head, rows, right);
        if more > 0 {
            text += &self.line("  ", &format!("... and {more} more (`--format json` has all)"));
        }
        text
    }

    /// The same with all rows, however many.
    pub(crate) fn whole_table(&self, head: &[&str], rows: Vec<Vec<String>>, right: &[usize]) -> String {
        let room = self.width.unwrap_or(usize::MAX).saturating_sub(2);
        let widest =
            |at: usize| std::iter::once(head[at]).chain(rows.iter().map(|row| row[at].as_str())).map(display_width).max();
        let widths: Vec<usize> = (0..head.len()).filter_map(widest).collect();
        let (last, names) = widths.split_last().map_or((0, 0), |(last, others)| (*last, others.iter().sum()));
        // Two blanks between columns, or one where that helps.
        let gaps = head.len() - 1;
        let gap = if names + 2 * gaps + last <= room { 2 } else { 1 };
        let left = room.saturating_sub(names + gap * gaps);
        let prose = !right.contains(&gaps) && last > left;
        if prose && left < LEAST && gaps > 0 {
            self.stacked(head, rows, right)
        } else {
            grid(head, &rows, right, gap, prose.then_some(left.max(LEAST)))
        }
    }

    /// A table with no room for its last column: that stands below each row.
    fn stacked(&self, head: &[&str], mut rows: Vec<Vec<String>>, right: &[usize]) -> String {
        let prose: Vec<_> = rows.iter_mut().filter_map(Vec::pop).collect();
        let table = grid(&head[..head.len() - 1], &rows, right, 1, None);
        let (head, rows) = table.split_once('\n').unwrap_or((&table, ""));
        let each = rows.lines().zip(prose).map(|(row, prose)| format!("{row}\n{}", self.line("    ", &prose)));
        format!("{head}\n{}", each.collect::<String>())
    }
}

/// A table with `gap` blanks between columns, the last column in `last` characters.
fn grid(head: &[&str], rows: &[Vec<String>], right: &[usize], gap: usize, last: Option<usize>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(head).add_rows(rows);
    for (at, column) in table.column_iter_mut().enumerate() {
        let is_last = at + 1 == head.len();
        column.set_padding((0, if is_last { 0 } else { gap as u16 }));
        if right.contains(&at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if let Some(width) = last.filter(|_| is_last) {
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width as u16)));
        }
    }
    let text = table.to_string();
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let mut text = format!("  {DIM}{}{DIM:#}\n", first.trim_end());
    for line in rest.lines() {
        text.push_str(&format!("  {}\n", line.trim_end()));
    }
    text
}

/// A table that is left out where it has no rows.
pub(crate) fn table<const N: usize>(page: &Page, head: [&str; N], rows: Vec<Vec<String>>, numbers: &[usize]) -> String {
    if rows.is_empty() { String::new() } else { page.table(&head, rows, numbers) }
}

/// A table whose first column, the cluster that each row is about, is left out where there is only one: shoots' control planes are told by
/// their namespaces.
pub(crate) fn table_of_clusters<const N: usize>(
    report: &Report,
    page: &Page,
    head: [&str; N],
    mut rows: Vec<Vec<String>>,
    numbers: &[usize],
) -> String {
    let of_nodes = report.nodes.iter().map(|node| &*node.cluster);
    let clusters: BTreeSet<&str> = of_nodes.chain(rows.iter().map(|row| &*row[0])).collect();
    if clusters.len() > 1 || rows.is_empty() {
        return table(page, head, rows, numbers);
    }
    for row in &mut rows {
        row.remove(0);
    }
    page.table(&head[1..], rows, &numbers.iter().map(|number| number - 1).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        vec![vec!["1".to_owned(), "name".to_owned(), "one two three four five six seven eight".to_owned()]]
    }

    fn lines(width: Option<usize>) -> Vec<String> {
        let text = anstream::adapter::strip_str(&Page::new(width).table(&["n", "name", "prose"], rows(), &[0])).to_string();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn prose_wraps_and_nothing_else_does() {
        assert_eq!(lines(None), ["  n  name  prose", "  1  name  one two three four five six seven eight"]);
        assert_eq!(lines(Some(50)), lines(None));
        assert_eq!(lines(Some(40)), ["  n name prose", "  1 name one two three four five six", "         seven eight"]);
        assert_eq!(lines(Some(30)), ["  n name", "  1 name", "    one two three four five", "    six seven eight"]);
        assert_eq!(lines(Some(1))[..2], ["  n name", "  1 name"]);
    }

    #[test]
    fn long_tables_say_how_much_is_left_out() {
        let rows = (0..100).map(|n| vec![n.to_string()]);
        let text = Page::new(None).table(&["n"], rows, &[]);
        assert_eq!((text.lines().count(), text.lines().last()), (62, Some("  ... and 40 more (`--format json` has all)")));
    }

    #[test]
    fn sentences_wrap_below_their_start() {
        let page = Page::new(Some(24));
        assert_eq!(page.text("  * ", "one two three four five six"), "  * one two three four\n    five six\n");
        assert_eq!(Page::new(None).line("", &"word ".repeat(60)).lines().count(), 1);
    }
}
