//! The time of the economy: its period, its blocks, and the hours in which people are awake.

use headwater_types::{Chain, Family, Timestamp};

use crate::identity::digest;
use crate::random::{Stream, whole};

/// First second of the economy: 2025-01-01T00:00:00Z.
pub(crate) const START: i64 = 1_735_689_600;
/// Seconds of a day.
pub(crate) const DAY: i64 = 86_400;
/// Seconds of an hour.
pub(crate) const HOUR: i64 = 3_600;

/// The blocks of one chain. They are farther apart than in reality, so that a small economy is not mostly empty
/// blocks, and every one of them is stated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    seed: u64,
    chain: Chain,
    interval_secs: i64,
    /// Block times vary by up to this much; 0 where a chain has fixed slots.
    jitter_secs: i64,
    last_block: u64,
}

impl Schedule {
    /// The blocks of a chain over this many days.
    pub(crate) fn new(seed: u64, chain: Chain, days: i64) -> Self {
        let (interval_secs, jitter_secs) = match chain.family() {
            Family::Evm if chain == Chain::ETHEREUM => (300, 0),
            Family::Evm => (180, 0),
            Family::Tron => (240, 0),
            Family::Utxo => (1_800, 1_500),
        };
        let last_block = (days * DAY / interval_secs).unsigned_abs();
        Self { seed, chain, interval_secs, jitter_secs, last_block }
    }

    /// Time of a block; grows with its number.
    pub(crate) fn time(&self, block: u64) -> i64 {
        let slot = START + i64::try_from(block).expect("block numbers are small") * self.interval_secs;
        if self.jitter_secs == 0 || block == 0 {
            return slot;
        }
        let bytes = digest(self.seed, "block time", &block.to_be_bytes());
        let draw = i64::from(u16::from_be_bytes([bytes[0], bytes[1]]));
        slot + draw * self.jitter_secs / (i64::from(u16::MAX) + 1)
    }

    /// The first block at or after a time.
    pub(crate) fn block_at(&self, secs: i64) -> u64 {
        let mut block = ((secs - START).max(0) / self.interval_secs).unsigned_abs().saturating_sub(1);
        while self.time(block) < secs {
            block += 1;
        }
        block
    }

    /// The last block of the period.
    pub(crate) const fn last_block(&self) -> u64 {
        self.last_block
    }

    /// The chain.
    pub(crate) const fn chain(&self) -> Chain {
        self.chain
    }

    /// [`Self::time`] as the ledger wants it.
    pub(crate) fn timestamp(&self, block: u64) -> Timestamp {
        Timestamp::new(self.time(block))
    }
}

/// The day of the economy that a time lies in, 0 for the first.
pub(crate) fn day(secs: i64) -> usize {
    usize::try_from((secs - START).max(0) / DAY).expect("not negative")
}

/// When somebody is awake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rhythm {
    /// Offset of the local time, in hours.
    pub(crate) timezone_hours: i64,
    /// Traders and machines hardly sleep.
    pub(crate) night_ratio: f64,
}

/// How likely somebody acts in an hour of the local day: little at night, most in the evening.
const WAKING: [f64; 24] = [
    0.10, 0.05, 0.03, 0.02, 0.02, 0.04, 0.12, 0.30, 0.50, 0.65, 0.75, 0.75, 0.65, 0.70, 0.75, 0.75, 0.75, 0.80, 0.85,
    0.95, 1.00, 0.85, 0.55, 0.25,
];

impl Rhythm {
    /// A random rhythm; people live mostly in three belts of the world.
    pub(crate) fn draw(stream: &mut Stream) -> Self {
        let centre = [-5, 1, 8][stream.weighted(&[3, 4, 4])];
        let night_ratio = if stream.chance(0.06) { 0.9 } else { 0.0 };
        Self { timezone_hours: centre + stream.secs(-2, 2), night_ratio }
    }

    /// The next time somebody acts: after about `mean_secs`, put off while asleep.
    pub(crate) fn next(&self, now: i64, mean_secs: f64, stream: &mut Stream) -> i64 {
        let mut time = now + 30 + stream.wait(mean_secs);
        for _ in 0..48 {
            let hour = (time + self.timezone_hours * HOUR).rem_euclid(DAY) / HOUR;
            let waking = WAKING[usize::try_from(hour).expect("an hour of the day")].max(self.night_ratio);
            if stream.chance(waking) {
                break;
            }
            time += HOUR / 2 + i64::try_from(whole(stream.unit() * 2_700.0)).expect("less than an hour");
        }
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_times_grow_and_the_block_of_a_time_is_the_first_after_it() {
        for chain in Chain::all() {
            let schedule = Schedule::new(3, chain, 4);
            for block in 1..schedule.last_block() {
                let time = schedule.time(block);
                assert!(schedule.time(block - 1) < time);
                assert_eq!(schedule.block_at(time), block);
                assert_eq!(schedule.block_at(time + 1), block + 1);
            }
        }
    }
}
