//! What runs on a node: the processes of its pods, and the images they need.

pub mod images;
pub mod process;
