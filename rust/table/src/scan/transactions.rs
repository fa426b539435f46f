//! The table `transactions`: one row per transaction, in the order of the chain.

use arrow::array::ArrayRef;
use headwater_engine::{Error, status_name};
use headwater_ledger::facts::{Movement, MovementFact};
use headwater_ledger::market::AssetTerms;
use headwater_ledger::read::{MovementKind, Transaction, TransactionHead, TransactionRun};
use headwater_types::{Address, Amount, Asset, Chain};

use super::cells::{booleans, floats, integers, repeated, texts, times};
use super::filter::Side;
use super::job::Job;
use super::output::Output;
use super::sources::{chunks, holds_ends};
use super::tables::{StoredTable, columns};

pub(super) const TABLE: StoredTable = StoredTable {
    name: "transactions",
    row: "one transaction",
    order: "chain, block, position in the block, hash",
    filters: &[
        "blockchain",
        "from_block",
        "to_block",
        "start_time",
        "end_time",
        "address",
        "from_address",
        "to_address",
        "tx_hash",
    ],
    columns: columns! {
        "blockchain": Text = "the chain";
        "tx_hash": Text = "the transaction";
        "block_number": Integer = "number of the block";
        "timestamp": Time = "time of the block";
        "tx_index": Integer = "position in the block; null where no source states it";
        "status": Text = "`success`, `failed` or `unknown`";
        "failure_reason": Text = "the reason of the failure; null where no source states it";
        "from_address": Text = "the sender; null on Bitcoin";
        "to_address": Text = "the receiver; null on Bitcoin, and where a contract was created";
        "symbol": Text = "symbol of the native coin";
        "amount": Text = "native value in whole coins, exact; on Bitcoin the sum of the outputs";
        "amount_raw": Text = "the same in the smallest unit";
        "amount_usd": Float = "the same in US dollars at the time; null without a price";
        "fee": Text = "the fee in whole coins, exact; null where it is not known";
        "fee_raw": Text = "the same in the smallest unit";
        "fee_usd": Float = "the same in US dollars at the time; null without a price";
        "nonce": Integer = "counter of the sender; null on Bitcoin and where no source states it";
        "method_id": Text = "first four bytes of the call data in hex; null where no source states it";
        "method": Text = "name of the method; null where no source states it";
        "contract_created": Text = "the contract that was created; null where none was";
        "gas_limit": Integer = "gas that might be used; null where no source states it";
        "gas_used": Integer = "gas used, on TRON energy; null where no source states it";
        "gas_price_raw": Text = "price paid per gas in the smallest unit; null where no source states it";
        "movements": Integer = "internal and token movements; null on Bitcoin";
        "is_coinbase": Boolean = "true if it mints the block reward; null on account chains";
        "inputs_count": Integer = "number of inputs; null on account chains";
        "outputs_count": Integer = "number of outputs; null on account chains";
    },
    produce,
};

/// Columns that the place of a transaction fills.
const OF_HEAD: [&str; 5] = ["blockchain", "tx_hash", "block_number", "timestamp", "tx_index"];

fn produce(job: &Job<'_>, output: &mut Output) -> Result<(), Error> {
    let is_whole = job.columns.iter().any(|column| !OF_HEAD.contains(column)) || !job.filter.addresses.is_empty();
    for chain in job.chains() {
        let (chunks, looked_up) = chunks(job, chain)?;
        let coin = AssetTerms::of(job.ledger.registry(), chain, &Asset::Native, |_| Ok::<_, Error>(None))?;
        let decode = |runs: Vec<TransactionRun>| {
            let rows = read(job, &runs, is_whole, looked_up)?;
            job.batch(|name| Ok(column(job, (chain, &coin), &rows, name)))
        };
        if output.in_order(chunks, decode)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// The place of a transaction, and all of it where a column needs more.
struct Row {
    head: TransactionHead,
    whole: Option<Transaction>,
}

fn read(job: &Job<'_>, runs: &[TransactionRun], is_whole: bool, looked_up: Option<usize>) -> Result<Vec<Row>, Error> {
    job.check()?;
    let (filter, mut rows) = (job.filter, Vec::new());
    for transaction in runs.iter().flat_map(TransactionRun::transactions) {
        job.count(1);
        let head = job.ledger.transaction_head(transaction)?;
        if !filter.holds_block(head.block) || !filter.window.contains(head.time) {
            continue;
        }
        let whole = is_whole.then(|| job.ledger.transaction(transaction)).transpose()?;
        if let Some(whole) = &whole
            && !takes_part(job, whole, looked_up)
        {
            continue;
        }
        rows.push(Row { head, whole });
    }
    Ok(rows)
}

/// Returns whether the addresses of the filter are sender, receiver, or in a movement of a transaction.
fn takes_part(job: &Job<'_>, transaction: &Transaction, looked_up: Option<usize>) -> bool {
    let body = transaction.facts.body;
    let (from, to) = (body.and_then(|body| body.from), body.and_then(|body| body.to));
    holds_ends(job, (from.as_ref(), to.as_ref()), |_, side| side != Side::Either)
        && job.filter.addresses.iter().enumerate().all(|(number, (side, set))| {
            *side != Side::Either || looked_up == Some(number) || parties(transaction).any(|party| set.contains(&party))
        })
}

/// The addresses that a transaction moves anything of.
fn parties(transaction: &Transaction) -> impl Iterator<Item = Address> + '_ {
    let facts = &transaction.facts;
    let sides = facts.body.iter().flat_map(|body| [body.from, body.to.or(facts.created)]);
    let moved = facts
        .movements
        .iter()
        .filter(|movement| is_movement(movement))
        .flat_map(|movement| [movement.from, movement.to]);
    let utxo = facts.utxo.iter();
    let spent = utxo.clone().flat_map(|utxo| utxo.inputs.iter().filter_map(|input| input.spent.as_ref()));
    let owners = utxo.flat_map(|utxo| &utxo.outputs).chain(spent).map(|output| output.owner);
    sides.chain(moved).chain(owners).flatten()
}

/// Non-fungible tokens move no amount, and stated balances move nothing.
fn is_movement(movement: &Movement) -> bool {
    matches!(movement.kind, MovementFact::Internal | MovementFact::Token)
}

fn value(transaction: &Transaction) -> Option<Amount> {
    match &transaction.facts.utxo {
        Some(utxo) => Some(Amount::from_u128(utxo.outputs.iter().map(|output| u128::from(output.amount)).sum())),
        None => transaction.facts.body.map(|body| body.value),
    }
}

fn column(job: &Job<'_>, (chain, coin): (Chain, &AssetTerms), rows: &[Row], name: &str) -> ArrayRef {
    let wholes = || rows.iter().map(|row| row.whole.as_ref());
    let facts = || wholes().map(|whole| whole.map(|whole| &whole.facts));
    let decimal = |amount: Amount| amount.to_decimal(chain.native_decimals());
    let usd = |(row, amount): (&Row, Option<Amount>)| coin.value(job.ledger.prices(), amount?, row.head.time);
    let values = || wholes().map(|whole| whole.and_then(value));
    let fees = || wholes().map(|whole| whole?.fee);
    match name {
        "blockchain" => repeated(chain.name(), rows.len()),
        "tx_hash" => texts(rows.iter().map(|row| Some(row.head.hash.display(chain.family())))),
        "block_number" => integers(rows.iter().map(|row| Some(row.head.block))),
        "timestamp" => times(rows.iter().map(|row| Some(row.head.time))),
        "tx_index" => integers(rows.iter().map(|row| row.head.index.map(u64::from))),
        "status" => texts(facts().map(|facts| {
            let kind = if facts?.utxo.is_some() { MovementKind::Utxo } else { MovementKind::Native };
            Some(status_name(kind, facts?.status).name())
        })),
        "failure_reason" => texts(facts().map(|facts| facts?.failure_reason.as_deref())),
        "from_address" => texts(facts().map(|facts| facts?.body?.from.map(|address| address.to_string()))),
        "to_address" => texts(facts().map(|facts| facts?.body?.to.map(|address| address.to_string()))),
        "symbol" => repeated(chain.native_symbol(), rows.len()),
        "amount" => texts(values().map(|value| value.map(decimal))),
        "amount_raw" => texts(values().map(|value| value.map(|value| value.to_string()))),
        "amount_usd" => floats(rows.iter().zip(values()).map(usd)),
        "fee" => texts(fees().map(|fee| fee.map(decimal))),
        "fee_raw" => texts(fees().map(|fee| fee.map(|fee| fee.to_string()))),
        "fee_usd" => floats(rows.iter().zip(fees()).map(usd)),
        "nonce" => integers(facts().map(|facts| facts?.nonce)),
        "method_id" => texts(facts().map(|facts| {
            let called = facts?.method_id.or_else(|| facts?.input.as_ref()?.first_chunk::<4>().copied())?;
            Some(format!("0x{:08x}", u32::from_be_bytes(called)))
        })),
        "method" => texts(facts().map(|facts| facts?.method.as_deref())),
        "contract_created" => texts(facts().map(|facts| facts?.created.map(|address| address.to_string()))),
        "gas_limit" => integers(facts().map(|facts| facts?.gas_limit)),
        "gas_used" => integers(facts().map(|facts| facts?.gas_used)),
        "gas_price_raw" => {
            texts(facts().map(|facts| facts?.effective_gas_price.or(facts?.gas_price).map(|price| price.to_string())))
        }
        "movements" => integers(facts().map(|facts| {
            let facts = facts?;
            if facts.utxo.is_some() {
                None
            } else {
                Some(facts.movements.iter().filter(|movement| is_movement(movement)).count() as u64)
            }
        })),
        "is_coinbase" => booleans(facts().map(|facts| Some(facts?.utxo.as_ref()?.coinbase))),
        "inputs_count" => integers(facts().map(|facts| Some(facts?.utxo.as_ref()?.inputs.len() as u64))),
        "outputs_count" => integers(facts().map(|facts| Some(facts?.utxo.as_ref()?.outputs.len() as u64))),
        _ => unreachable!("the columns of a scan are those of its table"),
    }
}
