//! The state as a Yew reducer, and the effects that wait to be done.

use std::cell::RefCell;
use std::rc::Rc;

use yew::Reducible;

use super::{Action, Effect, Start, State};

/// The state and its outbox. Every version of the store shares one outbox, so that an effect is done once, whoever drains it.
#[derive(Clone, Debug)]
pub struct Store {
    /// What the page knows.
    pub state: Rc<State>,
    outbox: Rc<RefCell<Vec<Effect>>>,
}

impl Store {
    /// The page at its start; what is to do first waits in the outbox.
    pub fn new(start: Start) -> Self {
        let (state, effects) = State::new(start);
        Self { state: Rc::new(state), outbox: Rc::new(RefCell::new(effects)) }
    }

    /// What is to do, in order; it will not be told again.
    pub fn drain(&self) -> Vec<Effect> {
        self.outbox.take()
    }
}

impl Reducible for Store {
    type Action = Action;

    fn reduce(self: Rc<Self>, action: Action) -> Rc<Self> {
        let mut store = Rc::unwrap_or_clone(self);
        let effects = Rc::make_mut(&mut store.state).apply(action);
        store.outbox.borrow_mut().extend(effects);
        Rc::new(store)
    }
}
