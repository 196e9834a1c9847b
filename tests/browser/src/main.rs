//! `cargo xtask bench --web` and `cargo xtask screenshots`, which build the page and call this.

mod bench;

use std::path::Path;

use anyhow::{Context, Result, bail};
use zonefall_browser::page::{DESK, PHONE, Page, Theme};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["bench"] => bench::run(),
        ["screenshots", folder] => screenshots(Path::new(folder)),
        _ => bail!("called by `cargo xtask bench --web` and `cargo xtask screenshots`"),
    }
}

/// The README's pictures: on a desk and on a telephone, light and dark.
fn screenshots(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for (place, view) in [("desk", DESK), ("phone", PHONE)] {
        for (name, theme) in [("light", Theme::Light), ("dark", Theme::Dark)] {
            let page = Page::new(view);
            page.theme(theme);
            page.open("");
            page.see_first_view();
            // Played to just after the election, and paused there.
            page.see("verdict", "etcd-main-2 was elected");
            page.see_no("so-far");
            page.see_attribute("play", "aria-label", "Play");
            page.see("health", "leader etcd-main-2");
            let path = folder.join(format!("page-{place}-{name}.png"));
            std::fs::write(&path, page.screenshot()).with_context(|| path.display().to_string())?;
            println!("{}", path.display());
        }
    }
    Ok(())
}
