//! Thresholds of subscriptions: an amount of an asset, and which way a balance must pass it.

use headwater_types::{Address, Amount, Asset, Chain};
use serde::Deserialize;
use serde_json::{Value, json};

use super::selector::{contract, symbol};
use crate::asset_book::AssetView;
use crate::fields::{ContractText, SymbolText};
use crate::request::{Checks, Crossing, refused};
use crate::scope::Bound;
use crate::{Error, Reason};

/// The amount that a balance must pass: of a symbol or of a contract, not of both.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
pub struct BalanceThreshold {
    /// Every verified token of this symbol.
    symbol: Option<SymbolText>,
    /// This token, or `native` for the coin of the chain.
    contract: Option<ContractText>,
    /// The amount, in whole units.
    amount: Bound,
    /// Which way.
    crossing: Option<Crossing>,
}

impl BalanceThreshold {
    /// Pairs of fields of which one has to be given.
    pub const EITHER: &[[&str; 2]] = &[["symbol", "contract"]];
}

/// An amount of an asset, and which way a balance must pass it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Threshold {
    asset: ThresholdAsset,
    pub amount: Bound,
    crossing: Crossing,
}

/// The asset of a threshold.
#[derive(Debug, Clone, PartialEq)]
enum ThresholdAsset {
    /// Every verified asset of this symbol, lowercase.
    Symbol(String),
    /// This one, whoever vouches for it.
    Asset(Asset),
}

impl Threshold {
    /// Checks the fields of a request.
    pub fn new(
        checks: &mut Checks<'_>,
        chain: Option<Chain>,
        fields: BalanceThreshold,
        must_be_known: bool,
    ) -> Result<Self, Error> {
        let asset = match (&fields.symbol, &fields.contract) {
            (Some(text), None) => {
                ThresholdAsset::Symbol(symbol(checks, chain, ("filters.threshold.symbol", text), must_be_known)?)
            }
            (None, Some(text)) => {
                ThresholdAsset::Asset(contract(checks, chain, "filters.threshold.contract", Some(text))?)
            }
            (None, None) => {
                let why = "filters.threshold.symbol is required, or filters.threshold.contract";
                return Err(Error::invalid(Reason::MissingField, "filters.threshold.symbol", why));
            }
            (Some(_), Some(text)) => {
                let why = "a threshold is of a symbol or of a contract: leave one of them out";
                return Err(refused(Reason::InvalidValue, "filters.threshold.contract", text, &why));
            }
        };
        Ok(Self { asset, amount: fields.amount, crossing: fields.crossing.unwrap_or(Crossing::Both) })
    }

    /// Returns the fields, defaults included.
    pub fn to_json(&self) -> Value {
        let mut text = json!({ "amount": self.amount.text(), "crossing": self.crossing.name() });
        match &self.asset {
            ThresholdAsset::Symbol(symbol) => text["symbol"] = json!(symbol),
            ThresholdAsset::Asset(asset) => {
                text["contract"] = json!(asset.contract().map_or_else(|| "native".to_owned(), Address::to_string));
            }
        }
        text
    }

    pub fn is_of(&self, view: &AssetView) -> bool {
        match &self.asset {
            ThresholdAsset::Symbol(symbol) => view.verified && view.symbol.as_ref() == Some(symbol),
            ThresholdAsset::Asset(asset) => view.asset == *asset,
        }
    }

    /// Returns the direction in which a balance passes the amount, if the threshold includes it.
    pub fn crossed(&self, least: Amount, before: Amount, after: Amount) -> Option<&'static str> {
        match (before >= least, after >= least) {
            (false, true) if self.crossing != Crossing::Below => Some("above"),
            (true, false) if self.crossing != Crossing::Above => Some("below"),
            _ => None,
        }
    }
}
