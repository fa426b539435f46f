//! The time of refusing a key must not reveal what of it was right. Figures only: no time decides here.

use std::hint::black_box;
use std::time::Instant;

use headwater_state::{Environment, Home, KeyText, Options, Refusal, State};

use crate::support::faults::Chance;
use crate::support::{is_full, random};

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A key of this id and secret with its checksum: CRC-32 in base62, as `docs` say.
fn written(id: &str, secret: &str) -> String {
    let covered = format!("hw_live_{id}_{secret}");
    let mut value = crc32fast::hash(covered.as_bytes());
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(value % 62) as usize];
        value /= 62;
    }
    let text = covered + std::str::from_utf8(&digits).unwrap();
    assert!(KeyText::parse(&text).is_some());
    text
}

/// Id and secret of a key.
fn parts(key: &KeyText) -> (String, String) {
    let text = key.expose();
    let (id, rest) = text.strip_prefix("hw_live_").unwrap().split_once('_').unwrap();
    (id.to_owned(), rest[..rest.len() - 6].to_owned())
}

/// Mean and variance of what lies below `most`.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds and counts are small")]
fn moments(times: &[u64], most: u64) -> (f64, f64, f64) {
    let kept: Vec<f64> = times.iter().filter(|time| **time <= most).map(|time| *time as f64).collect();
    let count = kept.len() as f64;
    let mean = kept.iter().sum::<f64>() / count;
    let variance = kept.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, variance, count)
}

/// Welch's t of two samples.
fn welch(one: &[u64], two: &[u64], most: u64) -> f64 {
    let ((mean, variance, count), (other, spread, number)) = (moments(one, most), moments(two, most));
    (mean - other) / (variance / count + spread / number).sqrt()
}

#[test]
fn a_refused_key_takes_as_long_whatever_of_it_was_right() {
    // Keys that are guessed at, and guesses of each kind: many, since each text takes a time of its own.
    let (samples, guesses) = if is_full() { (1_000_000, 20_000) } else { (20_000, 1000) };
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    let keys: Vec<(String, String)> = home
        .admin("t", |admin| {
            (0..guesses).map(|_| Ok(parts(&admin.create_key("t", Environment::Live, 0, None)?.key))).collect()
        })
        .unwrap();
    let fresh = || parts(&KeyText::generate(Environment::Live).unwrap());
    let seed = random();
    let mut chance = Chance::new(seed);
    // Any other letter, so that it is as hard to predict as the rest.
    let mut last = |secret: &str| {
        let (whole, old) = secret.split_at(secret.len() - 1);
        let others: Vec<char> =
            ALPHABET.iter().map(|byte| char::from(*byte)).filter(|one| !old.contains(*one)).collect();
        format!("{whole}{}", others[usize::try_from(chance.below(others.len() as u64)).unwrap()])
    };
    // As many texts of each kind, each of letters of its own, so that none is better known to the processor.
    let classes: [(&str, Vec<String>); 3] = [
        ("an unknown id", keys.iter().map(|_| fresh()).map(|(id, secret)| written(&id, &secret)).collect()),
        ("a wrong secret", keys.iter().map(|(id, _)| written(id, &fresh().1)).collect()),
        ("a wrong last byte", keys.iter().map(|(id, secret)| written(id, &last(secret))).collect()),
    ];
    let state = State::start(&home, Options::default(), Box::new(|| {})).unwrap();
    let mut times = [const { Vec::new() }; 3];
    let mut shown = String::with_capacity(128);
    for _ in 0..samples {
        // The order is chance, so that what else the machine does falls on all alike.
        let class = usize::try_from(chance.below(3)).unwrap();
        let text = &classes[class].1[usize::try_from(chance.below(guesses)).unwrap()];
        // From one place in memory: how near a text lies to the processor is not what is asked.
        shown.clear();
        shown.push_str(text);
        let begun = Instant::now();
        let refused = black_box(state.accounts().identify(black_box(&shown), 0));
        let took = begun.elapsed();
        assert!(matches!(refused, Err(Refusal::Unknown)));
        times[class].push(u64::try_from(took.as_nanos()).unwrap());
    }
    state.close();
    let mut all: Vec<u64> = times.iter().flatten().copied().collect();
    all.sort_unstable();
    // Interruptions by the machine are as long as thousands of answers.
    let most = all[all.len() * 95 / 100];
    println!("{samples} samples (seed {seed}), p50 {} ns; those above {most} ns left out:", all[all.len() / 2]);
    for (one, two) in [(0, 1), (0, 2), (1, 2)] {
        println!(
            "{} against {}: means {:.1} and {:.1} ns, Welch's t {:.2}; of all samples {:.2}",
            classes[one].0,
            classes[two].0,
            moments(&times[one], most).0,
            moments(&times[two], most).0,
            welch(&times[one], &times[two], most),
            welch(&times[one], &times[two], u64::MAX)
        );
    }
}
