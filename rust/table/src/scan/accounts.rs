//! The table `accounts`: one row per address of a chain.

use headwater_engine::Error;
use headwater_types::Address;

use super::cells::{booleans, integers, repeated, texts};
use super::job::Job;
use super::output::Output;
use super::pages::{accounts_of, pages};
use super::tables::{StoredTable, columns};

pub(super) const TABLE: StoredTable = StoredTable {
    name: "accounts",
    row: "one address of a chain that a row of the store names",
    order: "chain, address",
    filters: &["blockchain", "address"],
    columns: columns! {
        "blockchain": Text = "the chain";
        "address": Text = "the address";
        "is_contract": Boolean = "true if it is known to be a contract";
        "movements": Integer = "movements of the address, failed ones among them";
    },
    produce,
};

fn produce(job: &Job<'_>, output: &mut Output) -> Result<(), Error> {
    for chain in job.chains() {
        let decode = |page: Vec<Address>| {
            let rows = accounts_of(job, chain, &page)?;
            job.count(rows.len() as u64);
            job.batch(|name| {
                Ok(match name {
                    "blockchain" => repeated(chain.name(), rows.len()),
                    "address" => texts(rows.iter().map(|row| Some(row.address.to_string()))),
                    "is_contract" => booleans(rows.iter().map(|row| Some(row.is_contract))),
                    "movements" => integers(rows.iter().map(|row| Some(row.postings))),
                    _ => unreachable!("the columns of a scan are those of its table"),
                })
            })
        };
        if output.in_order(pages(job, chain), decode)?.is_break() {
            break;
        }
    }
    Ok(())
}
