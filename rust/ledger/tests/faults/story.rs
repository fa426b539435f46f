//! The steps of a store while its disk fails: each step one change, of every kind there is.

use std::path::Path;

use headwater_ledger::facts::{Batch, BlockFacts, Claim};
use headwater_ledger::market::PricePoint;
use headwater_ledger::read::{CoverageTable, Generations};
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_testkit::{Chainlet, address};
use headwater_types::{BlockHash, Chain, Timestamp};

pub const CHAIN: Chain = Chain::ETHEREUM;

type Step = fn(&mut Writer) -> Result<(), LedgerError>;

fn transfers(first: u64, count: u64) -> Batch {
    let chain = Chainlet::ethereum().at_block(first);
    (first..first + count).fold(chain, |chain, number| chain.transfer(number % 5, 7, number).fee(1)).batch()
}

fn commit(writer: &mut Writer, batch: Batch) -> Result<(), LedgerError> {
    writer.commit(batch, &Cancel::new()).map(drop)
}

fn block_hash(number: u64) -> BlockHash {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    BlockHash::new(bytes)
}

fn follow(writer: &mut Writer, number: u64) -> Result<(), LedgerError> {
    let mut batch = transfers(number, 1);
    batch.blocks = vec![BlockFacts {
        hash: Some(block_hash(number)),
        parent: Some(block_hash(number - 1)),
        ..batch.blocks[0].clone()
    }];
    batch.claims = vec![Claim::Blocks { first: number, last: number, table: CoverageTable::Transactions }];
    writer.append_tail_block(batch).map(drop)
}

/// Seven commits of one size, the eighth of which is merged with the others; more about what is held already; an
/// account; prices; a tail that grows, is cut and is made final; and a compaction.
pub const STEPS: [Step; 17] = [
    |writer| commit(writer, transfers(1, 3)),
    |writer| commit(writer, transfers(4, 3)),
    |writer| commit(writer, transfers(7, 3)),
    |writer| commit(writer, transfers(10, 3)),
    |writer| {
        let mut batch = transfers(10, 1);
        batch.transactions[0].nonce = Some(7);
        commit(writer, batch)
    },
    |writer| commit(writer, transfers(13, 3)),
    |writer| commit(writer, transfers(16, 3)),
    |writer| commit(writer, transfers(19, 3)),
    |writer| commit(writer, transfers(22, 3)),
    |writer| {
        let claims = vec![Claim::Account { address: address(CHAIN, 3), table: CoverageTable::Transactions }];
        commit(writer, Batch { claims, ..transfers(25, 2) })
    },
    |writer| {
        let prices = vec![PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(5), usd: 2.5 }];
        writer.import_prices("prices", prices).map(drop)
    },
    |writer| follow(writer, 40),
    |writer| follow(writer, 41),
    |writer| follow(writer, 42),
    |writer| writer.roll_back_tail(CHAIN, 41).map(drop),
    |writer| writer.seal_tail(CHAIN, 41).map(drop),
    |writer| writer.compact(CHAIN, &|_, _| {}, &Cancel::new()).map(drop),
];

/// Digests what is held, whatever the segments, and the items of the change feed: neither is ever there without the
/// other.
pub fn digest(folder: &Path) -> String {
    let store = Store::open(folder).unwrap();
    let feed = store.feed().unwrap();
    let reported = feed.after(0, usize::MAX).unwrap().into_iter().map(|item| {
        let transactions = feed.transactions(item.position).unwrap();
        let hashes: Vec<_> = transactions.iter().map(|new| new.transaction.head.hash).collect();
        format!("{item:?} {hashes:?}")
    });
    let reported: Vec<String> = reported.collect();
    format!("{} {}", store.digest(&Cancel::new()).unwrap(), reported.join(" "))
}
