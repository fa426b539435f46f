//! Random input for readers of what strangers send: bytes, and valid inputs that were damaged.
//!
//! A [`Reader`] is tried on every file of its corpus, on its samples, and on inputs made from them by `bolero`'s
//! generators, for a second, a minute with `HEADWATER_FULL`, or `HEADWATER_FUZZ_SECS`. It may neither panic, nor take longer than a second
//! for one input, nor make the process grow by more than 512 MiB. What is made depends on the seed alone, which is
//! printed and taken from `HEADWATER_SEED`. An input that fails is saved, to be put into the corpus.

mod bounds;
mod damage;
mod engine;

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bolero::TestTarget;

use self::bounds::Bounds;
use self::damage::InputMutator;
use self::engine::SeededRun;

/// The outcome of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FuzzOutcome {
    /// It was taken.
    Taken,
    /// It was refused, as may be.
    Refused,
}

impl<T, E> From<&Result<T, E>> for FuzzOutcome {
    fn from(result: &Result<T, E>) -> Self {
        if result.is_ok() { Self::Taken } else { Self::Refused }
    }
}

/// The reader under test.
///
/// ```
/// use headwater_testkit::fuzz::{FuzzOutcome, Reader};
/// Reader::new("numbers", concat!(env!("CARGO_MANIFEST_DIR"), "/corpus"))
///     .samples(["17", "-4"])
///     .words(["99999999999999999999"])
///     .check(|input| {
///         let read = std::str::from_utf8(input).ok().and_then(|text| text.parse::<i64>().ok());
///         let Some(number) = read else { return FuzzOutcome::Refused };
///         assert_eq!(number.to_string().parse(), Ok(number));
///         FuzzOutcome::Taken
///     });
/// ```
#[derive(Debug, Clone)]
pub struct Reader {
    name: &'static str,
    corpus: PathBuf,
    samples: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Reader {
    /// One with a name; what failed before lies in the folder of that name under `corpus`.
    #[must_use]
    pub fn new(name: &'static str, corpus: impl AsRef<Path>) -> Self {
        Self { name, corpus: corpus.as_ref().join(name), samples: Vec::new(), words: Vec::new() }
    }

    /// Inputs that are taken, from which others are made.
    #[must_use]
    pub fn samples<T: AsRef<[u8]>>(mut self, samples: impl IntoIterator<Item = T>) -> Self {
        self.samples.extend(samples.into_iter().map(|sample| sample.as_ref().to_vec()));
        self
    }

    /// Pieces that mean something to the reader, which are strewn in.
    #[must_use]
    pub fn words<T: AsRef<[u8]>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_vec()));
        self
    }

    /// Tries it, and prints what came of it.
    ///
    /// # Panics
    /// At the first input that panics, takes too long or too much memory, and when a sample is refused.
    pub fn check(self, check: impl Fn(&[u8]) -> FuzzOutcome) {
        let (name, seed) = (self.name, seed());
        let time = Duration::from_secs(seconds());
        println!("fuzz {name}: HEADWATER_SEED={seed}");
        let bounds = Bounds::begin(name);
        for sample in &self.samples {
            let shown = String::from_utf8_lossy(&sample[..sample.len().min(500)]);
            assert_eq!(bounds.over(sample, &check), FuzzOutcome::Taken, "a sample is refused: {shown}");
        }
        let kept = self.kept();
        for (file, input) in &kept {
            println!("fuzz {name}: {}", file.display());
            bounds.over(input, &check);
        }
        let each = AssertUnwindSafe(|input: &[u8]| {
            bounds.over(input, &check);
        });
        TestTarget::new(SeededRun { name, seed, time })
            .with_generator(InputMutator::new(self.samples, self.words))
            .for_each(move |input: &Vec<u8>| {
                // The whole of it, or only what is inside would be captured.
                let each = &each;
                each.0(input);
            });
        println!("fuzz {name}: {}, {} of them kept cases", bounds.end(), kept.len());
    }

    /// The inputs that failed once, in order of name.
    fn kept(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = std::fs::read_dir(&self.corpus).into_iter().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be listed").path()).collect();
        files.sort();
        files.into_iter().map(|file| (file.clone(), std::fs::read(file).expect("a case can be read"))).collect()
    }
}

/// Returns how long one reader is tried: `HEADWATER_FUZZ_SECS`, else a minute in the long runs and a second otherwise.
fn seconds() -> u64 {
    match std::env::var("HEADWATER_FUZZ_SECS") {
        Ok(secs) => secs.parse().expect("HEADWATER_FUZZ_SECS is a number"),
        Err(_) => {
            if crate::is_full() {
                60
            } else {
                1
            }
        }
    }
}

/// That of `HEADWATER_SEED`; else in the long runs another one each time, and on every change the same one, so that what a
/// change is blamed for it has done.
fn seed() -> u64 {
    match std::env::var("HEADWATER_SEED") {
        Ok(seed) => seed.parse().expect("HEADWATER_SEED is a number"),
        Err(_) if !crate::is_full() => 1,
        Err(_) => std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0),
    }
}
