//! `cargo xtask bench --web` and `cargo xtask screenshots`.

fn main() {}
