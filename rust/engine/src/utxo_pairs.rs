//! Which pairs of UTXO transactions count as counterparties: change and `CoinJoins` make none where a ranking asks so.

use headwater_intel::bitcoin::change_output::{MAX_JUDGED, change_output};
use headwater_intel::bitcoin::gather::coinjoin_of;
use headwater_ledger::read::{Account, Scan, Transaction};
use headwater_ledger::{Cancel, Ledger};
use headwater_metrics::utxo_attribution::Attribution;
use headwater_types::Family;

use crate::Error;
use crate::request::Warnings;

/// Which pairs of Bitcoin transactions count as counterparties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum UtxoPairs {
    /// All of them.
    #[default]
    All,
    /// Those of transactions that are not a CoinJoin.
    NoCoinJoins,
    /// Those of them that pay somebody else: not to an output that is change.
    Payments,
}

impl UtxoPairs {
    /// Returns the pairs that a scan of an account ranks, and its movements where they are too many to look for change in
    /// their transactions. Then it is listed of all of them, so that rows compare.
    pub fn within_limit(
        self,
        ledger: &dyn Ledger,
        (account, scan): (Option<&Account>, &Scan),
        cancel: &Cancel,
    ) -> Result<(Self, Option<u64>), Error> {
        let is_long = |account: &&Account| account.chain.family() == Family::Utxo && account.postings > MAX_JUDGED;
        let Some(account) = account.filter(is_long).filter(|_| self == Self::Payments) else { return Ok((self, None)) };
        let count = ledger.count_postings(account, scan, cancel)?;
        Ok(if count > MAX_JUDGED { (Self::NoCoinJoins, Some(count)) } else { (self, None) })
    }

    /// Returns who paid whom in a transaction; `None` where it is a CoinJoin that makes no pairs.
    pub fn attribution(
        self,
        ledger: &dyn Ledger,
        transaction: &Transaction,
        cancel: &Cancel,
    ) -> Result<Option<Attribution>, Error> {
        if self == Self::All {
            return Ok(Some(Attribution::of_transaction(transaction)));
        }
        if coinjoin_of(ledger, transaction, cancel)?.is_some_and(|found| found.excludes()) {
            return Ok(None);
        }
        let change = match self {
            Self::Payments => change_output(ledger, transaction.clone(), cancel)?,
            Self::All | Self::NoCoinJoins => None,
        };
        Ok(Some(Attribution::without_output(transaction, change)))
    }
}

/// The UTXO transactions of a ranking that it did not pair in full.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UtxoPairCounts {
    /// Transactions that are `CoinJoins`, and so make no pairs.
    pub coinjoins: u64,
    /// Movements too many to look for change.
    pub unjudged: Option<u64>,
}

impl UtxoPairCounts {
    /// Warns of change that is listed.
    pub fn warn(&self, warnings: &mut Warnings) {
        if let Some(unjudged) = self.unjudged {
            let message = format!(
                "change is looked for in at most {MAX_JUDGED} transactions, and there are {unjudged}: outputs that are change are \
                 listed too; ask for a shorter time"
            );
            warnings.add("change_limit", Some("include_change"), message);
        }
    }
}
