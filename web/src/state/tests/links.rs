//! Links and files: what goes out comes back, and nothing that comes in does harm.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use miniz_oxide::deflate::compress_to_vec;
use zonefall_core::scenario::{MAX_BYTES, Scenario, bundled};

use crate::state::bookmark::Bookmark;
use crate::state::share::{LinkError, decode, encode};
use crate::state::{Action, Document, DocumentAction, Start, State, Store};

/// Random numbers (SplitMix64) that are the same on every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % n.max(1) as u64) as usize
    }
}

#[test]
fn every_bundled_scenario_comes_back_from_its_link() {
    for scenario in bundled() {
        let link = encode(scenario.json);
        assert!(link.len() < scenario.json.len(), "{}: {} letters", scenario.name, link.len());
        assert_eq!(decode(&link), Ok((scenario.json.to_owned(), Bookmark::default())));
        assert_eq!(decode(&link[1..]).map(|(text, _)| text).as_deref(), Ok(scenario.json));
    }
}

#[test]
fn a_link_with_old_names_opens_with_the_new_ones() {
    let links = include_str!("../../../../tests/fixtures/v1/links.txt");
    assert_eq!(links.lines().count(), 5);
    for (name, link) in links.lines().filter_map(|line| line.split_once(' ')) {
        let (text, _) = decode(link).unwrap_or_else(|why| panic!("{name}: {why}"));
        let bundled = bundled().iter().find(|scenario| scenario.name == name).unwrap();
        assert_ne!(text, bundled.json, "{name} has old names");
        let (first, _) = State::new(Start { text: text.clone(), ..Start::default() });
        let (mut second, _) = State::new(Start { text: "{}".to_owned(), ..Start::default() });
        second.apply(Action::Document(DocumentAction::Open(text)));
        for state in [first, second] {
            assert!(state.document.problems.is_empty() && state.scenario.is_some(), "{name}: {:?}", state.document.problems);
            assert_eq!(&*state.document.text, bundled.json, "{name}");
        }
    }
}

#[test]
fn the_form_shows_new_names_while_the_text_has_old_ones() {
    let (mut state, _) = State::new(Start { text: bundled()[0].json.to_owned(), ..Start::default() });
    let old = r#"{"clients": [{"name": "c", "cluster": "a"}]}"#;
    state.apply(Action::Document(DocumentAction::Type(old.to_owned())));
    assert_eq!(&*state.document.text, old);
    assert_eq!(*state.document.value, serde_json::json!({"clients": [{"name": "c", "etcd": "a"}]}));
}

#[test]
fn each_way_to_be_wrong_has_words_of_its_own() {
    let packed = |bytes: &[u8]| format!("#z1.{}", URL_SAFE_NO_PAD.encode(compress_to_vec(bytes, 1)));
    let bomb = packed(&vec![b' '; 64 << 20]);
    assert!(bomb.len() < 1 << 20);
    let good = encode(bundled()[0].json);
    for (link, expected) in [
        ("#".to_owned(), LinkError::Version(String::new())),
        ("#z2.AAAA".to_owned(), LinkError::Version("z2.AAAA".to_owned())),
        ("#/timeline/élan".to_owned(), LinkError::Version("/timelin".to_owned())),
        ("#z1.a b".to_owned(), LinkError::Letters),
        (format!("{good}="), LinkError::Letters),
        ("#z1.".to_owned(), LinkError::Packed),
        (good[..good.len() / 2].to_owned(), LinkError::Packed),
        (bomb, LinkError::TooLarge),
        (format!("#z1.{}", "A".repeat(MAX_BYTES * 2 + 1)), LinkError::TooLarge),
        (packed(&[0xff, 0xfe]), LinkError::NotText),
    ] {
        let found = decode(&link).unwrap_err();
        // Half a text has a length that may or may not be one that base64 has.
        assert!(found == expected || (found == LinkError::Letters && link.len() < good.len()), "{link:.40}: {found}");
    }
    let two_errors = bundled()[0].json.replace("35m", "35").replace("\"node\": \"node-b\"", "\"node\": \"node-x\"");
    let Err(LinkError::Scenario(errors)) = decode(&encode(&two_errors)) else { panic!() };
    assert!(errors.len() >= 2, "all of them are told");
}

/// Something like `original`, but not quite: one of many kinds of damage.
fn damage(original: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = original.to_vec();
    match dice.below(6) {
        0 => {
            for _ in 0..=dice.below(4) {
                let at = dice.below(bytes.len());
                bytes[at] ^= 1 << dice.below(8);
            }
        }
        1 => bytes.truncate(dice.below(bytes.len())),
        2 => {
            let (at, from) = (dice.below(bytes.len()), dice.below(other.len()));
            bytes.truncate(at);
            bytes.extend(&other[from..]);
        }
        3 => {
            let at = dice.below(bytes.len());
            let end = (at + dice.below(64)).min(bytes.len());
            bytes.drain(at..end);
        }
        4 => {
            let at = dice.below(bytes.len());
            let copied = bytes[at..(at + dice.below(200)).min(bytes.len())].to_vec();
            bytes.splice(at..at, copied.repeat(1 + dice.below(50)));
        }
        _ => bytes = (0..dice.below(400)).map(|_| dice.below(256) as u8).collect(),
    }
    bytes
}

#[test]
fn two_thousand_corrupted_links_give_a_document_or_a_message() {
    let mut dice = Dice(7);
    let scenarios = bundled();
    let mut read = 0;
    for round in 0..2_000 {
        let (one, two) = (scenarios[dice.below(scenarios.len())].json, scenarios[dice.below(scenarios.len())].json);
        let letters = match round % 4 {
            // Letters of the link, its packed bytes, its text; and random bytes that are packed well.
            0 => String::from_utf8_lossy(&damage(encode(one).as_bytes(), encode(two).as_bytes(), &mut dice)).into_owned(),
            1 => {
                let [one, two] = [one, two].map(|text| compress_to_vec(text.as_bytes(), 9));
                format!("#z1.{}", URL_SAFE_NO_PAD.encode(damage(&one, &two, &mut dice)))
            }
            _ => {
                let text = damage(one.as_bytes(), two.as_bytes(), &mut dice);
                format!("#z1.{}", URL_SAFE_NO_PAD.encode(compress_to_vec(&text, 1)))
            }
        };
        match decode(&letters) {
            Ok((text, _)) => {
                assert!(text.len() <= MAX_BYTES && Scenario::from_json(&text).is_ok());
                read += 1;
            }
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }
    assert!(read > 0, "some damage does no harm");
}

#[test]
fn corrupted_files_leave_a_document_that_can_still_be_edited() {
    let mut dice = Dice(8);
    let scenarios = bundled();
    let (mut state, _) = State::new(Start { text: scenarios[0].json.to_owned(), ..Start::default() });
    let before = state.scenario.clone();
    for _ in 0..500 {
        let (one, two) = (scenarios[dice.below(scenarios.len())].json, scenarios[dice.below(scenarios.len())].json);
        let text = String::from_utf8_lossy(&damage(one.as_bytes(), two.as_bytes(), &mut dice)).into_owned();
        state.notice = None;
        let known = *state.document.text == *text;
        let effects = state.apply(Action::Document(DocumentAction::Open(text)));
        assert!(known || !effects.is_empty() || state.notice.is_some(), "neither taken nor refused");
        assert!(state.document.is_json && state.scenario.is_some());
        let kept: usize = state.document.undo.iter().map(|text| text.len()).sum();
        assert!(kept <= 8 << 20 && state.document.undo.len() <= 200);
    }
    assert!(before.is_some());
    let huge = " ".repeat(MAX_BYTES + 1);
    state.apply(Action::Document(DocumentAction::Open(huge)));
    assert!(state.notice.is_some_and(|notice| notice.text.contains("too large")));
    assert!(state.document.text.len() < MAX_BYTES);
}

#[test]
fn effects_are_drained_once() {
    use yew::Reducible;
    let store = std::rc::Rc::new(Store::new(Start { text: bundled()[0].json.to_owned(), ..Start::default() }));
    assert_eq!(store.drain().len(), 2);
    let text = bundled()[1].json.to_owned();
    let next = store.clone().reduce(Action::Document(DocumentAction::Open(text)));
    let effects = next.drain();
    assert_eq!(effects.len(), 3, "{effects:?}");
    assert!(store.drain().is_empty() && next.drain().is_empty());
}

#[test]
fn names_of_files_are_plain() {
    for (text, expected) in [
        (r#"{"name": "zone-outage"}"#, "zone-outage.json"),
        (r#"{"name": "../../x y"}"#, "xy.json"),
        (r#"{"name": ".."}"#, "scenario.json"),
        ("{}", "scenario.json"),
    ] {
        assert_eq!(Document::new(text).0.file_name(), expected);
    }
}
