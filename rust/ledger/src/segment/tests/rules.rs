use headwater_types::address::{UtxoAddress, UtxoPayload};
use headwater_types::{Address, Amount, Asset, Chain, Network};

use super::economy::{address, hash, time_of};
use crate::facts::{BlockFacts, Body, Movement, MovementFact, OutputFacts, TransactionFacts, UtxoFacts};
use crate::primitives::{Ordinal, ScriptType};
use crate::segment::{MissingOrdinals, Segment, SegmentInput, build};
use crate::{Cancel, LedgerError};

const CHAIN: Chain = Chain::ETHEREUM;

fn input(chain: Chain, transactions: Vec<TransactionFacts>) -> SegmentInput {
    let block = |number| BlockFacts { number, hash: None, parent: None, time: time_of(chain, number) };
    let blocks = (0..4).map(block).collect();
    let network = Network::Mainnet;
    SegmentInput { chain, network, blocks, transactions, contracts: Vec::new(), tokens: Vec::new() }
}

fn refusal(input: &SegmentInput) -> LedgerError {
    build(input, &Cancel::new()).unwrap_err()
}

fn token(from: u8, amount: u64) -> Movement {
    Movement {
        kind: MovementFact::Token,
        ordinal: Ordinal::Unindexed(0),
        from: Some(address(CHAIN, from)),
        to: Some(address(CHAIN, 2)),
        asset: Asset::Token(address(CHAIN, 3)),
        amount: Amount::from(amount),
    }
}

fn numbers(movements: Vec<Movement>) -> Vec<u64> {
    let mut facts = TransactionFacts::new(hash(1), 1);
    facts.movements = movements;
    let bytes = build(&input(CHAIN, vec![facts]), &Cancel::new()).unwrap();
    let facts = Segment::from_bytes("memory", bytes).unwrap().facts_with(0, MissingOrdinals::Numbered).unwrap();
    facts.movements.iter().map(|movement| movement.ordinal.number()).collect()
}

#[test]
fn made_ordinal_depends_on_content_alone() {
    let before = numbers(vec![token(1, 5), token(1, 5), token(4, 5)]);
    let indexed = Movement { ordinal: Ordinal::Indexed(7), ..token(1, 9) };
    let after = numbers(vec![token(4, 5), indexed, token(5, 1), token(1, 5), token(1, 5), token(1, 5)]);
    assert_eq!([before[2], before[0], before[1]], [after[0], after[3], after[4]]);
    assert_eq!(after[1], 7);
    let mut distinct = after.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 6);
    assert!(before.iter().all(|number| number.to_string().len() >= 15));
}

#[test]
fn a_transaction_whose_block_has_no_time_is_refused_by_name() {
    let error = refusal(&input(CHAIN, vec![TransactionFacts::new(hash(1), 9)]));
    assert!(matches!(&error, LedgerError::UnknownTime { block: 9, .. }), "{error}");
    assert!(error.to_string().contains(&hash(1).display(CHAIN.family())), "{error}");
}

#[test]
fn facts_that_contradict_each_other_are_refused() {
    let twice = TransactionFacts::new(hash(1), 1);
    let elsewhere = TransactionFacts::new(hash(1), 2);
    assert!(matches!(refusal(&input(CHAIN, vec![twice, elsewhere])), LedgerError::Conflict { field: "place", .. }));
    let mut early = TransactionFacts::new(hash(1), 1);
    early.time = Some(time_of(CHAIN, 0));
    assert!(matches!(refusal(&input(CHAIN, vec![early])), LedgerError::Conflict { field: "time", .. }));
    let mut two_times = input(CHAIN, Vec::new());
    two_times.blocks.push(BlockFacts { time: time_of(CHAIN, 3), ..two_times.blocks[0].clone() });
    assert!(matches!(refusal(&two_times), LedgerError::Conflict { what: "block", .. }));
}

#[test]
fn addresses_of_another_chain_or_network_are_refused() {
    let mut facts = TransactionFacts::new(hash(1), 1);
    facts.created = Some(address(Chain::TRON, 1));
    assert!(matches!(refusal(&input(CHAIN, vec![facts])), LedgerError::ForeignAddress { .. }));
    let owner = UtxoAddress { network: Network::Testnet, payload: UtxoPayload::ScriptHash([1; 20]) };
    let output = OutputFacts { owner: Some(Address::Utxo(owner)), amount: 1, script: ScriptType::P2sh, data: None };
    let mut facts = TransactionFacts::new(hash(1), 1);
    facts.utxo = Some(UtxoFacts::new(true, Vec::new(), vec![output]));
    assert!(matches!(refusal(&input(Chain::BITCOIN, vec![facts])), LedgerError::NetworkMismatch { .. }));
}

#[test]
fn what_row_numbers_cannot_count_is_refused() {
    let mut wide = input(CHAIN, vec![TransactionFacts::new(hash(1), 1), TransactionFacts::new(hash(2), 1 << 40)]);
    wide.blocks.push(BlockFacts { number: 1 << 40, ..wide.blocks[3].clone() });
    assert!(matches!(refusal(&wide), LedgerError::SegmentFull { .. }));
}

#[test]
fn chain_with_sums_past_256_bits_stays_readable() {
    let mut facts = TransactionFacts::new(hash(1), 1);
    let most = Movement { amount: Amount::MAX, ..token(1, 0) };
    facts.movements = vec![most.clone(), most];
    facts.body = Some(Body { from: Some(address(CHAIN, 2)), to: None, value: Amount::from(3) });
    let bytes = build(&input(CHAIN, vec![facts]), &Cancel::new()).unwrap();
    let segment = Segment::from_bytes("memory", bytes).unwrap();
    let account = segment.account(&address(CHAIN, 2)).unwrap().unwrap();
    let sums = segment.holdings(account, &[]).unwrap();
    assert_eq!((sums[0].sent, sums[1].received), (Amount::from(3), Amount::MAX));
}

#[test]
fn a_build_stops_when_asked() {
    let cancel = Cancel::new();
    cancel.cancel();
    assert!(matches!(build(&input(CHAIN, Vec::new()), &cancel), Err(LedgerError::Cancelled(_))));
}
