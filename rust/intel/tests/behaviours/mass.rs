//! Behaviours towards many, in trades and in deceit, which others have to be asked about.

use headwater_intel::behaviour::Behaviour::{
    AddressPoisoning, ApprovalDrain, MultiExchangeCashout, NewTokenDump, SandwichAttack, WashTrading,
};
use headwater_ledger::labels::Code;

use crate::behaviours::case::{Case, DAY, DEFERRED, HOUR, LOOKALIKE, NOTHING, Row, SUBJECT, ZERO, number, paid, row};

/// Accounts that pass 100 WETH around, ten minutes apart; the last transfer is of another amount.
fn ring(members: &[i64], transfers: usize, last: u64) -> Vec<Row> {
    let member = |place: usize| members[place % members.len()];
    let amount = |place: usize| if place + 1 == transfers { last } else { 100 };
    (0..transfers).map(|n| paid(number(n) * 600, member(n), member(n + 1), "weth", amount(n))).collect()
}

#[test]
fn wash_trading_changes_nothing() {
    let found = Case::of(ring(&[SUBJECT, 20, 21], 12, 100)).look(WashTrading);
    let facts = "accounts #1+#20+#21, asset weth, transfers 12, net 0, volume 1200";
    assert_eq!(found, format!("0.022222 x1 0..6600 in 86400: {facts} by 1 2 3 4 5 6 7 8 9 10"));
    // The same from the other two.
    for members in [[20, SUBJECT, 21], [20, 21, SUBJECT]] {
        assert!(Case::of(ring(&members, 12, 100)).look(WashTrading).contains("transfers 12, net 0"));
    }
    // 8 of 808.
    let nearly = Case::of(ring(&[SUBJECT, 20, 21], 12, 108)).look(WashTrading);
    assert!(nearly.contains("net 0.009901"), "{nearly}");
    assert!(Case::of(ring(&[SUBJECT, 20], 10, 100)).look(WashTrading).starts_with("0 x1"), "two accounts");
}

#[test]
fn wash_trading_twins_are_innocent() {
    let look = |rows: Vec<Row>| Case::of(rows).look(WashTrading);
    assert_eq!(look(ring(&[SUBJECT, 20, 21], 9, 100)), NOTHING, "nine transfers");
    assert_eq!(look(ring(&[SUBJECT, 20, 21], 12, 109)), NOTHING, "9 of 809");
    assert_eq!(look(ring(&[SUBJECT, 20, 21, 22, 23, 24], 18, 100)), NOTHING, "six accounts");
    assert_ne!(look(ring(&[SUBJECT, 20, 21, 22, 23], 15, 100)), NOTHING, "five accounts");
    let slow = ring(&[SUBJECT, 20, 21], 12, 100).into_iter().enumerate();
    let slow = slow.map(|(place, row)| row.later(number(place) * DAY)).collect();
    assert_eq!(look(slow), NOTHING, "over twelve days");
    let row_of = (0..12).flat_map(|n| [row(n * 600, "in", 20, "weth", 1), row(n * 600, "out", 21, "weth", 1)]);
    assert_eq!(look(row_of.collect()), NOTHING, "what leaves does not come back");
    let fake = (0..12).map(|n| row(n, if n % 2 == 0 { "in" } else { "out" }, 20, "fake", 1));
    assert_eq!(look(fake.collect()), NOTHING, "counterfeit tokens");
}

#[test]
fn wash_trading_is_deferred_beyond_the_limits() {
    let case = || Case::of(ring(&[SUBJECT, 20, 21], 12, 100));
    assert_eq!(case().reading(|limits| limits.most_addresses = 1).look(WashTrading), DEFERRED);
    assert_eq!(case().reading(|limits| limits.most_transfers = 7).look(WashTrading), DEFERRED, "a hub itself");
    let once = Case::of(ring(&[SUBJECT, 20, 21], 3, 100)).reading(|limits| limits.most_addresses = 0);
    assert_eq!(once.look(WashTrading), NOTHING, "once around");
}

const HOT: i64 = 41;

/// 1,000 USDT come; 200 and 200 and `third` go into deposit addresses, the last at a second, the rest to somebody. The
/// third deposit address has no label, and pays a part of ten on to the hot wallet of an exchange.
fn cashed_out(third: u64, last: i64, onward: u64) -> Vec<Row> {
    vec![
        row(0, "in", 2, "usdt", 1_000),
        row(10, "out", 31, "usdt", 200),
        row(20, "out", 32, "usdt", 200),
        row(last, "out", 33, "usdt", third),
        paid(last + 10, 33, HOT, "usdt", onward),
        paid(last + 20, 33, 44, "usdt", 10 - onward),
        row(last + 3 * DAY, "out", 77, "usdt", 600 - third),
    ]
}

fn with_exchanges(rows: Vec<Row>) -> Case {
    let case = Case::of(rows).known(31, Code::Deposit, Some("Kraken")).known(32, Code::Deposit, Some("Kraken"));
    case.known(HOT, Code::ExchangeHotWallet, Some("Binance"))
}

#[test]
fn multi_exchange_cashout_uses_several_exchanges() {
    let found = with_exchanges(cashed_out(100, DAY + 10, 9)).look(MultiExchangeCashout);
    let facts = "exchanges 2, deposits 3, to #31+#32+#33, usd 500, share 0.5";
    assert_eq!(found, format!("0 x1 10..86410 in 86400: {facts} by 2 3 4"));
}

#[test]
fn multi_exchange_cashout_twins_are_innocent() {
    let look = |case: Case| case.look(MultiExchangeCashout);
    assert_eq!(look(with_exchanges(cashed_out(100, DAY + 11, 9))), NOTHING, "a day and a second");
    assert_eq!(look(with_exchanges(cashed_out(99, DAY, 9))), NOTHING, "499 of 1,000 USD");
    assert_eq!(look(with_exchanges(cashed_out(100, DAY, 8))), NOTHING, "80 % go on to the exchange");
    let one = Case::of(cashed_out(100, DAY, 9)).known(31, Code::Deposit, Some("Kraken"));
    let one = one.known(32, Code::Deposit, Some("Kraken")).known(HOT, Code::ExchangeHotWallet, Some("Kraken"));
    assert_eq!(look(one), NOTHING, "one exchange");
    let two = Case::of(cashed_out(100, DAY, 9)).known(31, Code::Deposit, Some("Kraken"));
    assert_eq!(look(two.known(HOT, Code::Exchange, Some("Binance"))), NOTHING, "two deposit addresses");
}

#[test]
fn multi_exchange_cashout_is_deferred_beyond_the_limits() {
    let case = with_exchanges(cashed_out(100, DAY, 9)).reading(|limits| limits.most_addresses = 0);
    assert_eq!(case.look(MultiExchangeCashout), DEFERRED);
    // Labels tell enough.
    let all = with_exchanges(cashed_out(100, DAY, 9)).known(33, Code::Deposit, Some("Binance"));
    assert_ne!(all.reading(|limits| limits.most_addresses = 0).look(MultiExchangeCashout), DEFERRED);
    let slow = with_exchanges(cashed_out(10, DAY, 9)).reading(|limits| limits.most_addresses = 0);
    assert_eq!(slow.look(MultiExchangeCashout), NOTHING, "too little within a day");
}

const POOL: i64 = 30;

/// The pool sells 10 WETH to the subject, 5 to a victim, and gets `back` from the subject, at these prices per gas.
fn sandwich(back: &str, prices: [u64; 3]) -> Vec<Row> {
    vec![
        row(100, "in", POOL, "weth", 10).by(SUBJECT).at_price(prices[0]),
        row(100, "+out", POOL, "usdt", 20_000),
        paid(100, POOL, 40, "weth", 5).by(40).at_price(prices[1]),
        row(100, "out", POOL, "weth", back).by(SUBJECT).at_price(prices[2]),
        row(100, "+in", POOL, "usdt", 20_100),
    ]
}

#[test]
fn sandwich_attack_surrounds_a_victim() {
    let found = Case::of(sandwich("9.9", [12, 11, 11])).look(SandwichAttack);
    assert_eq!(found, "0 x1 100..100: attacks 1, victims 1, profit 100, profit_asset usdt by 1 2 3");
    let twice = sandwich("10", [12, 11, 10])
        .into_iter()
        .chain(sandwich("10", [12, 11, 10]).into_iter().map(|row| row.later(60)));
    assert!(Case::of(twice).look(SandwichAttack).starts_with("0.020408 x2 100..160: attacks 2, victims 2, profit 200"));
}

#[test]
fn sandwich_attack_twins_are_innocent() {
    let look = |rows: Vec<Row>| Case::of(rows).look(SandwichAttack);
    assert_eq!(look(sandwich("9.89", [12, 11, 11])), NOTHING, "1.1 % less");
    assert_eq!(look(sandwich("10", [11, 11, 10])), NOTHING, "not before it by price");
    assert_eq!(look(sandwich("10", [12, 10, 11])), NOTHING, "not after it by price");
    let mut nobody = sandwich("10", [12, 11, 10]);
    nobody[2] = paid(100, POOL, 40, "usdc", 5).by(40).at_price(11);
    assert_eq!(look(nobody), NOTHING, "nobody bought in between");
    let mut before = sandwich("10", [12, 11, 10]);
    let victim = before.remove(2);
    before.insert(0, victim);
    assert_eq!(look(before), NOTHING, "a victim before it");
    let mut later = sandwich("10", [12, 11, 10]);
    later[3] = row(101, "out", POOL, "weth", 10).by(SUBJECT).at_price(10);
    later.truncate(4);
    assert_eq!(look(later), NOTHING, "two blocks");
}

#[test]
fn sandwich_attack_is_deferred_beyond_the_limits() {
    let case = || Case::of(sandwich("10", [12, 11, 10]));
    assert_eq!(case().reading(|limits| limits.most_lookups = 3).look(SandwichAttack), DEFERRED);
    assert_ne!(case().reading(|limits| limits.most_lookups = 4).look(SandwichAttack), DEFERRED);
    let mut unpriced = sandwich("10", [12, 11, 10]);
    unpriced[2] = paid(100, POOL, 40, "weth", 5).by(40);
    assert_eq!(Case::of(unpriced).look(SandwichAttack), DEFERRED, "the price of a victim is not known");
}

/// The subject creates a token at second 0: so much is minted to it, the rest of 1,000 to somebody. It sells `sold` for
/// ether at a second.
fn launched(mine: u64, sold: u64, last: i64) -> Vec<Row> {
    vec![
        row(0, "in", ZERO, "spam", mine),
        row(0, "+in", ZERO, "spam", 1_000 - mine).of(77),
        row(last, "out", POOL, "spam", sold).by(SUBJECT),
        row(last, "+in", POOL, "eth", 1),
    ]
}

#[test]
fn new_token_dump_sells_what_was_made() {
    let found = Case::of(launched(50, 40, 3 * DAY)).created_by(SUBJECT).look(NewTokenDump);
    assert_eq!(found, "1 x1 0..259200 in 259200: token spam, share 0.05, sold_ratio 0.8 by 1 2");
    // From the creator, not by mint.
    let given = [
        row(0, "in", ZERO, "spam", 1_000).of(5),
        paid(DAY, 5, SUBJECT, "spam", 100),
        row(2 * DAY, "out", POOL, "spam", 90).by(SUBJECT),
        row(2 * DAY, "+in", POOL, "usdt", 90),
    ];
    let found = Case::of(given.clone()).created_by(5).look(NewTokenDump);
    assert_eq!(found, "1 x1 86400..172800 in 259200: token spam, share 0.1, sold_ratio 0.9 by 2 3");
    assert_eq!(Case::of(given).created_by(6).look(NewTokenDump), NOTHING, "from somebody else");
}

#[test]
fn new_token_dump_twins_are_innocent() {
    let look = |rows: Vec<Row>| Case::of(rows).created_by(SUBJECT).look(NewTokenDump);
    assert_eq!(look(launched(49, 49, DAY)), NOTHING, "4.9 % of the supply");
    assert_eq!(look(launched(50, 39, DAY)), NOTHING, "78 % sold");
    assert_eq!(look(launched(50, 50, 3 * DAY + 1)), NOTHING, "three days and a second");
    let gifts = [row(0, "in", ZERO, "spam", 100), row(9, "out", POOL, "spam", 100)];
    assert_eq!(look(gifts.into()), NOTHING, "given away");
    let mut forged = launched(100, 100, DAY);
    forged[2] = row(DAY, "out", POOL, "spam", 100).by(66);
    assert_eq!(look(forged), NOTHING, "somebody else sent the sale");
    let late = [paid(0, 3, 4, "usdt", 1), row(DAY + 1, "in", ZERO, "spam", 100)];
    let late = late
        .into_iter()
        .chain([row(DAY + 9, "out", POOL, "spam", 100).by(SUBJECT), row(DAY + 9, "+in", POOL, "eth", 1)]);
    assert_eq!(look(late.collect()), NOTHING, "a day and a second after the creation");
    let bought = [
        row(0, "in", POOL, "spam", 100),
        row(0, "+out", POOL, "eth", 1),
        row(9, "out", POOL, "spam", 100).by(SUBJECT),
        row(9, "+in", POOL, "eth", 2),
    ];
    assert_eq!(look(bought.into()), NOTHING, "bought and sold");
}

#[test]
fn new_token_dump_is_deferred_beyond_the_limits() {
    let case = || Case::of(launched(50, 40, DAY)).created_by(SUBJECT);
    assert_eq!(case().reading(|limits| limits.most_lookups = 2).look(NewTokenDump), DEFERRED);
    assert_eq!(case().reading(|limits| limits.most_movements = 1).look(NewTokenDump), DEFERRED, "too many mints");
    assert_eq!(Case::of(launched(50, 40, DAY)).look(NewTokenDump), DEFERRED, "an unknown creation");
}

/// Owners hold 100 USDT each, of which somebody lets so much go to the subject, `gap` seconds apart.
fn drained(owners: i64, taken: &str, gap: i64, sender: impl Fn(i64) -> i64) -> Vec<Row> {
    let held = (0..owners).map(|n| paid(n, 2, 20 + n, "usdt", 100));
    held.chain((0..owners).map(|n| paid(10 + n * gap, 20 + n, SUBJECT, "usdt", taken).by(sender(n)))).collect()
}

const SPENDER: i64 = 50;

#[test]
fn approval_drain_takes_what_owners_have() {
    let found = Case::of(drained(3, "80", 302_400, |_| SPENDER)).look(ApprovalDrain);
    assert_eq!(found, "0 x1 10..604810 in 604800: owners 3, spender #50, usd 240 by 4 5 6");
    let two = Case::of(drained(4, "100", 60, |n| SPENDER + n % 2)).look(ApprovalDrain);
    assert!(two.contains("owners 4, spender #50+#51, usd 400"), "{two}");
    // By the address itself: (5 - 3) / 17.
    assert!(Case::of(drained(5, "99", 60, |_| SUBJECT)).look(ApprovalDrain).starts_with("0.117647 x1"));
}

#[test]
fn approval_drain_twins_are_innocent() {
    let look = |rows: Vec<Row>| Case::of(rows).look(ApprovalDrain);
    assert_eq!(look(drained(2, "100", 60, |_| SPENDER)), NOTHING, "two owners");
    assert_eq!(look(drained(3, "79.99", 60, |_| SPENDER)), NOTHING, "79.99 %");
    assert_eq!(look(drained(3, "80", 302_401, |_| SPENDER)), NOTHING, "more than a week");
    assert_eq!(look(drained(3, "100", 60, |n| 20 + n)), NOTHING, "the owners send it");
    assert_eq!(look(drained(3, "100", 60, |n| SPENDER + n)), NOTHING, "three senders");
    let spam = (0..3).map(|n| paid(10 + n, 20 + n, SUBJECT, "spam", 100).by(SPENDER));
    assert_eq!(look(spam.collect()), NOTHING, "a token that nobody vouches for");
    let trades = (0..3).flat_map(|n| {
        let came = paid(10 + n, 20 + n, SUBJECT, "usdt", 100).by(SPENDER);
        [paid(n, 2, 20 + n, "usdt", 100), came, row(10 + n, "+out", 20 + n, "weth", 1)]
    });
    assert_eq!(Case::sorted(trades).look(ApprovalDrain), NOTHING, "something was given for it");
}

#[test]
fn approval_drain_is_deferred_beyond_the_limits() {
    let case = || Case::of(drained(3, "80", 60, |_| SPENDER));
    assert_eq!(case().reading(|limits| limits.most_lookups = 2).look(ApprovalDrain), DEFERRED);
    assert_eq!(case().reading(|limits| limits.most_addresses = 2).look(ApprovalDrain), DEFERRED);
    assert_ne!(case().reading(|limits| limits.most_addresses = 3).look(ApprovalDrain), DEFERRED);
    let unknown = (0..3).flat_map(|n| [paid(0, 2, 20 + n, "usdt", 100), paid(9, 20 + n, SUBJECT, "usdt", 80)]);
    assert_eq!(Case::sorted(unknown).look(ApprovalDrain), DEFERRED, "nobody knows who sent it");
    let partial = (0..3).map(|n| paid(9 + n, 20 + n, SUBJECT, "usdt", 80).by(SPENDER));
    assert_eq!(Case::of(partial).look(ApprovalDrain), DEFERRED, "what owners had is not held");
}

/// Victims pay somebody 5 USDT, and `later` seconds on get bait with an address that is `twin` more.
fn poisoned(victims: i64, twin: i64, later: i64, bait: (&'static str, &str)) -> Vec<Row> {
    let paid_to = (0..victims).map(|n| paid(n, 100 + n, 200 + n, "usdt", 5));
    let baits = (0..victims).map(|n| paid(n + later, 100 + n, twin + 200 + n, bait.0, bait.1).by(SUBJECT));
    paid_to.chain(baits).collect()
}

#[test]
fn address_poisoning_imitates_those_whom_victims_paid() {
    let found = Case::sorted(poisoned(10, LOOKALIKE, DAY, ("usdt", "0"))).look(AddressPoisoning);
    assert!(found.starts_with("0 x10 86400..86409 in 86400: victims 10, pairs #10200~#200+#10201~#201"), "{found}");
    assert!(found.ends_with("kinds zero_value by 11 12 13 14 15 16 17 18 19 20"), "{found}");
    let fake = Case::sorted(poisoned(10, LOOKALIKE, DAY, ("fake", "5"))).look(AddressPoisoning);
    assert!(fake.contains("kinds counterfeit"), "{fake}");
}

#[test]
fn address_poisoning_sends_dust_itself_or_by_twins() {
    // Ten who paid account 200, whose look-alike the subject pays a grain that it sends on.
    let paid_to = (0..10).map(|n| paid(n, 100 + n, 200 + n, "usdt", 5));
    let funded = (0..10).map(|n| row(20 + n, "out", LOOKALIKE + 200 + n, "usdt", "0.01"));
    let dust = (0..10).map(|n| paid(40 + n, LOOKALIKE + 200 + n, 100 + n, "usdt", "0.01"));
    let found = Case::of(paid_to.chain(funded).chain(dust)).look(AddressPoisoning);
    assert!(found.starts_with("0 x10 40..49 in 86400: victims 10"), "{found}");
    assert!(found.contains("kinds dust"), "{found}");
}

#[test]
fn address_poisoning_twins_are_innocent() {
    let look = |rows: Vec<Row>| Case::sorted(rows).look(AddressPoisoning);
    assert_eq!(look(poisoned(9, LOOKALIKE, DAY, ("usdt", "0"))), NOTHING, "nine victims");
    assert_eq!(look(poisoned(10, LOOKALIKE, DAY + 1, ("usdt", "0"))), NOTHING, "a day and a second");
    assert_eq!(
        look(poisoned(10, crate::behaviours::case::ALMOST, DAY, ("usdt", "0"))),
        NOTHING,
        "three characters behind"
    );
    assert_eq!(look(poisoned(10, LOOKALIKE, DAY, ("usdt", "1"))), NOTHING, "a dollar");
    assert_eq!(look(poisoned(10, LOOKALIKE, DAY, ("spam", "1"))), NOTHING, "another token");
    assert_eq!(look(poisoned(10, 1_000, DAY, ("usdt", "0"))), NOTHING, "nobody looks alike");
}

#[test]
fn address_poisoning_is_deferred_beyond_the_limits() {
    let case = || Case::sorted(poisoned(10, LOOKALIKE, HOUR, ("usdt", "0")));
    assert_eq!(case().reading(|limits| limits.most_lookups = 9).look(AddressPoisoning), DEFERRED);
    assert_eq!(case().reading(|limits| limits.most_addresses = 9).look(AddressPoisoning), DEFERRED);
}
