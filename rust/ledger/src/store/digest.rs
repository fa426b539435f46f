//! The digest of what a generation holds, whatever the order and the segments it came in.
//!
//! Every item (a transaction, a block, a contract, a token, a claim, a registry entry, a price, an exchange rate) has
//! canonical bytes that begin with what it is and its chain. Their XXH3-128 digests are added modulo 2^128, and the
//! digest of the number of items is added last. Addition does not care for order; that no item counts twice is seen to
//! before: a transaction is in one segment, and copies of the others are taken once. The digest finds accidents and
//! differences, it is not a defence against forgers.

use std::collections::BTreeSet;

use headwater_types::Chain;
use xxhash_rust::xxh3::xxh3_128;

use super::LogicalDigest;
use super::contents::{ChainContents, Contents};
use super::rebuild::StatedFacts;
use crate::Cancel;
use crate::facts::Canonical;
use crate::market::{EntrySource, FxTable, PriceTable, Registry};
use crate::read::Result;

#[derive(Default)]
struct Sum {
    digest: u128,
    items: u64,
    bytes: Vec<u8>,
}

impl Sum {
    fn add(&mut self, what: &str, chain: Option<Chain>, write: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.clear();
        what.write(&mut self.bytes);
        chain.map_or("", Chain::name).write(&mut self.bytes);
        write(&mut self.bytes);
        self.digest = self.digest.wrapping_add(xxh3_128(&self.bytes));
        self.items += 1;
    }

    fn finish(self) -> LogicalDigest {
        LogicalDigest(self.digest.wrapping_add(xxh3_128(&self.items.to_le_bytes())))
    }
}

pub(super) fn digest(contents: &Contents, cancel: &Cancel) -> Result<LogicalDigest> {
    let mut sum = Sum::default();
    for (chain, held) in &contents.chains {
        add_chain(&mut sum, *chain, held, cancel)?;
        add_claims(&mut sum, *chain, held);
    }
    add_registry(&mut sum, &contents.imports.registry);
    add_prices(&mut sum, &contents.imports.prices);
    add_exchange_rates(&mut sum, &contents.imports.exchange_rates);
    Ok(sum.finish())
}

fn add_chain(sum: &mut Sum, chain: Chain, held: &ChainContents, cancel: &Cancel) -> Result<()> {
    sum.add("network", Some(chain), |out| held.network.name().write(out));
    let mut stated = StatedFacts::default();
    let mut contracts = BTreeSet::new();
    for part in held.parts() {
        let segment = &part.segment;
        for row in 0..segment.transactions() {
            if row % 4096 == 0 {
                cancel.check()?;
            }
            let facts = segment.facts(row)?.canonical(chain)?;
            sum.add("transaction", Some(chain), |out| facts.write(out));
        }
        stated.take(segment, chain)?;
        contracts.extend(segment.contracts()?);
    }
    let StatedFacts { blocks, tokens } = stated;
    for block in blocks.values() {
        sum.add("block", Some(chain), |out| block.write(out));
    }
    for contract in &contracts {
        sum.add("contract", Some(chain), |out| contract.write(out));
    }
    for token in tokens.values() {
        sum.add("token", Some(chain), |out| token.write(out));
    }
    Ok(())
}

fn add_claims(sum: &mut Sum, chain: Chain, held: &ChainContents) {
    let claims = held.claimed();
    for (table, ranges) in &claims.ranges {
        for (first, last) in ranges {
            sum.add("range", Some(chain), |out| {
                format!("{table:?}").write(out);
                first.write(out);
                last.write(out);
            });
        }
    }
    for (table, accounts) in &claims.accounts {
        for account in accounts {
            sum.add("account", Some(chain), |out| {
                format!("{table:?}").write(out);
                account.write(out);
            });
        }
    }
}

/// The core tokens are of the program and not of the store.
fn add_registry(sum: &mut Sum, registry: &Registry) {
    for chain in Chain::all() {
        for entry in registry.entries(chain).into_iter().filter(|entry| entry.source != EntrySource::Core) {
            sum.add("registry", Some(chain), |out| {
                entry.asset.write(out);
                entry.symbol.write(out);
                entry.display_name.write(out);
                entry.decimals.write(out);
                entry.verified.write(out);
                entry.cg_id.write(out);
            });
        }
    }
}

/// Adds all prices that are held, used or not. The core prices are of the program and not of the store.
fn add_prices(sum: &mut Sum, prices: &PriceTable) {
    for symbol in prices.held() {
        let left_out = prices.left_out(symbol).iter().map(|left_out| &left_out.price);
        let imported = prices.series(symbol).iter().filter(|price| !prices.is_core(symbol, price.time));
        for price in imported.chain(left_out) {
            sum.add("price", None, |out| {
                symbol.write(out);
                price.time.write(out);
                price.usd.to_bits().write(out);
            });
        }
    }
}

fn add_exchange_rates(sum: &mut Sum, rates: &FxTable) {
    for currency in rates.currencies() {
        for rate in rates.series(currency) {
            sum.add("exchange rate", None, |out| {
                currency.write(out);
                rate.time.write(out);
                rate.per_usd.to_bits().write(out);
            });
        }
    }
}
