//! The cost of following a chain: a block of 500 transfers on top of a large store, from its commit to the first answers.
//!
//! ```text
//! cargo run --release -p headwater-bench --bin live -- 20000000 400000 100 FOLDER
//! ```
//!
//! Zero blocks only make the store, of which `cp -al` makes copies to follow.
//!
//! Makes a store of so many transfers of Ethereum and payments of Bitcoin in FOLDER, unless it is there, follows both
//! chains until their tails are full, and then measures so many blocks of each. Every block is committed by a
//! [`Writer`], seen by a [`Store`] that stays open as in a server, and asked about: holders and concentration of the most
//! used token, clusters of payers, legs of a bridge transfer, the newest logs of a contract.
#![forbid(unsafe_code)]

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use headwater_bench::generator::{CHUNK_ROWS, Coins, FIRST_BLOCK, Generator, Preset, listings, token_of};
use headwater_bench::suite::counters::memory;
use headwater_ledger::bridges::legs;
use headwater_ledger::facts::{Batch, BlockFacts, LogFacts, OutputFacts, TransactionFacts};
use headwater_ledger::logs::LogFilter;
use headwater_ledger::read::{
    Accounts as _, Balances as _, Bridges as _, ClusterReader as _, Generation as _, Logs as _, ScriptType,
};
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, Snapshot, Store};
use headwater_types::{Address, Asset, BlockHash, Chain, Timestamp};

const SEED: u64 = 1;
/// Transfers of a block.
const TRANSFERS: usize = 500;
/// Blocks that stay in the tail.
const TAIL: u64 = 128;
/// Rows of the generator behind those of the store: two thousand blocks.
const FOLLOWED_ROWS: u64 = CHUNK_ROWS;
/// Blocks of one commit of the chain of Bitcoin.
const BLOCKS: u64 = 250;
/// The first topic of transfers of tokens.
const TRANSFER: &str = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/// An output that asks `THORChain` for a swap.
const MEMO: &[u8] = b"=:ETH.ETH:0x57bbebae9ad82bd7e06ba091ac12753d126a64aa:0";

const STEPS: [&str; 9] = [
    "ethereum: commit",
    "ethereum: open",
    "holders",
    "legs",
    "logs",
    "bitcoin: commit",
    "bitcoin: open",
    "clusters",
    "seal both, not in the sum",
];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |name| -> Result<u64> { Ok(arguments.next().context(name)?.parse()?) };
    let transfers = number("name a number of transfers")?;
    let payments = number("name a number of payments")?;
    let measured = number("name a number of blocks")?;
    let folder = arguments.next().context("name a folder")?;
    let (folder, cancel) = (Path::new(&folder), Cancel::new());
    let mut coins = Coins::new(payments, SEED);
    let blocks = TAIL + measured;
    ensure!(blocks * TRANSFERS as u64 <= FOLLOWED_ROWS, "at most {} blocks", FOLLOWED_ROWS / TRANSFERS as u64 - TAIL);
    let mut writer = Writer::open_or_create(folder)?;
    let is_new = writer.snapshot().coverage().is_empty();
    load(&mut writer, transfers, &mut coins, payments, is_new)?;
    if measured == 0 {
        return Ok(());
    }

    let mut chains = FollowedChain::new(transfers, coins, &writer.snapshot());
    let store = Store::open(folder)?;
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); STEPS.len()];
    for number in 0..blocks {
        let mut steps = Vec::new();
        let ethereum = chains.ethereum();
        timed(&mut steps, || writer.append_tail_block(ethereum))?;
        let snapshot = timed(&mut steps, || store.snapshot())?;
        timed(&mut steps, || holders(&snapshot))?;
        timed(&mut steps, || chains.legs(&snapshot, &cancel))?;
        timed(&mut steps, || chains.logs(&snapshot, &cancel))?;
        let bitcoin = chains.bitcoin();
        timed(&mut steps, || writer.append_tail_block(bitcoin))?;
        let snapshot = timed(&mut steps, || store.snapshot())?;
        timed(&mut steps, || chains.clusters(&snapshot, &cancel))?;
        timed(&mut steps, || -> Result<()> {
            for (chain, newest) in [(Chain::ETHEREUM, chains.ethereum), (Chain::BITCOIN, chains.bitcoin)] {
                writer.seal_tail(chain, newest.saturating_sub(TAIL))?;
            }
            Ok(())
        })?;
        if number % 16 == 0 {
            eprintln!("{number} of {blocks} blocks: {steps:.1?} ms");
        }
        if number >= TAIL {
            times.iter_mut().zip(steps).for_each(|(times, step)| times.push(step));
        }
    }
    report(&mut times);
    println!("\n{} MB of anonymous memory after {blocks} blocks of each chain.", memory().anonymous / 1_000_000);
    Ok(())
}

/// Makes the store below the tails.
fn load(writer: &mut Writer, transfers: u64, coins: &mut Coins, payments: u64, is_new: bool) -> Result<()> {
    let cancel = Cancel::new();
    let generator = generator(transfers);
    if is_new {
        writer.import_tokens("bench", listings())?;
        writer.begin_load();
        for first in (0..transfers).step_by(usize::try_from(CHUNK_ROWS)?) {
            let chunk = generator.rows(first..transfers.min(first + CHUNK_ROWS));
            writer.commit(generator.batch(&chunk), &cancel)?;
            eprintln!("{first} of {transfers} transfers");
        }
    }
    let mut made = 0;
    while made < payments / 2_000 {
        let batch = coins.blocks(BLOCKS.min(payments / 2_000 - made));
        made += batch.blocks.len() as u64;
        if is_new {
            writer.commit(batch, &cancel)?;
        }
    }
    if is_new {
        for chain in [Chain::ETHEREUM, Chain::BITCOIN] {
            writer.compact(chain, &|_, _| {}, &cancel)?;
        }
        writer.end_load(&cancel)?;
        writer.rebuild_sidecars(&|_, _, _| {}, &cancel)?;
    }
    Ok(())
}

/// The generator of a store and the blocks behind it.
fn generator(transfers: u64) -> Generator {
    Generator::new(Preset::of(transfers.next_multiple_of(CHUNK_ROWS) + FOLLOWED_ROWS))
}

/// The blocks to come of both chains, and the questions about them.
struct FollowedChain {
    generator: Generator,
    /// The next row of the generator.
    row: u64,
    ethereum: u64,
    coins: Coins,
    /// Transactions that are made, but in no block.
    payments: Vec<TransactionFacts>,
    bitcoin: u64,
    /// The transactions of the newest block of Bitcoin.
    newest: Vec<TransactionFacts>,
}

impl FollowedChain {
    fn new(transfers: u64, coins: Coins, snapshot: &Snapshot) -> Self {
        let head = |chain| snapshot.coverage().get(&chain).and_then(|held| held.last_block).unwrap_or(FIRST_BLOCK);
        Self {
            generator: generator(transfers),
            row: transfers.next_multiple_of(CHUNK_ROWS),
            ethereum: head(Chain::ETHEREUM),
            coins,
            payments: Vec::new(),
            bitcoin: head(Chain::BITCOIN),
            newest: Vec::new(),
        }
    }

    /// The next block of Ethereum, with a log for each transfer.
    fn ethereum(&mut self) -> Batch {
        let chunk = self.generator.rows(self.row..self.row + TRANSFERS as u64);
        self.row += TRANSFERS as u64;
        self.ethereum += 1;
        let mut batch = self.generator.batch(&chunk);
        let time = batch.transactions[0].time.unwrap_or(Timestamp::new(0));
        let topic = hex_32(TRANSFER);
        for (index, facts) in (0..).zip(&mut batch.transactions) {
            (facts.block, facts.time, facts.index) = (self.ethereum, Some(time), Some(index));
            for movement in &facts.movements {
                let party = |address: Option<Address>| {
                    let mut topic = [0; 32];
                    if let Some(Address::Evm(address)) = address {
                        topic[12..].copy_from_slice(&address);
                    }
                    topic
                };
                facts.logs.extend(movement.asset.contract().map(|contract| LogFacts {
                    index: u64::from(index),
                    address: *contract,
                    topics: vec![topic, party(movement.from), party(movement.to)],
                    data: movement.amount.to_be_bytes().to_vec(),
                }));
            }
        }
        block(Chain::ETHEREUM, (self.ethereum, time), batch.transactions)
    }

    /// The next block of Bitcoin, a transaction of which bridges.
    fn bitcoin(&mut self) -> Batch {
        if self.payments.is_empty() {
            self.payments = self.coins.blocks(1).transactions;
            self.payments.reverse();
        }
        self.bitcoin += 1;
        let mut transactions = self.payments.split_off(self.payments.len() - TRANSFERS);
        transactions.reverse();
        let time = Timestamp::new(1_700_000_000 + self.bitcoin.cast_signed() * 600);
        for (index, facts) in (0..).zip(&mut transactions) {
            (facts.block, facts.time, facts.index) = (self.bitcoin, Some(time), Some(index));
        }
        if let Some(utxo) = transactions.last_mut().and_then(|facts| facts.utxo.as_mut()) {
            let data = Some(MEMO.to_vec());
            utxo.outputs.push(OutputFacts { owner: None, amount: 0, script: ScriptType::Nonstandard, data });
        }
        self.newest.clone_from(&transactions);
        block(Chain::BITCOIN, (self.bitcoin, time), transactions)
    }

    /// Looks the legs of the newest bridge transfer up, as the status of a transfer does.
    fn legs(&self, snapshot: &Snapshot, cancel: &Cancel) -> Result<()> {
        let Some(facts) = self.newest.last() else { return Ok(()) };
        let time = facts.time.context("blocks have times")?;
        for leg in legs(Chain::BITCOIN, time, facts) {
            for key in &leg.keys {
                let found = snapshot.with_link_key(&leg.family, key, cancel)?;
                ensure!(found.is_some_and(|found| !found.is_empty()), "the leg is not found");
            }
        }
        Ok(())
    }

    /// Asks for the newest logs of the most used token, and for its first ones.
    fn logs(&self, snapshot: &Snapshot, cancel: &Cancel) -> Result<()> {
        let since = |blocks: RangeInclusive<u64>| LogFilter { blocks, ..LogFilter::of(token_of(0)) };
        for filter in [since(self.ethereum..=self.ethereum), since(0..=u64::MAX)] {
            ensure!(!snapshot.log_page(Chain::ETHEREUM, &filter, 100, cancel)?.is_empty(), "no logs are found");
        }
        Ok(())
    }

    /// Asks for the clusters of the payers of the newest block.
    fn clusters(&self, snapshot: &Snapshot, cancel: &Cancel) -> Result<()> {
        let clusters = snapshot.clusters(Chain::BITCOIN, cancel)?.context("a table is built")?;
        let inputs = self.newest.iter().filter_map(|facts| facts.utxo.as_ref()).flat_map(|utxo| &utxo.inputs);
        for payer in inputs.filter_map(|input| input.spent.as_ref()?.owner).take(10) {
            let account = snapshot.account(Chain::BITCOIN, &payer)?.context("it paid")?;
            if let Some(cluster) = clusters.of(&account)? {
                clusters.members(&cluster, None, 10)?;
            }
        }
        Ok(())
    }
}

/// Asks for the largest holders of the most used token and what they come to.
fn holders(snapshot: &Snapshot) -> Result<()> {
    let holders = snapshot.holders(Chain::ETHEREUM, &Asset::Token(token_of(0)))?.context("a table is built")?;
    ensure!(holders.first(100)?.len() == 100, "too few holders");
    holders.ranked(&[])?.largest(&|top| top.count >= 1_000)?;
    Ok(())
}

/// A block with the hash of its number and that of its parent.
fn block(chain: Chain, (number, time): (u64, Timestamp), transactions: Vec<TransactionFacts>) -> Batch {
    let hash = |number: u64| {
        let mut bytes = [7; 32];
        bytes[24..].copy_from_slice(&number.to_be_bytes());
        BlockHash::new(bytes)
    };
    let mut batch = Batch::new(chain);
    batch.blocks = vec![BlockFacts { number, hash: Some(hash(number)), parent: Some(hash(number - 1)), time }];
    batch.transactions = transactions;
    batch
}

fn hex_32(text: &str) -> [u8; 32] {
    let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("a constant in hexadecimal");
    std::array::from_fn(byte)
}

fn timed<T, E: Into<anyhow::Error>>(steps: &mut Vec<f64>, work: impl FnOnce() -> Result<T, E>) -> Result<T> {
    let began = Instant::now();
    let outcome = work();
    steps.push(began.elapsed().as_secs_f64() * 1e3);
    outcome.map_err(Into::into)
}

fn report(times: &mut [Vec<f64>]) {
    let sums: Vec<f64> = (0..times[0].len()).map(|at| times[..STEPS.len() - 1].iter().map(|of| of[at]).sum()).collect();
    println!("| step | median, ms | p99, ms | most, ms |\n|---|---|---|---|");
    let rows = STEPS.into_iter().zip(times.iter().cloned()).chain([("all but sealing", sums)]);
    for (name, mut times) in rows {
        times.sort_by(f64::total_cmp);
        let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)));
        let [median, late, most] = [50, 99, 100].map(|percent| at(percent).copied().unwrap_or_default());
        println!("| {name} | {median:.2} | {late:.2} | {most:.2} |");
    }
}
