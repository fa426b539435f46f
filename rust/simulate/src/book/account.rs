//! The book of an account chain.

use headwater_ledger::facts::{Batch, Body, LogFacts, Movement, MovementFact, TransactionFacts};
use headwater_ledger::read::{Ordinal, Status};
use headwater_types::{Address, Amount, Asset, Chain, Family, Timestamp, TxHash};
use rustc_hash::FxHashMap;

use super::chain::{batch, transaction_hash};
use super::{Insufficient, Mention};
use crate::abi;
use crate::clock::{START, Schedule};
use crate::gas::{FeeMarket, PLAIN_GAS, Quote};
use crate::identity::{account_bytes, account_of, created_contract, zero};
use crate::preset::Preset;

/// A transaction before it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Sender, who pays.
    pub(crate) from: Address,
    /// Receiver; `None` to create a contract.
    pub(crate) to: Option<Address>,
    /// Value in the native coin.
    pub(crate) value: Amount,
    /// Estimate of the gas.
    pub(crate) gas: u64,
    /// Call data.
    pub(crate) input: Vec<u8>,
    /// The effects inside, in order. None of them applies when the transaction fails.
    pub(crate) effects: Vec<Effect>,
    /// The reason why it fails; `None` when it succeeds.
    pub(crate) failure: Option<&'static str>,
}

/// Something that happens inside a transaction.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    /// A call that carries native value.
    Internal(Address, Address, Amount),
    /// A token movement, with its `Transfer` event. From the zero address it mints, to it it burns.
    Token {
        /// The contract.
        contract: Address,
        /// Sender.
        from: Address,
        /// Receiver.
        to: Address,
        /// The amount.
        amount: Amount,
    },
    /// A token movement whose event states more than happens: a counterfeit that moves nothing, a token that takes a
    /// fee on the way.
    Stated {
        /// The contract.
        contract: Address,
        /// Sender, who loses what is stated, or nothing when nothing moves.
        from: Address,
        /// Receiver.
        to: Address,
        /// The amount that the event states.
        stated: Amount,
        /// The amount that the receiver really gets.
        moved: Amount,
    },
    /// A non-fungible token moved: ERC-721 by id.
    Unique {
        /// The contract.
        contract: Address,
        /// Sender.
        from: Address,
        /// Receiver.
        to: Address,
        /// Its id.
        id: Amount,
    },
    /// Some of a multi-token moved: ERC-1155.
    Multi {
        /// The contract.
        contract: Address,
        /// The caller.
        operator: Address,
        /// Sender and receiver.
        between: (Address, Address),
        /// The id.
        id: Amount,
        /// The number of units.
        count: Amount,
    },
    /// An issuer destroys what an account has: a burn with an event of its own in place of `Transfer`.
    Destroy {
        /// The contract.
        contract: Address,
        /// The account whose funds are destroyed.
        account: Address,
        /// The amount.
        amount: Amount,
        /// Topics of the event.
        topics: Vec<[u8; 32]>,
        /// Its data.
        data: Vec<u8>,
    },
    /// Another event.
    Log {
        /// The contract that emits it.
        address: Address,
        /// Topics.
        topics: Vec<[u8; 32]>,
        /// Data.
        data: Vec<u8>,
    },
}

impl Call {
    /// A plain transfer of the native coin.
    pub(crate) const fn plain(from: Address, to: Address, value: Amount) -> Self {
        Self { from, to: Some(to), value, gas: PLAIN_GAS, input: Vec::new(), effects: Vec::new(), failure: None }
    }

    /// A call of a contract that does nothing yet.
    pub(crate) const fn contract(from: Address, to: Address, gas: u64, input: Vec<u8>) -> Self {
        Self { from, to: Some(to), value: Amount::ZERO, gas, input, effects: Vec::new(), failure: None }
    }
}

/// The outcome of a transaction that was taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receipt {
    /// Its hash.
    pub(crate) hash: TxHash,
    /// The contract it created.
    pub(crate) created: Option<Address>,
}

/// Balances as they were before a transaction, in the order in which it changed them.
type Changes = Vec<((AccountId, AccountId), Amount)>;
/// Names an account of a book.
type AccountId = u32;
/// Stands for the native coin where the id of a contract names a token.
const NATIVE: AccountId = u32::MAX;

/// The state of an account in a book.
struct Account {
    bytes: [u8; 20],
    nonce: u32,
    /// The number of transactions that name it.
    mentions: u32,
    /// When the first of them is, in seconds of the economy.
    since: u32,
}

/// The restriction of a frozen account for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FreezeKind {
    /// It cannot send.
    Sending,
    /// It can neither send nor receive.
    Moving,
}

/// Balances of one account chain, and the transactions that no batch holds yet.
///
/// An account takes about 80 bytes and a balance about 60, so that millions of both fit.
pub(crate) struct AccountBook {
    seed: u64,
    schedule: Schedule,
    fees: FeeMarket,
    ids: FxHashMap<[u8; 20], AccountId>,
    accounts: Vec<Account>,
    balances: FxHashMap<(AccountId, AccountId), Amount>,
    /// Accounts that the issuer of a token has frozen.
    frozen: FxHashMap<(AccountId, AccountId), FreezeKind>,
    transactions: Vec<TransactionFacts>,
    contracts: Vec<Address>,
    sent: u64,
    block: u64,
    next_index: u32,
    next_log: u64,
    /// First block that no batch holds yet.
    open: u64,
}

impl AccountBook {
    /// An empty book.
    pub(crate) fn new(seed: u64, chain: Chain, preset: Preset) -> Self {
        Self {
            seed,
            schedule: Schedule::new(seed, chain, preset),
            fees: FeeMarket::new(seed, chain, preset.days()),
            ids: FxHashMap::default(),
            accounts: Vec::new(),
            balances: FxHashMap::default(),
            frozen: FxHashMap::default(),
            transactions: Vec::new(),
            contracts: Vec::new(),
            sent: 0,
            block: 0,
            next_index: 0,
            next_log: 0,
            open: 0,
        }
    }

    fn id(&mut self, address: &Address) -> AccountId {
        let bytes = account_bytes(address);
        let next = AccountId::try_from(self.accounts.len()).expect("an economy has fewer than 2^32 accounts");
        *self.ids.entry(bytes).or_insert_with(|| {
            self.accounts.push(Account { bytes, nonce: 0, mentions: 0, since: 0 });
            next
        })
    }

    fn known(&self, address: &Address) -> Option<AccountId> {
        self.ids.get(&account_bytes(address)).copied()
    }

    fn asset_id(&mut self, asset: Asset) -> AccountId {
        asset.contract().map_or(NATIVE, |contract| self.id(contract))
    }

    /// Returns what an address has.
    pub(crate) fn balance(&self, address: &Address, asset: Asset) -> Amount {
        let asset = asset.contract().map_or(Some(NATIVE), |contract| self.known(contract));
        self.known(address).zip(asset).and_then(|key| self.balances.get(&key)).copied().unwrap_or_default()
    }

    /// Those of some coins of which an address has anything.
    pub(crate) fn held<C>(
        &self,
        address: &Address,
        coins: impl Iterator<Item = (C, Asset)>,
    ) -> impl Iterator<Item = C> {
        let account = self.known(address);
        coins
            .filter(move |(_, asset)| {
                let asset = asset.contract().map_or(Some(NATIVE), |contract| self.known(contract));
                let balance = account.zip(asset).and_then(|key| self.balances.get(&key));
                balance.is_some_and(|balance| !balance.is_zero())
            })
            .map(|(coin, _)| coin)
    }

    /// Sets what somebody has of a token, as contracts do that rebase or destroy: no transaction shows it.
    pub(crate) fn adjust(&mut self, holder: Address, contract: Address, amount: Amount) {
        let key = (self.id(&holder), self.id(&contract));
        self.balances.insert(key, amount);
    }

    /// Freezes an account for a token, or with `None` releases it. What it cannot do is refused as if it had nothing.
    pub(crate) fn freeze(&mut self, holder: Address, contract: Address, frozen: Option<FreezeKind>) {
        let key = (self.id(&holder), self.id(&contract));
        match frozen {
            Some(frozen) => self.frozen.insert(key, frozen),
            None => self.frozen.remove(&key),
        };
    }

    /// Makes it known that an address is a contract.
    pub(crate) fn add_contract(&mut self, contract: Address) {
        self.mention(&contract, START);
        self.contracts.push(contract);
    }

    /// Time of the block into which a transaction goes that is sent now.
    pub(crate) fn block_time(&self, now: i64) -> i64 {
        self.schedule.time(self.schedule.block_at(now).max(self.block))
    }

    /// The cost of a transaction sent now.
    pub(crate) fn quote(&mut self, now: i64, gas: u64) -> Quote {
        self.fees.quote(now, gas)
    }

    /// Allocates coins in block 0.
    pub(crate) fn allocate(&mut self, to: Address, amount: Amount) {
        self.mint_native(TxHash::genesis(&to), 0, to, amount);
    }

    /// Pays a block reward.
    pub(crate) fn reward(&mut self, now: i64, to: Address, amount: Amount) {
        let block = self.schedule.block_at(now);
        let Ok(number) = u32::try_from(block) else { return };
        self.mint_native(TxHash::reward(number, &to), block, to, amount);
    }

    fn mint_native(&mut self, hash: TxHash, block: u64, to: Address, amount: Amount) {
        let time = self.schedule.timestamp(block);
        self.mention(&to, time.secs());
        let account = self.id(&to);
        let balance = self.balances.entry((account, NATIVE)).or_default();
        *balance = balance.checked_add(amount).expect("the coins of an economy fit 256 bits");
        let mut facts = TransactionFacts::new(hash, block);
        facts.time = Some(time);
        facts.body = Some(Body { from: None, to: Some(to), value: amount });
        facts.status = Some(Status::Success);
        self.transactions.push(facts);
    }

    /// Takes a transaction at the fee of now.
    pub(crate) fn send(&mut self, now: i64, call: Call) -> Result<Receipt, Insufficient> {
        let quote = self.quote(now, call.gas);
        self.send_quoted(now, call, quote)
    }

    /// Takes a transaction at a fee that was asked for before, or nothing of it.
    pub(crate) fn send_quoted(&mut self, now: i64, call: Call, quote: Quote) -> Result<Receipt, Insufficient> {
        let sender = self.id(&call.from);
        let nonce = u64::from(self.accounts[sender as usize].nonce);
        let created = (call.to.is_none() && call.failure.is_none()).then(|| created_contract(&call.from, nonce));
        let mut changed = Vec::new();
        if let Err(insufficient) = self.pay(&call, created, quote.fee, &mut changed) {
            for (key, balance) in changed.into_iter().rev() {
                self.balances.insert(key, balance);
            }
            return Err(insufficient);
        }
        self.accounts[sender as usize].nonce += 1;
        self.contracts.extend(created);
        let facts = self.facts(now, call, created, quote, nonce);
        let hash = facts.hash;
        self.mention_all(&facts);
        self.transactions.push(facts);
        Ok(Receipt { hash, created })
    }

    /// The contract that the next transaction of a sender would create.
    pub(crate) fn next_contract(&self, sender: &Address) -> Address {
        created_contract(sender, self.known(sender).map_or(0, |id| u64::from(self.accounts[id as usize].nonce)))
    }

    fn pay(
        &mut self,
        call: &Call,
        created: Option<Address>,
        fee: u128,
        changed: &mut Changes,
    ) -> Result<(), Insufficient> {
        self.take(call.from, Asset::Native, Amount::from_u128(fee), changed)?;
        if call.failure.is_some() {
            // The value must be there to be offered, though it does not move.
            let left = self.balance(&call.from, Asset::Native);
            return if left >= call.value { Ok(()) } else { Err(Insufficient) };
        }
        let receiver = call.to.or(created).expect("a transaction has a receiver or creates one");
        self.shift(call.from, receiver, Asset::Native, call.value, changed)?;
        for effect in &call.effects {
            match effect {
                Effect::Internal(from, to, amount) => self.shift(*from, *to, Asset::Native, *amount, changed)?,
                Effect::Token { contract, from, to, amount } => {
                    self.shift(*from, *to, Asset::Token(*contract), *amount, changed)?;
                }
                // The difference between what is stated and what arrives is a fee that the contract swallows.
                Effect::Stated { contract, from, to, stated, moved } if !moved.is_zero() => {
                    self.take(*from, Asset::Token(*contract), *stated, changed)?;
                    self.shift(zero(from.family()), *to, Asset::Token(*contract), *moved, changed)?;
                }
                // What is destroyed is frozen, and cannot be taken: see `adjust`.
                Effect::Stated { .. }
                | Effect::Unique { .. }
                | Effect::Multi { .. }
                | Effect::Destroy { .. }
                | Effect::Log { .. } => {}
            }
        }
        Ok(())
    }

    fn shift(
        &mut self,
        from: Address,
        to: Address,
        asset: Asset,
        amount: Amount,
        changed: &mut Changes,
    ) -> Result<(), Insufficient> {
        if asset == Asset::Native || !from.is_zero() {
            self.take(from, asset, amount, changed)?;
        }
        if asset == Asset::Native || !to.is_zero() {
            let key = (self.id(&to), self.asset_id(asset));
            if self.frozen.get(&key) == Some(&FreezeKind::Moving) {
                return Err(Insufficient);
            }
            let balance = self.balances.entry(key).or_default();
            changed.push((key, *balance));
            *balance = balance.checked_add(amount).ok_or(Insufficient)?;
        }
        Ok(())
    }

    fn take(&mut self, from: Address, asset: Asset, amount: Amount, changed: &mut Changes) -> Result<(), Insufficient> {
        let key = (self.id(&from), self.asset_id(asset));
        if self.frozen.contains_key(&key) {
            return Err(Insufficient);
        }
        let balance = self.balances.entry(key).or_default();
        let left = balance.checked_sub(amount).ok_or(Insufficient)?;
        changed.push((key, *balance));
        *balance = left;
        Ok(())
    }

    /// The next place in the chain for a transaction sent now.
    fn place(&mut self, now: i64) -> (u64, u32) {
        // Never back: positions count up with the order of sending.
        let block = self.schedule.block_at(now).max(self.block);
        if block != self.block {
            (self.block, self.next_index, self.next_log) = (block, 0, 0);
        }
        let index = self.next_index;
        self.next_index += 1;
        (block, index)
    }

    fn facts(&mut self, now: i64, call: Call, created: Option<Address>, quote: Quote, nonce: u64) -> TransactionFacts {
        let chain = self.schedule.chain();
        let (block, index) = self.place(now);
        let hash = transaction_hash(self.seed, chain, self.sent);
        self.sent += 1;
        let mut facts = TransactionFacts::new(hash, block);
        facts.time = Some(self.schedule.timestamp(block));
        facts.index = Some(index);
        facts.body = Some(Body { from: Some(call.from), to: call.to, value: call.value });
        facts.created = created;
        facts.status = Some(if call.failure.is_some() { Status::Failed } else { Status::Success });
        facts.failure_reason = call.failure.map(str::to_owned);
        match quote.gas {
            Some(gas) => {
                facts.nonce = Some(nonce);
                facts.gas_limit = Some(gas.limit);
                facts.gas_used = Some(gas.used);
                facts.gas_price = Some(gas.named);
                facts.effective_gas_price = Some(gas.paid);
            }
            None => facts.fee = Some(Amount::from_u128(quote.fee)),
        }
        facts.input = Some(call.input);
        if call.failure.is_none() {
            self.record(&mut facts, call.effects);
        }
        facts
    }

    /// Movements and logs of the effects; logs are numbered in the block, internal calls in the transaction (from 1:
    /// the root is the transaction itself).
    fn record(&mut self, facts: &mut TransactionFacts, effects: Vec<Effect>) {
        let mut trace = 0;
        for effect in effects {
            match effect {
                Effect::Internal(from, to, amount) => {
                    trace += 1;
                    facts.movements.push(Movement {
                        kind: MovementFact::Internal,
                        ordinal: Ordinal::Indexed(trace),
                        from: Some(from),
                        to: Some(to),
                        asset: Asset::Native,
                        amount,
                    });
                }
                Effect::Token { contract, from, to, amount }
                | Effect::Stated { contract, from, to, stated: amount, .. } => {
                    self.movement(facts, MovementFact::Token, contract, (from, to), amount);
                    let topics = vec![transfer(), abi::account(&from), abi::account(&to)];
                    self.log(facts, contract, topics, abi::amount(amount).to_vec());
                }
                Effect::Unique { contract, from, to, id } => {
                    self.movement(facts, MovementFact::NonFungible, contract, (from, to), id);
                    let topics = vec![transfer(), abi::account(&from), abi::account(&to), abi::amount(id)];
                    self.log(facts, contract, topics, Vec::new());
                }
                Effect::Multi { contract, operator, between: (from, to), id, count } => {
                    self.movement(facts, MovementFact::NonFungible, contract, (from, to), count);
                    let signature = abi::topic("TransferSingle(address,address,address,uint256,uint256)");
                    let topics = vec![signature, abi::account(&operator), abi::account(&from), abi::account(&to)];
                    self.log(facts, contract, topics, [abi::amount(id), abi::amount(count)].concat());
                }
                Effect::Destroy { contract, account, amount, topics, data } => {
                    self.movement(facts, MovementFact::Token, contract, (account, self.zero()), amount);
                    self.log(facts, contract, topics, data);
                }
                Effect::Log { address, topics, data } => self.log(facts, address, topics, data),
            }
        }
    }

    /// A movement of a token, whose event is the next log.
    fn movement(
        &self,
        facts: &mut TransactionFacts,
        kind: MovementFact,
        contract: Address,
        (from, to): (Address, Address),
        amount: Amount,
    ) {
        facts.movements.push(Movement {
            kind,
            ordinal: Ordinal::Indexed(self.next_log),
            from: Some(from),
            to: Some(to),
            asset: Asset::Token(contract),
            amount,
        });
    }

    fn log(&mut self, facts: &mut TransactionFacts, address: Address, topics: Vec<[u8; 32]>, data: Vec<u8>) {
        facts.logs.push(LogFacts { index: self.next_log, address, topics, data });
        self.next_log += 1;
    }

    /// The family of the chain.
    pub(crate) fn family(&self) -> Family {
        self.schedule.chain().family()
    }

    /// The zero address of the chain.
    pub(crate) fn zero(&self) -> Address {
        zero(self.family())
    }

    fn mention(&mut self, address: &Address, secs: i64) {
        let id = self.id(address);
        let account = &mut self.accounts[id as usize];
        if account.mentions == 0 {
            account.since = Mention::since(secs);
        }
        account.mentions = account.mentions.saturating_add(1);
    }

    /// Counts who a transaction names.
    fn mention_all(&mut self, facts: &TransactionFacts) {
        let body = facts.body.iter().flat_map(|body| [body.from, body.to]);
        let moved = facts.movements.iter();
        let moved = moved.flat_map(|movement| [movement.from, movement.to, movement.asset.contract().copied()]);
        let emitters = facts.logs.iter().map(|log| Some(log.address));
        let secs = facts.time.map_or(START, Timestamp::secs);
        for address in body.chain([facts.created]).chain(moved).chain(emitters).flatten() {
            self.mention(&address, secs);
        }
    }

    /// Returns whether nothing names an address yet.
    pub(crate) fn is_new(&self, address: &Address) -> bool {
        self.known(address).is_none_or(|id| self.accounts[id as usize].mentions == 0)
    }

    /// Transactions that no batch holds yet.
    pub(crate) fn waiting(&self) -> usize {
        self.transactions.len()
    }

    /// The blocks before a time that no batch holds yet, when there are any: after it nothing is sent into them. Rewards
    /// are behind the transactions of their block, as they have no position in it.
    pub(crate) fn close(&mut self, until: i64) -> Option<Batch> {
        let end = self.schedule.block_at(until).min(self.schedule.last_block() + 1);
        let last = end.checked_sub(1).filter(|&last| last >= self.open)?;
        // Only the open end is unsorted, and only by rewards: nearly all of it is in order.
        self.transactions.sort_by_key(|facts| (facts.block, facts.index.map_or(u64::MAX, u64::from), facts.hash));
        let later = self.transactions.split_off(self.transactions.partition_point(|facts| facts.block < end));
        let transactions = std::mem::replace(&mut self.transactions, later);
        let mut batch = batch(self.seed, &self.schedule, (self.open, last), transactions);
        self.contracts.sort_unstable();
        batch.contracts = std::mem::take(&mut self.contracts);
        self.open = end;
        Some(batch)
    }

    /// Every address that transactions name, in order.
    pub(crate) fn mentions(&self) -> Vec<Mention> {
        let family = self.family();
        let named = self.accounts.iter().filter(|account| account.mentions > 0);
        let mut named: Vec<_> = named
            .map(|account| Mention::new(account_of(family, account.bytes), account.mentions, account.since))
            .collect();
        named.sort_unstable_by_key(|mention| mention.address);
        named
    }
}

fn transfer() -> [u8; 32] {
    abi::topic("Transfer(address,address,uint256)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::account;

    #[test]
    fn a_transaction_that_cannot_be_paid_whole_leaves_no_trace() {
        let mut book = AccountBook::new(1, Chain::ETHEREUM, Preset::Demo);
        let [rich, poor, token] = ["rich", "poor", "token"].map(|name| account(1, Family::Evm, name));
        book.allocate(rich, Amount::from_u128(10_u128.pow(18)));
        let before = book.balance(&rich, Asset::Native);
        let mut call = Call::contract(rich, token, 50_000, Vec::new());
        call.value = Amount::from(5);
        call.effects = vec![
            Effect::Token { contract: token, from: book.zero(), to: poor, amount: Amount::from(7) },
            Effect::Token { contract: token, from: poor, to: rich, amount: Amount::from(8) },
        ];
        assert!(book.send(START + 5, call.clone()).is_err());
        assert_eq!(book.balance(&rich, Asset::Native), before);
        assert!(book.balance(&poor, Asset::Token(token)).is_zero());
        assert_eq!(book.transactions.len(), 1);

        call.effects.pop();
        book.send(START + 5, call).unwrap();
        assert_eq!(book.balance(&poor, Asset::Token(token)), Amount::from(7));
        assert_eq!(book.balance(&token, Asset::Native), Amount::from(5));
    }

    #[test]
    fn a_failed_transaction_pays_its_fee_and_moves_nothing() {
        let mut book = AccountBook::new(1, Chain::BSC, Preset::Demo);
        let [rich, other] = ["rich", "other"].map(|name| account(1, Family::Evm, name));
        book.allocate(rich, Amount::from_u128(10_u128.pow(18)));
        let mut call = Call::plain(rich, other, Amount::from(1000));
        call.failure = Some("out of gas");
        let quote = book.quote(START + 1, 21_000);
        book.send_quoted(START + 1, call, quote).unwrap();
        assert!(book.balance(&other, Asset::Native).is_zero());
        assert_eq!(book.balance(&rich, Asset::Native), Amount::from_u128(10_u128.pow(18) - quote.fee));
    }
}
