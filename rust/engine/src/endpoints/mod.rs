//! One file per data endpoint, and the table of them.
//!
//! A file holds all that is said of its endpoint: a constant `ENDPOINT` ([`Endpoint`]), the `...Request` as a client
//! writes it, the checked `...Params`, the `...Report`, and an [`crate::Analysis`] that leads from one to the next. Names,
//! bounds and forms of fields are said by their types ([`crate::fields`]).
//!
//! # Adding an endpoint
//!
//! 1. A file here with its `mod` line, and a line in [`ENDPOINTS`]. HTTP, plans, OpenAPI, `headwater query` and Python's frames
//!    follow. Copy `labels.rs` for a question about addresses, `assets.rs` for a list of a chain. A list is made with
//!    [`Calls::list`](crate::Calls::list) and names its `rows`, so that it has tables, and the columns that these begin with
//!    (`first`); one record is made with
//!    [`Calls::of`](crate::Calls::of) and has `rows: None`.
//! 2. What can be read of a store: `rust/ledger/src/read/ledger.rs`. Movements are read through `scope`, which leaves out
//!    failed, zero and unverified rows as all endpoints do; the report then calls `coverage::warn`. `reads` decides that
//!    a chain without rows and labels is refused.
//! 3. Its test goes into `rust/engine/tests/worked.rs`, on the `town`, and its request into `tests/description.rs`.
//! 4. Where a request that fits the schema may be refused (an address of another chain): `scripts/schemathesis.toml`.
//! 5. The Python method: one file in `python/methods/` (copy `counterparty.toml`), then `make methods`, which writes the method
//!    and the types of its records.
//! 6. `HEADWATER_WRITE=1 cargo test -p headwater-server docs_list` writes `docs/endpoints.md`.
//! 7. To try it: `headwater simulate --store s`, then `headwater query --store s NAME --body '{...}'`.

pub mod address_classify;
pub mod address_risk;
pub mod address_risk_batch;
pub mod addresses_autocomplete;
pub mod addresses_resolve;
pub mod assets;
pub mod balance_history;
pub mod btc_change_address;
pub mod btc_cluster;
pub mod chains;
pub mod counterparty;
pub mod counterparty_list;
pub mod counterparty_overview;
pub mod counterparty_transfer_between;
pub mod cross_chain;
pub mod cross_chain_batch;
pub mod exposure;
pub mod labels;
pub mod labels_search;
pub mod path;
pub mod rates;
pub mod rates_history;
pub mod rates_symbols;
pub mod registry;
pub mod resolve;
pub mod token_addresses_flow;
pub mod token_concentration;
pub mod token_holders;
pub mod trace;
pub mod transaction;
pub mod transactions;
pub mod wallet_overview;

use crate::Endpoint;

/// Every data endpoint, in the order of the documentation.
pub static ENDPOINTS: &[Endpoint] = &[
    chains::ENDPOINT,
    registry::ENDPOINT,
    assets::ENDPOINT,
    resolve::ENDPOINT,
    rates::ENDPOINT,
    rates_history::ENDPOINT,
    rates_symbols::ENDPOINT,
    transactions::ENDPOINT,
    transaction::ENDPOINT,
    counterparty::ENDPOINT,
    counterparty_transfer_between::ENDPOINT,
    counterparty_overview::ENDPOINT,
    counterparty_list::ENDPOINT,
    balance_history::ENDPOINT,
    wallet_overview::ENDPOINT,
    token_holders::ENDPOINT,
    token_concentration::ENDPOINT,
    token_addresses_flow::ENDPOINT,
    labels::ENDPOINT,
    labels_search::ENDPOINT,
    address_risk::ENDPOINT,
    address_risk_batch::ENDPOINT,
    address_classify::ENDPOINT,
    trace::ENDPOINT,
    path::ENDPOINT,
    exposure::ENDPOINT,
    btc_change_address::ENDPOINT,
    btc_cluster::ENDPOINT,
    cross_chain::ENDPOINT,
    cross_chain_batch::ENDPOINT,
    addresses_resolve::ENDPOINT,
    addresses_autocomplete::ENDPOINT,
];

/// Finds an endpoint by its name.
#[must_use]
pub fn endpoint(name: &str) -> Option<&'static Endpoint> {
    ENDPOINTS.iter().find(|endpoint| endpoint.name == name)
}
