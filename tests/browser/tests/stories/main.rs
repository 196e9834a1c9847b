//! The web page's stories, told in Chromium on a desk and on a telephone; and its worker, under node.

mod access;
mod breaking;
mod building;
mod crash;
mod healing;
mod measuring;
mod money;
mod playing;
mod portable;
mod sharing;
mod start;
mod told;
mod words;
