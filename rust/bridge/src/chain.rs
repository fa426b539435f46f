//! The chains that bridges connect: more than the engine holds.

use std::fmt;
use std::sync::LazyLock;

use headwater_types::{Chain, Family};

use crate::error::TableError;
use crate::rows::RowTable;

/// The file of the names.
const FILE: &str = "chains.csv";
const TABLE: &str = include_str!("../tables/chains.csv");

static CHAINS: LazyLock<Vec<Row>> = LazyLock::new(|| read(TABLE).expect("a test reads every line of the table"));

#[derive(Debug)]
struct Row {
    name: &'static str,
    caip2: Option<&'static str>,
    held: Option<Chain>,
}

/// A chain at one end of a bridge: one of the table `chains.csv`, or an EVM chain by its id.
///
/// ```
/// use headwater_bridge::BridgeChain;
/// use headwater_types::Chain;
/// let arbitrum = BridgeChain::from_evm_id(42161);
/// assert_eq!((arbitrum.to_string().as_str(), arbitrum.held()), ("arbitrum", None));
/// assert_eq!(BridgeChain::from_evm_id(1), BridgeChain::from(Chain::ETHEREUM));
/// assert_eq!(BridgeChain::from_evm_id(4_242).to_string(), "eip155:4242");
/// assert_eq!(BridgeChain::from_name("solana").unwrap().caip2().unwrap(), "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BridgeChain(Repr);

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Repr {
    /// A row of the table.
    Row(u16),
    /// An EVM chain without a row.
    Evm(u64),
}

/// The form in which a chain writes accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccountForm {
    /// A family of the engine.
    Family(Family),
    /// 32 bytes in base58.
    Base58,
    /// Any other.
    Other,
}

impl BridgeChain {
    /// The chain with a name of `chains.csv`, in any case, or `eip155:` and a number.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(id) = name.strip_prefix("eip155:") {
            return id.parse().ok().map(Self::from_evm_id);
        }
        find(|row| row.name.eq_ignore_ascii_case(name))
    }

    /// The EVM chain with a chain id (EIP-155). TRON has 728126428.
    #[must_use]
    pub fn from_evm_id(id: u64) -> Self {
        find(|row| row.evm_id() == Some(id)).unwrap_or(Self(Repr::Evm(id)))
    }

    /// The name, as answers contain it: that of the table, else `eip155:` and the chain id.
    #[must_use]
    pub fn name(self) -> String {
        self.to_string()
    }

    /// The chain id of an EVM chain or TRON.
    #[must_use]
    pub fn evm_id(self) -> Option<u64> {
        match self.0 {
            Repr::Row(row) => CHAINS[usize::from(row)].evm_id(),
            Repr::Evm(id) => Some(id),
        }
    }

    /// The CAIP-2 identifier, if the chain has one.
    #[must_use]
    pub fn caip2(self) -> Option<String> {
        match self.0 {
            Repr::Row(row) => CHAINS[usize::from(row)].caip2.map(str::to_owned),
            Repr::Evm(id) => Some(format!("eip155:{id}")),
        }
    }

    /// The chain of the engine, `None` for all others.
    #[must_use]
    pub fn held(self) -> Option<Chain> {
        match self.0 {
            Repr::Row(row) => CHAINS[usize::from(row)].held,
            Repr::Evm(_) => None,
        }
    }

    pub(crate) fn account_form(self) -> AccountForm {
        let Repr::Row(row) = self.0 else { return AccountForm::Family(Family::Evm) };
        let row = &CHAINS[usize::from(row)];
        match (row.held, row.caip2.and_then(|caip2| caip2.split_once(':'))) {
            (Some(chain), _) => AccountForm::Family(chain.family()),
            (None, Some(("eip155", _))) => AccountForm::Family(Family::Evm),
            (None, Some(("solana", _))) => AccountForm::Base58,
            (None, _) => AccountForm::Other,
        }
    }
}

impl Row {
    fn evm_id(&self) -> Option<u64> {
        let (namespace, id) = self.caip2?.split_once(':')?;
        matches!(namespace, "eip155" | "tron").then(|| id.parse().ok()).flatten()
    }
}

fn find(is: impl Fn(&Row) -> bool) -> Option<BridgeChain> {
    let row = CHAINS.iter().position(is)?;
    u16::try_from(row).ok().map(|row| BridgeChain(Repr::Row(row)))
}

fn read(text: &'static str) -> Result<Vec<Row>, TableError> {
    let table = RowTable { file: FILE, text, lines_before: 0 };
    let read = table.rows().map(|row| {
        let (line, [name, caip2, source]) = row?;
        let error = |reason: &str| table.error(line, reason);
        if name.is_empty() || source.is_empty() {
            return Err(error("expected name,caip2,source"));
        }
        let caip2 = Some(caip2).filter(|caip2| !caip2.is_empty());
        let held = Chain::from_name(name);
        if held.is_some_and(|chain| Some(chain.caip2()) != caip2) {
            return Err(error("this chain of the engine has another CAIP-2 identifier"));
        }
        Ok(Row { name, caip2, held })
    });
    read.collect()
}

impl From<Chain> for BridgeChain {
    fn from(chain: Chain) -> Self {
        find(|row| row.held == Some(chain)).expect("a test finds every chain of the engine in the table")
    }
}

impl fmt::Display for BridgeChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Row(row) => f.write_str(CHAINS[usize::from(row)].name),
            Repr::Evm(id) => write!(f, "eip155:{id}"),
        }
    }
}

impl fmt::Debug for BridgeChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn chain_table_is_read_and_has_every_chain_of_the_engine() {
        let chains = read(TABLE).unwrap();
        let names: BTreeSet<&str> = chains.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), chains.len(), "each name occurs once");
        for chain in Chain::all() {
            assert_eq!(BridgeChain::from(chain).held(), Some(chain));
        }
        assert_eq!(BridgeChain::from_evm_id(728_126_428).held(), Some(Chain::TRON));
    }

    #[test]
    fn chain_table_errors_name_file_and_line() {
        let error = read("# names\nethereum,eip155:2,x\n").unwrap_err();
        assert_eq!(error.to_string(), "chains.csv:2: this chain of the engine has another CAIP-2 identifier");
        assert_eq!(read("base,eip155:8453").unwrap_err().to_string(), "chains.csv:1: expected 3 fields, found 2");
    }
}
