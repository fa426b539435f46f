//! The book of a UTXO chain: coins, wallets, blocks with their coinbase.

use std::collections::HashMap;

use headwater_ledger::facts::{Batch, InputFacts, OutPoint, OutputFacts, TransactionFacts, UtxoFacts};
use headwater_ledger::read::{ScriptType, Status};
use headwater_types::{Address, Chain, TxHash};

use super::Insufficient;
use super::chain::{batch, transaction_hash};
use super::wallet::{CoinHabit, Habits, Holder, Wallet, WalletId};
use crate::clock::Schedule;
use crate::fees::FeeLevels;
use crate::identity::{digest, script_of};
use crate::preset::Preset;
use crate::random::Stream;

/// Blocks before a coinbase may be spent.
const MATURITY_BLOCKS: u64 = 100;
/// New coins of a block, in satoshis.
pub(crate) const SUBSIDY: u64 = 50 * 100_000_000;
/// Change below this is left to the miner.
const DUST: u64 = 1_000;

/// What became of a payment.
#[derive(Debug, Clone)]
pub(crate) struct Paid {
    /// The transaction.
    pub(crate) hash: TxHash,
    /// Position and address of the change.
    pub(crate) change: Option<(u32, Address)>,
    /// Addresses that were spent from.
    pub(crate) from: Vec<Address>,
}

/// An address of a wallet, as the book knows it.
#[derive(Debug, Clone, Copy)]
struct Owned {
    wallet: WalletId,
    /// How often transactions name it.
    mentions: u32,
}

/// Coins, wallets and transactions of a UTXO chain.
pub(crate) struct UtxoBook {
    seed: u64,
    schedule: Schedule,
    coins: HashMap<OutPoint, OutputFacts>,
    wallets: Vec<Wallet>,
    owners: HashMap<Address, Owned>,
    pools: Vec<(WalletId, u64)>,
    mining: Stream,
    /// Satoshis per thousand virtual bytes.
    fee_rates: FeeLevels,
    transactions: Vec<TransactionFacts>,
    changes: Vec<(TxHash, u32)>,
    open_block: u64,
    open: Vec<TransactionFacts>,
    open_fees: u64,
    number: u64,
    arrivals: u64,
    /// First block that no batch holds yet.
    unbatched: u64,
}

impl UtxoBook {
    /// An empty book.
    pub(crate) fn new(seed: u64, preset: Preset) -> Self {
        Self {
            seed,
            schedule: Schedule::new(seed, Chain::BITCOIN, preset),
            coins: HashMap::new(),
            wallets: Vec::new(),
            owners: HashMap::new(),
            pools: Vec::new(),
            mining: Stream::new(seed, "mining"),
            fee_rates: FeeLevels::new(seed, Chain::BITCOIN.name(), preset.days(), (9_000.0, 0.6)),
            transactions: Vec::new(),
            changes: Vec::new(),
            open_block: 0,
            open: Vec::new(),
            open_fees: 0,
            number: 0,
            arrivals: 0,
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
        self.pools.push((wallet, weight));
    }

    fn file(&mut self, address: Address, wallet: WalletId) {
        self.owners.entry(address).or_insert(Owned { wallet, mentions: 0 });
    }

    /// An address at which a wallet is paid.
    pub(crate) fn receiving(&mut self, wallet: WalletId) -> Address {
        let address = self.wallets[wallet.0].receiving(self.seed);
        self.file(address, wallet);
        address
    }

    /// An address at which a wallet gathers what is its own.
    pub(crate) fn own(&mut self, wallet: WalletId) -> Address {
        let address = self.wallets[wallet.0].change(self.seed);
        self.file(address, wallet);
        address
    }

    /// Satoshis that a wallet could spend now.
    pub(crate) fn spendable(&self, wallet: WalletId, now: i64) -> u64 {
        let block = self.schedule.block_at(now);
        self.wallets[wallet.0].coins.iter().take_while(|coin| coin.0 <= block).map(|coin| coin.2).sum()
    }

    /// Number of coins of a wallet.
    pub(crate) fn coin_count(&self, wallet: WalletId) -> usize {
        self.wallets[wallet.0].coins.len()
    }

    /// Closes the blocks before a time.
    pub(crate) fn advance(&mut self, now: i64) {
        let block = self.schedule.block_at(now);
        while self.open_block < block {
            self.close_block();
        }
    }

    /// Pays these outputs; the fee and the change follow from the wallet.
    pub(crate) fn pay(&mut self, now: i64, wallet: WalletId, to: &[(Address, u64)]) -> Result<Paid, Insufficient> {
        self.advance(now);
        let target: u64 = to.iter().map(|output| output.1).sum();
        let rate = self.fee_rate(now);
        let mut chosen: Vec<(u64, u64, u64, OutPoint)> = Vec::new();
        let mut total = 0;
        let mut fee = 0;
        let sorted = self.largest_first(wallet);
        // Coins of a wallet stand oldest first, so that a service with thousands of them looks at a few only.
        let oldest = self.mature(wallet).filter(|_| sorted.is_empty());
        for coin in sorted.iter().chain(oldest) {
            total += coin.2;
            chosen.push(*coin);
            fee = rate * self.virtual_size(wallet, chosen.len(), to.len() + 1) / 1_000;
            if total >= target + fee {
                break;
            }
        }
        let Some(rest) = total.checked_sub(target + fee).filter(|_| !chosen.is_empty()) else {
            return Err(Insufficient);
        };
        let mut outputs = to.to_vec();
        let mut change = None;
        if rest >= DUST {
            let owner = &mut self.wallets[wallet.0];
            let place = if owner.habits.change_last { outputs.len() } else { owner.stream.index(outputs.len() + 1) };
            let address = owner.change(self.seed);
            self.file(address, wallet);
            outputs.insert(place, (address, rest));
            change = Some((u32::try_from(place).expect("payments have few outputs"), address));
        }
        let (hash, from) = self.spend(wallet, &chosen, &outputs);
        self.changes.extend(change.map(|(place, _)| (hash, place)));
        Ok(Paid { hash, change, from })
    }

    /// Brings up to `limit` coins of a wallet together at an address: one output, no change.
    pub(crate) fn gather(
        &mut self,
        now: i64,
        wallet: WalletId,
        limit: usize,
        to: Address,
    ) -> Result<Paid, Insufficient> {
        self.advance(now);
        let mut chosen: Vec<_> = self.mature(wallet).copied().collect();
        chosen.sort_unstable_by_key(|coin| (coin.2, coin.1));
        chosen.truncate(limit);
        let total: u64 = chosen.iter().map(|coin| coin.2).sum();
        let fee = self.fee_rate(now) * self.virtual_size(wallet, chosen.len(), 1) / 1_000;
        let rest = total.checked_sub(fee).filter(|&rest| rest >= DUST).ok_or(Insufficient)?;
        let (hash, from) = self.spend(wallet, &chosen, &[(to, rest)]);
        Ok(Paid { hash, change: None, from })
    }

    /// Coins that may be spent, oldest first.
    fn mature(&self, wallet: WalletId) -> impl Iterator<Item = &(u64, u64, u64, OutPoint)> {
        self.wallets[wallet.0].coins.iter().take_while(|coin| coin.0 <= self.open_block)
    }

    /// Coins that may be spent, largest first, of a wallet with this habit; nothing of others.
    fn largest_first(&self, wallet: WalletId) -> Vec<(u64, u64, u64, OutPoint)> {
        if self.wallets[wallet.0].habits.coins == CoinHabit::OldestFirst {
            return Vec::new();
        }
        let mut coins: Vec<_> = self.mature(wallet).copied().collect();
        coins.sort_unstable_by_key(|coin| (std::cmp::Reverse(coin.2), coin.1));
        coins
    }

    fn fee_rate(&self, now: i64) -> u64 {
        self.fee_rates.at(now).max(1_000)
    }

    /// Virtual bytes by the usual estimate per script form.
    fn virtual_size(&self, wallet: WalletId, inputs: usize, outputs: usize) -> u64 {
        let input = match self.wallets[wallet.0].habits.script {
            ScriptType::P2pkh => 148,
            ScriptType::P2sh => 91,
            ScriptType::P2wsh => 105,
            ScriptType::P2tr => 58,
            _ => 68,
        };
        11 + input * inputs as u64 + 33 * outputs as u64
    }

    fn spend(
        &mut self,
        wallet: WalletId,
        chosen: &[(u64, u64, u64, OutPoint)],
        outputs: &[(Address, u64)],
    ) -> (TxHash, Vec<Address>) {
        let mut inputs = Vec::with_capacity(chosen.len());
        for coin in chosen {
            self.wallets[wallet.0].coins.remove(coin);
            let spent = self.coins.remove(&coin.3).expect("wallets list only coins of the book");
            if let Some(owned) = spent.owner.and_then(|owner| self.owners.get_mut(&owner)) {
                owned.mentions = owned.mentions.saturating_add(1);
            }
            self.open_fees += spent.amount;
            inputs.push(InputFacts::new(coin.3, Some(spent)));
        }
        self.open_fees -= outputs.iter().map(|output| output.1).sum::<u64>();
        let from = inputs.iter().filter_map(|input| input.spent.as_ref()?.owner).collect();
        let outputs: Vec<_> = outputs.iter().map(|&(address, amount)| output(address, amount)).collect();
        let hash = self.next_hash();
        let block = self.open_block;
        let facts = self.facts(hash, block, UtxoFacts::new(false, inputs, outputs));
        self.credit(&facts, block);
        self.open.push(facts);
        (hash, from)
    }

    fn next_hash(&mut self) -> TxHash {
        self.number += 1;
        transaction_hash(self.seed, Chain::BITCOIN, self.number)
    }

    fn facts(&self, hash: TxHash, block: u64, utxo: UtxoFacts) -> TransactionFacts {
        let mut facts = TransactionFacts::new(hash, block);
        facts.time = Some(self.schedule.timestamp(block));
        facts.status = Some(Status::Success);
        facts.utxo = Some(utxo);
        facts
    }

    fn credit(&mut self, facts: &TransactionFacts, spendable_from: u64) {
        for (index, output) in (0..).zip(facts.utxo.iter().flat_map(|utxo| &utxo.outputs)) {
            let point = OutPoint { hash: facts.hash, index };
            if let Some(owned) = output.owner.and_then(|owner| self.owners.get_mut(&owner)) {
                owned.mentions = owned.mentions.saturating_add(1);
                self.arrivals += 1;
                self.wallets[owned.wallet.0].coins.insert((spendable_from, self.arrivals, output.amount, point));
            }
            if output.script != ScriptType::OpReturn {
                self.coins.insert(point, output.clone());
            }
        }
    }

    /// Puts the coinbase in front and closes the open block. The coinbase of block 0 can never be spent.
    fn close_block(&mut self) {
        let block = self.open_block;
        let pool = self.pools[self.mining.weighted(&self.pools.iter().map(|pool| pool.1).collect::<Vec<_>>())].0;
        let address = self.receiving(pool);
        let mut outputs = vec![output(address, SUBSIDY + self.open_fees)];
        if !self.open.is_empty() {
            let commitment = digest(self.seed, "witness commitment", &block.to_be_bytes());
            let data = [[0xaa, 0x21, 0xa9, 0xed].as_slice(), &commitment].concat();
            outputs.push(OutputFacts { owner: None, amount: 0, script: ScriptType::OpReturn, data: Some(data) });
        }
        let hash = self.next_hash();
        let coinbase = self.facts(hash, block, UtxoFacts::new(true, Vec::new(), outputs));
        self.credit(&coinbase, if block == 0 { u64::MAX } else { block + MATURITY_BLOCKS });
        for (index, mut facts) in (0..).zip(std::iter::once(coinbase).chain(self.open.drain(..))) {
            facts.index = Some(index);
            self.transactions.push(facts);
        }
        self.open_fees = 0;
        self.open_block += 1;
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

    /// Every address that transactions name, and how often.
    pub(crate) fn mentions(&self) -> Vec<(Address, u32)> {
        let named = self.owners.iter().filter(|(_, owned)| owned.mentions > 0);
        let mut named: Vec<_> = named.map(|(address, owned)| (*address, owned.mentions)).collect();
        named.sort_unstable();
        named
    }

    /// Whose wallet an address belongs to.
    pub(crate) fn holder(&self, address: &Address) -> Option<&Holder> {
        self.owners.get(address).map(|owned| &self.wallets[owned.wallet.0].holder)
    }
}

fn output(address: Address, amount: u64) -> OutputFacts {
    OutputFacts { owner: Some(address), amount, script: script_of(&address), data: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{DAY, START};
    use crate::truth::Role;

    #[test]
    fn a_coinbase_matures_and_is_then_spent_with_change_and_fee() {
        let mut book = UtxoBook::new(1, Preset::Demo);
        let pool = book.add_wallet(Holder::single("pool", Role::MiningPool), Habits::service(ScriptType::P2wpkh));
        let friend = book.add_wallet(Holder::single("friend", Role::Person), Habits::service(ScriptType::P2tr));
        book.add_pool(pool, 1);
        let to = book.receiving(friend);
        assert!(book.pay(START + DAY, pool, &[(to, SUBSIDY / 2)]).is_err());
        let paid = book.pay(START + 15 * DAY, pool, &[(to, SUBSIDY / 2)]).unwrap();
        assert_eq!(book.spendable(friend, START + 15 * DAY), SUBSIDY / 2);
        let (place, address) = paid.change.unwrap();
        let facts = book.open.iter().find(|facts| facts.hash == paid.hash).unwrap();
        let utxo = facts.utxo.as_ref().unwrap();
        assert_eq!(utxo.outputs[place as usize].owner, Some(address));
        let paid_out: u64 = utxo.outputs.iter().map(|output| output.amount).sum();
        assert_eq!(paid_out + book.open_fees, SUBSIDY);
        assert!(book.open_fees > 0);
    }
}
