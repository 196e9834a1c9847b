//! The tray above the zones: what the signs mean, and the pods that have no node.

use super::Rect;
use crate::state::Selection;
use crate::view::map::access::WayKind;
use crate::view::map::crowd::Crowd;
use crate::view::map::objects::Mark;

/// Where everything of the tray stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Tray {
    /// Its height, with the room beneath it.
    pub height: f64,
    /// Where each sign of [`Mark::ALL`] is explained, and then that of machines.
    pub legend: Vec<(f64, f64)>,
    /// Where each kind of way to API servers is explained; none without API access.
    pub ways: Vec<(f64, f64)>,
    /// Where the words of each row begin.
    pub rows: Vec<(f64, f64)>,
}

/// Height of a line.
const LINE: f64 = 25.0;
/// Width of a letter, at most on average.
const LETTER: f64 = 6.2;

/// Room for a pen that writes from left to right.
struct Pen {
    left: f64,
    right: f64,
    x: f64,
    y: f64,
}

impl Pen {
    /// Room of this width, on the next line if there is none on this.
    fn take(&mut self, width: f64) -> (f64, f64) {
        if self.x + width > self.right && self.x > self.left {
            self.line();
        }
        let at = (self.x, self.y);
        self.x += width;
        at
    }

    fn line(&mut self) {
        (self.x, self.y) = (self.left, self.y + LINE);
    }
}

/// Places the tray, and the chips in it, from a corner on.
pub(super) fn place(crowd: &Crowd, (x, y, width): (f64, f64, f64), things: &mut [(Selection, Rect)]) -> Tray {
    let mut pen = Pen { left: x, right: x + width, x, y };
    let letters = |words: usize, room: f64| words as f64 * LETTER + room;
    let signs = Mark::ALL.iter().map(|mark| mark.describe().len()).chain(["machines without a node".len()]);
    let legend = signs.map(|words| pen.take(letters(words, 30.0))).collect::<Vec<_>>();
    let is_accessed = crowd.access.iter().any(|things| !things.is_empty());
    let ways = WayKind::ALL.iter().filter(|_| is_accessed).map(|(.., words)| pen.take(letters(words.len(), 46.0))).collect();
    let rows = crowd.rows.iter().map(|row| {
        pen.line();
        let words = pen.take(letters(row.words, 12.0));
        for &(thing, name) in &row.chips {
            let w = letters(name, 30.0);
            let (x, y) = pen.take(w + 6.0);
            things[thing].1 = Rect { x, y, w, h: 21.0 };
        }
        words
    });
    let rows = rows.collect();
    Tray { height: pen.y + LINE + 10.0 - y, legend, ways, rows }
}
