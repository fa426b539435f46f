//! The datasets, and how each is known and read.

use headwater_ledger::read::CoverageTable;

use super::super::ethereum_etl::Kind;

/// A dataset of cryo.
pub(super) struct Dataset {
    pub(super) name: &'static str,
    /// Order among files of the same blocks: what others refer to comes first.
    pub(super) rank: u8,
    pub(super) read: Read,
    /// The required columns of a file of this name: users choose columns.
    pub(super) needed: &'static [&'static str],
    /// The columns that identify a file of any name.
    pub(super) columns: &'static [&'static str],
    /// The columns that identify a similar file of another source.
    pub(super) not: &'static [&'static str],
    /// Names of ethereum-etl for the columns, and what cryo calls them.
    pub(super) names: &'static [(&'static str, &'static str)],
    /// The tables for which a file is complete.
    pub(super) claims: &'static [CoverageTable],
}

/// The reader of the rows of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// As the rows of a table of ethereum-etl.
    Table(Kind),
    Transactions,
    Traces,
    GethCalls,
    NativeTransfers,
    Erc721Transfers,
    TokenMetadata,
    /// Recognised, so that it can be said why not.
    Not,
}

const BLOCK: &[(&str, &str)] = &[("number", "block_number"), ("hash", "block_hash")];
const TRANSFER: &[(&str, &str)] = &[("token_address", "erc20")];
const CONTRACT: &[(&str, &str)] = &[("address", "contract_address")];
const NONE: &[(&str, &str)] = &[];

#[rustfmt::skip]
pub(super) const DATASETS: &[Dataset] = &[
    Dataset { name: "blocks", rank: 0, read: Read::Table(Kind::Block), needed: &["block_number", "timestamp"], columns: &["block_number", "block_hash", "timestamp", "author"], not: &[], names: BLOCK, claims: &[CoverageTable::Blocks] },
    Dataset { name: "transactions", rank: 1, read: Read::Transactions, needed: &["block_number", "transaction_hash", "from_address"], columns: &["block_number", "transaction_hash", "from_address", "to_address", "gas_limit", "nonce"], not: &["block_timestamp"], names: NONE, claims: &[CoverageTable::Transactions] },
    Dataset { name: "logs", rank: 3, read: Read::Table(Kind::Log), needed: &["block_number", "transaction_hash", "log_index", "address", "topic0", "data"], columns: &["block_number", "transaction_hash", "log_index", "address", "topic0", "topic3", "data"], not: &["block_timestamp"], names: NONE, claims: &[CoverageTable::Logs, CoverageTable::TokenTransfers] },
    Dataset { name: "erc20_transfers", rank: 4, read: Read::Table(Kind::TokenTransfer), needed: &["block_number", "transaction_hash", "log_index", "erc20", "from_address", "to_address"], columns: &["block_number", "transaction_hash", "log_index", "erc20", "from_address", "to_address"], not: &["token_id_binary", "token_id_string", "token_id"], names: TRANSFER, claims: &[CoverageTable::TokenTransfers] },
    Dataset { name: "erc721_transfers", rank: 4, read: Read::Erc721Transfers, needed: &["block_number", "transaction_hash", "log_index", "erc20", "from_address", "to_address"], columns: &["block_number", "transaction_hash", "log_index", "erc20", "from_address", "to_address"], not: &[], names: TRANSFER, claims: &[] },
    Dataset { name: "traces", rank: 5, read: Read::Traces, needed: &["block_number", "action_from", "action_type", "trace_address"], columns: &["block_number", "action_from", "action_to", "action_value", "action_type", "trace_address"], not: &[], names: NONE, claims: &[CoverageTable::Traces] },
    Dataset { name: "geth_calls", rank: 5, read: Read::GethCalls, needed: &["block_number", "typ", "from_address", "to_address", "trace_address"], columns: &["block_number", "typ", "from_address", "to_address", "trace_address", "transaction_index"], not: &[], names: NONE, claims: &[CoverageTable::Traces] },
    Dataset { name: "native_transfers", rank: 6, read: Read::NativeTransfers, needed: &["block_number", "transfer_index", "transaction_hash", "from_address", "to_address"], columns: &["block_number", "transfer_index", "transaction_hash", "from_address", "to_address"], not: &[], names: NONE, claims: &[] },
    Dataset { name: "contracts", rank: 7, read: Read::Table(Kind::Contract), needed: &["block_number", "contract_address"], columns: &["block_number", "contract_address", "deployer", "factory"], not: &[], names: CONTRACT, claims: &[] },
    Dataset { name: "erc20_metadata", rank: 7, read: Read::TokenMetadata, needed: &["erc20", "symbol", "decimals"], columns: &["block_number", "erc20", "name", "symbol", "decimals"], not: &[], names: NONE, claims: &[] },
    Dataset { name: "balance_diffs", rank: 8, read: Read::Not, needed: &["address"], columns: &["block_number", "address", "from_value_binary", "to_value_binary"], not: &[], names: NONE, claims: &[] },
    Dataset { name: "balance_diffs", rank: 8, read: Read::Not, needed: &["address"], columns: &["block_number", "address", "from_value_string", "to_value_string"], not: &[], names: NONE, claims: &[] },
];

/// All that is read of any of them.
#[rustfmt::skip]
pub(super) const COLUMNS: &[&str] = &[
    "block_number", "block_hash", "parent_hash", "timestamp", "chain_id", "transaction_hash", "transaction_index",
    "transaction_position", "nonce", "from_address", "to_address", "input", "gas_limit", "gas_used", "gas_price", "success",
    "value", "value_binary", "value_string", "value_f64", "token_id", "token_id_binary", "token_id_string",
    "log_index", "address", "topic0", "topic1", "topic2", "topic3", "data", "erc20", "name", "symbol", "decimals",
    "action_from", "action_to", "action_value", "action_call_type", "action_type", "result_address", "trace_address",
    "error", "typ", "transfer_index", "contract_address", "transaction_type", "max_fee_per_blob_gas", "blob_gas_used",
    "blob_gas_price",
];

/// The parts of the name of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileName {
    pub(super) network: String,
    pub(super) dataset: String,
    pub(super) blocks: Option<(u64, u64)>,
}

impl FileName {
    /// `<network>__<dataset>__<first>_to_<last>.<ending>`, with or without a label before the range.
    pub(super) fn of(name: &str) -> Option<Self> {
        let (stem, _) = name.rsplit_once('.')?;
        let mut parts = stem.split("__");
        let (network, dataset, range) = (parts.next()?, parts.next()?, parts.last()?);
        let blocks = range.split_once("_to_").and_then(|(first, last)| {
            let (first, last) = (crate::source::plain_number(first)?, crate::source::plain_number(last)?);
            (first <= last).then_some((first, last))
        });
        Some(Self { network: network.to_owned(), dataset: dataset.to_owned(), blocks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_tells_network_dataset_and_blocks() {
        let name = FileName::of("ethereum__native_transfers__17000000_to_17000999.parquet").unwrap();
        assert_eq!((name.network.as_str(), name.dataset.as_str()), ("ethereum", "native_transfers"));
        assert_eq!(name.blocks, Some((17_000_000, 17_000_999)));
        assert_eq!(FileName::of("bnb__logs__mine__00000005_to_00000009.csv").unwrap().blocks, Some((5, 9)));
        assert_eq!(FileName::of("ethereum__logs__0xab_to_0xcd.csv").unwrap().blocks, None);
        assert_eq!(FileName::of("ethereum__logs__9_to_5.csv").unwrap().blocks, None);
        assert_eq!(FileName::of("logs.csv"), None);
    }
}
