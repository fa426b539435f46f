//! Features of one address from its rows, as their texts say: plain, slow, and sharing no code with the engine.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "features are doubles, and counts of a test are small"
)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use headwater_ledger::market::AssetTerms;
use headwater_ledger::read::{
    Direction, Ledger, MovementKind, Scan, ScanOrder, ScriptType, Status, Transaction, TransactionRef,
};
use headwater_metrics::features::STABLECOINS;
use headwater_types::{Address, Asset, Chain, Family};

const DAY: i64 = 86_400;

/// Values by name.
type Values = BTreeMap<String, f64>;

/// A movement that did not fail.
struct Movement {
    time: i64,
    transaction: TransactionRef,
    kind: MovementKind,
    direction: Direction,
    /// `None` past 128 bits.
    amount: Option<u128>,
    asset: Asset,
    other: Option<Address>,
    creates: bool,
}

/// An amount of money above zero that came or went.
#[derive(Clone)]
struct Payment {
    time: i64,
    is_in: bool,
    amount: u128,
    other: Option<Address>,
}

/// The kind that an asset counts as: the native coin, a stablecoin of so many decimals, or neither.
enum Money {
    Native,
    Stable(u8),
    Neither,
}

fn money(ledger: &dyn Ledger, chain: Chain, asset: &Asset) -> Money {
    let terms =
        AssetTerms::of(ledger.registry(), chain, asset, |contract| ledger.token_facts(chain, contract)).unwrap();
    match (asset, terms.symbol, terms.decimals) {
        (Asset::Native, ..) => Money::Native,
        (_, Some(symbol), Some(decimals)) if terms.verified && STABLECOINS.contains(&symbol.as_str()) => {
            Money::Stable(decimals)
        }
        _ => Money::Neither,
    }
}

/// All features of an address, of the movements whose counterparty is kept.
pub fn features(
    ledger: &dyn Ledger,
    chain: Chain,
    address: &Address,
    is_kept: impl Fn(Option<&Address>) -> bool,
) -> Values {
    let account = ledger.account(chain, address).unwrap().unwrap();
    let scan = Scan { order: ScanOrder::OldestFirst, ..Scan::default() };
    let (mut failed, mut movements) = (0, Vec::new());
    for posting in ledger.postings(&account, &scan).unwrap().map(|posting| posting.unwrap()) {
        let other = posting.counterparty.map(|other| ledger.address(other).unwrap());
        if !is_kept(other.as_ref()) {
            continue;
        }
        if posting.status == Some(Status::Failed) {
            failed += 1;
            continue;
        }
        movements.push(Movement {
            time: posting.time.secs(),
            transaction: posting.transaction,
            kind: posting.kind,
            direction: posting.direction,
            amount: posting.amount.to_u128(),
            asset: ledger.asset(posting.asset).unwrap(),
            other,
            creates: posting.creates_contract,
        });
    }
    let mut values = Values::new();
    let (native, stable) = amounts(ledger, chain, &movements, &mut values);
    counts(&movements, failed, &mut values);
    parties(&movements, &mut values);
    times(&movements, &mut values);
    rhythm(&movements, &[&native[..], &stable].concat(), &mut values);
    let one = 10_f64.powi(i32::from(chain.native_decimals()));
    let round = if chain.family() == Family::Tron { one } else { one / 100.0 };
    coins(ledger, chain, address, &movements, &mut values);
    of_money("native", &native, (one, round), &mut values);
    of_money("stable", &stable, (1e6, 1e6), &mut values);
    values
}

fn put(values: &mut Values, name: &str, value: f64) {
    assert!(values.insert(name.to_owned(), value).is_none(), "{name} twice");
}

fn len(of: &[impl Sized]) -> f64 {
    of.len() as f64
}

/// Movements of money, and those of none.
fn amounts(
    ledger: &dyn Ledger,
    chain: Chain,
    movements: &[Movement],
    values: &mut Values,
) -> (Vec<Payment>, Vec<Payment>) {
    let (mut native, mut stable) = (Vec::new(), Vec::new());
    let mut empty = [0.0; 2];
    let mut neither = [0.0; 2];
    for movement in movements.iter().filter(|movement| movement.direction != Direction::Own) {
        let is_in = movement.direction == Direction::In;
        let (payments, amount) = match money(ledger, chain, &movement.asset) {
            Money::Native => (&mut native, movement.amount),
            Money::Stable(decimals) => {
                let text = |amount: u128| {
                    let digits = format!("{amount:0>64}");
                    // In millionths: the digits up to the sixth after the point.
                    let point = digits.len() - usize::from(decimals);
                    format!("{digits:0<96}")[..point + 6].parse().unwrap()
                };
                (&mut stable, movement.amount.map(text))
            }
            Money::Neither => {
                neither[usize::from(is_in)] += 1.0;
                continue;
            }
        };
        match amount {
            Some(0) => empty[usize::from(is_in)] += 1.0,
            Some(amount) => payments.push(Payment { time: movement.time, is_in, amount, other: movement.other }),
            None => {}
        }
    }
    let count = |direction| movements.iter().filter(|movement| movement.direction == direction).count() as f64;
    let (ins, outs) = (count(Direction::In), count(Direction::Out));
    put(values, "empty_in_ratio", empty[1] / ins);
    put(values, "empty_out_ratio", empty[0] / outs);
    put(values, "token_in_ratio", neither[1] / ins);
    put(values, "token_out_ratio", neither[0] / outs);
    put(values, "native_ratio", len(&native) / (ins + outs));
    put(values, "stable_ratio", len(&stable) / (ins + outs));
    (native, stable)
}

fn counts(movements: &[Movement], failed: usize, values: &mut Values) {
    let count = |direction| movements.iter().filter(|movement| movement.direction == direction).count() as f64;
    let (ins, outs, own) = (count(Direction::In), count(Direction::Out), count(Direction::Own));
    put(values, "in_count", ins);
    put(values, "out_count", outs);
    put(values, "own_count", own);
    put(values, "in_ratio", ins / (ins + outs));
    put(values, "failed_ratio", failed as f64 / (failed as f64 + len(movements)));
    let created = movements.iter().filter(|movement| movement.creates && movement.direction == Direction::Out);
    put(values, "created_count", created.count() as f64);
    put(values, "asset_count", movements.iter().map(|movement| movement.asset).collect::<BTreeSet<_>>().len() as f64);

    let mut transactions: BTreeMap<_, Vec<&Movement>> = BTreeMap::new();
    for movement in movements {
        transactions.entry(movement.transaction).or_default().push(movement);
    }
    let of =
        |wanted: &dyn Fn(&[&Movement]) -> bool| transactions.values().filter(|of_one| wanted(of_one)).count() as f64;
    let initiated =
        of(&|of_one| of_one.iter().any(|row| row.kind == MovementKind::Native && row.direction != Direction::In));
    let swaps = of(&|of_one| {
        let moved = |direction| of_one.iter().filter(move |row| row.direction == direction && row.amount != Some(0));
        moved(Direction::In).any(|came| moved(Direction::Out).any(|left| left.asset != came.asset))
    });
    put(values, "transaction_count", transactions.len() as f64);
    put(values, "initiated_ratio", initiated / transactions.len() as f64);
    put(values, "swap_ratio", swaps / transactions.len() as f64);
}

fn parties(movements: &[Movement], values: &mut Values) {
    let mut parties: BTreeMap<Address, [f64; 2]> = BTreeMap::new();
    let moved = || movements.iter().filter(|movement| movement.direction != Direction::Own);
    for movement in moved() {
        if let Some(other) = movement.other {
            parties.entry(other).or_default()[usize::from(movement.direction == Direction::In)] += 1.0;
        }
    }
    let of = |wanted: fn(&[f64; 2]) -> bool| parties.values().filter(|counts| wanted(counts)).count() as f64;
    let ins = moved().filter(|movement| movement.direction == Direction::In).count() as f64;
    let all = moved().count() as f64;
    let (senders, receivers) = (of(|counts| counts[1] > 0.0), of(|counts| counts[0] > 0.0));
    put(values, "sender_count", senders);
    put(values, "receiver_count", receivers);
    put(values, "senders_per_in", senders / ins);
    put(values, "receivers_per_out", receivers / (all - ins));
    put(values, "overlap_ratio", of(|counts| counts[0] > 0.0 && counts[1] > 0.0) / parties.len() as f64);
    put(values, "once_ratio", of(|counts| counts[0] + counts[1] == 1.0) / all);
    put(values, "in_once_ratio", of(|counts| counts[1] == 1.0) / ins);
    put(values, "out_once_ratio", of(|counts| counts[0] == 1.0) / (all - ins));
    let most = parties.values().map(|counts| counts[0] + counts[1]).fold(0.0, f64::max);
    put(values, "top_party_ratio", most / all);
    let days: BTreeSet<i64> = movements.iter().map(|movement| movement.time.div_euclid(DAY)).collect();
    put(values, "parties_per_day", parties.len() as f64 / days.len() as f64);
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / len(of)
}

fn deviation(of: &[f64]) -> f64 {
    (of.iter().map(|value| (value - mean(of)).powi(2)).sum::<f64>() / len(of)).sqrt()
}

/// The lower median of values, in any order.
fn median(of: &[f64]) -> f64 {
    let mut of = of.to_vec();
    of.sort_by(f64::total_cmp);
    if of.is_empty() { f64::NAN } else { of[(of.len() - 1) / 2] }
}

fn max(of: &[f64]) -> f64 {
    of.iter().copied().fold(f64::NAN, f64::max)
}

fn min(of: &[f64]) -> f64 {
    of.iter().copied().fold(f64::NAN, f64::min)
}

fn gaps(times: &[i64]) -> Vec<f64> {
    times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect()
}

fn times(movements: &[Movement], values: &mut Values) {
    let mut times: Vec<i64> = movements.iter().map(|movement| movement.time).collect();
    times.sort_unstable();
    let n = len(&times);
    let (first, last) = (times.first().copied().unwrap_or(0), times.last().copied().unwrap_or(0));
    let life = (last - first) as f64;
    let mut days: BTreeMap<i64, f64> = BTreeMap::new();
    let mut hours = [0.0; 24];
    for time in &times {
        *days.entry(time.div_euclid(DAY)).or_default() += 1.0;
        hours[(time.rem_euclid(DAY) / 3600) as usize] += 1.0;
    }
    let per_day: Vec<f64> = days.values().copied().collect();
    put(values, "life_days", life / 86_400.0);
    put(values, "active_days", len(&per_day));
    put(values, "active_ratio", len(&per_day) / (life / 86_400.0 + 1.0));
    put(values, "per_day_mean", n / len(&per_day));
    put(values, "per_day_max", per_day.iter().copied().fold(0.0, f64::max));
    put(values, "per_day_deviation", if n > 0.0 { deviation(&per_day) } else { f64::NAN });
    put(
        values,
        "weekend_ratio",
        times.iter().filter(|time| (time.div_euclid(DAY) + 3).rem_euclid(7) > 4).count() as f64 / n,
    );
    put(values, "hour_entropy", entropy(&hours) / 24_f64.ln());
    let night = (0..24).map(|start| (start..start + 8).map(|hour| hours[hour % 24]).sum::<f64>());
    put(values, "night_ratio", night.fold(f64::INFINITY, f64::min) / n);
    for (name, from) in [("hours_0_ratio", 0), ("hours_6_ratio", 6), ("hours_12_ratio", 12)] {
        put(values, name, hours[from..from + 6].iter().sum::<f64>() / n);
    }
    let gaps = gaps(&times);
    put(values, "gap_mean_secs", mean(&gaps));
    put(values, "gap_median_secs", median(&gaps));
    put(values, "gap_max_secs", max(&gaps));
    put(values, "gap_variation", deviation(&gaps) / mean(&gaps));

    let within: Vec<f64> = times.iter().map(|time| (time - first) as f64 / life).collect();
    let moment = |power| within.iter().map(|time| (time - mean(&within)).powi(power)).sum::<f64>() / n;
    put(values, "time_mean", mean(&within));
    put(values, "time_deviation", deviation(&within));
    put(values, "time_skewness", moment(3) / deviation(&within).powi(3));
    put(values, "time_kurtosis", moment(4) / deviation(&within).powi(4));
    let share = |wanted: &dyn Fn(i64) -> bool| times.iter().filter(|time| wanted(**time)).count() as f64 / n;
    put(values, "early_30_ratio", share(&|time| time - first <= 30 * DAY));
    put(values, "late_30_ratio", share(&|time| last - time <= 30 * DAY));
    put(values, "late_90_ratio", share(&|time| last - time <= 90 * DAY));
}

fn entropy(counts: &[f64]) -> f64 {
    let total: f64 = counts.iter().sum();
    let shares = counts.iter().filter(|count| **count > 0.0).map(|count| count / total);
    if total == 0.0 { f64::NAN } else { -shares.map(|share| share * share.ln()).sum::<f64>() }
}

/// Movements in and out, one after the other.
fn rhythm(movements: &[Movement], payments: &[Payment], values: &mut Values) {
    let times = |direction| -> Vec<i64> {
        let mut times: Vec<_> =
            movements.iter().filter(|movement| movement.direction == direction).map(|movement| movement.time).collect();
        times.sort_unstable();
        times
    };
    let (ins, outs) = (times(Direction::In), times(Direction::Out));
    let end = |time: Option<&i64>| time.map_or(f64::NAN, |time| *time as f64);
    for (side, times) in [("in", &ins), ("out", &outs)] {
        let gaps = gaps(times);
        put(values, &format!("{side}_life_secs"), end(times.last()) - end(times.first()));
        put(values, &format!("{side}_gap_median_secs"), median(&gaps));
        put(values, &format!("{side}_gap_min_secs"), min(&gaps));
        put(values, &format!("{side}_gap_variation"), deviation(&gaps) / mean(&gaps));
        let within = |time: &i64| times.iter().filter(|other| (0..=DAY).contains(&(**other - *time))).count();
        put(values, &format!("max_{side}_24h"), times.iter().map(within).max().unwrap_or(0) as f64);
    }
    put(values, "first_out_delay_secs", end(outs.first()) - end(ins.first()));
    put(values, "last_out_delay_secs", end(outs.last()) - end(ins.last()));
    let came: Vec<&Payment> = payments.iter().filter(|payment| payment.is_in).collect();
    let next = |payment: &&&Payment| outs.iter().map(|out| out - payment.time).filter(|secs| *secs >= 0).min();
    let reactions: Vec<f64> = came.iter().filter_map(|payment| next(&payment)).map(|secs| secs as f64).collect();
    put(values, "reaction_median_secs", median(&reactions));
    put(values, "reacted_ratio", reactions.iter().filter(|secs| **secs <= 3600.0).count() as f64 / len(&came));

    let ways: Vec<Direction> = movements.iter().map(|movement| movement.direction).collect();
    let ways: Vec<Direction> = ways.into_iter().filter(|way| *way != Direction::Own).collect();
    let turns = ways.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
    put(values, "turn_ratio", if ways.len() > 1 { turns / (len(&ways) - 1.0) } else { f64::NAN });
    put(values, "starts_in", f64::from(ways.first() == Some(&Direction::In)));
    put(values, "ends_out", f64::from(ways.last() == Some(&Direction::Out)));
}

fn of_money(name: &str, payments: &[Payment], (one, round): (f64, f64), values: &mut Values) {
    let mut put = |what: &str, value| put(values, &format!("{name}_{what}"), value);
    let sums = [("in", true, "top_sender_share"), ("out", false, "top_receiver_share")].map(|(side, is_in, top)| {
        let of_side: Vec<&Payment> = payments.iter().filter(|payment| payment.is_in == is_in).collect();
        let amounts: Vec<f64> = of_side.iter().map(|payment| payment.amount as f64 / one).collect();
        let sum: f64 = amounts.iter().sum();
        let mut put = |what: &str, value| put(&format!("{side}_{what}"), value);
        put("count", len(&amounts));
        put("sum", sum);
        put("mean", mean(&amounts));
        put("median", median(&amounts));
        put("max", max(&amounts));
        put("min", min(&amounts));
        put("variation", deviation(&amounts) / mean(&amounts));
        put("first", amounts.first().copied().unwrap_or(f64::NAN));
        put("last", amounts.last().copied().unwrap_or(f64::NAN));
        put("largest_share", max(&amounts) / sum);
        let share = |wanted: &dyn Fn(u128) -> bool| {
            of_side.iter().filter(|payment| wanted(payment.amount)).count() as f64 / len(&amounts)
        };
        put("repeated_ratio", share(&|amount| of_side.iter().filter(|other| other.amount == amount).count() > 1));
        put("round_ratio", share(&|amount| amount as f64 % round == 0.0));
        let digits = |payment: &&&Payment| payment.amount.to_string().trim_end_matches('0').len() as f64;
        put("digits_mean", of_side.iter().map(|payment| digits(&payment)).sum::<f64>() / len(&amounts));
        let mut parties: BTreeMap<Option<Address>, Vec<f64>> = BTreeMap::new();
        for payment in &of_side {
            parties.entry(payment.other).or_default().push(payment.amount as f64 / one);
        }
        let shares: Vec<f64> = parties.values().map(|amounts| amounts.iter().sum::<f64>() / sum).collect();
        let once = parties.values().filter(|amounts| amounts.len() == 1).flatten().sum::<f64>();
        put("concentration", if shares.is_empty() { f64::NAN } else { shares.iter().map(|share| share * share).sum() });
        put("once_share", if shares.is_empty() { f64::NAN } else { once / sum });
        (top, max(&shares), sum)
    });
    let [(_, _, came), (_, _, left)] = sums;
    for (top, share, _) in sums {
        put(top, share);
    }
    let larger = came.max(left);
    put("imbalance", if larger > 0.0 { (came - left) / larger } else { f64::NAN });
    let mut powers = [0.0; 128];
    let mut digits = [0.0; 9];
    for payment in payments {
        powers[payment.amount.ilog2() as usize] += 1.0;
        digits[payment.amount.to_string()[..1].parse::<usize>().unwrap() - 1] += 1.0;
    }
    put("size_entropy", entropy(&powers));
    let benford = (1..=9)
        .zip(digits)
        .map(|(digit, count)| (count / len(payments) - (1.0 + 1.0 / f64::from(digit)).log10()).abs());
    put("benford_distance", benford.sum());
    balances(payments, (came, left, one), &mut put);
    holding(payments, came * one, &mut put);
}

fn balances(payments: &[Payment], (came, left, one): (f64, f64, f64), put: &mut impl FnMut(&str, f64)) {
    let (mut balance, mut largest, mut emptied, mut swept) = (0_u128, 0_u128, 0.0, 0.0);
    let mut targets = BTreeSet::new();
    let mut held = Vec::new();
    for payment in payments {
        if payment.is_in {
            balance += payment.amount;
        } else {
            let was_empty = balance <= largest / 100;
            balance = balance.saturating_sub(payment.amount);
            if !was_empty && balance <= largest / 100 {
                emptied += 1.0;
                swept += payment.amount as f64 / one;
                targets.insert(payment.other);
            }
        }
        largest = largest.max(balance);
        held.push(balance);
    }
    let most = largest as f64 / one;
    put("residual_ratio", if came > 0.0 { balance as f64 / one / came } else { f64::NAN });
    put("max_balance", most);
    put("max_balance_ratio", most / came);
    put("emptied_count", emptied);
    put("swept_ratio", if left > 0.0 { swept / left } else { f64::NAN });
    put("sweep_targets", targets.len() as f64);
    let spans: Vec<f64> = payments.windows(2).map(|pair| (pair[1].time - pair[0].time) as f64).collect();
    let life: f64 = spans.iter().sum();
    let is_held = life > 0.0 && most > 0.0;
    let empty = spans.iter().zip(&held).filter(|(_, balance)| **balance <= largest / 100).map(|(secs, _)| secs);
    put("empty_time_ratio", if is_held { empty.sum::<f64>() / life } else { f64::NAN });
    let weighed = spans.iter().zip(&held).map(|(secs, balance)| *balance as f64 / one * secs);
    put("mean_balance_ratio", if is_held { weighed.sum::<f64>() / (most * life) } else { f64::NAN });
}

/// Every smallest unit on its own: first in, first out.
fn holding(payments: &[Payment], came: f64, put: &mut impl FnMut(&str, f64)) {
    let mut units: VecDeque<i64> = VecDeque::new();
    let mut holds = Vec::new();
    for payment in payments {
        for _ in 0..payment.amount {
            match (payment.is_in, units.front()) {
                (true, _) => units.push_back(payment.time),
                (false, Some(time)) => {
                    holds.push(payment.time - time);
                    units.pop_front();
                }
                (false, None) => {}
            }
        }
    }
    holds.sort_unstable();
    let at = |count: usize| holds.get(count.max(1) - 1).map_or(f64::NAN, |secs| *secs as f64);
    let n = holds.len();
    put("holding_p10_secs", at(n / 10));
    put("holding_median_secs", at(n / 2));
    put("holding_p90_secs", at(n - n / 10));
    put("quick_ratio", holds.iter().filter(|secs| **secs <= 3600).count() as f64 / came);
}

/// One input or output: whose, how much, and its form.
type Side = (Option<Address>, u64, ScriptType);

/// Inputs as far as they are held, and outputs that can be spent.
fn sides(transaction: &Transaction) -> [Vec<Side>; 2] {
    let utxo = transaction.facts.utxo.as_ref().unwrap();
    let spent = utxo.inputs.iter().filter_map(|input| input.spent.as_ref());
    let paid = utxo.outputs.iter().filter(|output| output.script != ScriptType::OpReturn);
    let side = |output: &headwater_ledger::facts::OutputFacts| (output.owner, output.amount, output.script);
    [spent.map(side).collect(), paid.map(side).collect()]
}

/// At least three equal outputs above the dust of tokens, half of all or more, and as many payers.
fn is_joint(transaction: &Transaction) -> bool {
    let [_, paid] = sides(transaction);
    let inputs = &transaction.facts.utxo.as_ref().unwrap().inputs;
    let unknown = inputs.iter().filter(|input| input.spent.is_none()).count();
    let payers = payers(transaction).len() + unknown;
    paid.iter().filter(|one| one.1 > 2_730).any(|one| {
        let equal = paid.iter().filter(|other| other.1 == one.1).count();
        equal >= 3 && 2 * equal >= paid.len() && equal <= payers
    })
}

fn payers(transaction: &Transaction) -> BTreeSet<Address> {
    sides(transaction)[0].iter().filter_map(|input| input.0).collect()
}

/// Computes the shapes of the transactions of the address, on chains of outputs. No chain of a test has more than are
/// read.
fn coins(ledger: &dyn Ledger, chain: Chain, address: &Address, movements: &[Movement], values: &mut Values) {
    let is_utxo = chain.family() == Family::Utxo;
    let read = movements.iter().filter(|_| is_utxo).map(|movement| ledger.transaction(movement.transaction).unwrap());
    let all: Vec<Transaction> = read.collect();
    assert!(all.len() <= 64);
    let whose =
        |sides: &[Side]| -> Vec<Side> { sides.iter().filter(|side| side.0 == Some(*address)).copied().collect() };
    let is_spend = |transaction: &&Transaction| !whose(&sides(transaction)[0]).is_empty();
    let is_coinbase = |transaction: &&Transaction| transaction.facts.utxo.as_ref().unwrap().coinbase;
    let spends: Vec<&Transaction> = all.iter().filter(is_spend).collect();
    let paid: Vec<&Transaction> = all.iter().filter(|one| !is_spend(one) && !is_coinbase(one)).collect();
    let minted = all.iter().filter(|one| !is_spend(one) && is_coinbase(one)).count() as f64;
    let average = |of: &[&Transaction], number: &dyn Fn(&Transaction) -> f64| {
        mean(&of.iter().map(|transaction| number(transaction)).collect::<Vec<_>>())
    };
    let inputs = |one: &Transaction| one.facts.utxo.as_ref().unwrap().inputs.len() as f64;
    let outputs = |one: &Transaction| len(&sides(one)[1]);
    let share = |side: &[Side]| {
        let sum = |sides: &[Side]| sides.iter().map(|side| side.1 as f64).sum::<f64>();
        if sum(side) > 0.0 { sum(&whose(side)) / sum(side) } else { 0.0 }
    };
    let mut put = |name: &str, value: f64| put(values, &format!("utxo_{name}"), value);
    put("coinbase_ratio", minted / (minted + len(&paid)));
    put("in_inputs_mean", average(&paid, &inputs));
    put("in_outputs_mean", average(&paid, &outputs));
    put("in_payers_mean", average(&paid, &|one| payers(one).len() as f64));
    put("in_share_mean", average(&paid, &|one| share(&sides(one)[1])));
    let own = |one: &Transaction| whose(&sides(one)[1]);
    let flag = f64::from;
    let largest = |one: &Transaction| sides(one)[1].iter().map(|side| side.1).max();
    put("in_largest_ratio", average(&paid, &|one| flag(own(one).iter().any(|side| Some(side.1) == largest(one)))));
    put("in_dust_ratio", average(&paid, &|one| flag(own(one).iter().all(|side| side.1 <= 1_000))));
    let twice = |one: &Transaction, amount| sides(one)[1].iter().filter(|side| side.1 == amount).count() > 1;
    put("in_equal_ratio", average(&paid, &|one| flag(own(one).iter().any(|side| twice(one, side.1)))));
    let first_out = movements.iter().position(|movement| movement.direction == Direction::Out);
    let came = movements.iter().enumerate().filter(|(_, movement)| movement.direction == Direction::In);
    let again = came.clone().filter(|(place, _)| first_out.is_some_and(|first| *place > first)).count() as f64;
    put("in_again_ratio", if is_utxo { again / came.count() as f64 } else { f64::NAN });
    put("out_inputs_mean", average(&spends, &inputs));
    put("out_outputs_mean", average(&spends, &outputs));
    let most = spends.iter().map(|one| outputs(one)).fold(0.0, f64::max);
    put("out_outputs_max", if is_utxo { most } else { f64::NAN });
    put("out_payers_mean", average(&spends, &|one| payers(one).len() as f64));
    put("out_own_inputs_mean", average(&spends, &|one| len(&whose(&sides(one)[0]))));
    put("out_share_mean", average(&spends, &|one| share(&sides(one)[0])));
    put("multi_input_ratio", average(&spends, &|one| flag(payers(one).len() > 1)));
    put("self_change_ratio", average(&spends, &|one| flag(!own(one).is_empty())));
    put("sweep_ratio", average(&spends, &|one| flag(outputs(one) == 1.0 && own(one).is_empty())));
    put("peel_ratio", average(&spends, &|one| flag(outputs(one) == 2.0 && payers(one).len() == 1)));
    put("joint_ratio", average(&all.iter().collect::<Vec<_>>(), &|one| flag(is_joint(one))));
    let forms: Vec<ScriptType> =
        all.iter().flat_map(|one| sides(one).map(|side| whose(&side)).concat()).map(|side| side.2).collect();
    let known = [
        ("p2pk", ScriptType::P2pk),
        ("p2pkh", ScriptType::P2pkh),
        ("p2sh", ScriptType::P2sh),
        ("p2wpkh", ScriptType::P2wpkh),
        ("p2wsh", ScriptType::P2wsh),
        ("p2tr", ScriptType::P2tr),
    ];
    for (name, form) in known {
        let those = forms.iter().filter(|of_one| **of_one == form).count() as f64;
        put(&format!("{name}_ratio"), those / len(&forms));
    }
}
