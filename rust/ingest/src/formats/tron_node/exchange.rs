//! TRX that moves into and out of TRON's built-in exchange and market, which have no address.

use headwater_ledger::facts::{Movement, MovementFact};
use headwater_ledger::read::Ordinal;
use headwater_types::{Address, Amount, Asset};

use super::Tally;
use crate::error::FieldError;
use crate::source::Object;

/// The names of TRX among tokens: as text, and in hex.
const TRX: [&str; 2] = ["_", "5f"];

/// The direction of TRX.
enum Way {
    In,
    Out,
}

/// Returns the TRX that a contract of the exchange moved: a movement with one party. Where the contract names TRX it states the
/// amount; where it names a token, TRX may have gone the other way, and neither the contract nor the info of the
/// transaction states the token of the other amount. An order of the market is filled, and its rest given back, by later
/// transactions that do not name its owner. Such transactions are counted by kind.
pub(super) fn movement(
    kind: &str,
    value: &Object<'_>,
    owner: Address,
    tally: &mut Tally,
) -> Result<Option<Movement>, FieldError> {
    let is_trx = |name: &str| value.text(name).is_some_and(|token| TRX.contains(&token));
    let side = |way, token: &str, amount: &'static str| is_trx(token).then_some((way, amount));
    let flow = match kind {
        "ExchangeCreateContract" => {
            let second = side(Way::Out, "second_token_id", "second_token_balance");
            // Both sides are named: without TRX none moved.
            match side(Way::Out, "first_token_id", "first_token_balance").or(second) {
                Some(flow) => flow,
                None => return Ok(None),
            }
        }
        "ExchangeInjectContract" | "ExchangeTransactionContract" if is_trx("token_id") => (Way::Out, "quant"),
        "ExchangeWithdrawContract" if is_trx("token_id") => (Way::In, "quant"),
        "MarketSellAssetContract" if !is_trx("sell_token_id") && !is_trx("buy_token_id") => return Ok(None),
        kind if kind.starts_with("Exchange") || kind.starts_with("Market") => {
            tally.uncount(kind);
            return Ok(None);
        }
        _ => return Ok(None),
    };
    let (way, column) = flow;
    let amount = value.quantity(column)?.unwrap_or(Amount::ZERO);
    let (from, to) = match way {
        Way::In => (None, Some(owner)),
        Way::Out => (Some(owner), None),
    };
    let movement =
        Movement { kind: MovementFact::Internal, ordinal: Ordinal::Indexed(0), from, to, asset: Asset::Native, amount };
    Ok(Some(movement).filter(|movement| !movement.amount.is_zero()))
}
