//! The table `balances`: what each address holds of each asset that it ever moved.

use arrow::array::{ArrayRef, RecordBatch};
use headwater_engine::Error;
use headwater_ledger::read::Holding;
use headwater_types::{Address, Amount};

use super::cells::{booleans, integers, repeated, texts};
use super::job::Job;
use super::output::Output;
use super::pages::{accounts_of, pages};
use super::tables::{StoredTable, columns};
use super::workers::{Worker, Workers};

pub(super) const TABLE: StoredTable = StoredTable {
    name: "balances",
    row: "one address and one asset that it ever moved",
    order: "chain, address, asset (the native coin first, then by contract)",
    filters: &["blockchain", "address", "contract"],
    columns: columns! {
        "blockchain": Text = "the chain";
        "address": Text = "the address";
        "symbol": Text = "lowercase symbol; null where neither a registry nor a source names the asset";
        "contract": Text = "the token; null for the native coin";
        "decimals": Integer = "decimals of the asset; null where nobody states them";
        "balance": Text = "the balance in whole units, exact; null where `decimals` is null";
        "balance_raw": Text = "the same in the smallest unit";
        "received_raw": Text = "what movements brought, in the smallest unit";
        "sent_raw": Text = "what movements took and fees, in the smallest unit";
        "fees_raw": Text = "the part of `sent_raw` that was fees";
        "opening_raw": Text = "the balance that a list of holders states for the beginning of the history; mostly zero";
        "is_negative": Boolean = "true if more was sent than received: history is missing, and the balance is zero";
        "verified": Boolean = "true if a registry vouches for the asset";
    },
    produce,
};

fn produce(job: &Job<'_>, output: &mut Output) -> Result<(), Error> {
    for chain in job.chains() {
        let workers = Workers::new(job.ledger, chain);
        let decode = |page: Vec<Address>| workers.with(|worker| decoded(job, &page, worker));
        if output.in_order(pages(job, chain), decode)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn decoded(job: &Job<'_>, page: &[Address], worker: &mut Worker<'_>) -> Result<RecordBatch, Error> {
    let mut rows: Vec<(Address, Holding)> = Vec::new();
    for account in accounts_of(job, worker.chain, page)? {
        job.check()?;
        let held = job.ledger.holdings(&account)?;
        job.count(held.len() as u64);
        let passing = held.into_iter().filter(|holding| job.filter.holds_asset(&holding.asset));
        rows.extend(passing.map(|holding| (account.address, holding)));
    }
    let numbers: Vec<usize> =
        rows.iter().map(|(_, holding)| worker.book.of_asset(holding.asset)).collect::<Result<_, _>>()?;
    job.batch(|name| Ok(column(worker, &rows, &numbers, name)))
}

fn column(worker: &Worker<'_>, rows: &[(Address, Holding)], numbers: &[usize], name: &str) -> ArrayRef {
    let views = || numbers.iter().map(move |number| worker.view(*number));
    let raw = |amount: fn(&Holding) -> Amount| texts(rows.iter().map(|(_, held)| Some(amount(held).to_string())));
    match name {
        "blockchain" => repeated(worker.chain.name(), rows.len()),
        "address" => texts(rows.iter().map(|(address, _)| Some(address.to_string()))),
        "symbol" => texts(views().map(|view| view.symbol.as_deref())),
        "contract" => texts(views().map(|view| view.contract.as_deref())),
        "decimals" => integers(views().map(|view| view.decimals.map(u64::from))),
        "balance" => texts(
            rows.iter()
                .zip(views())
                .map(|((_, held), view)| view.decimals.map(|decimals| held.balance.shown().to_decimal(decimals))),
        ),
        "balance_raw" => raw(|held| held.balance.shown()),
        "received_raw" => raw(Holding::received),
        "sent_raw" => raw(Holding::sent),
        "fees_raw" => raw(|held| held.fees),
        "opening_raw" => raw(|held| held.opening),
        "is_negative" => booleans(rows.iter().map(|(_, held)| Some(held.balance.is_negative()))),
        "verified" => booleans(views().map(|view| Some(view.verified))),
        _ => unreachable!("the columns of a scan are those of its table"),
    }
}
