//! The time of the economy: its period, its blocks, and the hours in which people are awake.

use std::sync::Arc;

use headwater_types::{Chain, Family, Timestamp};

use crate::preset::Preset;
use crate::random::{Stream, float, whole};

/// First second of the economy: 2025-01-01T00:00:00Z.
pub(crate) const START: i64 = 1_735_689_600;
/// Seconds of a day.
pub(crate) const DAY: i64 = 86_400;
/// Seconds of an hour.
pub(crate) const HOUR: i64 = 3_600;

/// The blocks of one chain: fixed slots, or on bitcoin a Poisson process.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    chain: Chain,
    interval_secs: i64,
    /// Times of the blocks of a chain without slots; empty where a chain has slots.
    times: Arc<[i64]>,
    last_block: u64,
}

impl Schedule {
    /// The blocks of a chain over the period of a preset.
    pub(crate) fn new(seed: u64, chain: Chain, preset: Preset) -> Self {
        let interval_secs = preset.block_secs(chain);
        let end = START + preset.days() * DAY;
        let mut times = Vec::new();
        if chain.family() == Family::Utxo {
            let mut stream = Stream::new(seed, &format!("{chain}/block times"));
            let mut time = START;
            times.push(time);
            while time < end {
                time += 1 + stream.wait(float(interval_secs - 1));
                times.push(time);
            }
        }
        let slots = (end - START) / interval_secs;
        let last_block = if times.is_empty() { slots.unsigned_abs() } else { times.len() as u64 - 1 };
        Self { chain, interval_secs, times: times.into(), last_block }
    }

    /// Time of a block; grows with its number.
    pub(crate) fn time(&self, block: u64) -> i64 {
        if self.times.is_empty() {
            return START + i64::try_from(block).expect("block numbers are small") * self.interval_secs;
        }
        let place = usize::try_from(block).map_or(usize::MAX, |place| place.min(self.times.len() - 1));
        self.times[place]
    }

    /// The first block at or after a time; behind the period the last one.
    pub(crate) fn block_at(&self, secs: i64) -> u64 {
        if self.times.is_empty() {
            let passed = (secs - START).max(0);
            return ((passed + self.interval_secs - 1) / self.interval_secs).unsigned_abs();
        }
        (self.times.partition_point(|&time| time < secs) as u64).min(self.last_block)
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

/// The day that a time lies in, as ISO 8601 writes it.
pub(crate) fn iso_day(secs: i64) -> String {
    let text = Timestamp::new(secs).to_string();
    text.split_once('T').map_or_else(|| text.clone(), |(day, _)| day.to_owned())
}

/// When somebody is awake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rhythm {
    /// Offset of the local time, in hours.
    pub(crate) timezone_hours: i64,
    /// Traders and machines hardly sleep.
    pub(crate) night_ratio: f64,
    /// The activity on a Saturday or Sunday, beside other days.
    pub(crate) weekend_ratio: f64,
}

/// The activity by hour of the local day: little at night, most in the evening.
const WAKING: [f64; 24] = [
    0.10, 0.05, 0.03, 0.02, 0.02, 0.04, 0.12, 0.30, 0.50, 0.65, 0.75, 0.75, 0.65, 0.70, 0.75, 0.75, 0.75, 0.80, 0.85,
    0.95, 1.00, 0.85, 0.55, 0.25,
];

impl Rhythm {
    /// A random rhythm; people live mostly in three belts of the world, and most work on weekdays.
    pub(crate) fn draw(stream: &mut Stream) -> Self {
        let centre = [-5, 1, 8][stream.weighted(&[3, 4, 4])];
        let night_ratio = if stream.chance(0.06) { 0.9 } else { 0.0 };
        let weekend_ratio = [0.55, 0.9, 1.0][stream.weighted(&[5, 3, 1])];
        Self { timezone_hours: centre + stream.secs(-2, 2), night_ratio, weekend_ratio }
    }

    /// Returns how likely somebody acts at a time.
    fn waking(&self, time: i64) -> f64 {
        let local = time + self.timezone_hours * HOUR;
        let hour = usize::try_from(local.rem_euclid(DAY) / HOUR).expect("an hour of the day");
        // The first day of 1970 was a Thursday.
        let weekday = (local.div_euclid(DAY) + 3).rem_euclid(7);
        let of_day = if weekday >= 5 { self.weekend_ratio } else { 1.0 };
        WAKING[hour].max(self.night_ratio) * of_day
    }

    /// The next time somebody acts: after about `mean_secs`, put off while asleep.
    pub(crate) fn next(&self, now: i64, mean_secs: f64, stream: &mut Stream) -> i64 {
        let mut time = now + 30 + stream.wait(mean_secs);
        for _ in 0..48 {
            if stream.chance(self.waking(time)) {
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
    fn block_times_grow_and_a_time_finds_the_next_block() {
        for chain in Chain::all() {
            let schedule = Schedule::new(3, chain, Preset::Demo);
            for block in 1..schedule.last_block().min(5_000) {
                let time = schedule.time(block);
                assert!(schedule.time(block - 1) < time);
                assert_eq!(schedule.block_at(time), block);
                assert_eq!(
                    schedule.block_at(time - 1),
                    if schedule.time(block - 1) == time - 1 { block - 1 } else { block }
                );
            }
            assert!(schedule.time(schedule.last_block()) >= START + 400 * DAY);
        }
    }

    #[test]
    fn blocks_of_bitcoin_come_as_often_as_they_should() {
        let schedule = Schedule::new(3, Chain::BITCOIN, Preset::M);
        let expected = 730 * DAY / 600;
        assert!(schedule.last_block().abs_diff(expected.unsigned_abs()) < 2_000, "{}", schedule.last_block());
        let gaps: Vec<_> =
            (1..=schedule.last_block()).map(|block| schedule.time(block) - schedule.time(block - 1)).collect();
        // Of an exponential wait, e^-1 are longer than the mean.
        let long = gaps.iter().filter(|&&gap| gap > 600).count() * 1_000 / gaps.len();
        assert!((350..385).contains(&long), "{long}");
    }

    #[test]
    fn the_first_of_january_2025_is_a_wednesday() {
        let rhythm = Rhythm { timezone_hours: 0, night_ratio: 0.0, weekend_ratio: 0.0 };
        let noon = |day: i64| rhythm.waking(START + day * DAY + 12 * HOUR) > 0.0;
        assert_eq!((0..7).map(noon).collect::<Vec<_>>(), [true, true, true, false, false, true, true]);
    }
}
