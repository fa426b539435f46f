//! The table `movements`: each movement once, in the order of the chain.

use std::ops::ControlFlow;

use arrow::array::{ArrayRef, RecordBatch};
use headwater_engine::fields::{TransferFlag, TransferType};
use headwater_engine::{AssetView, Error, MovementSigns, status_name, transfer_type};
use headwater_ledger::read::{AccountRef, ChainMovement, MovementKind, TransactionRef, TransactionRun};
use headwater_types::{Address, Family};

use super::cells::{booleans, floats, integers, lists, repeated, texts, times};
use super::job::Job;
use super::output::Output;
use super::sources::{chunks, holds_ends};
use super::tables::{StoredTable, columns};
use super::workers::{Worker, Workers};

pub(super) const TABLE: StoredTable = StoredTable {
    name: "movements",
    row: "one movement of an asset from one address to another; on Bitcoin the net change of one address in a transaction",
    order: "chain, block, position in the block, hash, kind, ordinal",
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
        "tx_hash",
    ],
    columns: columns! {
        "blockchain": Text = "the chain";
        "tx_hash": Text = "the transaction";
        "block_number": Integer = "number of the block";
        "timestamp": Time = "time of the block";
        "tx_index": Integer = "position in the block; null where no source states it";
        "log_index": Integer = "log index or trace ordinal; null for native movements and where no source states it. On Bitcoin the place of the address in the transaction";
        "transfer_type": Text = "`native`, `internal`, `token`, `utxo`, `coinbase`, `mint` or `burn`";
        "from_address": Text = "the sender; null where there is none. On Bitcoin the address where it paid";
        "to_address": Text = "the receiver; null where there is none. On Bitcoin the address where it was paid";
        "symbol": Text = "lowercase symbol; null where neither a registry nor a source names the asset";
        "contract": Text = "the token; null for the native coin";
        "decimals": Integer = "decimals of the asset; null where nobody states them";
        "amount": Text = "whole units, exact; null where `decimals` is null";
        "amount_raw": Text = "the smallest units, exact";
        "amount_usd": Float = "US dollars at the time of the movement; null without a price";
        "status": Text = "`success`, `failed` or `unknown`; a failed transaction moved nothing";
        "verified": Boolean = "true if a registry vouches for the asset";
        "flags": Texts = "signs to look at, such as `zero_value` or `spoofed_symbol`, as in the lists of transactions";
        "id": Text = "`{blockchain}:{tx_hash}:{kind}:{n}`, unique";
    },
    produce,
};

/// Columns that need what is known of the asset.
const OF_ASSET: [&str; 7] = ["symbol", "contract", "decimals", "amount", "amount_usd", "verified", "flags"];

fn produce(job: &Job<'_>, output: &mut Output) -> Result<(), Error> {
    for chain in job.chains() {
        let workers = Workers::new(job.ledger, chain);
        let (chunks, _) = chunks(job, chain)?;
        let decode = |runs: Vec<TransactionRun>| workers.with(|worker| decoded(job, &runs, worker));
        if output.in_order(chunks, decode)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn decoded(job: &Job<'_>, runs: &[TransactionRun], worker: &mut Worker<'_>) -> Result<RecordBatch, Error> {
    job.check()?;
    let (mut rows, mut seen) = (Vec::new(), 0);
    for run in runs {
        job.ledger.visit_movements(run, &mut |movement| {
            seen += 1;
            if holds(job, movement)? {
                rows.push(*movement);
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    job.count(seen);
    let mut batch = Rows { job, worker, movements: &rows, assets: Vec::new(), usd: Vec::new() };
    batch.prepare()?;
    job.batch(|name| batch.column(name))
}

fn holds(job: &Job<'_>, movement: &ChainMovement) -> headwater_ledger::read::Result<bool> {
    let filter = job.filter;
    if !filter.holds_block(movement.head.block) || !filter.window.contains(movement.head.time) {
        return Ok(false);
    }
    if !filter.contracts.is_empty() && !filter.holds_asset(&job.ledger.asset(movement.asset)?) {
        return Ok(false);
    }
    if filter.addresses.is_empty() {
        return Ok(true);
    }
    let address = |account: Option<AccountRef>| account.map(|account| job.ledger.address(account)).transpose();
    let (from, to) = (address(movement.from)?, address(movement.to)?);
    Ok(holds_ends(job, (from.as_ref(), to.as_ref()), |_, _| true))
}

/// The rows of a batch, column by column.
struct Rows<'a, 'w, 'l> {
    job: &'a Job<'a>,
    worker: &'a mut Worker<'w>,
    movements: &'l [ChainMovement],
    /// Numbers of assets, where a column needs them.
    assets: Vec<usize>,
    /// Values, where a column needs them.
    usd: Vec<Option<f64>>,
}

impl Rows<'_, '_, '_> {
    fn prepare(&mut self) -> Result<(), Error> {
        if self.job.wants(&OF_ASSET) {
            self.assets = self.worker.assets(self.movements.iter().map(|row| row.asset))?;
        }
        if self.job.wants(&["amount_usd", "flags"]) {
            let prices = self.job.ledger.prices();
            let value = |(row, asset): (&ChainMovement, &usize)| {
                self.worker.view(*asset).terms.value(prices, row.amount, row.head.time)
            };
            self.usd = self.movements.iter().zip(&self.assets).map(value).collect();
        }
        Ok(())
    }

    fn column(&mut self, name: &str) -> Result<ArrayRef, Error> {
        let rows = self.movements;
        Ok(match name {
            "blockchain" => repeated(self.worker.chain.name(), rows.len()),
            "block_number" => integers(rows.iter().map(|row| Some(row.head.block))),
            "timestamp" => times(rows.iter().map(|row| Some(row.head.time))),
            "tx_index" => integers(rows.iter().map(|row| row.head.index.map(u64::from))),
            "log_index" => integers(rows.iter().map(|row| match row.kind {
                MovementKind::Native => None,
                MovementKind::Internal | MovementKind::Token | MovementKind::Utxo => row.ordinal.shown(),
            })),
            "tx_hash" => self.hashes(|hash, _| hash.to_owned()),
            "id" => {
                let chain = self.worker.chain;
                self.hashes(|hash, row| format!("{chain}:{hash}:{}:{}", row.kind.name(), row.ordinal.number()))
            }
            "transfer_type" => self.types()?,
            "from_address" => self.worker.addresses(rows.iter().map(|row| row.from))?,
            "to_address" => self.worker.addresses(rows.iter().map(|row| row.to))?,
            "symbol" => texts(self.views().map(|view| view.symbol.as_deref())),
            "contract" => texts(self.views().map(|view| view.contract.as_deref())),
            "decimals" => integers(self.views().map(|view| view.decimals.map(u64::from))),
            "amount" => {
                let amounts = rows.iter().zip(self.views());
                texts(amounts.map(|(row, view)| view.decimals.map(|decimals| row.amount.to_decimal(decimals))))
            }
            "amount_raw" => texts(rows.iter().map(|row| Some(row.amount.to_string()))),
            "amount_usd" => floats(self.usd.iter().copied()),
            "status" => texts(rows.iter().map(|row| Some(status_name(row.kind, row.status).name()))),
            "verified" => booleans(self.views().map(|view| Some(view.verified))),
            "flags" => self.flags()?,
            _ => unreachable!("the columns of a scan are those of its table"),
        })
    }

    fn views(&self) -> impl Iterator<Item = &AssetView> {
        self.assets.iter().map(|asset| self.worker.view(*asset))
    }

    /// Texts made of the hash of the transaction, which is written once for all its movements.
    fn hashes(&self, text: impl Fn(&str, &ChainMovement) -> String) -> ArrayRef {
        let family = self.worker.chain.family();
        let mut held: Option<(TransactionRef, String)> = None;
        texts(self.movements.iter().map(|row| {
            if held.as_ref().is_none_or(|(transaction, _)| *transaction != row.transaction) {
                held = Some((row.transaction, row.head.hash.display(family)));
            }
            held.as_ref().map(|(_, hash)| text(hash, row))
        }))
    }

    fn types(&self) -> Result<ArrayRef, Error> {
        let name = |row: &ChainMovement| -> Result<&'static str, Error> {
            if row.is_coinbase {
                return Ok(TransferType::Coinbase.name());
            }
            // Only of tokens it matters who the ends are.
            let end = |account: Option<AccountRef>| match row.kind {
                MovementKind::Token => account.map(|account| self.job.ledger.address(account)).transpose(),
                MovementKind::Native | MovementKind::Internal | MovementKind::Utxo => {
                    Ok(account.map(|_| Address::Evm([1; 20])))
                }
            };
            Ok(transfer_type(row.kind, end(row.from)?, end(row.to)?).name())
        };
        let names: Vec<&str> = self.movements.iter().map(name).collect::<Result<_, _>>()?;
        Ok(texts(names.into_iter().map(Some)))
    }

    fn flags(&self) -> Result<ArrayRef, Error> {
        let family = self.worker.chain.family();
        let mut flags = Vec::with_capacity(self.movements.len());
        for ((row, asset), usd) in self.movements.iter().zip(&self.assets).zip(&self.usd) {
            let to = match (family, row.to) {
                (Family::Tron, Some(to)) => Some(self.job.ledger.address(to)?),
                _ => None,
            };
            let signs = MovementSigns {
                family,
                kind: row.kind,
                to,
                asset: self.worker.view(*asset),
                amount: row.amount,
                usd: *usd,
                status: row.status,
                creates_contract: row.creates_contract,
                approximate: row.approximate,
                rebases: self.worker.book.rebases(*asset)?,
            };
            flags.push(signs.flags());
        }
        Ok(lists(flags.into_iter().map(|flags| flags.into_iter().map(TransferFlag::name))))
    }
}
