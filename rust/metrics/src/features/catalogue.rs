//! The table of features.

use headwater_types::Family;

use super::base::Base;
use super::times::{double, ratio};

/// One feature of an address.
#[derive(Debug, Clone, Copy)]
pub struct Feature {
    /// Its name, the same in frames, models and answers.
    pub name: &'static str,
    /// The unit of its number.
    pub unit: Unit,
    /// The measure, in words.
    pub about: &'static str,
    /// The number; NaN where it has no meaning, such as a mean of nothing.
    pub of: fn(&Base) -> f64,
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// A share of 0 to 1, or another quotient.
    Ratio,
    /// Seconds.
    Seconds,
    /// Days.
    Days,
    /// Units of the money: ether, US dollars of a stablecoin.
    Money,
    /// 0 or 1.
    Flag,
}

impl Unit {
    /// The text in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Ratio => "ratio",
            Self::Seconds => "seconds",
            Self::Days => "days",
            Self::Money => "units",
            Self::Flag => "0 or 1",
        }
    }
}

macro_rules! features {
    ($($name:expr, $unit:ident, $about:expr, |$base:ident| $of:expr;)*) => {
        &[$(Feature { name: $name, unit: Unit::$unit, about: $about, of: |$base| $of }),*]
    };
}

macro_rules! money {
    ($field:ident, $what:literal) => {
        features! {
            concat!(stringify!($field), "_in_count"), Count, concat!("Payments in of ", $what), |base| count(base.$field.ins.count);
            concat!(stringify!($field), "_out_count"), Count, concat!("Payments out of ", $what), |base| count(base.$field.outs.count);
            concat!(stringify!($field), "_in_sum"), Money, concat!("Sum in of ", $what), |base| base.$field.ins.sum;
            concat!(stringify!($field), "_out_sum"), Money, concat!("Sum out of ", $what), |base| base.$field.outs.sum;
            concat!(stringify!($field), "_imbalance"), Ratio, concat!("In less out by the larger, of ", $what), |base| base.$field.imbalance();
            concat!(stringify!($field), "_in_mean"), Money, concat!("Mean payment in of ", $what), |base| base.$field.ins.mean;
            concat!(stringify!($field), "_in_median"), Money, concat!("Median payment in of ", $what), |base| base.$field.ins.median;
            concat!(stringify!($field), "_in_max"), Money, concat!("Largest payment in of ", $what), |base| base.$field.ins.max;
            concat!(stringify!($field), "_in_min"), Money, concat!("Smallest payment in of ", $what), |base| base.$field.ins.min;
            concat!(stringify!($field), "_in_variation"), Ratio, concat!("Standard deviation by mean of payments in of ", $what), |base| base.$field.ins.variation;
            concat!(stringify!($field), "_in_first"), Money, concat!("First payment in of ", $what), |base| base.$field.ins.first;
            concat!(stringify!($field), "_in_last"), Money, concat!("Last payment in of ", $what), |base| base.$field.ins.last;
            concat!(stringify!($field), "_in_largest_share"), Ratio, concat!("Largest payment in by the sum in, of ", $what), |base| base.$field.ins.max / base.$field.ins.sum;
            concat!(stringify!($field), "_in_repeated_ratio"), Ratio, concat!("Payments in with an amount that occurs again, of ", $what), |base| base.$field.ins.repeated;
            concat!(stringify!($field), "_in_concentration"), Ratio, concat!("Sum of squared shares of the senders, of ", $what), |base| base.$field.ins.concentration;
            concat!(stringify!($field), "_in_once_share"), Ratio, concat!("Share of the sum in with counterparties that occur once, of ", $what), |base| base.$field.ins.once;
            concat!(stringify!($field), "_in_round_ratio"), Ratio, concat!("Share of round payments in, of ", $what), |base| base.$field.ins.round;
            concat!(stringify!($field), "_in_digits_mean"), Count, concat!("Mean number of significant decimal digits of payments in, of ", $what), |base| base.$field.ins.digits;
            concat!(stringify!($field), "_top_sender_share"), Ratio, concat!("Share of the largest sender, of ", $what), |base| base.$field.ins.top;
            concat!(stringify!($field), "_out_mean"), Money, concat!("Mean payment out of ", $what), |base| base.$field.outs.mean;
            concat!(stringify!($field), "_out_median"), Money, concat!("Median payment out of ", $what), |base| base.$field.outs.median;
            concat!(stringify!($field), "_out_max"), Money, concat!("Largest payment out of ", $what), |base| base.$field.outs.max;
            concat!(stringify!($field), "_out_min"), Money, concat!("Smallest payment out of ", $what), |base| base.$field.outs.min;
            concat!(stringify!($field), "_out_variation"), Ratio, concat!("Standard deviation by mean of payments out of ", $what), |base| base.$field.outs.variation;
            concat!(stringify!($field), "_out_first"), Money, concat!("First payment out of ", $what), |base| base.$field.outs.first;
            concat!(stringify!($field), "_out_last"), Money, concat!("Last payment out of ", $what), |base| base.$field.outs.last;
            concat!(stringify!($field), "_out_largest_share"), Ratio, concat!("Largest payment out by the sum out, of ", $what), |base| base.$field.outs.max / base.$field.outs.sum;
            concat!(stringify!($field), "_out_repeated_ratio"), Ratio, concat!("Payments out with an amount that occurs again, of ", $what), |base| base.$field.outs.repeated;
            concat!(stringify!($field), "_out_concentration"), Ratio, concat!("Sum of squared shares of the receivers, of ", $what), |base| base.$field.outs.concentration;
            concat!(stringify!($field), "_out_once_share"), Ratio, concat!("Share of the sum out with counterparties that occur once, of ", $what), |base| base.$field.outs.once;
            concat!(stringify!($field), "_out_round_ratio"), Ratio, concat!("Share of round payments out, of ", $what), |base| base.$field.outs.round;
            concat!(stringify!($field), "_out_digits_mean"), Count, concat!("Mean number of significant decimal digits of payments out, of ", $what), |base| base.$field.outs.digits;
            concat!(stringify!($field), "_top_receiver_share"), Ratio, concat!("Share of the largest receiver, of ", $what), |base| base.$field.outs.top;
            concat!(stringify!($field), "_residual_ratio"), Ratio, concat!("Balance at the end by the sum in, of ", $what), |base| base.$field.residual;
            concat!(stringify!($field), "_max_balance"), Money, concat!("Largest balance, counted from nothing, of ", $what), |base| base.$field.max_balance;
            concat!(stringify!($field), "_max_balance_ratio"), Ratio, concat!("Largest balance by the sum in, of ", $what), |base| base.$field.max_balance / base.$field.ins.sum;
            concat!(stringify!($field), "_mean_balance_ratio"), Ratio, concat!("Mean balance over time by the largest, of ", $what), |base| base.$field.mean_balance;
            concat!(stringify!($field), "_empty_time_ratio"), Ratio, concat!("Share of the time with a balance below 1 % of the largest, of ", $what), |base| base.$field.empty_time;
            concat!(stringify!($field), "_emptied_count"), Count, concat!("Times the balance fell below 1 % of the largest, of ", $what), |base| count(base.$field.emptied);
            concat!(stringify!($field), "_swept_ratio"), Ratio, concat!("Share of the sum out in payments that emptied the balance, of ", $what), |base| base.$field.swept;
            concat!(stringify!($field), "_sweep_targets"), Count, concat!("Receivers of payments that emptied the balance, of ", $what), |base| count(base.$field.sweep_targets);
            concat!(stringify!($field), "_holding_p10_secs"), Seconds, concat!("Holding time, first in first out, 10th percentile by amount, of ", $what), |base| base.$field.holding[0];
            concat!(stringify!($field), "_holding_median_secs"), Seconds, concat!("Holding time, median by amount, of ", $what), |base| base.$field.holding[1];
            concat!(stringify!($field), "_holding_p90_secs"), Seconds, concat!("Holding time, 90th percentile by amount, of ", $what), |base| base.$field.holding[2];
            concat!(stringify!($field), "_quick_ratio"), Ratio, concat!("Share of the sum in that left within an hour, of ", $what), |base| base.$field.quick;
            concat!(stringify!($field), "_size_entropy"), Ratio, concat!("Entropy of amounts over powers of two, in nats, of ", $what), |base| base.$field.size_entropy;
            concat!(stringify!($field), "_benford_distance"), Ratio, concat!("Distance of first digits from Benford's law, 0 to 2, of ", $what), |base| base.$field.benford;
        }
    };
}

const DAY_SECS: f64 = 86_400.0;

static GENERAL: &[Feature] = features! {
    "in_count", Count, "Movements in, of any asset", |base| count(base.received);
    "out_count", Count, "Movements out", |base| count(base.sent);
    "own_count", Count, "Movements to itself", |base| count(base.own);
    "in_ratio", Ratio, "Movements in by movements in or out", |base| ratio(base.received, base.received + base.sent);
    "transaction_count", Count, "Distinct transactions", |base| count(base.transactions);
    "initiated_ratio", Ratio, "Transactions that the address sent itself by all", |base| ratio(base.initiated, base.transactions);
    "swap_ratio", Ratio, "Transactions in which one asset came and another one left by all", |base| ratio(base.swaps, base.transactions);
    "empty_in_ratio", Ratio, "Movements in of amount zero by movements in", |base| ratio(base.empty_in, base.received);
    "empty_out_ratio", Ratio, "Movements out of amount zero, such as calls of contracts, by movements out", |base| ratio(base.empty_out, base.sent);
    "token_in_ratio", Ratio, "Movements in of tokens other than main stablecoins by movements in", |base| ratio(base.other_in, base.received);
    "token_out_ratio", Ratio, "Movements out of tokens other than main stablecoins by movements out", |base| ratio(base.other_out, base.sent);
    "failed_ratio", Ratio, "Movements of failed transactions by movements, failed ones included", |base| ratio(base.failed, base.failed + base.transfers());
    "created_count", Count, "Contracts created", |base| count(base.created);
    "asset_count", Count, "Distinct assets", |base| count(base.assets);
    "native_ratio", Ratio, "Payments of the native coin by movements", |base| ratio(base.native.ins.count + base.native.outs.count, base.received + base.sent);
    "stable_ratio", Ratio, "Payments of main stablecoins by movements", |base| ratio(base.stable.ins.count + base.stable.outs.count, base.received + base.sent);
    "sender_count", Count, "Distinct senders", |base| count(base.parties.senders);
    "receiver_count", Count, "Distinct receivers", |base| count(base.parties.receivers);
    "senders_per_in", Ratio, "Distinct senders by movements in", |base| ratio(base.parties.senders, base.received);
    "receivers_per_out", Ratio, "Distinct receivers by movements out", |base| ratio(base.parties.receivers, base.sent);
    "overlap_ratio", Ratio, "Counterparties that are sender and receiver by all (Jaccard)", |base| ratio(base.parties.both, base.parties.all());
    "once_ratio", Ratio, "Movements with a counterparty that occurs once by movements", |base| ratio(base.parties.once, base.received + base.sent);
    "in_once_ratio", Ratio, "Movements in from senders that sent once by movements in", |base| ratio(base.parties.in_once, base.received);
    "out_once_ratio", Ratio, "Movements out to receivers that received once by movements out", |base| ratio(base.parties.out_once, base.sent);
    "top_party_ratio", Ratio, "Movements with the counterparty of most movements by movements", |base| ratio(base.parties.most, base.received + base.sent);
    "parties_per_day", Ratio, "Distinct counterparties by active days", |base| ratio(base.parties.all(), base.times.active_days);
    "life_days", Days, "Days from the first to the last movement", |base| double(base.times.life_secs().into()) / DAY_SECS;
    "active_days", Days, "Days (UTC) with a movement", |base| count(base.times.active_days);
    "active_ratio", Ratio, "Active days by days of the life, begun ones included", |base| count(base.times.active_days) / (double(base.times.life_secs().into()) / DAY_SECS + 1.0);
    "per_day_mean", Ratio, "Movements by active days", |base| ratio(base.times.count, base.times.active_days);
    "per_day_max", Count, "Most movements on one day", |base| count(base.times.max_per_day);
    "per_day_deviation", Ratio, "Standard deviation of the movements per active day", |base| base.times.deviation_per_day();
    "gap_mean_secs", Seconds, "Mean gap between movements", |base| base.times.gaps.mean;
    "gap_median_secs", Seconds, "Median gap", |base| base.times.gaps.median;
    "gap_max_secs", Seconds, "Longest gap", |base| base.times.gaps.max;
    "gap_variation", Ratio, "Standard deviation by mean of the gaps", |base| base.times.gaps.variation;
    "hour_entropy", Ratio, "Entropy of the hour of the day (UTC) by ln 24", |base| base.times.hour_entropy_ratio();
    "night_ratio", Ratio, "Smallest share of movements in eight hours of the day on end", |base| base.times.night_ratio();
    "hours_0_ratio", Ratio, "Movements from 00:00 to 06:00 UTC by movements", |base| quarter(base, 0);
    "hours_6_ratio", Ratio, "Movements from 06:00 to 12:00 UTC by movements", |base| quarter(base, 6);
    "hours_12_ratio", Ratio, "Movements from 12:00 to 18:00 UTC by movements", |base| quarter(base, 12);
    "weekend_ratio", Ratio, "Movements on Saturdays and Sundays (UTC) by movements", |base| ratio(base.times.weekend, base.times.count);
    "time_mean", Ratio, "Mean time within the life, 0 to 1", |base| base.times.moments[0];
    "time_deviation", Ratio, "Standard deviation of the time within the life", |base| base.times.moments[1];
    "time_skewness", Ratio, "Skewness of the time within the life", |base| base.times.moments[2];
    "time_kurtosis", Ratio, "Kurtosis of the time within the life", |base| base.times.moments[3];
    "early_30_ratio", Ratio, "Movements in the first 30 days of the life by movements", |base| ratio(base.early_30, base.times.count);
    "late_30_ratio", Ratio, "Movements in the last 30 days of the life by movements", |base| ratio(base.late_30, base.times.count);
    "late_90_ratio", Ratio, "Movements in the last 90 days of the life by movements", |base| ratio(base.late_90, base.times.count);
    "in_life_secs", Seconds, "From the first to the last movement in", |base| base.in_times.last - base.in_times.first;
    "out_life_secs", Seconds, "From the first to the last movement out", |base| base.out_times.last - base.out_times.first;
    "in_gap_median_secs", Seconds, "Median gap between movements in", |base| base.in_times.gaps.median;
    "in_gap_min_secs", Seconds, "Shortest gap between movements in", |base| base.in_times.gaps.min;
    "in_gap_variation", Ratio, "Standard deviation by mean of the gaps between movements in", |base| base.in_times.gaps.variation;
    "out_gap_median_secs", Seconds, "Median gap between movements out", |base| base.out_times.gaps.median;
    "out_gap_min_secs", Seconds, "Shortest gap between movements out", |base| base.out_times.gaps.min;
    "out_gap_variation", Ratio, "Standard deviation by mean of the gaps between movements out", |base| base.out_times.gaps.variation;
    "first_out_delay_secs", Seconds, "From the first movement in to the first one out; negative where that comes before", |base| base.out_times.first - base.in_times.first;
    "last_out_delay_secs", Seconds, "From the last movement in to the last one out; negative where that comes before", |base| base.out_times.last - base.in_times.last;
    "reaction_median_secs", Seconds, "Median time from a payment in to the next movement out", |base| base.reaction;
    "reacted_ratio", Ratio, "Payments in that a movement out follows within an hour by payments in", |base| base.reacted;
    "turn_ratio", Ratio, "Changes of direction by pairs of movements in a row", |base| ratio(base.turns, (base.received + base.sent).saturating_sub(1));
    "starts_in", Flag, "Whether a movement in comes first", |base| f64::from(u8::from(base.starts_in));
    "ends_out", Flag, "Whether a movement out comes last", |base| f64::from(u8::from(base.ends_out));
    "max_in_24h", Count, "Most movements in within 24 hours", |base| count(base.max_in_day);
    "max_out_24h", Count, "Most movements out within 24 hours", |base| count(base.max_out_day);
};

/// The features of chains of outputs alone.
static UTXO: &[Feature] = features! {
    "utxo_coinbase_ratio", Ratio, "Coinbases by transactions that paid it", |base| ratio(base.coins.coinbases, base.coins.coinbases + base.coins.receipts);
    "utxo_in_inputs_mean", Count, "Mean number of inputs of transactions that paid it, coinbases apart", |base| ratio(base.coins.in_inputs, base.coins.receipts);
    "utxo_in_outputs_mean", Count, "Mean number of their outputs", |base| ratio(base.coins.in_outputs, base.coins.receipts);
    "utxo_in_payers_mean", Count, "Mean number of their distinct input addresses", |base| ratio(base.coins.in_payers, base.coins.receipts);
    "utxo_in_share_mean", Ratio, "Mean share of what they paid that came to it", |base| base.coins.in_shares / count(base.coins.receipts);
    "utxo_in_largest_ratio", Ratio, "Those in which its output was the largest by all", |base| ratio(base.coins.in_largest, base.coins.receipts);
    "utxo_in_dust_ratio", Ratio, "Those in which it got 1,000 satoshis or less by all", |base| ratio(base.coins.in_dust, base.coins.receipts);
    "utxo_in_equal_ratio", Ratio, "Those in which another output had the amount of its own by all", |base| ratio(base.coins.in_equal, base.coins.receipts);
    "utxo_in_again_ratio", Ratio, "Movements in after the first one out by movements in: reuse of the address", |base| utxo(base, ratio(base.in_again, base.received));
    "utxo_out_inputs_mean", Count, "Mean number of inputs of transactions that it paid for", |base| ratio(base.coins.out_inputs, base.coins.spends);
    "utxo_out_outputs_mean", Count, "Mean number of their outputs", |base| ratio(base.coins.out_outputs, base.coins.spends);
    "utxo_out_outputs_max", Count, "Largest number of their outputs", |base| utxo(base, count(base.coins.max_outputs));
    "utxo_out_payers_mean", Count, "Mean number of their distinct input addresses", |base| ratio(base.coins.out_payers, base.coins.spends);
    "utxo_out_own_inputs_mean", Count, "Mean number of its own inputs in them", |base| ratio(base.coins.own_inputs, base.coins.spends);
    "utxo_out_share_mean", Ratio, "Mean share of what their inputs held that was its own", |base| base.coins.out_shares / count(base.coins.spends);
    "utxo_multi_input_ratio", Ratio, "Those with inputs of other addresses, too, by all", |base| ratio(base.coins.multi_input, base.coins.spends);
    "utxo_self_change_ratio", Ratio, "Those with an output back to it by all", |base| ratio(base.coins.self_change, base.coins.spends);
    "utxo_sweep_ratio", Ratio, "Those with a single output, to another address, by all", |base| ratio(base.coins.sweeps, base.coins.spends);
    "utxo_peel_ratio", Ratio, "Those of one input address and two outputs by all", |base| ratio(base.coins.peels, base.coins.spends);
    "utxo_joint_ratio", Ratio, "Transactions with at least three equal outputs, half of all or more, and as many payers, by all", |base| ratio(base.coins.joint, base.coins.transactions());
    "utxo_p2pk_ratio", Ratio, "Its inputs and outputs of the form P2PK by all", |base| form(base, 0);
    "utxo_p2pkh_ratio", Ratio, "Those of the form P2PKH by all", |base| form(base, 1);
    "utxo_p2sh_ratio", Ratio, "Those of the form P2SH by all", |base| form(base, 2);
    "utxo_p2wpkh_ratio", Ratio, "Those of the form P2WPKH by all", |base| form(base, 3);
    "utxo_p2wsh_ratio", Ratio, "Those of the form P2WSH by all", |base| form(base, 4);
    "utxo_p2tr_ratio", Ratio, "Those of the form P2TR by all", |base| form(base, 5);
};

static NATIVE: &[Feature] = money!(native, "the native coin");
static STABLE: &[Feature] = money!(stable, "main stablecoins, taken as one");

/// Every feature.
pub fn features() -> impl Iterator<Item = &'static Feature> {
    GENERAL.iter().chain(NATIVE).chain(STABLE).chain(UTXO)
}

/// The features that addresses of a family can have, in the order of frames.
pub fn features_of(family: Family) -> impl Iterator<Item = &'static Feature> {
    let own = match family {
        Family::Evm | Family::Tron => &[][..],
        Family::Utxo => UTXO,
    };
    GENERAL.iter().chain(NATIVE).chain(STABLE).chain(own)
}

/// The feature of a name.
#[must_use]
pub fn feature(name: &str) -> Option<&'static Feature> {
    features().find(|feature| feature.name == name)
}

/// A number of UTXO chains; without a transaction that was read there is none.
fn utxo(base: &Base, value: f64) -> f64 {
    if base.coins.transactions() > 0 { value } else { f64::NAN }
}

/// Share of a form among the inputs and outputs of the address.
fn form(base: &Base, place: usize) -> f64 {
    ratio(base.coins.forms[place], base.coins.forms.iter().sum())
}

/// Share of the movements in six hours of the day from one on.
fn quarter(base: &Base, from: usize) -> f64 {
    ratio(base.times.by_hour[from..from + 6].iter().sum(), base.times.count)
}

fn count(count: u64) -> f64 {
    double(count.into())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn feature_names_are_distinct() {
        let names: BTreeSet<_> = features().map(|feature| feature.name).collect();
        assert_eq!(names.len(), features().count());
    }

    #[test]
    fn features_of_nothing_are_zero_or_nan() {
        for feature in features() {
            let value = (feature.of)(&Base::default());
            assert!(value == 0.0 || value.is_nan(), "{}: {value}", feature.name);
        }
    }
}
