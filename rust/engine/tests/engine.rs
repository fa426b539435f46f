//! The query engine as its callers meet it. One binary, because linking takes longer than running;
//! tests that start processes have their own: between fork and exec a child holds the locks of its parent.
#![expect(clippy::needless_pass_by_value, reason = "a request is written where it is used")]

mod address_classify;
mod address_risk_batch;
mod addresses;
mod change_address;
mod change_at_scale;
mod cluster;
mod core_tokens;
mod cross_chain;
mod description;
mod disputes;
mod events;
mod events_laws;
mod exposure;
mod feeds;
mod holders_at_scale;
mod hubs;
mod labels;
mod laws;
mod no_data;
mod overflow;
mod paging;
mod path;
mod random;
mod rates;
mod risk;
mod town;
mod trace;
mod trace_hub;
mod typed;
mod worked;
mod worked_balances;
mod worked_bitcoin;
mod worked_sources;
mod worked_supply;
mod worked_tokens;
