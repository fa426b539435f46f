//! Blocks behind the end of an economy.

use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, BlockFacts, Body, TransactionFacts};
use headwater_ledger::read::Generation;
use headwater_ledger::store::{LogicalDigest, Store, Writer};
use headwater_simulate::{LiveBlock, LiveBlocks};
use headwater_types::{Address, Amount, Chain, Timestamp, TxHash};

/// Two accounts are given 9 and 1 ether in block 7.
fn economy() -> Batch {
    let time = Timestamp::new(1_600_000_000);
    let given = |(index, ether): (u32, u64)| {
        let to = Address::Evm([u8::try_from(index).unwrap() + 1; 20]);
        let value = Amount::from(ether * 1_000_000_000_000_000_000);
        TransactionFacts {
            time: Some(time),
            index: Some(index),
            body: Some(Body { from: None, to: Some(to), value }),
            ..TransactionFacts::new(TxHash::new([u8::try_from(index).unwrap() + 1; 32]), 7)
        }
    };
    let blocks = vec![BlockFacts { number: 7, hash: None, parent: None, time }];
    let transactions = [(0, 9), (1, 1)].map(given).to_vec();
    Batch { blocks, transactions, ..Batch::new(Chain::ETHEREUM) }
}

#[test]
fn live_blocks_are_replaced_and_leave_the_store_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store");
    Writer::open_or_create(&path).unwrap().commit(economy(), &Cancel::new()).unwrap();
    let store = Store::open(&path).unwrap();
    let digest = || -> LogicalDigest { store.digest(&Cancel::new()).unwrap() };
    let head = || store.snapshot().unwrap().coverage()[&Chain::ETHEREUM].last_block;
    let before = digest();

    let mut blocks = LiveBlocks::begin(&path, 1).unwrap();
    let made: Vec<LiveBlock> = (0..51).map(|_| blocks.add().unwrap()).collect();
    let expected = |number, is_replacement| LiveBlock { number, is_replacement };
    assert_eq!(
        [made[0], made[48], made[49], made[50]],
        [expected(8, false), expected(56, false), expected(56, true), expected(57, false)]
    );
    assert_eq!(head(), Some(57));
    let first = digest();
    assert_ne!(first, before);
    // A run that was killed is taken back by the next one, which makes the same blocks.
    drop(blocks);
    let mut again = LiveBlocks::begin(&path, 1).unwrap();
    assert_eq!((head(), digest()), (Some(7), before));
    (0..51).for_each(|_| _ = again.add().unwrap());
    assert_eq!(digest(), first);
    again.end().unwrap();
    assert_eq!((head(), digest()), (Some(7), before));
}
