//! Tables that generations pass on change no answer: a reader that follows a chain answers as one that opened it just now.

use headwater_ledger::facts::Batch;
use headwater_ledger::read::Ledger;
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, Store};
use headwater_testkit::strategies::{account_chain, opened_chain, utxo_chain};
use headwater_testkit::{followed, is_full};
use headwater_types::{Address, Amount, Asset, Chain};
use proptest::prelude::*;

/// The changes behind a block: how many blocks are taken back and brought again, and how many stay in the tail.
type Step = (u64, u64);

/// Holders of an asset with their balances, and what they come to.
type Holders = (Asset, Vec<(Address, Amount)>, u64, Option<Amount>, String);

fn holders(ledger: &dyn Ledger, chain: Chain, assets: &[Asset]) -> Vec<Holders> {
    let of_asset = |asset: &Asset| {
        let holders = ledger.holders(chain, asset).unwrap().expect("small");
        let rows = holders.first(usize::MAX).unwrap();
        let rows = rows.into_iter().map(|(account, held)| (ledger.address(account).unwrap(), held)).collect();
        let ranked = holders.ranked(&[]).unwrap();
        let measures = format!("{:?} {:?}", ranked.moments(), ranked.largest(&|top| top.count >= 3).unwrap());
        (*asset, rows, holders.negative(), holders.total(), measures)
    };
    assets.iter().map(of_asset).collect()
}

fn clusters(ledger: &dyn Ledger, chain: Chain) -> String {
    let clusters = ledger.clusters(chain, &Cancel::new()).unwrap().expect("small");
    let addresses = ledger.find_addresses(chain, "", usize::MAX, usize::MAX).unwrap().addresses;
    let of_address = |address: &Address| {
        let account = ledger.account(chain, address).unwrap().unwrap();
        let cluster = clusters.of(&account).unwrap()?;
        Some((cluster.name, cluster.size, clusters.members(&cluster, None, usize::MAX).unwrap()))
    };
    format!("{:?}", addresses.iter().map(of_address).collect::<Vec<_>>())
}

fn block(batch: &Batch, number: u64) -> Batch {
    let mut block = batch.clone();
    block.claims.clear();
    block.blocks.retain(|facts| facts.number == number);
    block.transactions.retain(|facts| facts.block == number);
    block
}

/// Follows a chain with roll-backs, seals and merges, and compares a reader that looks on with new ones.
fn check(batch: &Batch, steps: &[Step]) {
    let (folder, chain) = (tempfile::tempdir().unwrap(), batch.chain);
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let movements = batch.transactions.iter().flat_map(|facts| &facts.movements);
    let mut assets: Vec<Asset> = movements.map(|movement| movement.asset).chain([Asset::Native]).collect();
    assets.sort_unstable();
    assets.dedup();
    let mut reader = None;
    let mut compare = || {
        let fresh = Store::open(folder.path()).unwrap();
        let reader = reader.get_or_insert_with(|| Store::open(folder.path()).unwrap());
        let [carried, fresh] = [reader.snapshot().unwrap(), fresh.snapshot().unwrap()];
        assert_eq!(holders(&*carried, chain, &assets), holders(&*fresh, chain, &assets));
        assert_eq!(clusters(&*carried, chain), clusters(&*fresh, chain));
    };
    let (mut lowest, mut fork) = (None, 1);
    let mut forks = std::collections::BTreeMap::new();
    for (at, block_facts) in batch.blocks.iter().enumerate() {
        let (back, kept) = steps[at % steps.len()];
        let newest = block_facts.number;
        let mut append = |writer: &mut Writer, number: u64, fork: u8| {
            let parent = forks.get(&(number - 1)).copied().unwrap_or(1);
            forks.insert(number, fork);
            writer.append_tail_block(followed(block(batch, number), fork, parent)).unwrap();
        };
        append(&mut writer, newest, fork);
        let lowest = lowest.get_or_insert(newest);
        compare();
        let to = (newest.saturating_sub(back)).max(*lowest);
        if back > 0 && to < newest {
            writer.roll_back_tail(chain, to).unwrap();
            compare();
            fork += 1;
            (to + 1..=newest).for_each(|number| append(&mut writer, number, fork));
            compare();
        }
        if let Some(up_to) = newest.checked_sub(kept).filter(|up_to| up_to >= lowest) {
            writer.seal_tail(chain, up_to).unwrap();
            *lowest = up_to + 1;
            compare();
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((prop_oneof![Just(0), 1..4_u64], 1..6_u64), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 48 } else { 8 }))]

    #[test]
    fn followed_accounts_are_as_freshly_read(batch in account_chain(), steps in steps()) {
        check(&batch, &steps);
    }

    #[test]
    fn followed_openings_are_as_freshly_read(batch in opened_chain(), steps in steps()) {
        check(&batch, &steps);
    }

    #[test]
    fn followed_outputs_are_as_freshly_read(batch in utxo_chain(), steps in steps()) {
        check(&batch, &steps);
    }
}
