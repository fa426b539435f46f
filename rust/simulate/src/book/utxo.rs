//! The book of a UTXO chain: who owns which output, the open block, and the blocks that no batch holds yet.
//!
//! Coins lie in the purses of their wallets and nowhere else, as numbers from which hash and address follow; an address
//! takes about 25 bytes and a coin about 50, so that millions of both fit.

use std::collections::VecDeque;

use headwater_ledger::facts::{Batch, InputFacts, OutPoint, OutputFacts, TransactionFacts, UtxoFacts};
use headwater_ledger::read::{ScriptType, Status};
use headwater_types::address::UtxoPayload;
use headwater_types::{Address, Chain, TxHash};
use rustc_hash::FxHashMap;

use super::Mention;
use super::chain::{batch, transaction_hash};
use super::habits::{FINAL, Habits};
use super::lock::{Size, note_bytes};
use super::purse::{Coin, CoinPosition, Key};
use super::wallet::{Holder, Wallet, WalletId};
use crate::clock::Schedule;
use crate::fees::FeeLevels;
use crate::identity::{digest, script_of};
use crate::preset::Preset;
use crate::random::Stream;
use crate::truth::WalletTruth;

/// Blocks before a coinbase may be spent.
const MATURITY_BLOCKS: u64 = 100;
/// New coins of a block, in satoshis.
pub(crate) const SUBSIDY: u64 = 50 * 100_000_000;

/// Satoshis per 1000 virtual bytes that nodes relay at least.
const MIN_RATE: u64 = 1_000;

/// The outcome of a payment.
#[derive(Debug, Clone)]
pub(crate) struct PaymentOutcome {
    /// The transaction.
    pub(crate) hash: TxHash,
    /// Position and address of the change.
    pub(crate) change: Option<(u32, Address)>,
    /// Addresses that were spent from.
    pub(crate) from: Vec<Address>,
}

/// A coin that was taken out of its wallet, to be spent together with others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TakenCoin {
    /// The wallet that it belongs to.
    pub(crate) wallet: WalletId,
    /// The coin.
    pub(crate) coin: Coin,
}

/// An output to be made.
#[derive(Debug, Clone)]
pub(crate) struct NewOutput {
    pub(super) address: Option<Address>,
    pub(super) satoshis: u64,
    pub(super) note: Option<Vec<u8>>,
}

impl NewOutput {
    /// A payment.
    pub(crate) const fn to(address: Address, satoshis: u64) -> Self {
        Self { address: Some(address), satoshis, note: None }
    }

    /// Data that nobody can spend.
    pub(crate) fn note(data: &[u8]) -> Self {
        Self { address: None, satoshis: 0, note: Some(data.to_vec()) }
    }

    pub(super) fn sized(&self, size: Size) -> Size {
        match (&self.address, &self.note) {
            (Some(address), _) => size.to(address),
            (None, note) => size.output(note_bytes(note.as_ref().map_or(0, Vec::len) as u64)),
        }
    }
}

/// The style in which a transaction is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Its version.
    pub(crate) version: u32,
    /// Its lock time.
    pub(crate) lock_time: u32,
    /// The sequence number of its inputs.
    pub(crate) sequence: u32,
}

impl Style {
    /// The style of transactions that several people sign.
    pub(crate) const JOINT: Self = Self { version: 1, lock_time: 0, sequence: FINAL };
}

/// A transaction that was made.
pub(crate) struct BuiltTransaction {
    /// Its hash.
    pub(crate) hash: TxHash,
    /// The places of the coins that it made, by output.
    pub(crate) coins: Vec<Option<(WalletId, CoinPosition)>>,
}

/// An address and its owner.
struct OwnedAddress {
    wallet: u32,
    key: Key,
    mentions: u32,
    /// When it was paid first, in seconds of the economy.
    since: u32,
}

/// Coins, wallets and transactions of a UTXO chain.
pub(crate) struct UtxoBook {
    pub(super) seed: u64,
    schedule: Schedule,
    pub(super) wallets: Vec<Wallet>,
    /// By the first eight bytes of what an address stands for, which no two addresses of a book share.
    owners: FxHashMap<u64, OwnedAddress>,
    pools: Vec<WalletId>,
    pool_weights: Vec<u64>,
    mining: Stream,
    /// Satoshis per thousand virtual bytes.
    rates: FeeLevels,
    ripening: VecDeque<(u64, TakenCoin)>,
    transactions: Vec<TransactionFacts>,
    changes: Vec<(TxHash, u32)>,
    pub(super) open_block: u64,
    pub(super) open: Vec<TransactionFacts>,
    pub(super) open_fees: u64,
    number: u32,
    /// First block that no batch holds yet.
    unbatched: u64,
}

impl UtxoBook {
    /// An empty book.
    pub(crate) fn new(seed: u64, preset: Preset) -> Self {
        Self {
            seed,
            schedule: Schedule::new(seed, Chain::BITCOIN, preset),
            wallets: Vec::new(),
            owners: FxHashMap::default(),
            pools: Vec::new(),
            pool_weights: Vec::new(),
            mining: Stream::new(seed, "mining"),
            rates: FeeLevels::new(seed, Chain::BITCOIN.name(), preset.days(), (9_000.0, 0.6)),
            ripening: VecDeque::new(),
            transactions: Vec::new(),
            changes: Vec::new(),
            open_block: 0,
            open: Vec::new(),
            open_fees: 0,
            number: 0,
            unbatched: 0,
        }
    }

    /// A new wallet.
    pub(crate) fn add_wallet(&mut self, holder: Holder, habits: Habits) -> WalletId {
        self.wallets.push(Wallet::new(self.seed, holder, habits));
        WalletId(self.wallets.len() - 1)
    }

    /// Lets a wallet mine, with this share of the blocks.
    pub(crate) fn add_pool(&mut self, wallet: WalletId, weight: u64) {
        self.pools.push(wallet);
        self.pool_weights.push(weight);
    }

    /// An address at which a wallet is paid.
    pub(crate) fn receiving(&mut self, wallet: WalletId) -> Address {
        self.address(wallet, Wallet::receiving)
    }

    /// An address at which a wallet gathers what is its own.
    pub(crate) fn own(&mut self, wallet: WalletId) -> Address {
        self.address(wallet, Wallet::change)
    }

    /// A new address of a wallet, whatever its habit.
    pub(crate) fn fresh(&mut self, wallet: WalletId) -> Address {
        self.address(wallet, Wallet::fresh)
    }

    /// The first address of a wallet, which anybody may know.
    pub(crate) fn known(&mut self, wallet: WalletId) -> Address {
        self.address(wallet, |wallet| wallet.first())
    }

    fn address(&mut self, id: WalletId, next: fn(&mut Wallet) -> Key) -> Address {
        let number = u32::try_from(id.0).expect("a book has fewer than 2^32 wallets");
        let wallet = &mut self.wallets[id.0];
        loop {
            let key = next(wallet);
            let address = wallet.address(self.seed, key);
            let owned = self.owners.entry(short(&address)).or_insert(OwnedAddress {
                wallet: number,
                key,
                mentions: 0,
                since: 0,
            });
            // A key whose address equals another is left unused.
            if (owned.wallet, owned.key) == (number, key) {
                return address;
            }
        }
    }

    /// Satoshis that a wallet could spend now.
    pub(crate) fn spendable(&self, wallet: WalletId, _now: i64) -> u64 {
        self.wallets[wallet.0].purse.satoshis()
    }

    /// Number of coins of a wallet.
    pub(crate) fn coin_count(&self, wallet: WalletId) -> usize {
        self.wallets[wallet.0].purse.len()
    }

    /// The going rate, in satoshis per 1000 virtual bytes.
    pub(crate) fn rate(&self, now: i64) -> u64 {
        self.rates.at(now).max(MIN_RATE)
    }

    /// Closes the blocks before a time.
    pub(crate) fn advance(&mut self, now: i64) {
        let block = self.schedule.block_at(now);
        while self.open_block < block {
            self.close_block();
        }
    }

    /// The height of the newest block; 0 where there is none.
    pub(super) const fn newest_block(&self) -> u64 {
        self.open_block.saturating_sub(1)
    }

    /// The time of the block that payments go into now.
    pub(crate) fn open_time(&self) -> i64 {
        self.schedule.time(self.open_block)
    }

    /// The output that a coin is.
    pub(super) fn point(&self, coin: Coin) -> OutPoint {
        OutPoint { hash: self.hash(coin.transaction), index: coin.output }
    }

    /// The address of a held coin.
    pub(crate) fn owner(&self, held: &TakenCoin) -> Address {
        self.wallets[held.wallet.0].address(self.seed, held.coin.key)
    }

    fn hash(&self, number: u32) -> TxHash {
        transaction_hash(self.seed, Chain::BITCOIN, u64::from(number))
    }

    /// Spends coins. The fee is what the outputs leave.
    pub(super) fn spend(&mut self, inputs: &[TakenCoin], outputs: &[NewOutput], style: Style) -> BuiltTransaction {
        let mut size = Size::default();
        let mut spends = Vec::with_capacity(inputs.len());
        for held in inputs {
            let lock = held.coin.key.lock();
            let wallet = &mut self.wallets[held.wallet.0];
            let signatures = (0..lock.signatures()).map(|_| match wallet.habits.signing {
                super::habits::Signing::ShortOnly => 71,
                super::habits::Signing::AsItComes => 71 + wallet.stream.below(2),
            });
            size = size.input(lock, signatures.sum());
            let spent = OutputFacts {
                owner: Some(self.owner(held)),
                amount: held.coin.satoshis,
                script: lock.script(),
                data: None,
            };
            let previous = self.point(held.coin);
            spends.push(InputFacts { previous, spent: Some(spent), sequence: Some(style.sequence) });
            self.open_fees += held.coin.satoshis;
        }
        for out in outputs {
            size = out.sized(size);
            self.open_fees -= out.satoshis;
        }
        let facts = UtxoFacts {
            coinbase: false,
            version: Some(style.version),
            lock_time: Some(style.lock_time),
            weight_wu: Some(u32::try_from(size.weight_wu()).expect("a transaction fits a block")),
            inputs: spends,
            outputs: outputs.iter().map(output).collect(),
        };
        let (number, facts) = self.file(facts);
        let made = BuiltTransaction { hash: facts.hash, coins: self.credit(number, outputs) };
        self.open.push(facts);
        made
    }

    fn file(&mut self, utxo: UtxoFacts) -> (u32, TransactionFacts) {
        self.number += 1;
        let mut facts = TransactionFacts::new(self.hash(self.number), self.open_block);
        facts.time = Some(self.schedule.timestamp(self.open_block));
        facts.status = Some(Status::Success);
        facts.utxo = Some(utxo);
        (self.number, facts)
    }

    /// The owner of an address, who is mentioned once more.
    fn mention(&mut self, address: &Address) -> Option<(WalletId, Key)> {
        let now = self.open_time();
        let owned = self.owners.get_mut(&short(address))?;
        if owned.mentions == 0 {
            owned.since = Mention::since(now);
        }
        owned.mentions = owned.mentions.saturating_add(1);
        Some((WalletId(owned.wallet as usize), owned.key))
    }

    fn credit(&mut self, transaction: u32, outputs: &[NewOutput]) -> Vec<Option<(WalletId, CoinPosition)>> {
        let credited = (0..).zip(outputs).map(|(place, out)| {
            let (wallet, key) = self.mention(&out.address?)?;
            let coin = Coin { transaction, output: place, satoshis: out.satoshis, key };
            Some((wallet, self.put(TakenCoin { wallet, coin })))
        });
        credited.collect()
    }

    pub(super) fn put(&mut self, held: TakenCoin) -> CoinPosition {
        let wallet = &mut self.wallets[held.wallet.0];
        wallet.purse.put(held.coin, wallet.habits.coins)
    }

    pub(super) fn note_change(&mut self, hash: TxHash, place: u32) {
        self.changes.push((hash, place));
    }

    /// Puts the coinbase in front and closes the open block. The coinbase of block 0 can never be spent.
    fn close_block(&mut self) {
        let block = self.open_block;
        let pool = self.pools[self.mining.weighted(&self.pool_weights)];
        let address = self.receiving(pool);
        let reward = SUBSIDY + self.open_fees;
        let mut outputs = vec![NewOutput::to(address, reward)];
        if !self.open.is_empty() {
            let commitment = digest(self.seed, "witness commitment", &block.to_be_bytes());
            outputs.push(NewOutput::note(&[[0xaa, 0x21, 0xa9, 0xed].as_slice(), &commitment].concat()));
        }
        // A push of the height, and whatever the pool likes.
        let size = outputs.iter().fold(Size::default().coinbase(4 + 21), |size, out| out.sized(size));
        let facts = UtxoFacts {
            version: Some(2),
            lock_time: Some(0),
            weight_wu: u32::try_from(size.weight_wu()).ok(),
            ..UtxoFacts::new(true, Vec::new(), outputs.iter().map(output).collect())
        };
        let (transaction, coinbase) = self.file(facts);
        if let Some((wallet, key)) = self.mention(&address).filter(|_| block > 0) {
            let coin = Coin { transaction, output: 0, satoshis: reward, key };
            self.ripening.push_back((block + MATURITY_BLOCKS, TakenCoin { wallet, coin }));
        }
        for (index, mut facts) in (0..).zip(std::iter::once(coinbase).chain(self.open.drain(..))) {
            facts.index = Some(index);
            self.transactions.push(facts);
        }
        self.open_fees = 0;
        self.open_block += 1;
        while let Some(&(ripe, held)) = self.ripening.front().filter(|(ripe, _)| *ripe <= self.open_block) {
            debug_assert!(ripe <= self.open_block);
            self.ripening.pop_front();
            self.put(held);
        }
    }

    /// Transactions that no batch holds yet.
    pub(crate) fn waiting(&self) -> usize {
        self.transactions.len()
    }

    /// The blocks before a time that no batch holds yet, when there are any.
    pub(crate) fn close(&mut self, until: i64) -> Option<Batch> {
        self.advance(until);
        if until > self.schedule.time(self.schedule.last_block()) {
            while self.open_block <= self.schedule.last_block() {
                self.close_block();
            }
        }
        let last = self.open_block.checked_sub(1).filter(|&last| last >= self.unbatched)?;
        let transactions = std::mem::take(&mut self.transactions);
        let batch = batch(self.seed, &self.schedule, (self.unbatched, last), transactions);
        self.unbatched = self.open_block;
        Some(batch)
    }

    /// Position of the change of every transaction since the last call that has some, in order of time.
    pub(crate) fn take_changes(&mut self) -> Vec<(TxHash, u32)> {
        std::mem::take(&mut self.changes)
    }

    /// Every address that transactions name, in order.
    pub(crate) fn mentions(&self) -> Vec<Mention> {
        let named = self.owners.values().filter(|owned| owned.mentions > 0);
        let mut named: Vec<_> = named
            .map(|owned| {
                let address = self.wallets[owned.wallet as usize].address(self.seed, owned.key);
                Mention::new(address, owned.mentions, owned.since)
            })
            .collect();
        named.sort_unstable_by_key(|mention| mention.address);
        named
    }

    /// Up to `count` wallets from a place on, as the truth lists them, those that were never used left out; `None`
    /// behind the last one.
    pub(crate) fn wallets(&self, first: usize, count: usize) -> Option<Vec<WalletTruth>> {
        let wallets = self.wallets.get(first..).filter(|wallets| !wallets.is_empty())?;
        Some(wallets.iter().take(count).filter(|wallet| wallet.purse.was_used()).map(Wallet::truth).collect())
    }

    /// Returns whose wallet an address belongs to.
    pub(crate) fn holder(&self, address: &Address) -> Option<&Holder> {
        self.owners.get(&short(address)).map(|owned| &self.wallets[owned.wallet as usize].holder)
    }
}

/// The first eight bytes of a hash or key that an address stands for; addresses of the economy are digests.
fn short(address: &Address) -> u64 {
    let bytes: &[u8] = match address {
        Address::Utxo(address) => match &address.payload {
            UtxoPayload::PublicKeyHash(hash) | UtxoPayload::ScriptHash(hash) => hash,
            UtxoPayload::Witness(program) => program.program(),
        },
        Address::Evm(bytes) | Address::Tron(bytes) => bytes,
    };
    bytes.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn output(out: &NewOutput) -> OutputFacts {
    OutputFacts {
        owner: out.address,
        amount: out.satoshis,
        script: out.address.as_ref().map_or(ScriptType::OpReturn, script_of),
        data: out.note.clone(),
    }
}
