//! The kind of export of a block explorer's pages, detected from the header of a file.

use crate::source::{Content, Probe};

/// The tables that the pages export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    /// Transactions of one account (`Value_IN`, `Value_OUT`).
    Transactions,
    /// Internal transactions of one account.
    Internal,
    /// Transactions of a list page, as its own download gives them (`Amount`).
    ListedTransactions,
    /// Internal transactions of a list page.
    ListedInternal,
    /// Transfers of fungible tokens, in whole units.
    Tokens,
    /// Transfers of non-fungible and multi-tokens.
    NonFungible,
    /// Withdrawals of validators.
    Withdrawals,
}

/// The columns of an export, under the names that the file gives them.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) table: Table,
    /// The coin that the header names, in lowercase.
    pub(super) coin: Option<String>,
    pub(super) hash: String,
    pub(super) block: String,
    /// Epoch seconds.
    pub(super) unix_time: String,
    /// Date and time of day in UTC.
    pub(super) date_time: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) contract: String,
    pub(super) value_in: String,
    pub(super) value_out: String,
    /// The amount, where one column states it.
    pub(super) amount: String,
    pub(super) fee: String,
    pub(super) status: String,
    pub(super) error: String,
    pub(super) method: String,
    /// The kind of call of an internal transaction; 721 or 1155 for a token.
    pub(super) kind: String,
    pub(super) token_name: String,
    pub(super) token_symbol: String,
    pub(super) token_id: String,
    pub(super) quantity: String,
    /// Number of a withdrawal in the chain.
    pub(super) index: String,
}

/// Letters and digits of a name in lowercase: exports of different years write `Txhash` and `Transaction Hash`,
/// `DateTime` and `DateTime (UTC)`, `Value_IN(ETH)` and, cut, `Value_IN(ETH`.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Names of columns, plain and as the file writes them.
struct Columns(Vec<(String, String)>);

impl Columns {
    fn of(probe: &Probe) -> Self {
        Self(probe.columns().iter().map(|name| (plain(name), name.trim().to_owned())).collect())
    }

    /// The name of the first of these columns that there is.
    fn find(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|wanted| self.0.iter().find(|(plain, _)| plain == wanted)).map(|(_, name)| &**name)
    }

    /// A column whose name begins so, and the rest of its name.
    fn begins(&self, start: &str) -> Option<(&str, &str)> {
        self.0.iter().find_map(|(plain, name)| Some((&**name, plain.strip_prefix(start)?)))
    }

    fn has(&self, name: &str) -> bool {
        self.find(&[name]).is_some()
    }

    /// The name of a column; one that is missing reads as empty.
    fn name(&self, names: &[&str]) -> String {
        self.find(names).unwrap_or(names[0]).to_owned()
    }
}

impl Layout {
    /// The layout of a file; `None` when it is not an export of these pages.
    pub(super) fn of(probe: &Probe) -> Option<Self> {
        if !matches!(probe.content(), Content::Csv | Content::Tsv) {
            return None;
        }
        let columns = Columns::of(probe);
        let table = table(&columns)?;
        let (value_in, value_out) = (columns.begins("valuein"), columns.begins("valueout"));
        let coin = value_in.or(value_out).map(|(_, coin)| coin).filter(|coin| !coin.is_empty());
        let fee = coin.and_then(|coin| columns.find(&[&format!("txnfee{coin}")]));
        let name = |column: Option<(&str, &str)>, missing: &str| column.map_or(missing, |(name, _)| name).to_owned();
        Some(Self {
            table,
            coin: coin.map(str::to_owned),
            hash: columns.name(&HASHES),
            block: columns.name(&BLOCKS),
            unix_time: columns.name(&["unixtimestamp"]),
            date_time: columns.name(&DATES),
            from: columns.name(&["from"]),
            to: columns.name(&["to", "txto", "recipient"]),
            contract: columns.name(&["contractaddress"]),
            value_in: name(value_in, "Value_IN"),
            value_out: name(value_out, "Value_OUT"),
            amount: columns.name(&["tokenvalue", "amount", "value", "quantity"]),
            fee: fee.unwrap_or("TxnFee").to_owned(),
            status: columns.name(&["status"]),
            error: columns.name(&["errcode"]),
            method: columns.name(&["method"]),
            kind: columns.name(&["type"]),
            token_name: columns.name(&["tokenname"]),
            token_symbol: columns.name(&["tokensymbol"]),
            token_id: columns.name(&["tokenid"]),
            quantity: columns.name(&["quantity", "tokenamount"]),
            index: columns.name(&["index", "withdrawalindex"]),
        })
    }
}

const HASHES: [&str; 4] = ["txhash", "transactionhash", "parenttransactionhash", "parenttxhash"];
const BLOCKS: [&str; 3] = ["blockno", "block", "blocknumber"];
const DATES: [&str; 2] = ["datetimeutc", "datetime"];

fn table(columns: &Columns) -> Option<Table> {
    let has = |name: &str| columns.has(name);
    let has_block = columns.find(&BLOCKS).is_some();
    if !(has("unixtimestamp") || columns.find(&DATES).is_some()) {
        return None;
    }
    if has("validatorindex") && has("recipient") && columns.find(&["value", "amount"]).is_some() && has_block {
        return Some(Table::Withdrawals);
    }
    // A list of transfers of several tokens that gives only their names does not identify any of them.
    let has_parties = columns.find(&HASHES).is_some() && has("from") && columns.find(&["to", "txto"]).is_some();
    if !has_parties || has("token") {
        return None;
    }
    let has_value = columns.begins("valuein").is_some() || columns.begins("valueout").is_some();
    if has("tokenid") && has("contractaddress") {
        Some(Table::NonFungible)
    } else if has("tokenvalue") || has("tokensymbol") && has("value") {
        Some(Table::Tokens)
    } else if has_value && has_block {
        Some(if has("parenttxfrom") { Table::Internal } else { Table::Transactions })
    } else if has("quantity") && has_block {
        Some(Table::Tokens)
    } else if has("status") && has("fromnametag") && has_block && columns.find(&["amount", "value"]).is_some() {
        let is_internal = columns.find(&["parenttransactionhash", "parenttxhash"]).is_some();
        Some(if is_internal { Table::ListedInternal } else { Table::ListedTransactions })
    } else {
        None
    }
}
