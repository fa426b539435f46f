//! The accounts that a scan reads, in order of address, a page at a time.

use headwater_engine::Error;
use headwater_ledger::read::Account;
use headwater_types::{Address, Chain};

use super::job::Job;

/// Accounts of a page.
const PAGE: usize = 1024;

/// Returns the addresses of a chain in pages: those of the filter, or all.
pub(crate) fn pages<'a>(job: &'a Job<'_>, chain: Chain) -> Box<dyn Iterator<Item = Result<Vec<Address>, Error>> + 'a> {
    let size = job.chunk(PAGE);
    if let Some(named) = job.filter.address_set() {
        let of_chain: Vec<Address> = named.into_iter().filter(|address| address.family() == chain.family()).collect();
        let pages: Vec<Vec<Address>> = of_chain.chunks(size).map(<[Address]>::to_vec).collect();
        return Box::new(pages.into_iter().map(Ok));
    }
    let mut after: Option<Address> = None;
    Box::new(std::iter::from_fn(move || {
        let page = job.check().and_then(|()| Ok(job.ledger.addresses(chain, after.as_ref(), size)?));
        match page {
            Ok(page) if page.is_empty() => None,
            Ok(page) => {
                after = page.last().copied();
                Some(Ok(page))
            }
            Err(error) => Some(Err(error)),
        }
    }))
}

/// Returns the accounts behind addresses, as far as the chain has them.
pub(crate) fn accounts_of(job: &Job<'_>, chain: Chain, page: &[Address]) -> Result<Vec<Account>, Error> {
    job.check()?;
    let mut accounts = Vec::with_capacity(page.len());
    for address in page {
        accounts.extend(job.ledger.account(chain, address)?);
    }
    Ok(accounts)
}
