//! Answers and exports of well-known services that no format reads, by the names that they use, with what to take
//! instead.

use super::Probe;
use super::json::Value;

/// The kind of a file that is known and not read.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Names that a table or an object of a JSON document has.
    names: &'static [&'static str],
    /// The description of the file: the predicate of a sentence.
    pub(crate) what: &'static str,
    /// The files that are read in its place: a sentence.
    pub(crate) instead: &'static str,
    /// The import that it is about.
    pub(crate) subject: Subject,
}

/// The subject of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Chain data.
    Chain,
    /// Labels.
    Labels,
    /// Tokens or prices.
    Market,
}

const BITCOIN_NODE: &str =
    "Take the blocks of its transactions from a node: `bitcoin-cli getblock HASH 3` (or 2), one answer a line.";
const EVM_NODE: &str = "Take blocks, receipts and traces from a node (eth_getBlockByNumber with transactions, \
    eth_getBlockReceipts, debug_traceBlockByNumber), tables of ethereum-etl or cryo, or CSV exports of Etherscan.";
const TRON_NODE: &str = "Take blocks from a node (wallet/getblockbynum with wallet/gettransactioninfobyblocknum), or \
    token transfers from TronGrid (/v1/accounts/ADDRESS/transactions/trc20).";
const OF_WALLET: &str = "Such a history names no counterparties. Take the blocks of its transactions from a node: \
    `bitcoin-cli getblock HASH 3` (or 2).";
const OF_EXCHANGE: &str = "Such a statement names no addresses. Take the transactions from the chain.";
const OF_ONE_ADDRESS: &str = "Take a list of addresses, one a row, with a column of code, name or entity.";

/// The shapes, narrowest first.
const SHAPES: &[Shape] = &[
    Shape {
        names: &["transaction_id", "quant", "tokenInfo", "block_ts"],
        what: "is an answer of TronScan's API with token transfers",
        instead: "Take the CSV export of TronScan's page, or answers of TronGrid \
            (/v1/accounts/ADDRESS/transactions/trc20).",
        subject: Subject::Chain,
    },
    Shape {
        names: &["transaction_id", "token_info", "block_timestamp", "value"],
        what: "holds rows of TronGrid's token transfers without the answers around them",
        instead: "Keep each answer of /v1/accounts/ADDRESS/transactions/trc20 whole, with its \"data\", in a file of its own: \
            equal rows of one account are two transfers, those of two accounts are the same one.",
        subject: Subject::Chain,
    },
    Shape {
        names: &["hash", "ownerAddress", "toAddress", "contractData"],
        what: "is an answer of TronScan's API with transactions",
        instead: TRON_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["txID", "raw_data", "block_timestamp"],
        what: "is an answer of TronGrid with the transactions of an account (/v1/accounts/ADDRESS/transactions)",
        instead: TRON_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["scriptpubkey_address", "scriptpubkey_type", "value"],
        what: "is an answer of Esplora with transactions (mempool.space, blockstream.info)",
        instead: BITCOIN_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["transaction", "inputs", "outputs"],
        what: "is an answer of Blockchair's API (dashboards)",
        instead: "Take Blockchair's dumps (blockchair_bitcoin_transactions_20240101.tsv.gz and its inputs and outputs), or \
            blocks from a node: `bitcoin-cli getblock HASH 3` (or 2).",
        subject: Subject::Chain,
    },
    Shape {
        names: &["tx_index", "inputs", "out", "hash"],
        what: "is an answer of blockchain.info with transactions",
        instead: BITCOIN_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["block_height", "hash", "addresses", "preference"],
        what: "is an answer of BlockCypher with transactions",
        instead: BITCOIN_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["txid", "vin", "vout"],
        what: "is one transaction of a Bitcoin node (getrawtransaction)",
        instead: BITCOIN_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["transaction_hash", "label", "confirmations", "value"],
        what: "is the history of an Electrum wallet",
        instead: OF_WALLET,
        subject: Subject::Chain,
    },
    Shape {
        names: &["Label", "Value", "Balance", "Fee", "Txid"],
        what: "is the history of a Sparrow wallet",
        instead: OF_WALLET,
        subject: Subject::Chain,
    },
    Shape {
        names: &["Confirmed", "Date", "Type", "Label", "Address", "ID"],
        what: "is the history of a Bitcoin Core wallet",
        instead: OF_WALLET,
        subject: Subject::Chain,
    },
    Shape {
        names: &["Transaction ID", "Fee unit", "Amount unit"],
        what: "is the history of a Trezor wallet",
        instead: OF_WALLET,
        subject: Subject::Chain,
    },
    Shape {
        names: &["Operation Type", "Operation Amount", "Operation Hash"],
        what: "is the history of a Ledger wallet",
        instead: OF_WALLET,
        subject: Subject::Chain,
    },
    Shape {
        names: &["User_ID", "UTC_Time", "Account", "Operation", "Coin", "Change"],
        what: "is the statement of an account at Binance",
        instead: OF_EXCHANGE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["Timestamp", "Transaction Type", "Asset", "Quantity Transacted"],
        what: "is the statement of an account at Coinbase",
        instead: OF_EXCHANGE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["txid", "refid", "time", "type", "aclass", "asset", "amount"],
        what: "is the ledger of an account at Kraken",
        instead: OF_EXCHANGE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["blockNum", "rawContract", "category"],
        what: "is an answer of Alchemy with transfers (alchemy_getAssetTransfers)",
        instead: EVM_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["native_transfers", "erc20_transfers", "nft_transfers"],
        what: "is an answer of Moralis with the history of a wallet",
        instead: EVM_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["block_signed_at", "tx_hash", "gas_spent"],
        what: "is an answer of GoldRush (Covalent) with transactions",
        instead: EVM_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["transactionHash", "fromAddress", "toAddress", "unitValue", "historicalUSD"],
        what: "is an answer of Arkham with transfers",
        instead: EVM_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["block_time", "block_number", "from", "to", "hash", "success"],
        what: "is a result of Dune with rows of its table of transactions",
        instead: EVM_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["block_time", "block_number", "tx_hash", "token_standard", "amount_raw"],
        what: "is a result of Dune with rows of its table of transfers",
        instead: EVM_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["block_number", "transaction_index", "hash", "from", "to", "input", "gas", "value"],
        what: "is a table of transactions as HyperSync writes it",
        instead: "Its columns \"from\" and \"to\" are called from_address and to_address in tables of ethereum-etl, its hashes and \
            amounts are texts there. Take such tables, those of cryo, or answers of a node.",
        subject: Subject::Chain,
    },
    Shape {
        names: &["TxHash", "BlockNumber", "UnixTimestamp", "FromAddress", "ToAddress"],
        what: "is a CSV export of Blockscout",
        instead: EVM_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["confirmation_duration", "hash", "gas_used"],
        what: "is an answer of Blockscout with transactions",
        instead: EVM_NODE,
        subject: Subject::Chain,
    },
    Shape {
        names: &["blacklist", "whitelist", "fuzzylist"],
        what: "is a list of the domains of phishing (MetaMask's eth-phishing-detect), which names no address",
        instead: OF_ONE_ADDRESS,
        subject: Subject::Labels,
    },
    Shape {
        names: &["identifications"],
        what: "is an answer of Chainalysis about one address, which it does not name",
        instead: OF_ONE_ADDRESS,
        subject: Subject::Labels,
    },
    Shape {
        names: &["blacklist_doubt", "cybercrime", "data_source"],
        what: "is an answer of GoPlus about one address, which it does not name",
        instead: OF_ONE_ADDRESS,
        subject: Subject::Labels,
    },
    Shape {
        names: &["addressRiskIndicators", "entities"],
        what: "is an answer of TRM Labs about the risk of addresses",
        instead: OF_ONE_ADDRESS,
        subject: Subject::Labels,
    },
    Shape {
        names: &["name", "tokens", "version"],
        what: "is a token list",
        instead: "`headwater tokens import` reads it.",
        subject: Subject::Market,
    },
    Shape {
        names: &["Open", "High", "Low", "Close"],
        what: "is a table of prices",
        instead: "`headwater prices import` reads it.",
        subject: Subject::Market,
    },
];

/// The depth of the objects of a document, and the number of items of a list, that are examined.
const DEPTH: usize = 6;
const ITEMS: usize = 3;

/// Returns the shape of a file; `None` where it is none of these.
pub(crate) fn shape_of(probe: &Probe) -> Option<&'static Shape> {
    let document = probe.document();
    SHAPES.iter().find(|shape| match &document {
        Some(document) => holds(document, shape.names, DEPTH),
        None => probe.has(shape.names),
    })
}

/// Returns true if an object of a document has all of these members.
fn holds(value: &Value<'_>, names: &[&str], depth: usize) -> bool {
    let members = value.members();
    let is_it =
        || !members.is_empty() && names.iter().all(|name| members.iter().any(|(member, _)| member.as_ref() == *name));
    let inside = || {
        // The transactions of a block are no answer of their own.
        let members = members.iter().filter(|(name, _)| name != "tx").map(|(_, value)| value);
        let values = value.items().iter().chain(members.take(64));
        let values = values.filter(|value| !value.items().is_empty() || !value.members().is_empty());
        let limit = if value.members().is_empty() { ITEMS } else { usize::MAX };
        values.take(limit).any(|value| holds(value, names, depth - 1))
    };
    depth > 0 && (is_it() || inside())
}

#[cfg(test)]
mod tests {
    use super::super::{Bounds, Input};
    use super::*;

    fn what(name: &str, content: &str) -> Option<&'static str> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let probe = Probe::new(Input::new(&path, &Bounds::default()).unwrap()).unwrap();
        shape_of(&probe).map(|shape| shape.what)
    }

    #[test]
    fn shapes_are_found_in_wrapped_documents_and_tables() {
        let transfers = r#"[{"a": 1}, {"blockNum": "0x1", "rawContract": {}, "category": "erc20"}]"#;
        for content in [transfers, &format!(r#"{{"result": {{"transfers": {transfers}}}}}"#)] {
            assert!(what("a.json", content).unwrap().contains("Alchemy"), "{content}");
        }
        let table = "Date (UTC),Label,Value,Balance,Fee,Txid\n2024-01-01,,1,1,,ab\n";
        assert!(what("a.csv", table).unwrap().contains("Sparrow"));
        assert_eq!(what("a.csv", "Label,Value\n1,2\n"), None);
        assert_eq!(what("a.json", r#"{"a": {"blockNum": "0x1"}, "rawContract": 1}"#), None);
        assert_eq!(what("a.txt", "text"), None);
    }

    #[test]
    fn shapes_have_short_sentences() {
        for Shape { names, what, instead, .. } in SHAPES {
            assert!(
                !names.is_empty() && (what.starts_with("is ") || what.starts_with("holds ")) && instead.ends_with('.'),
                "{what}"
            );
            assert!(what.len() < 110 && instead.len() < 300, "{what}: {instead}");
        }
    }
}
