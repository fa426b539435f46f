//! Sums that pass 256 bits: only tokens that forge their amounts come there. Such a sum is null and said to be, and what
//! else is asked for is answered.

use headwater_ledger::read::{Account, Direction, Holding, Scan, Status};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::Amount;

use crate::Error;
use crate::asset_book::AssetView;
use crate::movement_reader::CANCEL_EVERY;
use crate::request::Warnings;

/// The code of warnings about such sums.
pub(crate) const CODE: &str = "amount_overflow";

/// Says that sums of an asset are null.
pub(crate) fn warn(asset: &AssetView, field: &str, warnings: &mut Warnings) {
    let name = asset.contract.as_deref().unwrap_or("native");
    let message = format!("amounts of {name} add up to more than 256 bits hold: sums that do are null");
    warnings.add(CODE, Some(field), message);
}

/// Whether what came in or went out of an account passed 256 bits. The ledger's sums stay at the largest amount then,
/// where those of an honest token may stand too: these few are added up again.
pub(crate) fn passed(
    ledger: &dyn Ledger,
    account: &Account,
    holding: &Holding,
    cancel: &Cancel,
) -> Result<bool, Error> {
    if holding.balance.received() != Amount::MAX && holding.balance.sent() != Amount::MAX {
        return Ok(false);
    }
    let begins = ledger.opening(account.chain, &holding.asset).map(|opening| opening.block);
    let scan = Scan { assets: Some(vec![holding.asset]), ..Scan::default() };
    let (mut received, mut sent) = (holding.opening, Amount::ZERO);
    for (count, posting) in ledger.postings(account, &scan)?.enumerate() {
        if count % CANCEL_EVERY == 0 {
            cancel.check().map_err(LedgerError::from)?;
        }
        let posting = posting?;
        if posting.status == Some(Status::Failed)
            || posting.approximate
            || begins.is_some_and(|begins| posting.block <= begins)
        {
            continue;
        }
        let sum = match posting.direction {
            Direction::In => &mut received,
            Direction::Out => &mut sent,
            Direction::Own => continue,
        };
        let Some(more) = sum.checked_add(posting.amount) else { return Ok(true) };
        *sum = more;
    }
    Ok(false)
}
