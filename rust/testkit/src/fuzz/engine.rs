//! Drives `bolero` with inputs that depend on a seed only; its own engine takes the seed from the operating system.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bolero::bolero_engine::driver::Options;
use bolero::bolero_engine::input::Bytes;
use bolero::{Engine, Test};

/// Random bytes that one input is made from.
const BYTES: usize = 2048;

/// Runs a test on one input after another until the time is over.
pub(super) struct SeededRun {
    pub name: &'static str,
    pub seed: u64,
    pub time: Duration,
}

impl<T: Test<Value = Vec<u8>>> Engine<T> for SeededRun {
    type Output = ();

    fn run(self, mut test: T, options: Options) {
        let began = Instant::now();
        let mut bytes = vec![0; BYTES];
        for number in 0_u64.. {
            if began.elapsed() >= self.time {
                return;
            }
            fill(&mut bytes, self.seed, number);
            let Err(error) = test.test(&mut Bytes::new(&bytes, &options)) else { continue };
            let failed = test.generate_value(&mut Bytes::new(&bytes, &options));
            let input = test.shrink(bytes, None, &options).map_or(failed, |smaller| smaller.input);
            let place = save(self.name, &input);
            panic!(
                "fuzz {}: HEADWATER_SEED={} fails at input {number}: {error}\n{}\nput {} into the corpus",
                self.name,
                self.seed,
                String::from_utf8_lossy(&input[..input.len().min(2000)]),
                place.display()
            );
        }
    }
}

/// Keeps an input that failed where a person can pick it up.
pub(super) fn save(name: &str, input: &[u8]) -> PathBuf {
    let place = std::env::temp_dir().join(format!("headwater-fuzz-{name}-{}", std::process::id()));
    std::fs::write(&place, input).expect("a failing input can be written into the folder of temporary files");
    place
}

/// The bytes of input `number` under a seed (`SplitMix64`).
fn fill(bytes: &mut [u8], seed: u64, number: u64) {
    let mut state = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    for word in bytes.chunks_exact_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word.copy_from_slice(&(mixed ^ mixed >> 31).to_le_bytes());
    }
}
