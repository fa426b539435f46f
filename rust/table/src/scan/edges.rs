//! The table `edges`: what moved from one address to another, by asset.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use arrow::array::{ArrayRef, RecordBatch};
use headwater_engine::Error;
use headwater_ledger::read::{Account, ColumnSet, Direction, PostingColumns, Scan};
use headwater_types::{Address, Amount, Asset, Family, Timestamp, Usd};
use rustc_hash::FxHashMap;

use super::cells::{booleans, floats, integers, repeated, texts, times};
use super::filter::Side;
use super::job::Job;
use super::output::Output;
use super::pages::{accounts_of, pages};
use super::sources::{accounts, holds_ends};
use super::tables::{StoredTable, columns};
use super::workers::{Worker, Workers};

pub(super) const TABLE: StoredTable = StoredTable {
    name: "edges",
    row: "two addresses of an account chain and one asset that moved from the first to the second; the sums leave out \
          failed and zero movements, minting, burning, and what an address sent to itself",
    order: "chain, sender, receiver, asset (the native coin first, then by contract)",
    filters: &[
        "blockchain",
        "from_block",
        "to_block",
        "start_time",
        "end_time",
        "address",
        "from_address",
        "to_address",
        "contract",
    ],
    columns: columns! {
        "blockchain": Text = "the chain";
        "from_address": Text = "the sender";
        "to_address": Text = "the receiver";
        "symbol": Text = "lowercase symbol; null where neither a registry nor a source names the asset";
        "contract": Text = "the token; null for the native coin";
        "decimals": Integer = "decimals of the asset; null where nobody states them";
        "transfers": Integer = "movements";
        "transactions": Integer = "distinct transactions";
        "amount": Text = "the sum in whole units, exact; null where `decimals` is null";
        "amount_raw": Text = "the same in the smallest unit; null past 256 bits";
        "amount_usd": Float = "US dollars of the movements with a price, at their times; null where none has one";
        "unpriced_count": Integer = "movements without a price";
        "first_timestamp": Time = "time of the first movement";
        "last_timestamp": Time = "time of the last movement";
        "verified": Boolean = "true if a registry vouches for the asset";
    },
    produce,
};

fn produce(job: &Job<'_>, output: &mut Output) -> Result<(), Error> {
    for chain in job.chains().filter(|chain| chain.family() != Family::Utxo) {
        let workers = Workers::new(job.ledger, chain);
        let flow = if job.filter.addresses.is_empty() {
            let decode = |page: Vec<Address>| {
                workers.with(|worker| {
                    let mut edges = Edges::new();
                    for account in accounts_of(job, chain, &page)? {
                        add(job, &account, Direction::Out, worker, &mut edges)?;
                    }
                    batch(job, edges, worker)
                })
            };
            output.in_order(pages(job, chain), decode)?
        } else {
            output.push(workers.with(|worker| looked_up(job, worker))?)?
        };
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

/// Sender, receiver, asset.
type Pair = (Address, Address, Asset);
type Edges = BTreeMap<Pair, EdgeSums>;

/// The sums of an edge.
#[derive(Debug, Clone, Copy)]
struct EdgeSums {
    transfers: u64,
    transactions: u64,
    /// `None` past 256 bits.
    amount: Option<Amount>,
    usd: Usd,
    unpriced: u64,
    first: Timestamp,
    last: Timestamp,
    /// The transaction seen last.
    latest: u32,
}

impl EdgeSums {
    fn new(time: Timestamp) -> Self {
        let (amount, usd) = (Some(Amount::ZERO), Usd::ZERO);
        Self { transfers: 0, transactions: 0, amount, usd, unpriced: 0, first: time, last: time, latest: u32::MAX }
    }

    fn add(&mut self, transaction: u32, amount: Amount, usd: Option<Usd>, time: Timestamp) {
        self.transfers += 1;
        self.transactions += u64::from(self.latest != transaction);
        self.latest = transaction;
        self.amount = self.amount.and_then(|sum| sum.checked_add(amount));
        match usd {
            Some(usd) => self.usd += usd,
            None => self.unpriced += 1,
        }
        self.first = self.first.min(time);
        self.last = self.last.max(time);
    }

    /// Adds what another part of the ledger has of the same. No transaction is in two parts.
    fn join(&mut self, other: &Self) {
        self.transfers += other.transfers;
        self.transactions += other.transactions;
        self.amount = self.amount.zip(other.amount).and_then(|(one, other)| one.checked_add(other));
        self.usd += other.usd;
        self.unpriced += other.unpriced;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }
}

/// The edges of the addresses of the filter.
fn looked_up(job: &Job<'_>, worker: &mut Worker<'_>) -> Result<RecordBatch, Error> {
    let mut edges = Edges::new();
    let postings = |accounts: &[Account]| accounts.iter().map(|account| account.postings).sum::<u64>();
    let mut sets = Vec::new();
    for (side, set) in &job.filter.addresses {
        sets.push((*side, set, accounts(job, worker.chain, set)?));
    }
    let Some((side, set, accounts)) = sets.into_iter().min_by_key(|(_, _, accounts)| postings(accounts)) else {
        return batch(job, edges, worker);
    };
    for account in &accounts {
        if side != Side::To {
            add(job, account, Direction::Out, worker, &mut edges)?;
        }
        if side != Side::From {
            let mut came = Edges::new();
            add(job, account, Direction::In, worker, &mut came)?;
            // Edges between two of the addresses are those of their senders.
            came.retain(|(from, ..), _| side == Side::To || !set.contains(from));
            edges.extend(came);
        }
    }
    edges.retain(|(from, to, _), _| holds_ends(job, (Some(from), Some(to)), |_, _| true));
    batch(job, edges, worker)
}

/// Adds the edges of an account in one direction.
fn add(
    job: &Job<'_>,
    account: &Account,
    direction: Direction,
    worker: &mut Worker<'_>,
    edges: &mut Edges,
) -> Result<(), Error> {
    if account.address.is_zero() {
        return Ok(());
    }
    let filter = job.filter;
    let scan = Scan {
        window: filter.window,
        assets: filter.assets(),
        from_block: filter.from_block,
        up_to_block: filter.to_block,
        ..Scan::default()
    };
    let mut parts: FxHashMap<u32, PartEdges> = FxHashMap::default();
    let mut failed = None;
    job.ledger.posting_columns(account, &scan, (ColumnSet::ALL, job.cancel), &mut |columns| {
        job.count(columns.len() as u64);
        let part = parts.entry(columns.part()).or_default();
        match part.add(job, &columns, direction, worker) {
            Ok(()) => Ok(ControlFlow::Continue(())),
            Err(error) => {
                failed = Some(error);
                Ok(ControlFlow::Break(()))
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    for (part, of_part) in parts {
        for ((other, asset), sums) in of_part.sums {
            let other = job.ledger.address(PostingColumns::account_of(part, other))?;
            if other.is_zero() {
                continue;
            }
            let asset = job.ledger.asset(PostingColumns::asset_of(part, asset))?;
            let ends = if direction == Direction::Out { (account.address, other) } else { (other, account.address) };
            edges.entry((ends.0, ends.1, asset)).and_modify(|held| held.join(&sums)).or_insert(sums);
        }
    }
    Ok(())
}

/// The edges of an account in one part of the ledger, by the numbers of counterparty and asset.
#[derive(Default)]
struct PartEdges {
    sums: FxHashMap<(u32, u32), EdgeSums>,
}

impl PartEdges {
    fn add(
        &mut self,
        job: &Job<'_>,
        columns: &PostingColumns<'_>,
        direction: Direction,
        worker: &mut Worker<'_>,
    ) -> Result<(), Error> {
        let prices = job.ledger.prices();
        let keys = columns.counterparties().iter().zip(columns.assets());
        let rows = keys.zip(columns.transactions()).zip(columns.flags()).enumerate();
        for (at, (((other, asset), transaction), flags)) in rows {
            let amount = columns.amount(at);
            if flags.direction() != direction
                || flags.is_failed()
                || amount.is_zero()
                || columns.counterparty(*other).is_none()
            {
                continue;
            }
            let time = columns.time(at);
            let number = worker.book.of_ref(columns.asset(*asset))?;
            let usd = worker.view(number).terms.usd(prices, amount, time);
            let sums = self.sums.entry((*other, *asset)).or_insert_with(|| EdgeSums::new(time));
            sums.add(*transaction, amount, usd, time);
        }
        Ok(())
    }
}

fn batch(job: &Job<'_>, edges: Edges, worker: &mut Worker<'_>) -> Result<RecordBatch, Error> {
    let rows: Vec<(Pair, EdgeSums)> = edges.into_iter().collect();
    let numbers: Vec<usize> =
        rows.iter().map(|((_, _, asset), _)| worker.book.of_asset(*asset)).collect::<Result<_, _>>()?;
    job.batch(|name| Ok(column(worker, &rows, &numbers, name)))
}

fn column(worker: &Worker<'_>, rows: &[(Pair, EdgeSums)], numbers: &[usize], name: &str) -> ArrayRef {
    let views = || numbers.iter().map(move |number| worker.view(*number));
    let sums = || rows.iter().map(|(_, sums)| sums);
    match name {
        "blockchain" => repeated(worker.chain.name(), rows.len()),
        "from_address" => texts(rows.iter().map(|((from, ..), _)| Some(from.to_string()))),
        "to_address" => texts(rows.iter().map(|((_, to, _), _)| Some(to.to_string()))),
        "symbol" => texts(views().map(|view| view.symbol.as_deref())),
        "contract" => texts(views().map(|view| view.contract.as_deref())),
        "decimals" => integers(views().map(|view| view.decimals.map(u64::from))),
        "transfers" => integers(sums().map(|sums| Some(sums.transfers))),
        "transactions" => integers(sums().map(|sums| Some(sums.transactions))),
        "amount" => texts(sums().zip(views()).map(|(sums, view)| Some(sums.amount?.to_decimal(view.decimals?)))),
        "amount_raw" => texts(sums().map(|sums| sums.amount.map(|amount| amount.to_string()))),
        "amount_usd" => floats(sums().map(|sums| (sums.unpriced < sums.transfers).then(|| sums.usd.to_f64()))),
        "unpriced_count" => integers(sums().map(|sums| Some(sums.unpriced))),
        "first_timestamp" => times(sums().map(|sums| Some(sums.first))),
        "last_timestamp" => times(sums().map(|sums| Some(sums.last))),
        "verified" => booleans(views().map(|view| Some(view.verified))),
        _ => unreachable!("the columns of a scan are those of its table"),
    }
}
