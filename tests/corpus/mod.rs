//! Real chain data, where `HEADWATER_CORPUS` points. One binary, so that its tests run beside each other.

mod account_chains;
mod address_vectors;
mod balances;
mod bitcoin;
mod bitcoin_change;
mod cases;
mod cases_2;
mod cases_2_exports;
mod cases_2_labels;
mod cases_2_networks;
mod cases_2_official;
mod cases_2_tables;
mod cases_formats;
mod classifier;
mod ethereum_etl;
mod etherscan_originals;
mod events;
mod evm_rpc;
mod graphsense_account;
mod holder_snapshots;
mod label_lists;
mod labels;
mod logs;
mod market;
mod traces;
mod tron;
