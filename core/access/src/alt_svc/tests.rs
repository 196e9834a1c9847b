//! What both readings of alternative services promise, for any answers.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use zonefall_kernel::time::{Duration, Time};

use super::Rules;
use super::alternatives::{Alternatives, BLOCK};
use super::client::{Answer, Client, Next};

/// The host that requests name; alternatives are the numbers up to 4, of which 1 is on the client's machine.
const ORIGIN: u8 = 0;
const LOCAL: u8 = 1;
const KEEP: Duration = Duration::from_secs(70);
const TEXT: Rules = Rules::Text { keep: KEEP };

/// A request some time after the one before: what each host would answer.
type Step = (u64, Vec<Answer<u8>>);

fn answers() -> impl Strategy<Value = Answer<u8>> {
    prop_oneof![
        3 => proptest::option::of(proptest::collection::vec(ORIGIN..5, 0..5)).prop_map(|listed| Answer::Response { listed }),
        2 => Just(Answer::NetworkError),
        1 => Just(Answer::CertificateError),
        1 => Just(Answer::OtherError),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((0_u64..40, proptest::collection::vec(answers(), 5)), 1..40)
}

/// A client as it is before an attempt, what was known of its alternatives by then, and where it goes.
struct Try<'a> {
    before: &'a Client<u8>,
    now: Time,
    /// When each alternative last failed by the network.
    failed: &'a BTreeMap<u8, Time>,
    /// Alternatives that ever had a wrong certificate.
    refused: &'a BTreeSet<u8>,
    /// When the list came.
    listed: Option<Time>,
    to: u8,
}

/// Sends requests one after the other; the most attempts that one took.
fn send(rules: Rules, steps: Vec<Step>, mut look: impl FnMut(&Try<'_>)) -> usize {
    let mut client = Client::new(rules, Alternatives::default(), None);
    let (mut failed, mut refused, mut came, mut now, mut most) = (BTreeMap::new(), BTreeSet::new(), None, Time::ZERO, 0);
    for (later, answers) in steps {
        now += Duration::from_secs(later);
        let mut attempts = 0;
        loop {
            let before = client.clone();
            let attempt = client.choose(&ORIGIN, now, |several| several - 1);
            assert_eq!(attempt.is_alternative, attempt.to != ORIGIN);
            look(&Try { before: &before, now, failed: &failed, refused: &refused, listed: came, to: attempt.to });
            attempts += 1;
            let answer = answers[usize::from(attempt.to)].clone();
            match &answer {
                Answer::Response { listed: Some(_) } => came = Some(now),
                Answer::NetworkError => _ = failed.insert(attempt.to, now),
                Answer::CertificateError => _ = refused.insert(attempt.to),
                Answer::Response { listed: None } | Answer::OtherError => {}
            }
            if client.answered(&attempt, answer, now, |host| *host == LOCAL) == Next::Return {
                break;
            }
        }
        most = most.max(attempts);
    }
    most
}

proptest! {
    #[test]
    fn client_of_the_document_uses_listed_free_and_fresh_alternatives(steps in steps()) {
        send(TEXT, steps, |attempt| {
            let Try { before, now, failed, refused, listed, to } = attempt;
            let is_free = |host: &u8| failed.get(host).is_none_or(|error| *now >= *error + BLOCK) && !refused.contains(host);
            let is_fresh = listed.is_some_and(|came| *now < came + KEEP);
            let may_use = |host: &u8| is_fresh && before.alternatives().get(host).is_some() && is_free(host);
            if *to != ORIGIN {
                assert!(may_use(to), "{to} at {now:?}: {before:?}");
            }
            let stays = before.last() == Some(to);
            if may_use(&LOCAL) && !stays {
                assert_eq!(*to, LOCAL, "{before:?}");
            }
        });
    }

    #[test]
    fn every_request_ends_after_each_alternative_and_the_original(steps in steps(), text in any::<bool>()) {
        // The prototype may first try one that is not listed any more.
        let (rules, most) = if text { (TEXT, 5) } else { (Rules::Code, 6) };
        prop_assert!(send(rules, steps, |_| ()) <= most);
    }

    #[test]
    fn client_without_alternatives_is_a_plain_one(steps in steps(), text in any::<bool>()) {
        let without = |answer: Answer<u8>| if let Answer::Response { .. } = answer { Answer::Response { listed: None } } else { answer };
        let steps = steps.into_iter().map(|(later, answers)| (later, answers.into_iter().map(without).collect())).collect();
        let most = send(if text { TEXT } else { Rules::Code }, steps, |attempt| assert_eq!(attempt.to, ORIGIN));
        prop_assert_eq!(most, 1);
    }
}

#[test]
fn prototype_forgets_a_wrong_certificate_with_its_entry_and_the_document_does_not() {
    for (rules, expected) in [(Rules::Code, 2), (TEXT, ORIGIN)] {
        let mut client = Client::new(rules, Alternatives::default(), None);
        let mut ask = |s: u64, answers: [Answer<u8>; 3]| {
            let now = Time::ZERO + Duration::from_secs(s);
            loop {
                let attempt = client.choose(&ORIGIN, now, |_| 0);
                if client.answered(&attempt, answers[usize::from(attempt.to)].clone(), now, |_| false) == Next::Return {
                    return attempt.to;
                }
            }
        };
        let list = |hosts: &[u8]| Answer::Response { listed: Some(hosts.to_vec()) };
        ask(0, [list(&[2]), Answer::OtherError, Answer::OtherError]);
        ask(1, [list(&[]), Answer::OtherError, Answer::CertificateError]);
        ask(2, [list(&[2]), Answer::OtherError, Answer::OtherError]);
        assert_eq!(ask(3, [list(&[2]), Answer::OtherError, list(&[2])]), expected, "{rules:?}");
    }
}

#[test]
fn only_the_prototype_stays_with_an_alternative_that_is_not_listed() {
    for (rules, expected) in [(Rules::Code, 2), (TEXT, 3)] {
        let mut client = Client::new(rules, Alternatives::default(), Some(2));
        client.alternatives.replace([3], rules, Time::ZERO, |_| false);
        assert_eq!(client.choose(&ORIGIN, Time::ZERO, |_| 0).to, expected, "{rules:?}");
    }
}
