//! Latency and traffic of the part of the run that is shown, in windows as fine as the part is short.

use std::rc::Rc;

use zonefall_core::report::CloseUp;

use super::playback::moment;
use super::{Effect, State, Tab};
use crate::engine::protocol::WorkerRequest;

impl State {
    /// Asks for the part that is shown, where a chart can show it, once it is simulated.
    pub(super) fn request_close_up(&mut self, effects: &mut Vec<Effect>) {
        let Some(branch) = self.branch().filter(|_| matches!(self.ui.tab, Tab::Latency | Tab::Traffic)) else { return };
        let Some(range) = self.ui.range else { return };
        let [from, to] = range.map(moment);
        let there = branch.gave_up.is_none() && (branch.done || branch.now >= to);
        if !there || self.is_stopped() || self.worker.close_up_of == Some(range) {
            return;
        }
        self.worker.close_up_of = Some(range);
        effects.push(Effect::Request(WorkerRequest::CloseUp { load: self.load, from, to }));
    }

    /// The close-up that has all of what is shown.
    pub fn close_up(&self) -> Option<&Rc<CloseUp>> {
        let [from_s, to_s] = self.ui.range?;
        self.worker.close_up.as_ref().filter(|part| part.from_s <= from_s && to_s <= part.to_s)
    }
}
