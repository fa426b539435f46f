//! One small case worked by hand.
//!
//! Block 7 at 1,000 s. `a` pays `b` 5 for a fee of 21 gas at 2; in the same transaction the contract `t` moves 9 of
//! itself from `b` to `a` (log 3), and a call gives 1 from `t` to `b` (trace 0). Then a transaction of `a` to `b` of
//! 100 fails, for 10 gas at 2. In block 8 at 1,012 s `b` creates `c` with 3, for a fee not known.
//!
//! ```text
//! a: native  received 0            sent 5 + 42 + 20 = 67, of it fees 62      token  received 9
//! b: native  received 5 + 1 = 6    sent 3                                    token  sent 9
//! c: native  received 3            t: native  sent 1
//! ```

use headwater_types::{Address, Amount, Asset, Chain, Network, Timestamp};

use super::oracle::held;
use super::snapshot;
use crate::facts::{BlockFacts, Body, Movement, MovementFact, TransactionFacts};
use crate::read::{Accounts, Balances, Direction, MovementKind, Movements, Ordinal, Scan, Status, Transactions};
use crate::segment::SegmentInput;
use crate::segment::tests::economy::{address, hash};

const CHAIN: Chain = Chain::ETHEREUM;

fn worked() -> ([Address; 4], SegmentInput) {
    let [a, b, c, t] = [1, 2, 3, 4].map(|number| address(CHAIN, number));
    let paid = |number, from, to, value: u64| {
        let mut facts = TransactionFacts::new(hash(number), 7);
        facts.body = Some(Body { from: Some(from), to, value: Amount::from(value) });
        facts
    };
    let movement = |kind, ordinal, from, to, asset, amount: u64| Movement {
        kind,
        ordinal: Ordinal::Indexed(ordinal),
        from: Some(from),
        to: Some(to),
        asset,
        amount: Amount::from(amount),
    };
    let mut first = paid(1, a, Some(b), 5);
    (first.index, first.status) = (Some(0), Some(Status::Success));
    (first.gas_used, first.gas_price) = (Some(21), Some(Amount::from(2)));
    first.movements = vec![
        movement(MovementFact::Token, 3, b, a, Asset::Token(t), 9),
        movement(MovementFact::Internal, 0, t, b, Asset::Native, 1),
    ];
    let mut failed = paid(2, a, Some(b), 100);
    (failed.index, failed.status) = (Some(1), Some(Status::Failed));
    (failed.gas_used, failed.gas_price) = (Some(10), Some(Amount::from(2)));
    let mut creation = paid(3, b, None, 3);
    (creation.block, creation.index, creation.created) = (8, Some(0), Some(c));
    let block = |number, secs| BlockFacts { number, hash: None, parent: None, time: Timestamp::new(secs) };
    let input = SegmentInput {
        chain: CHAIN,
        network: Network::Mainnet,
        blocks: vec![block(7, 1000), block(8, 1012)],
        transactions: vec![creation, failed, first],
        contracts: Vec::new(),
        tokens: Vec::new(),
    };
    ([a, b, c, t], input)
}

#[test]
fn sums_of_a_small_case_are_those_worked_by_hand() {
    let ([a, b, c, t], input) = worked();
    let ledger = snapshot(&[input]);
    let amount = Amount::from;
    let sums = |received, sent, fees| (amount(0), amount(received), amount(sent), amount(fees));
    let token = Asset::Token(t);
    for (address, expected) in [
        (a, vec![(Asset::Native, sums(0, 67, 62)), (token, sums(9, 0, 0))]),
        (b, vec![(Asset::Native, sums(6, 3, 0)), (token, sums(0, 9, 0))]),
        (c, vec![(Asset::Native, sums(3, 0, 0))]),
        (t, vec![(Asset::Native, sums(0, 1, 0))]),
    ] {
        let account = ledger.account(CHAIN, &address).unwrap().unwrap();
        assert_eq!(held(&ledger.holdings(&account).unwrap()), expected.into_iter().collect());
        assert_eq!(account.is_contract, address == c || address == t);
    }
}

#[test]
fn small_case_lists_newest_first_by_block_index_kind_ordinal() {
    let ([_, b, ..], input) = worked();
    let ledger = snapshot(&[input]);
    let account = ledger.account(CHAIN, &b).unwrap().unwrap();
    let rows: Vec<_> = ledger
        .postings(&account, &Scan::default())
        .unwrap()
        .map(|posting| posting.unwrap())
        .map(|row| (row.block, row.time.secs(), row.kind, row.direction, row.status, row.creates_contract))
        .collect();
    let (success, failed) = (Some(Status::Success), Some(Status::Failed));
    assert_eq!(
        rows,
        [
            (8, 1012, MovementKind::Native, Direction::Out, None, true),
            (7, 1000, MovementKind::Native, Direction::In, failed, false),
            (7, 1000, MovementKind::Token, Direction::Out, success, false),
            (7, 1000, MovementKind::Internal, Direction::In, success, false),
            (7, 1000, MovementKind::Native, Direction::In, success, false),
        ]
    );
    let hash = hash(1);
    let found = ledger.find_transaction(CHAIN, &hash).unwrap().unwrap();
    assert_eq!(ledger.transaction(found).unwrap().fee, Some(Amount::from(42)));
    assert_eq!(ledger.transaction_at(CHAIN, 7, 0).unwrap(), Some(found));
    assert_eq!(ledger.transaction_at(CHAIN, 7, 2).unwrap(), None);
    assert_eq!(ledger.block(CHAIN, 8).unwrap().unwrap().time, Timestamp::new(1012));
}
