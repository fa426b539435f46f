//! The tables `tokens` and `prices`: the registry and the prices in force.

use headwater_engine::Error;
use headwater_ledger::market::{Price, RegistryEntry};
use headwater_types::Chain;

use super::cells::{booleans, floats, integers, repeated, texts, times};
use super::job::Job;
use super::output::Output;
use super::tables::{StoredTable, columns};

pub(super) const TOKENS: StoredTable = StoredTable {
    name: "tokens",
    row: "one asset of the registry: the coins of the chains, the core tokens, and what was imported",
    order: "chain, then as in the registry",
    filters: &["blockchain", "contract"],
    columns: columns! {
        "blockchain": Text = "the chain";
        "contract": Text = "the token; null for the native coin";
        "symbol": Text = "lowercase symbol";
        "display_name": Text = "the name";
        "decimals": Integer = "decimals";
        "verified": Boolean = "true if the registry vouches for it";
        "rate_symbol": Text = "the symbol under which its price is found; null without a price";
        "pegged": Boolean = "true if its contract is pegged to the US dollar";
        "cg_id": Text = "its id at CoinGecko; null where no import states it";
    },
    produce: tokens,
};

pub(super) const PRICES: StoredTable = StoredTable {
    name: "prices",
    row: "one price of one symbol",
    order: "symbol, time",
    filters: &["symbol", "start_time", "end_time"],
    columns: columns! {
        "symbol": Text = "lowercase symbol";
        "timestamp": Time = "the time of the price";
        "price_usd": Float = "US dollars per whole unit";
    },
    produce: prices,
};

fn tokens(job: &Job<'_>, output: &mut Output) -> Result<(), Error> {
    for chain in Chain::all().filter(|chain| job.filter.holds_chain(*chain)) {
        let mut rows: Vec<&RegistryEntry> = job.ledger.registry().entries(chain);
        rows.retain(|entry| job.filter.holds_asset(&entry.asset));
        job.count(rows.len() as u64);
        let batch = job.batch(|name| {
            Ok(match name {
                "blockchain" => repeated(chain.name(), rows.len()),
                "contract" => texts(rows.iter().map(|row| row.asset.contract().map(ToString::to_string))),
                "symbol" => texts(rows.iter().map(|row| Some(&row.symbol))),
                "display_name" => texts(rows.iter().map(|row| Some(&row.display_name))),
                "decimals" => integers(rows.iter().map(|row| Some(u64::from(row.decimals)))),
                "verified" => booleans(rows.iter().map(|row| Some(row.verified))),
                "rate_symbol" => texts(rows.iter().map(|row| row.rate_symbol.as_deref())),
                "pegged" => booleans(rows.iter().map(|row| Some(row.pegged))),
                "cg_id" => texts(rows.iter().map(|row| row.cg_id.as_deref())),
                _ => unreachable!("the columns of a scan are those of its table"),
            })
        })?;
        if output.push(batch)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn prices(job: &Job<'_>, output: &mut Output) -> Result<(), Error> {
    let table = job.ledger.prices();
    let mut symbols: Vec<&str> = table.symbols().filter(|symbol| job.filter.holds_symbol(symbol)).collect();
    symbols.sort_unstable();
    for symbol in symbols {
        job.check()?;
        let passing = |price: &&Price| job.filter.window.contains(price.time);
        let rows: Vec<&Price> = table.series(symbol).iter().filter(passing).collect();
        job.count(rows.len() as u64);
        let batch = job.batch(|name| {
            Ok(match name {
                "symbol" => repeated(symbol, rows.len()),
                "timestamp" => times(rows.iter().map(|row| Some(row.time))),
                "price_usd" => floats(rows.iter().map(|row| Some(row.usd))),
                _ => unreachable!("the columns of a scan are those of its table"),
            })
        })?;
        if output.push(batch)?.is_break() {
            break;
        }
    }
    Ok(())
}
