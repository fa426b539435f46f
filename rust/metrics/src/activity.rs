//! How an address behaves, as far as its transfers alone tell: how many, with whom, when.
//!
//! Movements of failed transactions are left out: nothing moved. A transfer of the address to itself is a movement of
//! its own kind: it counts in transactions and times, and is neither in nor out, nor with anybody. Times are those of
//! blocks, in UTC.

use headwater_ledger::read::{Account, ColumnSet, Direction, NOBODY, PostingColumns, Scan};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Timestamp};

use crate::sums::{AssetSum, AssetSums};
use crate::sweep::Gather;

const HOUR_SECS: i64 = 3600;
const DAY_SECS: i64 = 24 * HOUR_SECS;

/// Features of one address.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Activity {
    /// Distinct transactions.
    pub transactions: u64,
    /// Movements in.
    pub received: u64,
    /// Movements out.
    pub sent: u64,
    /// Movements to itself.
    pub own: u64,
    /// Exact sums by asset, in order of asset.
    pub sums: Vec<AssetSum>,
    /// Distinct addresses that sent to it.
    pub senders: u64,
    /// Distinct addresses that it sent to.
    pub receivers: u64,
    /// Distinct addresses that did either.
    pub counterparties: u64,
    /// When it moved.
    pub times: Times,
}

impl Activity {
    /// Movements in by movements either way; `None` without any.
    #[must_use]
    pub fn in_ratio(&self) -> Option<f64> {
        ratio(self.received, self.received + self.sent)
    }

    /// Overlap of senders and receivers (Jaccard): those who are both by those who are either; `None` without any.
    #[must_use]
    pub fn overlap_ratio(&self) -> Option<f64> {
        ratio(self.senders + self.receivers - self.counterparties, self.counterparties)
    }
}

/// When an address moved.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Times {
    /// First movement.
    pub first: Option<Timestamp>,
    /// Last movement.
    pub last: Option<Timestamp>,
    /// Days with a movement.
    pub active_days: u64,
    /// Most movements on one day.
    pub most_per_day: u64,
    /// Movements by hour of the day.
    pub by_hour: [u64; 24],
    /// Longest gap between one movement and the next, in seconds.
    pub longest_gap_secs: u64,
    /// Median gap, the lower one of two; `None` with fewer than two movements.
    pub median_gap_secs: Option<u64>,
    /// Standard deviation of the gaps by their mean; `None` where there is no gap or all are 0.
    pub gap_variation_ratio: Option<f64>,
}

impl Times {
    /// From the times of movements; puts them in order.
    #[must_use]
    pub fn of(secs: &mut [i64]) -> Self {
        if !secs.is_sorted() {
            secs.sort_unstable();
        }
        let (Some(first), Some(last)) = (secs.first().copied(), secs.last().copied()) else { return Self::default() };
        let mut times =
            Self { first: Some(Timestamp::new(first)), last: Some(Timestamp::new(last)), ..Self::default() };
        let (mut day, mut on_day) = (first.div_euclid(DAY_SECS), 0);
        times.active_days = 1;
        for time in &*secs {
            let hour = time.rem_euclid(DAY_SECS) / HOUR_SECS;
            times.by_hour[usize::try_from(hour).expect("0 to 23")] += 1;
            let today = time.div_euclid(DAY_SECS);
            if today != day {
                times.active_days += 1;
                (day, on_day) = (today, 0);
            }
            on_day += 1;
            times.most_per_day = times.most_per_day.max(on_day);
        }
        times.gaps(secs);
        times
    }

    fn gaps(&mut self, secs: &mut [i64]) {
        let count = secs.len() - 1;
        if count == 0 {
            return;
        }
        // In place: the times are not needed any more.
        let mut squares = 0_u128;
        let total = u128::from(secs[count].abs_diff(secs[0]));
        for place in 0..count {
            let gap = secs[place + 1].abs_diff(secs[place]);
            squares += u128::from(gap).pow(2);
            self.longest_gap_secs = self.longest_gap_secs.max(gap);
            secs[place] = gap.cast_signed();
        }
        let (_, median, _) = secs[..count].select_nth_unstable((count - 1) / 2);
        self.median_gap_secs = Some(median.cast_unsigned());
        // (std / mean)² = (n Σ gap² - (Σ gap)²) / (Σ gap)².
        let n = count as u128;
        if total > 0
            && let Some(spread) = squares.checked_mul(n).and_then(|squares| squares.checked_sub(total * total))
        {
            self.gap_variation_ratio = Some((double(spread) / double(total * total)).sqrt());
        }
    }

    /// Seconds from the first to the last movement.
    #[must_use]
    pub fn life_secs(&self) -> u64 {
        self.first.zip(self.last).map_or(0, |(first, last)| last.secs().abs_diff(first.secs()))
    }

    /// Entropy of the hour of the day by that of a uniform one, ln 24: 1 for round the clock, 0 for one hour of the
    /// day; `None` without movements.
    #[must_use]
    pub fn hour_entropy_ratio(&self) -> Option<f64> {
        let total: u64 = self.by_hour.iter().sum();
        let share = |count: &u64| double(u128::from(*count)) / double(u128::from(total));
        let shares = self.by_hour.iter().filter(|count| **count > 0).map(share);
        (total > 0).then(|| (shares.map(|share| -share * share.ln()).sum::<f64>() / 24_f64.ln()).max(0.0))
    }

    /// Smallest share of movements in eight hours of the day on end: near 0 where somebody sleeps, 1/3 for a machine;
    /// `None` without movements.
    #[must_use]
    pub fn night_ratio(&self) -> Option<f64> {
        let total: u64 = self.by_hour.iter().sum();
        let window = |start: usize| (start..start + 8).map(|hour| self.by_hour[hour % 24]).sum::<u64>();
        ratio((0..24).map(window).min()?, total)
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| double(u128::from(part)) / double(u128::from(whole)))
}

#[expect(clippy::cast_precision_loss, reason = "statistics are doubles")]
fn double(count: u128) -> f64 {
    count as f64
}

/// Gathers [`Activity`] over the postings of one address after the other.
#[derive(Debug, Default)]
pub struct ActivityGather {
    sums: AssetSums,
    found: Activity,
    latest: Option<(u32, u32)>,
    times: Vec<i64>,
    /// Numbers of the senders and of the receivers of the open part.
    open: [Vec<u32>; 2],
    part: Option<u32>,
    /// Distinct numbers of parts that are done, with their part, where there are several.
    done: [Vec<(u32, u32)>; 2],
}

impl ActivityGather {
    fn close(&mut self) {
        let Some(part) = self.part else { return };
        for (open, done) in self.open.iter_mut().zip(&mut self.done) {
            open.sort_unstable();
            open.dedup();
            done.extend(open.drain(..).map(|number| (part, number)));
        }
    }

    fn count_counterparties(&mut self, ledger: &dyn Ledger) -> Result<(), LedgerError> {
        if self.done.iter().all(Vec::is_empty) {
            // One part: its numbers are addresses.
            let [senders, receivers] = &mut self.open;
            for numbers in [&mut *senders, &mut *receivers] {
                numbers.sort_unstable();
                numbers.dedup();
            }
            self.found.set_counterparties(senders, receivers);
        } else {
            self.close();
            let mut named: [Vec<Address>; 2] = [Vec::new(), Vec::new()];
            for (numbers, named) in self.done.iter_mut().zip(&mut named) {
                for (part, number) in numbers.drain(..) {
                    named.push(ledger.address(PostingColumns::account_of(part, number))?);
                }
                named.sort_unstable();
                named.dedup();
            }
            self.found.set_counterparties(&named[0], &named[1]);
        }
        self.open.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}

impl Activity {
    /// From two ordered lists without repetition.
    fn set_counterparties<T: Ord>(&mut self, senders: &[T], receivers: &[T]) {
        let mut both = 0;
        let mut rest = receivers.iter().peekable();
        for sender in senders {
            while rest.next_if(|receiver| *receiver < sender).is_some() {}
            both += u64::from(rest.next_if(|receiver| *receiver == sender).is_some());
        }
        (self.senders, self.receivers) = (senders.len() as u64, receivers.len() as u64);
        self.counterparties = self.senders + self.receivers - both;
    }
}

impl Gather for ActivityGather {
    const WANTED: ColumnSet = ColumnSet::ALL;
    type Found = Activity;

    fn begin(&mut self) {
        self.sums.begin();
        let mut sums = std::mem::take(&mut self.found.sums);
        sums.clear();
        self.found = Activity { sums, ..Activity::default() };
        self.times.clear();
        (self.latest, self.part) = (None, None);
    }

    fn add(&mut self, ledger: &dyn Ledger, columns: &PostingColumns<'_>) -> Result<(), LedgerError> {
        if self.part != Some(columns.part()) {
            if self.open.iter().any(|open| !open.is_empty()) {
                self.close();
            }
            self.part = Some(columns.part());
        }
        self.sums.add(ledger, columns)?;
        let base = columns.base_time().secs();
        let rows = columns.transactions().iter().zip(columns.counterparties()).zip(columns.seconds());
        for (flags, ((row, other), secs)) in columns.flags().iter().zip(rows) {
            if flags.is_failed() {
                continue;
            }
            let transaction = Some((columns.part(), *row));
            self.found.transactions += u64::from(self.latest != transaction);
            self.latest = transaction;
            self.times.push(base.saturating_add(i64::from(*secs)));
            let with = match flags.direction() {
                Direction::In => {
                    self.found.received += 1;
                    &mut self.open[0]
                }
                Direction::Out => {
                    self.found.sent += 1;
                    &mut self.open[1]
                }
                Direction::Own => {
                    self.found.own += 1;
                    continue;
                }
            };
            if *other != NOBODY {
                with.push(*other);
            }
        }
        Ok(())
    }

    fn finish(&mut self, ledger: &dyn Ledger) -> Result<&Activity, LedgerError> {
        self.count_counterparties(ledger)?;
        self.found.sums.extend(self.sums.finish(ledger)?.iter());
        self.found.times = Times::of(&mut self.times);
        Ok(&self.found)
    }
}

/// Features of one account over a scan. On chains of outputs there are no counterparties here.
///
/// # Errors
/// When the ledger cannot be read, a sum passes 256 bits, or the work is cancelled.
pub fn activity(ledger: &dyn Ledger, account: &Account, scan: &Scan, cancel: &Cancel) -> Result<Activity, LedgerError> {
    let mut gather = ActivityGather::default();
    ledger.posting_columns(account, scan, (ActivityGather::WANTED, cancel), &mut |columns| {
        gather.add(ledger, &columns)?;
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    gather.finish(ledger)?;
    Ok(gather.found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_small_case_are_those_worked_by_hand() {
        // 01:00 and 01:30 on day 0, 23:00 on day 2: gaps of 1,800 and 250,200 s, 126,000 on average and 124,200 off it.
        let times = Times::of(&mut [2 * 86_400 + 23 * 3600, 3600, 5400]);
        assert_eq!((times.first, times.last), (Some(Timestamp::new(3600)), Some(Timestamp::new(255_600))));
        assert_eq!((times.active_days, times.most_per_day, times.life_secs()), (2, 2, 252_000));
        assert_eq!((times.by_hour[1], times.by_hour[23]), (2, 1));
        assert_eq!((times.longest_gap_secs, times.median_gap_secs), (250_200, Some(1800)));
        assert!((times.gap_variation_ratio.unwrap() - 124_200.0 / 126_000.0).abs() < 1e-12);
        // Two thirds and one third: (2/3 ln 1.5 + 1/3 ln 3) / ln 24.
        let entropy = (2.0 / 3.0 * 1.5_f64.ln() + 3_f64.ln() / 3.0) / 24_f64.ln();
        assert!((times.hour_entropy_ratio().unwrap() - entropy).abs() < 1e-12);
        assert_eq!(times.night_ratio(), Some(0.0));
    }

    #[test]
    fn degenerate_times_have_no_gaps() {
        let none = Times::of(&mut []);
        assert_eq!((none.hour_entropy_ratio(), none.night_ratio(), none.median_gap_secs), (None, None, None));
        let one = Times::of(&mut [-1]);
        assert_eq!((one.by_hour[23], one.active_days, one.median_gap_secs), (1, 1, None));
        assert_eq!(one.hour_entropy_ratio(), Some(0.0));
        let equal = Times::of(&mut [7, 7, 7]);
        assert_eq!((equal.median_gap_secs, equal.gap_variation_ratio, equal.most_per_day), (Some(0), None, 3));
        let steady = Times::of(&mut (0..24).map(|hour| hour * 3600).collect::<Vec<_>>());
        assert_eq!((steady.gap_variation_ratio, steady.night_ratio()), (Some(0.0), Some(8.0 / 24.0)));
        assert!((steady.hour_entropy_ratio().unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn overlap_is_who_is_both_by_who_is_either() {
        let mut found = Activity::default();
        found.set_counterparties(&[1, 2, 5], &[2, 3, 5, 9]);
        assert_eq!((found.senders, found.receivers, found.counterparties), (3, 4, 5));
        assert_eq!((found.overlap_ratio(), Activity::default().overlap_ratio()), (Some(0.4), None));
    }
}
