//! The web page's stories, told in Chromium on a desk and on a telephone; and its worker, under node.

mod access;
mod breaking;
mod building;
mod clients;
mod cost;
mod crash;
mod first_sight;
mod healing;
mod helpers;
mod keeping;
mod measuring;
mod node_groups;
mod offline;
mod outcome;
mod playing;
mod portable;
mod rollouts;
mod sharing;
mod start;
mod touching;
mod words;
