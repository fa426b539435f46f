//! Reading the aggregates of one address after the other from the columns of a ledger.

use headwater_ledger::market::AssetTerms;
use headwater_ledger::read::{
    Account, AccountRef, AssetRef, ColumnSet, Direction, LARGE, MovementKind, NOBODY, PostingColumns, PostingFlags,
    Scan, TransactionRef,
};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Asset, Chain, Family};
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::base::{Base, Side};
use super::coins::{Coins, MAX_READ};
use super::money::{Money, Payment, Units, Way, Workspace};
use super::parties::{Dealing, Parties};
use super::times::{Gaps, Times, double};
use crate::order::chain_order;
use crate::sweep::Gather;

const HOUR_SECS: i64 = 3600;
const DAY_SECS: i64 = 24 * HOUR_SECS;

/// The main stablecoins, by symbol; only contracts that a registry vouches for count. A change of this list is a change of
/// [`super::VERSION`].
pub const STABLECOINS: [&str; 10] = ["usdt", "usdc", "dai", "busd", "tusd", "usdd", "fdusd", "usdp", "pyusd", "gusd"];

/// Stablecoins are taken as one money of so many decimals.
const STABLE_DECIMALS: u8 = 6;

/// The kind that an asset counts as.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Native,
    /// Multiplied and divided by so much it is in millionths.
    Stable {
        times: u128,
        by: u128,
    },
    Other,
}

/// A movement as it is read.
#[derive(Debug, Clone, Copy)]
struct Row {
    time: i64,
    transaction: TransactionRef,
    amount: u128,
    other: u32,
    asset: u32,
    flags: PostingFlags,
}

/// A sample of counterparties: as if only a share of all addresses had been observed, and the address only through
/// them. Which ones does not depend on the address.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObservationSample {
    /// Share of addresses that are observed, above 0 and at most 1.
    pub share: f64,
    /// Another seed observes others.
    pub seed: u64,
}

impl ObservationSample {
    /// Returns whether an address is observed.
    #[must_use]
    pub fn holds(self, address: &Address) -> bool {
        // As many bits as a double holds.
        let hash = xxh3_64_with_seed(address.to_string().as_bytes(), self.seed) >> 11;
        double(hash.into()) < self.share * double(1 << 53)
    }
}

/// Reads the aggregates of one address after the other. What it learned of assets it keeps.
#[derive(Debug)]
pub struct BaseGather {
    chain: Chain,
    observed: Option<ObservationSample>,
    units: Units,
    rows: Vec<Row>,
    part: Option<u32>,
    parts: u32,
    failed: u64,
    /// The kinds of the assets of the part, by their numbers in it.
    of_part: FxHashMap<u32, Vec<u32>>,
    assets: FxHashMap<AssetRef, u32>,
    kinds: Vec<(Asset, Kind)>,
    observed_before: FxHashMap<AccountRef, bool>,
    /// By number of asset, the last address that moved it; addresses are counted.
    moved_by: Vec<u64>,
    address: u64,
    /// The address whose movements are read.
    whose: Option<Address>,
    times: [Vec<i64>; 3],
    gaps: Vec<u64>,
    movements: Vec<Dealing>,
    payments: [Vec<Payment>; 2],
    workspace: Workspace,
    base: Base,
}

impl BaseGather {
    /// For addresses of a chain.
    #[must_use]
    pub fn new(chain: Chain) -> Self {
        let one = 10_u128.pow(u32::from(chain.native_decimals()));
        let round = match chain.family() {
            Family::Evm | Family::Utxo => one / 100,
            Family::Tron => one,
        };
        Self {
            chain,
            observed: None,
            units: Units { one, round },
            rows: Vec::new(),
            part: None,
            parts: 0,
            failed: 0,
            of_part: FxHashMap::default(),
            assets: FxHashMap::default(),
            kinds: Vec::new(),
            observed_before: FxHashMap::default(),
            moved_by: Vec::new(),
            address: 0,
            whose: None,
            times: Default::default(),
            gaps: Vec::new(),
            movements: Vec::new(),
            payments: Default::default(),
            workspace: Workspace::default(),
            base: Base::default(),
        }
    }

    /// The same with the counterparties that are observed alone.
    #[must_use]
    pub fn observed(self, observed: Option<ObservationSample>) -> Self {
        Self { observed, ..self }
    }

    /// The aggregates of one account. O(movements · log movements).
    ///
    /// # Errors
    /// When the ledger cannot be read, the work is cancelled, or its memory is not enough.
    pub fn read(&mut self, ledger: &dyn Ledger, account: &Account, cancel: &Cancel) -> Result<&Base, LedgerError> {
        self.read_within(ledger, account, &Scan::default(), cancel)
    }

    /// The aggregates of the movements of one account that a scan takes in. O(movements · log movements).
    ///
    /// # Errors
    /// As [`BaseGather::read`].
    pub fn read_within(
        &mut self,
        ledger: &dyn Ledger,
        account: &Account,
        scan: &Scan,
        cancel: &Cancel,
    ) -> Result<&Base, LedgerError> {
        let mut held = cancel.holding(super::FEATURES_OF_ONE);
        let of_each = 2 * std::mem::size_of::<Row>() + 2 * std::mem::size_of::<Payment>();
        held.reach(usize::try_from(account.postings).unwrap_or(usize::MAX).saturating_mul(of_each))?;
        self.begin(&account.address);
        ledger.posting_columns(account, scan, (Self::WANTED, cancel), &mut |columns| {
            self.add(ledger, &columns)?;
            Ok(std::ops::ControlFlow::Continue(()))
        })?;
        self.finish(ledger)
    }

    /// The aggregates that were read last.
    #[must_use]
    pub const fn base(&self) -> &Base {
        &self.base
    }

    /// The number of an asset, which is looked up once.
    fn asset(&mut self, ledger: &dyn Ledger, asset: AssetRef) -> Result<u32, LedgerError> {
        if let Some(number) = self.assets.get(&asset) {
            return Ok(*number);
        }
        let meant = ledger.asset(asset)?;
        let number = match self.kinds.iter().position(|(known, _)| *known == meant) {
            Some(place) => place,
            None => {
                let kind = self.kind(ledger, &meant)?;
                self.kinds.push((meant, kind));
                self.kinds.len() - 1
            }
        };
        let number = u32::try_from(number).expect("a chain has fewer assets");
        self.assets.insert(asset, number);
        Ok(number)
    }

    fn kind(&self, ledger: &dyn Ledger, asset: &Asset) -> Result<Kind, LedgerError> {
        if *asset == Asset::Native {
            return Ok(Kind::Native);
        }
        let facts = |contract: &Address| ledger.token_facts(self.chain, contract);
        let terms = AssetTerms::of(ledger.registry(), self.chain, asset, facts)?;
        let is_main = terms.symbol.is_some_and(|symbol| STABLECOINS.contains(&symbol.as_str()));
        Ok(match terms.decimals {
            Some(decimals) if terms.verified && is_main => Kind::Stable {
                times: 10_u128.pow(STABLE_DECIMALS.saturating_sub(decimals).into()),
                by: 10_u128.pow(decimals.saturating_sub(STABLE_DECIMALS).min(38).into()),
            },
            _ => Kind::Other,
        })
    }

    fn is_observed(&mut self, ledger: &dyn Ledger, other: Option<AccountRef>) -> Result<bool, LedgerError> {
        let (Some(observed), Some(other)) = (self.observed, other) else { return Ok(self.observed.is_none()) };
        if let Some(is_observed) = self.observed_before.get(&other) {
            return Ok(*is_observed);
        }
        let is_observed = observed.holds(&ledger.address(other)?);
        self.observed_before.insert(other, is_observed);
        Ok(is_observed)
    }

    /// Puts rows of several parts in the order of the chain, and gives their counterparties numbers of one kind.
    fn join_parts(&mut self, ledger: &dyn Ledger) -> Result<(), LedgerError> {
        let mut numbers: FxHashMap<Address, u32> = FxHashMap::default();
        let mut by_handle: FxHashMap<AccountRef, u32> = FxHashMap::default();
        for row in self.rows.iter_mut().filter(|row| row.other != NOBODY) {
            let handle = PostingColumns::account_of(row.transaction.part(), row.other);
            row.other = match by_handle.get(&handle) {
                Some(number) => *number,
                None => {
                    let next = u32::try_from(numbers.len()).expect("fewer than 2^32");
                    let number = *numbers.entry(ledger.address(handle)?).or_insert(next);
                    by_handle.insert(handle, number);
                    number
                }
            };
        }
        let keys: Vec<_> = self.rows.iter().map(|row| (row.time, row.transaction)).collect();
        let order = chain_order(ledger, &keys)?;
        self.rows = order.iter().map(|place| self.rows[*place]).collect();
        Ok(())
    }

    /// One pass over the rows in order.
    fn count(&mut self) {
        self.address += 1;
        self.moved_by.resize(self.kinds.len(), 0);
        let Self { rows, kinds, times, movements, payments, base, moved_by, address, .. } = self;
        times.iter_mut().for_each(Vec::clear);
        payments.iter_mut().for_each(Vec::clear);
        movements.clear();
        for of_one in rows.chunk_by(|one, other| one.transaction == other.transaction) {
            base.transactions += 1;
            base.initiated += u64::from(of_one.iter().any(is_initiated));
            base.swaps += u64::from(of_one.len() > 1 && is_swap(of_one));
        }
        let mut before: Option<Way> = None;
        for row in &*rows {
            times[0].push(row.time);
            let moved_by = &mut moved_by[row.asset as usize];
            base.assets += u64::from(*moved_by != *address);
            *moved_by = *address;
            let way = match row.flags.direction() {
                Direction::In => Way::In,
                Direction::Out => Way::Out,
                Direction::Own => {
                    base.own += 1;
                    continue;
                }
            };
            let is_in = way == Way::In;
            *(if is_in { &mut base.received } else { &mut base.sent }) += 1;
            times[if is_in { 1 } else { 2 }].push(row.time);
            base.created += u64::from(!is_in && row.flags.creates_contract());
            base.turns += u64::from(before.is_some_and(|before| before != way));
            base.starts_in |= before.is_none() && is_in;
            base.in_again += u64::from(is_in && base.sent > 0);
            before = Some(way);
            if row.other != NOBODY {
                movements.push(Dealing::new(row.other, way));
            }
            let (money, amount) = match kinds[row.asset as usize].1 {
                Kind::Native => (0, row.amount),
                Kind::Stable { times, by } => (1, row.amount.saturating_mul(times) / by),
                Kind::Other => {
                    *(if is_in { &mut base.other_in } else { &mut base.other_out }) += 1;
                    continue;
                }
            };
            if amount == 0 {
                *(if is_in { &mut base.empty_in } else { &mut base.empty_out }) += 1;
            } else if row.amount != LARGE {
                payments[money].push(Payment { time: row.time, amount, other: row.other, way });
            }
        }
        base.ends_out = before == Some(Way::Out);
    }

    /// Computes the shapes of the transactions.
    fn coins(&self, ledger: &dyn Ledger) -> Result<Coins, LedgerError> {
        let mut coins = Coins::default();
        let Some(address) = &self.whose else { return Ok(coins) };
        let count = self.rows.len();
        let read = count.min(MAX_READ);
        // On UTXO chains a transaction is one movement of the address.
        for row in (0..read).map(|place| &self.rows[place * count / read]) {
            if let Some(utxo) = &ledger.transaction(row.transaction)?.facts.utxo {
                coins.add(address, utxo);
            }
        }
        Ok(coins)
    }

    /// Computes what follows from the times.
    fn time(&mut self) {
        let Self { times: [all, ins, outs], gaps, base, payments, .. } = self;
        // Times of blocks may go back a little on chains of outputs.
        if !all.is_sorted() {
            for times in [&mut *all, &mut *ins, &mut *outs] {
                times.sort_unstable();
            }
        }
        base.times = Times::of(all, gaps);
        let (first, last) = (base.times.first, base.times.last);
        let side = |times: &[i64], gaps: &mut Vec<u64>| match (times.first(), times.last()) {
            (Some(begin), Some(end)) => Side {
                first: double(begin.abs_diff(first).into()),
                last: double(end.abs_diff(first).into()),
                gaps: Gaps::of(times, gaps),
            },
            _ => Side::default(),
        };
        base.in_times = side(ins, gaps);
        base.out_times = side(outs, gaps);
        base.max_in_day = max_within(ins, DAY_SECS);
        base.max_out_day = max_within(outs, DAY_SECS);
        let late = |days: i64| (all.len() - all.partition_point(|time| *time < last - days * DAY_SECS)) as u64;
        (base.late_30, base.late_90) = (late(30), late(90));
        base.early_30 = all.partition_point(|time| *time <= first + 30 * DAY_SECS) as u64;

        gaps.clear();
        let mut came = 0;
        for payments in &*payments {
            let (mut latest, mut next) = (i64::MIN, 0);
            for payment in payments.iter().filter(|payment| payment.way == Way::In) {
                came += 1;
                if payment.time < latest {
                    next = outs.partition_point(|out| *out < payment.time);
                }
                latest = payment.time;
                while outs.get(next).is_some_and(|out| *out < latest) {
                    next += 1;
                }
                gaps.extend(outs.get(next).map(|out| out.abs_diff(payment.time)));
            }
        }
        let quick = gaps.iter().filter(|secs| **secs <= HOUR_SECS.unsigned_abs()).count() as u64;
        base.reacted = super::times::ratio(quick, came);
        base.reaction = f64::NAN;
        if !gaps.is_empty() {
            let middle = (gaps.len() - 1) / 2;
            base.reaction = double(u128::from(*gaps.select_nth_unstable(middle).1));
        }
    }
}

/// Returns whether the movement is the own value of a transaction that the address sent.
fn is_initiated(row: &Row) -> bool {
    row.flags.kind() == MovementKind::Native && row.flags.direction() != Direction::In
}

/// Returns whether one asset came in and another one went out.
fn is_swap(of_one: &[Row]) -> bool {
    let moved = |direction| {
        of_one
            .iter()
            .filter(move |row: &&Row| row.flags.direction() == direction && row.amount > 0)
            .map(|row| row.asset)
    };
    let (Some(came), Some(left)) = (moved(Direction::In).next(), moved(Direction::Out).next()) else { return false };
    moved(Direction::In).any(|asset| asset != left) || moved(Direction::Out).any(|asset| asset != came)
}

/// The most of ordered times that lie within so many seconds.
fn max_within(times: &[i64], secs: i64) -> u64 {
    // The window grows with each time that fits and moves on without shrinking otherwise: it ends as the largest one.
    let mut begin = 0;
    for time in times {
        begin += usize::from(time - times[begin] > secs);
    }
    (times.len() - begin) as u64
}

impl Gather for BaseGather {
    const WANTED: ColumnSet = ColumnSet::ALL;
    type Output = Base;

    fn begin(&mut self, address: &Address) {
        self.whose = Some(*address);
        self.rows.clear();
        (self.parts, self.part, self.failed) = (0, None, 0);
    }

    fn add(&mut self, ledger: &dyn Ledger, columns: &PostingColumns<'_>) -> Result<(), LedgerError> {
        if self.part != Some(columns.part()) {
            self.part = Some(columns.part());
            self.parts += 1;
        }
        // The assets of the part, taken out while rows are read.
        let mut numbers = self.of_part.remove(&columns.part()).unwrap_or_default();
        let base = columns.base_time().secs();
        let rows = columns.transactions().iter().zip(columns.counterparties()).zip(columns.seconds());
        let what = columns.assets().iter().zip(columns.amounts());
        for ((flags, ((row, other), secs)), (asset, raw)) in columns.flags().iter().zip(rows).zip(what) {
            if self.observed.is_some() && !self.is_observed(ledger, columns.counterparty(*other))? {
                continue;
            }
            if flags.is_failed() {
                self.failed += 1;
                continue;
            }
            let place = *asset as usize;
            if place >= numbers.len() {
                numbers.resize(place + 1, NOBODY);
            }
            if numbers[place] == NOBODY {
                numbers[place] = self.asset(ledger, columns.asset(*asset))?;
            }
            self.rows.push(Row {
                time: base.saturating_add(i64::from(*secs)),
                transaction: columns.transaction(*row),
                amount: *raw,
                other: *other,
                asset: numbers[place],
                flags: *flags,
            });
        }
        self.of_part.insert(columns.part(), numbers);
        Ok(())
    }

    fn finish(&mut self, ledger: &dyn Ledger) -> Result<&Base, LedgerError> {
        self.base = Base { failed: self.failed, ..Base::default() };
        if self.parts > 1 {
            self.join_parts(ledger)?;
        }
        self.count();
        self.time();
        if self.chain.family() == Family::Utxo {
            self.base.coins = self.coins(ledger)?;
        }
        self.base.parties = Parties::of(&mut self.movements);
        let stable = Units { one: 10_u128.pow(STABLE_DECIMALS.into()), round: 10_u128.pow(STABLE_DECIMALS.into()) };
        self.base.native = Money::of(&self.payments[0], self.units, &mut self.workspace);
        self.base.stable = Money::of(&self.payments[1], stable, &mut self.workspace);
        Ok(&self.base)
    }
}
