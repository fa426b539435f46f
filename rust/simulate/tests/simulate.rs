//! The simulated economy, held against what it says of itself. One binary, because linking takes longer than running.

mod behaviours;
mod bitcoin;
mod bridge_legs;
mod bridges;
mod invariants;
mod labels;
mod live;
mod planted;
mod store;

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, OnceLock};

use headwater_simulate::{Economy, Preset, economy};

/// The economy of most tests.
static DEMO: LazyLock<&'static Economy> = LazyLock::new(|| demo(7));

/// The demo economy of a seed, made once for all tests, which only read it.
fn demo(seed: u64) -> &'static Economy {
    static MADE: Mutex<BTreeMap<u64, &'static OnceLock<Economy>>> = Mutex::new(BTreeMap::new());
    let made: &'static OnceLock<Economy> =
        MADE.lock().unwrap().entry(seed).or_insert_with(|| Box::leak(Box::default()));
    made.get_or_init(|| economy(Preset::Demo, seed))
}
