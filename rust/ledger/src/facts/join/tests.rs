use headwater_types::{Address, Amount, Asset, Chain, Timestamp, TxHash};
use proptest::prelude::*;

use super::super::{Movement, MovementFact};
use super::*;
use crate::LedgerError;
use crate::primitives::Ordinal;

const CHAIN: Chain = Chain::ETHEREUM;

fn address(number: u8) -> Address {
    Address::Evm([number; 20])
}

fn token(ordinal: Ordinal, amount: u64) -> Movement {
    Movement {
        kind: MovementFact::Token,
        ordinal,
        from: Some(address(1)),
        to: Some(address(2)),
        asset: Asset::Token(address(9)),
        amount: Amount::from(amount),
    }
}

fn with_movements(movements: Vec<Movement>) -> TransactionFacts {
    TransactionFacts { movements, ..TransactionFacts::new(TxHash::new([7; 32]), 5) }
}

const LOOSE: Ordinal = Ordinal::Unindexed(0);

#[test]
fn unindexed_equal_rows_are_separate_within_one_source_only() {
    let one = with_movements(vec![token(LOOSE, 10), token(LOOSE, 10), token(LOOSE, 3)]);
    let other = with_movements(vec![token(LOOSE, 10), token(LOOSE, 4)]);
    let joined = one.join(other, CHAIN).unwrap();
    assert_eq!(
        joined.movements,
        [token(LOOSE, 3), token(LOOSE, 4), token(LOOSE, 10), token(LOOSE, 10)],
        "two of 10 from the first source, 3 from the first, 4 from the second"
    );
}

#[test]
fn indexed_row_replaces_an_equal_unindexed_one() {
    let export = with_movements(vec![token(LOOSE, 10), token(LOOSE, 10)]);
    let logs = with_movements(vec![token(Ordinal::Indexed(4), 10)]);
    let joined = export.clone().join(logs.clone(), CHAIN).unwrap();
    assert_eq!(joined.movements, [token(Ordinal::Indexed(4), 10), token(LOOSE, 10)]);
    let more = with_movements(vec![token(Ordinal::Indexed(8), 10)]);
    let complete = joined.join(more, CHAIN).unwrap().join(export, CHAIN).unwrap();
    assert_eq!(complete.movements, [token(Ordinal::Indexed(4), 10), token(Ordinal::Indexed(8), 10)]);
}

#[test]
fn log_is_non_fungible_if_one_source_says_so() {
    let transfer = with_movements(vec![token(Ordinal::Indexed(4), 77)]);
    let log = with_movements(vec![Movement {
        kind: MovementFact::NonFungible,
        amount: Amount::from(1),
        ..token(Ordinal::Indexed(4), 77)
    }]);
    let joined = transfer.clone().join(log.clone(), CHAIN).unwrap();
    assert_eq!(joined.movements, log.movements);
    assert_eq!(log.join(transfer, CHAIN).unwrap(), joined);
}

#[test]
fn conflict_names_chain_transaction_field_and_both_values() {
    let status = |nonce| TransactionFacts { nonce: Some(nonce), ..with_movements(vec![]) };
    let error = status(1).join(status(2), CHAIN).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("ethereum transaction 0x{}: nonce is 1 in one row and 2 in another", "07".repeat(32))
    );
    let row = |amount| with_movements(vec![token(Ordinal::Indexed(1), amount)]);
    assert!(matches!(row(1).join(row(2), CHAIN), Err(LedgerError::Conflict { field: "amount of a movement", .. })));
    let block = |secs| BlockFacts { number: 3, hash: None, parent: None, time: Timestamp::new(secs) };
    assert!(matches!(block(1).join(&block(2), CHAIN), Err(LedgerError::Conflict { what: "block", field: "time", .. })));
}

#[test]
fn wordings_are_never_in_conflict() {
    let named = |method: &str| TransactionFacts { method: Some(method.into()), ..with_movements(vec![]) };
    let joined = named("transfer").join(named("transfer(address,uint256)"), CHAIN).unwrap();
    assert_eq!(joined.method.as_deref(), Some("transfer(address,uint256)"));
}

/// One truth, of which each source leaves things out.
fn truth() -> impl Strategy<Value = Vec<Movement>> {
    // Few amounts, so that contents repeat.
    let kinds = prop::sample::select(vec![MovementFact::Internal, MovementFact::Token]);
    prop::collection::vec((kinds, 1..4u64), 0..7).prop_map(|rows| {
        let rows = rows.into_iter().zip(0..);
        rows.map(|((kind, amount), number)| {
            let asset = if kind == MovementFact::Internal { Asset::Native } else { Asset::Token(address(9)) };
            Movement { kind, asset, ..token(Ordinal::Indexed(number), amount) }
        })
        .collect()
    })
}

/// Sources of large amounts, some of which know them as doubles only: rounded down, and one of them a step off.
fn rough_source(truth: Vec<Movement>) -> impl Strategy<Value = TransactionFacts> {
    let says = prop::collection::vec(0..4u8, truth.len() + 1);
    says.prop_map(move |says| {
        let (large, step) = (1_u128 << 80, 1_u128 << 28);
        let rough = |says: u8, exact: u128| match says {
            2 => large,
            3 => large + step,
            _ => large + exact,
        };
        let mut facts = with_movements(Vec::new());
        for (row, &says) in truth.iter().zip(&says[1..]).filter(|(_, says)| **says > 0) {
            let amount = Amount::from_u128(rough(says, row.amount.to_u128().unwrap()));
            let row = Movement { amount, ..row.clone() };
            facts.approximate.extend(AmountOf::of_fact(&row).filter(|_| says > 1));
            facts.movements.push(row);
        }
        if says[0] > 0 {
            let value = Amount::from_u128(rough(says[0], 5));
            facts.body = Some(Body { from: None, to: Some(address(1)), value });
            facts.approximate.extend((says[0] > 1).then_some(AmountOf::Value));
        }
        facts
    })
}

fn three_rough_sources() -> impl Strategy<Value = [TransactionFacts; 3]> {
    truth().prop_flat_map(|truth| [rough_source(truth.clone()), rough_source(truth.clone()), rough_source(truth)])
}

fn source(truth: Vec<Movement>) -> impl Strategy<Value = TransactionFacts> {
    // 0: left out, 1: indexed, 2: unindexed, 3: known to be no fungible token
    let says = prop::collection::vec(0..4u8, truth.len());
    (says, prop::option::of(Just(3u64)), prop::option::of(prop::sample::select(vec!["a", "bb", "cc"]))).prop_map(
        move |(says, nonce, method)| {
            let movements = truth.iter().zip(says).filter(|(_, says)| *says > 0).map(|(row, says)| {
                let ordinal = if says == 2 { LOOSE } else { row.ordinal };
                let kind = match (says, row.kind) {
                    (3, MovementFact::Token) => MovementFact::NonFungible,
                    (_, kind) => kind,
                };
                Movement { kind, ordinal, ..row.clone() }
            });
            TransactionFacts { nonce, method: method.map(String::from), ..with_movements(movements.collect()) }
        },
    )
}

fn three_sources() -> impl Strategy<Value = [TransactionFacts; 3]> {
    truth().prop_flat_map(|truth| [source(truth.clone()), source(truth.clone()), source(truth)])
}

proptest! {
    #[test]
    fn the_join_is_commutative_associative_and_idempotent([a, b, c] in three_sources()) {
        let join = |a: &TransactionFacts, b: &TransactionFacts| a.clone().join(b.clone(), CHAIN).unwrap();
        prop_assert_eq!(join(&a, &b), join(&b, &a));
        prop_assert_eq!(join(&join(&a, &b), &c), join(&a, &join(&b, &c)));
        let canonical = a.clone().canonical(CHAIN).unwrap();
        prop_assert_eq!(&join(&a, &a), &canonical);
        prop_assert_eq!(&join(&canonical, &a), &canonical);
        let both = join(&a, &b);
        prop_assert_eq!(&join(&both, &a), &both);
    }

    #[test]
    fn so_it_is_where_amounts_are_approximate([a, b, c] in three_rough_sources()) {
        let join = |a: &TransactionFacts, b: &TransactionFacts| a.clone().join(b.clone(), CHAIN).unwrap();
        prop_assert_eq!(join(&a, &b), join(&b, &a));
        prop_assert_eq!(join(&join(&a, &b), &c), join(&a, &join(&b, &c)));
        let canonical = a.clone().canonical(CHAIN).unwrap();
        prop_assert_eq!(&join(&a, &a), &canonical);
        prop_assert_eq!(&join(&canonical, &a), &canonical);
        let both = join(&a, &b);
        prop_assert_eq!(&join(&both, &a), &both);
        let exact = |facts: &TransactionFacts, name: AmountOf| {
            let names = facts.movements.iter().filter_map(AmountOf::of_fact).chain(facts.body.map(|_| AmountOf::Value));
            names.into_iter().any(|other| other == name) && !facts.approximate.contains(&name)
        };
        for name in &both.approximate {
            prop_assert!(!exact(&a, *name) && !exact(&b, *name), "{name:?} is known exactly");
        }
    }

    #[test]
    fn what_conflicts_conflicts_in_either_order(a in 0..3u64, b in 0..3u64) {
        let state = |nonce| TransactionFacts { nonce: Some(nonce), ..with_movements(vec![]) };
        prop_assert_eq!(state(a).join(state(b), CHAIN).is_ok(), state(b).join(state(a), CHAIN).is_ok());
    }
}

#[test]
fn unknown_output_of_one_source_is_the_one_another_names() {
    use crate::facts::{InputFacts, OutPoint, UtxoFacts};
    let named = OutPoint { hash: TxHash::new([3; 32]), index: 1 };
    let spending = |previous| {
        let utxo = UtxoFacts::new(false, vec![InputFacts::new(previous, None)], vec![]);
        TransactionFacts { utxo: Some(utxo), ..TransactionFacts::new(TxHash::new([7; 32]), 5) }
    };
    let (open, known) = (spending(OutPoint::UNKNOWN), spending(named));
    assert_eq!(open.clone().join(known.clone(), Chain::BITCOIN).unwrap(), known);
    assert_eq!(known.clone().join(open.clone(), Chain::BITCOIN).unwrap(), known);
    assert_eq!(open.clone().join(open.clone(), Chain::BITCOIN).unwrap(), open);
    let other = spending(OutPoint { index: 2, ..named });
    assert!(known.join(other, Chain::BITCOIN).is_err());
}

#[test]
fn transaction_encoding_is_joined_field_by_field() {
    use crate::facts::{InputFacts, OutPoint, UtxoFacts};
    type Change = fn(&mut UtxoFacts, u32);
    let fields: [(&str, Change); 4] = [
        ("version", |utxo, number| utxo.version = Some(number)),
        ("lock time", |utxo, number| utxo.lock_time = Some(number)),
        ("weight", |utxo, number| utxo.weight_wu = Some(number)),
        ("sequence number", |utxo, number| utxo.inputs[0].sequence = Some(number)),
    ];
    let bare = || UtxoFacts::new(false, vec![InputFacts::new(OutPoint::UNKNOWN, None)], vec![]);
    let facts = |utxo| TransactionFacts { utxo: Some(utxo), ..TransactionFacts::new(TxHash::new([7; 32]), 5) };
    let mut whole = bare();
    for (_, change) in fields {
        change(&mut whole, 2);
    }
    for (name, change) in fields {
        let stating = |number| {
            let mut utxo = bare();
            change(&mut utxo, number);
            facts(utxo)
        };
        assert_eq!(stating(2).join(facts(whole.clone()), Chain::BITCOIN).unwrap(), facts(whole.clone()));
        assert_eq!(facts(bare()).join(stating(2), Chain::BITCOIN).unwrap(), stating(2));
        let error = stating(1).join(facts(whole.clone()), Chain::BITCOIN).unwrap_err();
        assert!(matches!(error, LedgerError::Conflict { field, .. } if field == name), "{error}");
    }
}

#[test]
fn one_low_sequence_number_makes_a_transaction_replaceable() {
    use crate::facts::{InputFacts, OutPoint, UtxoFacts};
    let signals = |sequences: &[Option<u32>]| {
        let input = |&sequence| InputFacts { sequence, ..InputFacts::new(OutPoint::UNKNOWN, None) };
        UtxoFacts::new(false, sequences.iter().map(input).collect(), vec![]).signals_replacement()
    };
    let (last, no_replacement, replacement) = (Some(u32::MAX), Some(u32::MAX - 1), Some(u32::MAX - 2));
    assert_eq!(signals(&[last, no_replacement]), Some(false));
    assert_eq!(signals(&[last, replacement]), Some(true));
    assert_eq!(signals(&[None, Some(0)]), Some(true));
    assert_eq!(signals(&[last, None]), None);
}
