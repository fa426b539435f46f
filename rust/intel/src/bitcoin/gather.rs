//! Reads from a ledger what the rules look at.

use std::collections::BTreeSet;

use headwater_ledger::clusters::{Cluster, Clusters};
use headwater_ledger::facts::{OutPoint, UtxoFacts};
use headwater_ledger::labels::Code;
use headwater_ledger::read::{CoverageTable, Direction, Scan, ScanOrder, Transaction};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, TxHash};
use rustc_hash::FxHashMap;

use super::TransactionView;
use super::change::{AddressUsage, Case, OutputCase};
use super::coinjoin::{CoinJoin, Premix, Protocol, Surroundings, coinjoin, premix};
use crate::label::{Moment, aggregate};

/// With more outputs a transaction is a batch: then only what tells whose an output is is read.
const FEW_OUTPUTS: usize = 10;
/// Outputs whose spenders are read.
const MOST_OUTPUTS: usize = 1_000;
/// Inputs that are looked up to know whether one was unconfirmed.
const MOST_LOOKED_UP: usize = 20;
/// Least confidence of the label of an exchange.
const LEAST_CONFIDENCE: f64 = 0.5;

/// Whether an address belongs to the cluster of the inputs of the transaction that is judged; `None` where nothing is
/// known of its cluster. The cluster must not rest on the transaction itself, nor on what is concluded about change.
pub type SameCluster<'a> = &'a dyn Fn(&Address) -> Result<Option<bool>, LedgerError>;

/// Whether an address is in the cluster of what a transaction spends, by common inputs. The transaction joins its inputs
/// alone, so whatever joins an output to one of them is another transaction.
pub fn in_cluster_of_inputs<'a>(
    ledger: &'a dyn Ledger,
    clusters: Clusters<'a>,
    transaction: &Transaction,
) -> impl Fn(&Address) -> Result<Option<bool>, LedgerError> + use<'a> {
    let chain = transaction.head.chain;
    let head = transaction.head;
    let view = |utxo| TransactionView::new(utxo, head.block, head.time);
    let payers: BTreeSet<Address> = transaction.facts.utxo.iter().flat_map(|utxo| view(utxo).signers()).collect();
    let cluster = move |address: &Address| -> Result<Option<Cluster>, LedgerError> {
        let account = ledger.account(chain, address)?;
        account.map_or(Ok(None), |account| clusters.of(&account))
    };
    move |address| {
        let Some(found) = cluster(address)? else { return Ok(Some(false)) };
        for payer in &payers {
            if cluster(payer)?.is_some_and(|of_payer| of_payer.name == found.name) {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }
}

/// A transaction, and the others that tell about it. Owned, for [`Gathered::case`] to borrow.
#[derive(Debug, Clone)]
pub struct Gathered {
    transaction: Transaction,
    utxo: UtxoFacts,
    spends_own_block: Option<bool>,
    spenders: Vec<Spender>,
    outputs: Vec<Output>,
    follows_one_in_two_out: Option<bool>,
    coinjoin: Option<CoinJoin>,
    premix: Option<Premix>,
}

#[derive(Debug, Clone)]
struct Spender {
    block: u64,
    time: headwater_types::Timestamp,
    utxo: UtxoFacts,
    spends_own_block: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Output {
    spender: Option<usize>,
    usage: Option<AddressUsage>,
    is_in_input_cluster: Option<bool>,
}

/// The CoinJoin that a transaction looks like, with what its inputs and labels tell: the first thing that [`Gathered::read`]
/// reads, and most often no more than the transaction itself.
///
/// # Errors
/// When the ledger cannot be read, or the call is cancelled.
pub fn coinjoin_of(
    ledger: &dyn Ledger,
    transaction: &Transaction,
    cancel: &Cancel,
) -> Result<Option<CoinJoin>, LedgerError> {
    let Some(utxo) = &transaction.facts.utxo else { return Ok(None) };
    let view = TransactionView::new(utxo, transaction.head.block, transaction.head.time);
    Reading { ledger, same_cluster: None, cancel }.coinjoin(transaction, &view)
}

impl Gathered {
    /// Reads the neighbours of a transaction: what spends its outputs, how the outputs' addresses were used, and where its
    /// inputs come from. `None` where the transaction has no inputs and outputs.
    ///
    /// Without `same_cluster`, an address is in the cluster of the inputs where the transaction that spends the output also
    /// spends from one of the inputs' addresses, and is no CoinJoin.
    ///
    /// Time and memory are linear in the inputs and outputs of the transaction and of those that spend it.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the call is cancelled.
    pub fn read(
        ledger: &dyn Ledger,
        transaction: Transaction,
        same_cluster: Option<SameCluster<'_>>,
        cancel: &Cancel,
    ) -> Result<Option<Self>, LedgerError> {
        let Some(utxo) = transaction.facts.utxo.clone() else { return Ok(None) };
        let mut gathered = Self {
            outputs: vec![Output::default(); utxo.outputs.len()],
            transaction,
            utxo,
            spends_own_block: None,
            spenders: Vec::new(),
            follows_one_in_two_out: None,
            coinjoin: None,
            premix: None,
        };
        let reading = Reading { ledger, same_cluster, cancel };
        gathered.coinjoin = reading.coinjoin(&gathered.transaction, &gathered.view())?;
        gathered.read_spenders(&reading)?;
        gathered.read_premix();
        if gathered.view().spendable().count() <= FEW_OUTPUTS {
            gathered.read_usage(&reading)?;
            gathered.read_inputs(&reading)?;
        }
        gathered.read_clusters(&reading)?;
        Ok(Some(gathered))
    }

    /// Reads the same with the clusters of the ledger, where they are built.
    ///
    /// # Errors
    /// As [`Gathered::read`].
    pub fn read_clustered(
        ledger: &dyn Ledger,
        transaction: Transaction,
        cancel: &Cancel,
    ) -> Result<Option<Self>, LedgerError> {
        let Some(clusters) = ledger.clusters(transaction.head.chain, cancel)? else {
            return Self::read(ledger, transaction, None, cancel);
        };
        let same_cluster = in_cluster_of_inputs(ledger, clusters, &transaction);
        Self::read(ledger, transaction, Some(&same_cluster), cancel)
    }

    /// The transaction.
    #[must_use]
    pub const fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    /// The premix transaction that it looks like.
    #[must_use]
    pub const fn premix(&self) -> Option<Premix> {
        self.premix
    }

    /// What the rules look at.
    #[must_use]
    pub fn case(&self) -> Case<'_> {
        let output = |output: &Output| OutputCase {
            spender: output.spender.map(|place| self.spenders[place].view()),
            usage: output.usage,
            is_in_input_cluster: output.is_in_input_cluster,
        };
        Case {
            transaction: self.view(),
            outputs: self.outputs.iter().map(output).collect(),
            follows_one_in_two_out: self.follows_one_in_two_out,
            coinjoin: self.coinjoin,
        }
    }

    fn view(&self) -> TransactionView<'_> {
        let head = &self.transaction.head;
        TransactionView::new(&self.utxo, head.block, head.time).with_spends_own_block(self.spends_own_block)
    }

    fn read_spenders(&mut self, reading: &Reading<'_>) -> Result<(), LedgerError> {
        let hash = self.transaction.head.hash;
        let mut places: FxHashMap<TxHash, usize> = FxHashMap::default();
        for place in self.view().spendable().map(|(place, _)| place).take(MOST_OUTPUTS).collect::<Vec<_>>() {
            let Ok(index) = u32::try_from(place) else { break };
            let output = OutPoint { hash, index };
            let Some((spender, _)) = reading.ledger.spender(self.transaction.head.chain, &output)? else { continue };
            if let Some(known) = places.get(&spender) {
                self.outputs[place].spender = Some(*known);
                continue;
            }
            let Some(found) = reading.transaction(&self.transaction, &spender)? else { continue };
            let Some(utxo) = found.facts.utxo else { continue };
            let (block, time) = (found.head.block, found.head.time);
            self.outputs[place].spender = Some(self.spenders.len());
            places.insert(spender, self.spenders.len());
            self.spenders.push(Spender { block, time, utxo, spends_own_block: None });
        }
        Ok(())
    }

    fn read_premix(&mut self) {
        let view = self.view();
        let is_round = |spender: &Spender| {
            let found = coinjoin(&spender.view(), Surroundings::default());
            found.is_some_and(|found| found.protocol == Protocol::Whirlpool)
        };
        self.premix = premix(&view, false).and_then(|_| premix(&view, self.spenders.iter().any(is_round)));
    }

    /// How the addresses of outputs were used, where the chain is held from its beginning on.
    fn read_usage(&mut self, reading: &Reading<'_>) -> Result<(), LedgerError> {
        let head = self.transaction.head;
        if !reading.is_held_from_the_beginning(&self.transaction) {
            return Ok(());
        }
        for (place, owner) in self.utxo.outputs.iter().enumerate().filter_map(|(place, out)| Some((place, out.owner?)))
        {
            let Some(account) = reading.ledger.account(head.chain, &owner)? else { continue };
            let oldest_first = Scan { order: ScanOrder::OldestFirst, ..Scan::default() };
            let page = reading.ledger.page(&account, &oldest_first, 3)?;
            let Some(first) = page.first() else { continue };
            let is_first_use = reading.ledger.transaction_head(first.transaction)?.hash == head.hash;
            let left = page.iter().filter(|posting| posting.direction == Direction::Out).count();
            let is_used_once = page.len() <= 2 && left <= 1 && page.len() - left <= 1;
            self.outputs[place].usage = Some(AddressUsage { is_first_use, is_used_once });
        }
        Ok(())
    }

    /// Where inputs come from: whether they were confirmed, and the form of the transaction before.
    fn read_inputs(&mut self, reading: &Reading<'_>) -> Result<(), LedgerError> {
        if let Some(input) = self.utxo.inputs.first().filter(|input| !input.previous.is_unknown()) {
            let before = reading.transaction(&self.transaction, &input.previous.hash)?;
            let view = |found: &Transaction| {
                let utxo = found.facts.utxo.as_ref()?;
                Some(TransactionView::new(utxo, found.head.block, found.head.time).is_one_in_two_out())
            };
            self.follows_one_in_two_out = before.as_ref().and_then(view);
        }
        self.spends_own_block = reading.spends_block(&self.transaction, &self.utxo, self.transaction.head.block)?;
        for place in 0..self.spenders.len() {
            let Spender { block, utxo, .. } = &self.spenders[place];
            self.spenders[place].spends_own_block = reading.spends_block(&self.transaction, utxo, *block)?;
        }
        Ok(())
    }

    fn read_clusters(&mut self, reading: &Reading<'_>) -> Result<(), LedgerError> {
        let view = TransactionView::new(&self.utxo, self.transaction.head.block, self.transaction.head.time);
        let inputs: BTreeSet<Address> = view.signers().collect();
        if inputs.is_empty() {
            return Ok(());
        }
        let is_with_inputs: Vec<bool> = self.spenders.iter().map(|spender| spender.spends_from(&inputs)).collect();
        for (place, output) in view.spendable() {
            let Some(owner) = output.owner.filter(|owner| !inputs.contains(owner)) else { continue };
            let found = match reading.same_cluster {
                Some(same_cluster) => same_cluster(&owner)?,
                None => self.outputs[place].spender.map(|spender| is_with_inputs[spender]),
            };
            self.outputs[place].is_in_input_cluster = found;
        }
        Ok(())
    }
}

impl Spender {
    fn view(&self) -> TransactionView<'_> {
        TransactionView::new(&self.utxo, self.block, self.time).with_spends_own_block(self.spends_own_block)
    }

    /// Returns whether one person spends from one of these addresses too.
    fn spends_from(&self, addresses: &BTreeSet<Address>) -> bool {
        let view = self.view();
        view.signers().any(|owner| addresses.contains(&owner))
            && coinjoin(&view, Surroundings::default()).is_none_or(|found| !found.links_nobody())
    }
}

struct Reading<'a> {
    ledger: &'a dyn Ledger,
    same_cluster: Option<SameCluster<'a>>,
    cancel: &'a Cancel,
}

impl Reading<'_> {
    /// The CoinJoin that a transaction looks like.
    fn coinjoin(&self, of: &Transaction, view: &TransactionView<'_>) -> Result<Option<CoinJoin>, LedgerError> {
        let mut surroundings = Surroundings::default();
        match coinjoin(view, surroundings).map(|found| found.protocol) {
            None => return Ok(None),
            Some(Protocol::Whirlpool) => {
                surroundings.descends_from_whirlpool = self.descends_from_whirlpool(of, view)?;
            }
            Some(Protocol::WasabiOne | Protocol::WasabiTwo | Protocol::JoinMarket | Protocol::Unknown) => {
                surroundings.has_exchange_input = self.has_exchange_input(of, view)?;
            }
        }
        Ok(coinjoin(view, surroundings))
    }

    /// Another transaction of the chain.
    fn transaction(&self, of: &Transaction, hash: &TxHash) -> Result<Option<Transaction>, LedgerError> {
        self.cancel.check()?;
        let found = self.ledger.find_transaction(of.head.chain, hash)?;
        found.map(|found| self.ledger.transaction(found)).transpose()
    }

    /// Whether all blocks from the first one to that of a transaction are held. Block 0 may be missing: its one output can
    /// never be spent.
    fn is_held_from_the_beginning(&self, transaction: &Transaction) -> bool {
        let coverage = self.ledger.coverage().get(&transaction.head.chain);
        let ranges = coverage.and_then(|coverage| coverage.ranges.get(&CoverageTable::Transactions));
        ranges.is_some_and(|ranges| ranges.iter().any(|&(first, last)| first <= 1 && last >= transaction.head.block))
    }

    /// Whether a transaction of a block spends an output of the same block; `None` where that is too much to look up, or
    /// not held.
    fn spends_block(&self, of: &Transaction, utxo: &UtxoFacts, block: u64) -> Result<Option<bool>, LedgerError> {
        if utxo.inputs.is_empty() || utxo.inputs.len() > MOST_LOOKED_UP {
            return Ok(None);
        }
        let mut is_all_held = true;
        for input in &utxo.inputs {
            match self.ledger.find_transaction(of.head.chain, &input.previous.hash)? {
                Some(found) if self.ledger.transaction_head(found)?.block == block => return Ok(Some(true)),
                Some(_) => {}
                None => is_all_held = false,
            }
        }
        Ok(is_all_held.then_some(false))
    }

    fn descends_from_whirlpool(&self, of: &Transaction, view: &TransactionView<'_>) -> Result<bool, LedgerError> {
        for input in view.inputs() {
            let Some(found) = self.transaction(of, &input.previous.hash)? else { return Ok(false) };
            let Some(utxo) = &found.facts.utxo else { return Ok(false) };
            let before = TransactionView::new(utxo, found.head.block, found.head.time);
            let is_round =
                coinjoin(&before, Surroundings::default()).is_some_and(|found| found.protocol == Protocol::Whirlpool);
            if !is_round && premix(&before, true).is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn has_exchange_input(&self, of: &Transaction, view: &TransactionView<'_>) -> Result<bool, LedgerError> {
        let table = self.ledger.labels();
        if table.is_empty() {
            return Ok(false);
        }
        let head = self.ledger.coverage().get(&of.head.chain).and_then(|coverage| coverage.last_time);
        let moment = Moment::present(table, head);
        for address in view.input_addresses() {
            let found = aggregate(&table.claims(of.head.chain, &address)?, &moment);
            let is_exchange = |code: Code| matches!(code, Code::Exchange | Code::ExchangeHotWallet);
            if found.codes.iter().any(|code| is_exchange(code.code) && code.confidence >= LEAST_CONFIDENCE) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
