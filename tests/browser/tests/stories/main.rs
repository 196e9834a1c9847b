//! The web page's stories, told in Chromium on a desk and on a telephone.

mod start;
mod words;
