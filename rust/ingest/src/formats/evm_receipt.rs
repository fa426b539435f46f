//! The facts of a transaction from its receipt: the rules are the same whatever the format it is written in.

use headwater_ledger::facts::TransactionFacts;
use headwater_ledger::read::Status;
use headwater_types::{Address, Amount, Chain};

use crate::error::FieldError;
use crate::source::{Row, whole_number};

/// Receipts of earlier blocks have no status (EIP-658). Some nodes and tools write success for all of them.
const FIRST_STATUS: (Chain, u64) = (Chain::ETHEREUM, 4_370_000);
/// The type of transactions that carry blobs (EIP-4844).
const BLOB_TYPE: u64 = 3;

/// The receipt of a transaction as a source states it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Receipt {
    pub(super) status: Option<Status>,
    pub(super) gas_used: Option<u64>,
    pub(super) effective_gas_price: Option<Amount>,
    pub(super) contract: Option<Address>,
    pub(super) blobs: Blobs,
}

/// The blobs of a transaction as a source states them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Blobs {
    /// True if it carries any, where its type or its fields say so.
    pub(super) carried: bool,
    pub(super) gas_used: Option<u64>,
    pub(super) gas_price: Option<Amount>,
}

impl Receipt {
    /// Adds what the receipt states to the facts of its transaction. `None` when the fee passes 256 bits.
    pub(super) fn add_to(self, facts: &mut TransactionFacts, chain: Chain) -> Option<()> {
        facts.status = status(chain, facts.block, self.status);
        facts.gas_used = self.gas_used;
        facts.effective_gas_price = self.effective_gas_price;
        // A node names the contract that a failed creation would have made.
        if facts.status != Some(Status::Failed) {
            facts.created = self.contract;
        }
        facts.carries_blobs = self.blobs.carried || self.blobs.gas_used.is_some_and(|gas| gas > 0);
        if !facts.carries_blobs {
            return Some(());
        }
        let price = facts.effective_gas_price.or(facts.gas_price);
        let parts = (facts.gas_used, price, self.blobs.gas_used, self.blobs.gas_price);
        if let (Some(gas), Some(price), Some(blob_gas), Some(blob_price)) = parts {
            let blobs = blob_price.checked_mul(Amount::from(blob_gas))?;
            facts.fee = Some(price.checked_mul(Amount::from(gas))?.checked_add(blobs)?);
        }
        Some(())
    }
}

/// The status that a source claims, where a receipt can state it at all.
pub(super) fn status(chain: Chain, block: u64, claimed: Option<Status>) -> Option<Status> {
    let (early, first) = FIRST_STATUS;
    claimed.filter(|status| chain != early || block >= first || *status == Status::Failed)
}

/// Reads the blobs of a transaction from the columns of a row.
pub(super) fn blobs(row: &Row<'_>, gas_used: &str, gas_price: &str) -> Result<Blobs, FieldError> {
    let kind = row.text("transaction_type")?;
    let carried = kind.is_some_and(|kind| is_blob_type(&kind)) || row.text("max_fee_per_blob_gas")?.is_some();
    Ok(Blobs { carried, gas_used: row.u64(gas_used)?, gas_price: row.amount(gas_price)? })
}

/// Returns true if a type of transaction, as digits or in hex, is that of blobs.
pub(super) fn is_blob_type(kind: &str) -> bool {
    let number = match kind.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => whole_number(kind),
    };
    number == Some(BLOB_TYPE)
}

#[cfg(test)]
mod tests {
    use headwater_types::TxHash;

    use super::*;

    fn facts(block: u64) -> TransactionFacts {
        TransactionFacts::new(TxHash::new([1; 32]), block)
    }

    #[test]
    fn success_before_byzantium_is_unknown() {
        for (chain, block, claimed, expected) in [
            (Chain::ETHEREUM, 4_369_999, Status::Success, None),
            (Chain::ETHEREUM, 4_369_999, Status::Failed, Some(Status::Failed)),
            (Chain::ETHEREUM, 4_370_000, Status::Success, Some(Status::Success)),
            (Chain::BSC, 5, Status::Success, Some(Status::Success)),
        ] {
            assert_eq!(status(chain, block, Some(claimed)), expected, "{chain} {block}");
        }
    }

    #[test]
    fn fee_of_blobs_is_whole_or_unknown() {
        let price = Amount::from(1_000_000_000);
        let receipt = Receipt { gas_used: Some(21_000), effective_gas_price: Some(price), ..Receipt::default() };
        let of = |blobs: Blobs| {
            let mut facts = facts(19_500_000);
            Receipt { blobs, ..receipt }.add_to(&mut facts, Chain::ETHEREUM).unwrap();
            (facts.carries_blobs, facts.fee)
        };
        assert_eq!(of(Blobs::default()), (false, None));
        let whole = Blobs { carried: true, gas_used: Some(131_072), gas_price: Some(Amount::from(3)) };
        assert_eq!(of(whole), (true, Some(Amount::from(21_000_000_393_216))));
        assert_eq!(of(Blobs { carried: true, ..Blobs::default() }), (true, None));
        assert_eq!(of(Blobs { gas_price: None, ..whole }), (true, None));
        assert!(is_blob_type("3") && is_blob_type("0x3") && is_blob_type("3.0") && !is_blob_type("2"));
    }
}
