//! Words can be read on every ground they stand on, in both themes: WCAG 2.2, 1.4.3 (contrast of at least 4.5), 1.4.11 (3 for edges).

use std::collections::HashMap;

const TOKENS: &str = include_str!("../../style/tokens.css");

/// Light and dark value of each colour.
fn colours() -> HashMap<&'static str, [u32; 2]> {
    let hex = |text: &str| u32::from_str_radix(text.trim().trim_start_matches('#'), 16).ok();
    let line = |line: &'static str| {
        let (name, value) = line.trim().strip_prefix("--")?.split_once(':')?;
        let value = value.trim().trim_end_matches(';');
        let both = value.strip_prefix("light-dark(").and_then(|v| v.strip_suffix(')'));
        let (light, dark) = both.map_or(Some((value, value)), |both| both.split_once(','))?;
        Some((name, [hex(light)?, hex(dark)?]))
    };
    TOKENS.lines().filter_map(line).collect()
}

fn luminance(rgb: u32) -> f64 {
    let channel = |shift: u32| {
        let c = f64::from(rgb >> shift & 0xff) / 255.0;
        if c <= 0.040_45 { c / 12.92 } else { libm::pow((c + 0.055) / 1.055, 2.4) }
    };
    0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0)
}

fn contrast(a: u32, b: u32) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn words_and_edges_have_their_contrast() {
    let colours = colours();
    let grounds = ["ground", "surface", "sunken", "accent-soft"];
    let words = ["ink", "quiet", "accent", "good", "warn", "bad"];
    let mut pairs: Vec<(&str, &str, f64)> = words.iter().flat_map(|w| grounds.iter().map(move |g| (*w, *g, 4.5))).collect();
    pairs.extend(["ink", "quiet"].map(|word| (word, "shade", 4.5)));
    pairs.push(("on-accent", "accent", 4.5));
    pairs.extend(["ground", "surface"].map(|ground| ("edge", ground, 3.0)));
    let low: Vec<String> = pairs
        .iter()
        .flat_map(|(word, ground, least)| {
            [0, 1].map(|theme| (word, ground, least, contrast(colours[word][theme], colours[ground][theme])))
        })
        .filter(|(_, _, least, found)| found < *least)
        .map(|(word, ground, least, found)| format!("{word} on {ground}: {found:.2}, not {least}"))
        .collect();
    assert_eq!(low, Vec::<String>::new());
}
