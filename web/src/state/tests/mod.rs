//! Tests of the state: scripts of actions, and hostile links and files.

mod bookmarks;
mod branching;
mod editing;
mod links;
mod playing;
mod script;
