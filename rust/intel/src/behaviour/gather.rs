//! Reads the movements of an address from a ledger, and the roles of its counterparties from labels.

use std::collections::HashSet;

use headwater_ledger::labels::{Code, entity_key};
use headwater_ledger::market::{AssetTerms, skeleton};
use headwater_ledger::memory::Purpose;
use headwater_ledger::read::{Account, AccountRef, AssetRef, ColumnSet, Direction, LARGE, PostingColumns, Scan};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_metrics::order::chain_order;
use headwater_metrics::sweep::Gather;
use headwater_types::{Address, Asset, Chain, Timestamp, Usd};
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use super::history::{AssetKind, AssetNote, Counterparty, History, NOBODY, Roles, Transfer, Way};
use crate::label::{LabelSource, Moment, aggregate};

/// Tables that grew past this many entries are made anew, so that a hub does not slow down those after it.
const MAX_KEPT: usize = 1 << 12;

/// The purpose of the memory, as a refusal names it.
const HISTORY: Purpose = Purpose {
    what: "all movements of the address",
    narrower: "ask with `headwater query`, which has no such limit, or have `limits.query_memory_mib` raised",
};

/// Reads the history of one address after the other. What it learned of assets and labels it keeps.
pub struct HistoryGather<'a> {
    labels: &'a dyn LabelSource,
    /// The part of the movements that [`HistoryGather::read`] reads.
    scan: Scan,
    chain: Chain,
    stablecoins: Vec<String>,
    most_transfers: usize,
    known: KnownAs,
    history: History,
    /// The counterparty of each movement, until it has a number.
    others: Vec<Option<AccountRef>>,
    numbers: FxHashMap<AccountRef, u32>,
    /// Parts of the ledger that the movements came from.
    parts: u32,
    part: Option<u32>,
    assets: FxHashMap<AssetRef, u32>,
    terms: Vec<(Asset, AssetTerms)>,
    /// Skeletons of the verified symbols, made when the first token without a verdict is met.
    trusted: Option<HashSet<String>>,
}

impl<'a> HistoryGather<'a> {
    /// For addresses of a chain: with these symbols of main stablecoins, and at most so many of the newest movements.
    #[must_use]
    pub fn new(
        ledger: &'a dyn Ledger,
        chain: Chain,
        moment: Moment,
        stablecoins: &[String],
        most_transfers: usize,
    ) -> Self {
        let head = ledger.coverage().get(&chain).and_then(|coverage| coverage.last_time).map_or(0, Timestamp::secs);
        Self {
            labels: &**ledger.labels(),
            scan: Scan::default(),
            chain,
            stablecoins: stablecoins.to_vec(),
            most_transfers,
            known: KnownAs::at(chain, moment),
            history: History::until(head),
            others: Vec::new(),
            numbers: FxHashMap::default(),
            parts: 0,
            part: None,
            assets: FxHashMap::default(),
            terms: Vec::new(),
            trusted: None,
        }
    }

    /// The same with the claims of another source than the labels in force.
    #[must_use]
    pub fn with_labels(self, labels: &'a dyn LabelSource) -> Self {
        Self { labels, ..self }
    }

    /// The same for what [`HistoryGather::read`] reads, of data that ends earlier: at `head`, epoch seconds.
    #[must_use]
    pub fn within(mut self, scan: Scan, head: i64) -> Self {
        self.history.head = head;
        Self { scan, ..self }
    }

    /// The history of one account. O(movements · log movements) where several segments hold it.
    ///
    /// # Errors
    /// When the ledger cannot be read, the work is cancelled, or its memory is not enough.
    pub fn read(mut self, ledger: &dyn Ledger, account: &Account, cancel: &Cancel) -> Result<History, LedgerError> {
        self.read_next(ledger, account, cancel)?;
        Ok(self.history)
    }

    /// The history of one account of several, lent until the next one is read.
    ///
    /// # Errors
    /// As [`HistoryGather::read`].
    pub fn read_next(
        &mut self,
        ledger: &dyn Ledger,
        account: &Account,
        cancel: &Cancel,
    ) -> Result<&History, LedgerError> {
        let mut held = cancel.holding(HISTORY);
        let of_each = std::mem::size_of::<(Transfer, Option<AccountRef>)>();
        held.reach(usize::try_from(account.postings).unwrap_or(usize::MAX).saturating_mul(of_each))?;
        self.clear();
        let scan = self.scan.clone();
        ledger.posting_columns(account, &scan, (Self::WANTED, cancel), &mut |columns| {
            self.add(ledger, &columns)?;
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        self.complete(ledger)?;
        Ok(&self.history)
    }

    /// The history that was read last; empty after [`HistoryGather::clear`].
    #[must_use]
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// Forgets the history that was read last.
    pub fn clear(&mut self) {
        self.history.clear();
        self.others.clear();
        (self.parts, self.part) = (0, None);
    }

    /// The history of one of several accounts, to keep; empty without an account.
    pub(super) fn read_apart(
        &mut self,
        ledger: &dyn Ledger,
        account: Option<&Account>,
        cancel: &Cancel,
    ) -> Result<History, LedgerError> {
        match account {
            Some(account) => {
                self.read_next(ledger, account, cancel)?;
            }
            None => self.clear(),
        }
        // Numbers of assets go on.
        let mut next = History::until(self.history.head);
        next.assets.clone_from(&self.history.assets);
        Ok(std::mem::replace(&mut self.history, next))
    }

    /// Returns the kind of an asset, and the worth of an amount of it at a time.
    pub(super) fn worth_of(
        &mut self,
        ledger: &dyn Ledger,
        asset: Asset,
        raw: u128,
        time: i64,
    ) -> Result<(AssetKind, Usd), LedgerError> {
        let number = match self.terms.iter().position(|(known, _)| *known == asset) {
            Some(place) => u32::try_from(place).expect("a chain has fewer assets"),
            None => self.note(ledger, asset)?,
        };
        let usd = if raw == LARGE { Usd::ZERO } else { self.worth(ledger, number, raw, time) };
        Ok((self.history.assets[number as usize].kind, usd))
    }

    pub(super) const fn chain(&self) -> Chain {
        self.chain
    }

    pub(super) const fn scan(&self) -> &Scan {
        &self.scan
    }

    /// The number of an asset, which is looked up once.
    fn asset(&mut self, ledger: &dyn Ledger, asset: AssetRef) -> Result<u32, LedgerError> {
        if let Some(number) = self.assets.get(&asset) {
            return Ok(*number);
        }
        let meant = ledger.asset(asset)?;
        let number = match self.terms.iter().position(|(known, _)| *known == meant) {
            Some(place) => u32::try_from(place).expect("a chain has fewer assets"),
            None => self.note(ledger, meant)?,
        };
        self.assets.insert(asset, number);
        Ok(number)
    }

    fn note(&mut self, ledger: &dyn Ledger, asset: Asset) -> Result<u32, LedgerError> {
        let facts = |contract: &Address| ledger.token_facts(self.chain, contract);
        let terms = AssetTerms::of(ledger.registry(), self.chain, &asset, facts)?;
        let symbol = terms.symbol.as_deref();
        let kind = match (asset, terms.verified) {
            (Asset::Native, _) => AssetKind::Native,
            (Asset::Token(_), true) if symbol.is_some_and(|symbol| self.stablecoins.iter().any(|of| of == symbol)) => {
                AssetKind::Stablecoin
            }
            (Asset::Token(_), true) => AssetKind::Verified,
            (Asset::Token(_), false) => {
                let chain = self.chain;
                let trusted = self.trusted.get_or_insert_with(|| {
                    let entries = ledger.registry().of_chain(chain).filter(|(_, entry)| entry.verified);
                    entries.map(|(_, entry)| skeleton(&entry.symbol)).collect()
                });
                match symbol {
                    Some(symbol) if trusted.contains(&skeleton(symbol)) => AssetKind::Counterfeit,
                    Some(_) | None => AssetKind::Unverified,
                }
            }
        };
        let number = u32::try_from(self.terms.len()).expect("a chain has fewer assets");
        self.history.assets.push(AssetNote { asset, kind, decimals: terms.decimals });
        self.terms.push((asset, terms));
        Ok(number)
    }

    /// Returns what a movement of the native coin or of a main stablecoin is worth: other tokens count nothing here.
    fn worth(&mut self, ledger: &dyn Ledger, asset: u32, raw: u128, time: i64) -> Usd {
        match self.history.assets[asset as usize].kind {
            AssetKind::Native | AssetKind::Stablecoin => {
                let (_, terms) = &self.terms[asset as usize];
                let amount = headwater_types::Amount::from_u128(raw);
                let usd = terms.usd(ledger.prices(), amount, Timestamp::new(time));
                self.history.unpriced += u64::from(usd.is_none() && raw > 0);
                usd.unwrap_or_default()
            }
            AssetKind::Verified | AssetKind::Unverified | AssetKind::Counterfeit => Usd::ZERO,
        }
    }

    /// Puts the movements in order, cuts the oldest off where there are too many, and names the counterparties.
    fn complete(&mut self, ledger: &dyn Ledger) -> Result<(), LedgerError> {
        // Times of blocks may go back a little on chains of outputs.
        if self.parts > 1 || !self.history.all.is_sorted_by_key(|transfer| (transfer.time, transfer.transaction)) {
            self.sort(ledger)?;
        }
        self.name(ledger)?;
        self.history.sum_flows();
        let surplus = self.history.all.len().saturating_sub(self.most_transfers);
        if surplus > 0 {
            self.history.is_truncated = true;
            self.history.all.drain(..surplus);
        }
        self.history.divide();
        Ok(())
    }

    /// By time, then as the chain orders the transactions of one time. Movements of a transaction stay together.
    fn sort(&mut self, ledger: &dyn Ledger) -> Result<(), LedgerError> {
        let keys: Vec<_> = self.history.all.iter().map(|transfer| (transfer.time, transfer.transaction)).collect();
        let order = chain_order(ledger, &keys)?;
        self.history.all = order.iter().map(|place| self.history.all[*place]).collect();
        self.others = order.iter().map(|place| self.others[*place]).collect();
        Ok(())
    }

    /// Gives each counterparty one number, in the order in which they come first.
    fn name(&mut self, ledger: &dyn Ledger) -> Result<(), LedgerError> {
        if self.numbers.capacity() > MAX_KEPT {
            self.numbers = FxHashMap::default();
        }
        self.numbers.clear();
        let mut by_address: FxHashMap<Address, u32> = FxHashMap::default();
        for (transfer, other) in self.history.all.iter_mut().zip(&self.others) {
            transfer.other = match other {
                None => NOBODY,
                Some(other) => match self.numbers.get(other) {
                    Some(number) => *number,
                    None => {
                        let address = ledger.address(*other)?;
                        let next = u32::try_from(self.history.counterparties.len()).expect("fewer than 2^32");
                        let number = if address.is_zero() {
                            NOBODY
                        } else if self.parts > 1 {
                            *by_address.entry(address).or_insert(next)
                        } else {
                            next
                        };
                        if number == next {
                            let (roles, entity) = self.known.of(self.labels, &address)?;
                            self.history.counterparties.push(Counterparty { address, roles, entity });
                        }
                        self.numbers.insert(*other, number);
                        number
                    }
                },
            };
        }
        Ok(())
    }
}

impl Gather for HistoryGather<'_> {
    const WANTED: ColumnSet = ColumnSet::ALL;
    type Output = History;

    fn begin(&mut self, _: &Address) {
        self.clear();
    }

    fn add(&mut self, ledger: &dyn Ledger, columns: &PostingColumns<'_>) -> Result<(), LedgerError> {
        if self.part != Some(columns.part()) {
            self.part = Some(columns.part());
            self.parts += 1;
        }
        let base = columns.base_time().secs();
        let rows = columns.transactions().iter().zip(columns.counterparties()).zip(columns.seconds());
        let what = columns.assets().iter().zip(columns.amounts());
        for ((flags, ((row, other), secs)), (asset, raw)) in columns.flags().iter().zip(rows).zip(what) {
            let way = match flags.direction() {
                Direction::In => Way::In,
                Direction::Out => Way::Out,
                Direction::Own => continue,
            };
            if flags.is_failed() {
                continue;
            }
            let asset = self.asset(ledger, columns.asset(*asset))?;
            let time = base.saturating_add(i64::from(*secs));
            // Amounts of 128 bits and more are beyond every supply that has a worth.
            let usd = if *raw == LARGE { Usd::ZERO } else { self.worth(ledger, asset, *raw, time) };
            let transaction = columns.transaction(*row);
            self.history.all.push(Transfer { time, transaction, raw: *raw, usd, other: NOBODY, asset, way });
            self.others.push(columns.counterparty(*other));
        }
        Ok(())
    }

    fn finish(&mut self, ledger: &dyn Ledger) -> Result<&History, LedgerError> {
        self.complete(ledger)?;
        Ok(&self.history)
    }
}

/// A role is taken from this confidence on.
const MIN_CONFIDENCE: f64 = 0.5;
/// The roles that codes give.
const ROLES: [(Code, Roles); 5] = [
    (Code::Mixer, Roles::MIXER),
    (Code::Bridge, Roles::BRIDGE),
    (Code::Exchange, Roles::EXCHANGE),
    (Code::ExchangeHotWallet, Roles::EXCHANGE),
    (Code::Deposit, Roles::DEPOSIT),
];
/// The maximum number of addresses that are remembered.
const MAX_KNOWN: usize = 1 << 20;

/// The roles of counterparties by their labels. Each address with labels is judged once.
#[derive(Debug)]
pub struct KnownAs {
    chain: Chain,
    moment: Moment,
    kept: FxHashMap<Address, (Roles, u64)>,
}

impl KnownAs {
    /// By the labels of a chain at a moment.
    #[must_use]
    pub fn at(chain: Chain, moment: Moment) -> Self {
        Self { chain, moment, kept: FxHashMap::default() }
    }

    /// The roles of an address, and the number of its entity (0 for none).
    ///
    /// # Errors
    /// When labels cannot be read.
    pub fn of(&mut self, labels: &dyn LabelSource, address: &Address) -> Result<(Roles, u64), LedgerError> {
        if let Some(kept) = self.kept.get(address) {
            return Ok(*kept);
        }
        let claims = labels.claims_on(self.chain, address)?;
        if claims.is_empty() {
            return Ok((Roles::default(), 0));
        }
        let judged = aggregate(&claims, &self.moment);
        let mut roles = Roles::default();
        for (code, role) in ROLES {
            if judged.of(code) >= MIN_CONFIDENCE {
                roles = roles.with(role);
            }
        }
        let entity = judged.entity.map_or(0, |name| xxh3_64(entity_key(name).as_bytes()).max(1));
        if self.kept.len() >= MAX_KNOWN {
            self.kept.clear();
        }
        self.kept.insert(*address, (roles, entity));
        Ok((roles, entity))
    }
}
