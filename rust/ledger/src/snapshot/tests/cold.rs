//! Reads of a cold page, in 4 KiB pages of the file that were touched (each is checked when first touched).

use headwater_types::{Amount, Asset, Chain, Network, Timestamp};

use super::snapshot;
use crate::facts::{BlockFacts, Body, Movement, MovementFact, TransactionFacts};
use crate::read::{Accounts, Assets, Movements, Ordinal, Scan, ScanOrder, Transactions};
use crate::segment::SegmentInput;
use crate::segment::tests::economy::hash;

const LIMIT: u32 = 128 * 1024;
const PAGE: u32 = 4096;
const HUB: u64 = 0;

pub(super) fn account(number: u64) -> headwater_types::Address {
    let mut bytes = [0; 20];
    // Spread over the key space as real addresses are.
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    headwater_types::Address::Evm(bytes)
}

/// A hub in every third transaction, light accounts in the others.
pub(super) fn busy() -> SegmentInput {
    let transactions = 30_000_u64;
    let transaction = |number: u64| {
        let mut facts = TransactionFacts::new(hash(number), number / 10);
        facts.index = u32::try_from(number % 10).ok();
        let from = if number.is_multiple_of(3) { HUB } else { 1 + number % 4000 };
        let to = Some(account(1 + number * 7 % 4000));
        facts.body = Some(Body { from: Some(account(from)), to, value: Amount::from(number) });
        facts.movements = vec![Movement {
            kind: MovementFact::Token,
            ordinal: Ordinal::Indexed(number % 100),
            from: to,
            to: Some(account(HUB)),
            asset: Asset::Token(account(5000 + number % 50)),
            amount: Amount::from(number),
        }];
        facts
    };
    let block =
        |number| BlockFacts { number, hash: None, parent: None, time: Timestamp::new(12 * number.cast_signed()) };
    SegmentInput {
        chain: Chain::ETHEREUM,
        network: Network::Mainnet,
        blocks: (0..transactions / 10).map(block).collect(),
        transactions: (0..transactions).map(transaction).collect(),
        contracts: Vec::new(),
        tokens: Vec::new(),
    }
}

#[test]
fn cold_page_of_100_rows_reads_at_most_128_kib() {
    let bytes = crate::segment::build(&busy(), &crate::Cancel::new()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segment");
    std::fs::write(&path, &bytes).unwrap();
    let fresh = || {
        let segment = std::sync::Arc::new(crate::segment::Segment::open(&path).unwrap());
        let mut ledger = snapshot(&[]);
        ledger = crate::Snapshot::new(
            1,
            vec![segment],
            std::collections::BTreeMap::new(),
            std::sync::Arc::clone(ledger.registry()),
            std::sync::Arc::clone(ledger.prices()),
        );
        ledger
    };
    let middle = {
        let ledger = fresh();
        let hub = ledger.account(Chain::ETHEREUM, &account(HUB)).unwrap().unwrap();
        assert!(hub.postings > 30_000);
        let posting = ledger.postings(&hub, &Scan::default()).unwrap().nth(20_000).unwrap().unwrap();
        let head = ledger.transaction_head(posting.transaction).unwrap();
        crate::read::PostingKey {
            block: head.block,
            index: head.index,
            hash: head.hash,
            kind: posting.kind,
            ordinal: posting.ordinal,
        }
    };
    for (number, after) in [(HUB, None), (HUB, Some(middle)), (17, None), (17, Some(middle))] {
        for order in [ScanOrder::NewestFirst, ScanOrder::OldestFirst] {
            let ledger = fresh();
            let opened = ledger.segments()[0].touched_pages();
            let account = ledger.account(Chain::ETHEREUM, &account(number)).unwrap().unwrap();
            let scan = Scan { order, after, ..Scan::default() };
            let rows: Vec<_> = ledger.postings(&account, &scan).unwrap().take(100).map(|row| row.unwrap()).collect();
            assert!(rows.len() == 100 || number != HUB);
            let read = (ledger.segments()[0].touched_pages() - opened) * PAGE;
            assert!(read <= LIMIT, "account {number}, {order:?} after {after:?}: {read} bytes");
        }
    }
}

#[test]
fn opening_a_segment_does_not_read_its_data() {
    let segment = crate::segment::build(&busy(), &crate::Cancel::new()).unwrap();
    let length = segment.len();
    let segment = crate::segment::Segment::from_bytes("memory", segment).unwrap();
    let touched = segment.touched_pages() as usize * PAGE as usize;
    assert!(touched <= 24 * 1024 && length > 1_000_000, "{touched} of {length}");
}
