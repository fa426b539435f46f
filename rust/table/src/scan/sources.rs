//! The transactions that a scan reads, in the order of the chain: all of a range, those of addresses, or those of hashes.

use std::ops::ControlFlow;

use headwater_engine::Error;
use headwater_ledger::LedgerError;
use headwater_ledger::read::{Account, ChainRange, ColumnSet, Scan, TransactionHead, TransactionRef, TransactionRun};
use headwater_types::{Address, Chain};
use rustc_hash::FxHashSet;

use super::filter::Side;
use super::job::Job;

/// Transactions of a chunk.
pub(crate) const CHUNK: usize = 8192;
/// A look-up by address is given up for a scan of all where its accounts have more than one part in so many of the
/// movements of the chain.
const LOOK_UP_PART: u64 = 4;

/// Chunks of transactions, each in runs.
pub(crate) type Chunks<'a> = Box<dyn Iterator<Item = Result<Vec<TransactionRun>, Error>> + 'a>;

/// Returns the transactions of a chain among which all rows of the scan are, and the number of the set of addresses that
/// they were looked up by.
pub(crate) fn chunks<'a>(job: &Job<'a>, chain: Chain) -> Result<(Chunks<'a>, Option<usize>), Error> {
    let length = job.chunk(CHUNK);
    if !job.filter.hashes.is_empty() {
        return Ok((listed(job, &by_hash(job, chain)?, length)?, None));
    }
    let movements = job.ledger.coverage().get(&chain).map_or(0, |coverage| coverage.movements);
    if let Some((set, accounts)) = fewest(job, chain)?
        && accounts.iter().map(|account| account.postings).sum::<u64>() <= movements / LOOK_UP_PART + CHUNK as u64
    {
        return Ok((listed(job, &transactions_of(job, &accounts)?, length)?, Some(set)));
    }
    let filter = job.filter;
    let range = ChainRange { from_block: filter.from_block, up_to_block: filter.to_block, window: filter.window };
    let max_length = u32::try_from(length).unwrap_or(u32::MAX);
    let mut runs = job.ledger.transaction_runs(chain, &range, max_length)?.fuse();
    let cancel = job.cancel.clone();
    let next = move || {
        if let Err(cancelled) = cancel.check() {
            return Some(Err(LedgerError::from(cancelled).into()));
        }
        let (mut chunk, mut held) = (Vec::new(), 0);
        while held < length {
            match runs.next() {
                None => break,
                Some(Err(error)) => return Some(Err(error.into())),
                Some(Ok(run)) => {
                    held += run.len() as usize;
                    chunk.push(run);
                }
            }
        }
        (!chunk.is_empty()).then_some(Ok(chunk))
    };
    Ok((Box::new(std::iter::from_fn(next)), None))
}

/// The accounts of a set of addresses.
pub(crate) fn accounts(job: &Job<'_>, chain: Chain, set: &FxHashSet<Address>) -> Result<Vec<Account>, Error> {
    let mut addresses: Vec<&Address> = set.iter().filter(|address| address.family() == chain.family()).collect();
    addresses.sort_unstable();
    let mut accounts = Vec::with_capacity(addresses.len());
    for address in addresses {
        accounts.extend(job.ledger.account(chain, address)?);
    }
    Ok(accounts)
}

/// The set of addresses whose accounts have the fewest postings.
fn fewest(job: &Job<'_>, chain: Chain) -> Result<Option<(usize, Vec<Account>)>, Error> {
    let mut found: Option<(u64, usize, Vec<Account>)> = None;
    for (number, (_, set)) in job.filter.addresses.iter().enumerate() {
        let accounts = accounts(job, chain, set)?;
        let postings: u64 = accounts.iter().map(|account| account.postings).sum();
        if found.as_ref().is_none_or(|(held, ..)| postings < *held) {
            found = Some((postings, number, accounts));
        }
    }
    Ok(found.map(|(_, number, accounts)| (number, accounts)))
}

/// The transactions of accounts, each once, by part and then in order.
fn transactions_of(job: &Job<'_>, accounts: &[Account]) -> Result<Vec<TransactionRef>, Error> {
    let filter = job.filter;
    let scan = Scan {
        window: filter.window,
        assets: filter.assets(),
        from_block: filter.from_block,
        up_to_block: filter.to_block,
        ..Scan::default()
    };
    let mut transactions = Vec::new();
    for account in accounts {
        job.ledger.posting_columns(account, &scan, (ColumnSet::TRANSACTIONS, job.cancel), &mut |batch| {
            transactions.extend(batch.transactions().iter().map(|number| batch.transaction(*number)));
            Ok(ControlFlow::Continue(()))
        })?;
    }
    transactions.sort_unstable();
    transactions.dedup();
    Ok(transactions)
}

/// The transactions of hashes, by part and then in order.
fn by_hash(job: &Job<'_>, chain: Chain) -> Result<Vec<TransactionRef>, Error> {
    let (first, others) = job.filter.hashes.split_first().expect("the caller has seen one");
    let mut transactions = Vec::new();
    for hash in first.iter().filter(|hash| others.iter().all(|set| set.contains(hash))) {
        transactions.extend(job.ledger.find_transaction(chain, hash)?);
    }
    transactions.sort_unstable();
    Ok(transactions)
}

/// Chunks of listed transactions, merged over the parts of the ledger.
fn listed<'a>(job: &Job<'a>, transactions: &[TransactionRef], length: usize) -> Result<Chunks<'a>, Error> {
    let ledger = job.ledger;
    let mut parts: Vec<(TransactionHead, std::vec::IntoIter<TransactionRef>)> = Vec::new();
    for part in transactions.chunk_by(|one, other| one.part() == other.part()) {
        let transactions = part.to_vec();
        parts.push((ledger.transaction_head(part[0])?, transactions.into_iter()));
    }
    let rank = |head: &TransactionHead| (head.block, head.index.map_or(u64::MAX, u64::from), head.hash);
    let mut take = move || -> Result<Option<TransactionRef>, Error> {
        let Some(first) = (0..parts.len()).min_by_key(|at| rank(&parts[*at].0)) else { return Ok(None) };
        let taken = parts[first].1.next();
        match parts[first].1.as_slice().first().copied() {
            // Where one part is left, nothing is compared.
            Some(_) if parts.len() == 1 => {}
            Some(next) => parts[first].0 = ledger.transaction_head(next)?,
            None => {
                parts.swap_remove(first);
            }
        }
        Ok(taken)
    };
    let next = move || {
        let mut chunk = Vec::new();
        while chunk.len() < length {
            match take() {
                Ok(None) => break,
                Err(error) => return Some(Err(error)),
                Ok(Some(transaction)) => chunk.push(TransactionRun::from(transaction)),
            }
        }
        (!chunk.is_empty()).then_some(Ok(chunk))
    };
    Ok(Box::new(std::iter::from_fn(next)))
}

/// Returns whether the ends of a row are in the sets of the filter.
pub(crate) fn holds_ends(
    job: &Job<'_>,
    (from, to): (Option<&Address>, Option<&Address>),
    is_checked: impl Fn(usize, Side) -> bool,
) -> bool {
    job.filter.addresses.iter().enumerate().filter(|(number, (side, _))| is_checked(*number, *side)).all(
        |(_, (side, set))| {
            let (is_from, is_to) = (from.is_some_and(|from| set.contains(from)), to.is_some_and(|to| set.contains(to)));
            match side {
                Side::From => is_from,
                Side::To => is_to,
                Side::Either => is_from || is_to,
            }
        },
    )
}
