//! Which movements of an account an answer is about: assets, direction, time, amount ranges, and what is hidden by
//! default.

use std::collections::BTreeSet;
use std::fmt;

use headwater_ledger::read::{Direction, Posting, Scan, Status};
use headwater_types::{Amount, AmountError, Asset, Chain, Family, TimeWindow};
use serde::{Deserialize, Deserializer, de};

use crate::asset_book::AssetView;
use crate::edge_groups::EdgeScope;
use crate::request::{Checks, DirectionFilter, MAX_ITEMS, Sign, at_most, refused};
use crate::valuation::verified;
use crate::{Error, Reason};

const MAX_CRITERIA: usize = 50;

/// An amount range for one symbol.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct FilterCriteria {
    /// Symbol it applies to, in any case.
    symbol: String,
    /// Smallest amount, in whole units, included.
    #[schema(value_type = Option<f64>)]
    min_value: Option<Bound>,
    /// Largest amount, in whole units, included.
    #[schema(value_type = Option<f64>)]
    max_value: Option<Bound>,
    /// The flow it applies to: `+` incoming, `-` outgoing, null both.
    sign: Option<Sign>,
}

/// A bound of an amount range: decimal text, so that no double stands between the client and the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound(String);

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl de::Visitor<'_> for Reader {
            type Value = Bound;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number that is not negative")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Bound, E> {
                match Amount::parse_decimal(text, u8::MAX) {
                    Ok(_) | Err(AmountError::TooLarge(_) | AmountError::TooPrecise { .. }) => {
                        Ok(Bound(text.to_owned()))
                    }
                    Err(AmountError::NotANumber(_)) => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Bound, E> {
                Ok(Bound(number.to_string()))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Bound, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Bound, E> {
                // The shortest text that reads back the same is what the client wrote.
                self.visit_str(&number.to_string())
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl Bound {
    /// The bound in the smallest unit, rounded down, and whether something was rounded off; `None` past 256 bits.
    fn raw(&self, decimals: u8) -> Option<(Amount, bool)> {
        let (whole, fraction) = self.0.split_once('.').unwrap_or((&self.0, ""));
        let kept = fraction.len().min(usize::from(decimals));
        let rounded = fraction[kept..].bytes().any(|digit| digit != b'0');
        let text = if kept == 0 { whole.to_owned() } else { format!("{whole}.{}", &fraction[..kept]) };
        Amount::parse_decimal(&text, decimals).ok().map(|amount| (amount, rounded))
    }

    fn at_most(&self, amount: Amount, decimals: u8) -> bool {
        self.raw(decimals).is_some_and(|(bound, rounded)| if rounded { bound < amount } else { bound <= amount })
    }

    fn at_least(&self, amount: Amount, decimals: u8) -> bool {
        self.raw(decimals).is_none_or(|(bound, _)| bound >= amount)
    }

    fn exceeds(&self, other: &Self) -> bool {
        let parts = |bound: &Self| {
            let (whole, fraction) = bound.0.split_once('.').unwrap_or((&bound.0, ""));
            let whole = whole.trim_start_matches('0').to_owned();
            (whole.len(), whole, fraction.trim_end_matches('0').to_owned())
        };
        parts(self) > parts(other)
    }
}

/// What requests say about scope, before it is checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScopeFields {
    pub symbols: Option<Vec<String>>,
    pub contracts: Option<Vec<Option<String>>>,
    pub direction: Option<DirectionFilter>,
    pub start_time: Option<i64>,
    pub end_time: Option<i64>,
    pub filter_criterias: Option<Vec<FilterCriteria>>,
    pub include_unverified: Option<bool>,
    pub include_zero_value: Option<bool>,
    pub include_failed: Option<bool>,
}

/// Which movements count.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub chain: Chain,
    pub window: TimeWindow,
    direction: DirectionFilter,
    assets: Selection,
    criteria: Vec<FilterCriteria>,
    include_unverified: bool,
    include_zero_value: bool,
    include_failed: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Selection {
    All,
    Symbols(BTreeSet<Asset>),
    Contracts(BTreeSet<Asset>),
}

/// What becomes of a movement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It counts.
    Shown,
    /// Hidden: the transaction failed.
    Failed,
    /// Hidden: no registry vouches for the token.
    Unverified,
    /// Hidden: nothing moved.
    ZeroValue,
    /// Not asked for.
    Outside,
}

/// What of a movement a verdict depends on, besides its asset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judged {
    pub direction: Direction,
    pub status: Option<Status>,
    pub amount: Amount,
}

impl Scope {
    /// Checks what a request says.
    pub fn new(checks: &mut Checks<'_>, chain: Chain, fields: ScopeFields) -> Result<Self, Error> {
        let assets = selection(checks, chain, fields.symbols.as_deref(), fields.contracts.as_deref())?;
        let criteria = fields.filter_criterias.unwrap_or_default();
        at_most("filter_criterias", &criteria, MAX_CRITERIA)?;
        for (index, criterion) in criteria.iter().enumerate() {
            check_criterion(checks, chain, &assets, index, criterion)?;
        }
        Ok(Self {
            chain,
            window: checks.window(fields.start_time, fields.end_time)?,
            direction: fields.direction.unwrap_or(DirectionFilter::All),
            assets,
            criteria,
            include_unverified: fields.include_unverified.unwrap_or(false),
            include_zero_value: fields.include_zero_value.unwrap_or(false),
            include_failed: fields.include_failed.unwrap_or(false),
        })
    }

    /// The postings to look through.
    pub fn scan(&self) -> Scan {
        let assets = match &self.assets {
            Selection::All => None,
            Selection::Symbols(assets) | Selection::Contracts(assets) => Some(assets.iter().copied().collect()),
        };
        Scan { window: self.window, assets, ..Scan::default() }
    }

    /// The one asset that can be in scope; `None` when there may be several.
    pub fn only_asset(&self) -> Option<Asset> {
        match &self.assets {
            Selection::All => (self.chain.family() == Family::Utxo).then_some(Asset::Native),
            Selection::Symbols(assets) | Selection::Contracts(assets) => {
                assets.first().copied().filter(|_| assets.len() == 1)
            }
        }
    }

    /// What edges would have to answer for; `None` where only the movements can tell: edges know no times, no directions
    /// by themselves and nothing that is hidden by default.
    pub fn of_edges(&self) -> Option<EdgeScope> {
        let is_plain = self.window == TimeWindow::default()
            && self.direction == DirectionFilter::All
            && self.criteria.is_empty()
            && !self.include_zero_value
            && !self.include_failed
            && self.chain.family() != Family::Utxo;
        match (&self.assets, self.only_asset()) {
            (Selection::All, _) if is_plain && !self.include_unverified => Some(EdgeScope::Default),
            (Selection::Symbols(_) | Selection::Contracts(_), Some(asset)) if is_plain => Some(EdgeScope::Asset(asset)),
            _ => None,
        }
    }

    /// Whether an asset was asked for, whatever moved of it.
    pub fn has_asset(&self, asset: &AssetView) -> bool {
        match &self.assets {
            Selection::All => asset.verified || self.include_unverified,
            Selection::Symbols(assets) | Selection::Contracts(assets) => assets.contains(&asset.asset),
        }
    }

    /// Judges a movement of an asset. One that is hidden for several reasons goes under the first of failed,
    /// unverified, zero value.
    pub fn judge(&self, posting: &Posting, asset: &AssetView) -> Verdict {
        let Posting { direction, status, amount, .. } = *posting;
        self.judge_movement(&Judged { direction, status, amount }, asset)
    }

    /// The same of what of a movement is looked at.
    pub fn judge_movement(&self, movement: &Judged, asset: &AssetView) -> Verdict {
        let named = match &self.assets {
            Selection::All => false,
            Selection::Symbols(assets) | Selection::Contracts(assets) => {
                if !assets.contains(&asset.asset) {
                    return Verdict::Outside;
                }
                true
            }
        };
        let direction_fits = match self.direction {
            DirectionFilter::All => true,
            DirectionFilter::In => movement.direction == Direction::In,
            DirectionFilter::Out => movement.direction == Direction::Out,
        };
        if !direction_fits || !self.criteria_met(movement, asset) {
            Verdict::Outside
        } else if movement.status == Some(Status::Failed) && !self.include_failed {
            Verdict::Failed
        } else if !asset.verified && !named && !self.include_unverified {
            Verdict::Unverified
        } else if self.hides(movement.amount) {
            Verdict::ZeroValue
        } else {
            Verdict::Shown
        }
    }

    /// Whether an amount is hidden because it is nothing.
    pub fn hides(&self, amount: Amount) -> bool {
        amount.is_zero() && !self.include_zero_value
    }

    /// A listed symbol must meet one of its criteria; symbols that are not listed are free. A namesake that is neither
    /// verified nor named by contract is not meant by a symbol.
    fn criteria_met(&self, movement: &Judged, asset: &AssetView) -> bool {
        if !asset.verified && !matches!(self.assets, Selection::Contracts(_)) {
            return true;
        }
        let Some(symbol) = &asset.symbol else { return true };
        let mut of_symbol =
            self.criteria.iter().filter(|criterion| criterion.symbol.to_lowercase() == *symbol).peekable();
        of_symbol.peek().is_none() || of_symbol.any(|criterion| criterion.met(movement, asset.decimals))
    }
}

impl FilterCriteria {
    fn met(&self, movement: &Judged, decimals: Option<u8>) -> bool {
        let sign_fits = match self.sign {
            None => true,
            Some(Sign::Positive) => movement.direction == Direction::In,
            Some(Sign::Negative) => movement.direction == Direction::Out,
        };
        let in_range = |decimals| {
            self.min_value.as_ref().is_none_or(|bound| bound.at_most(movement.amount, decimals))
                && self.max_value.as_ref().is_none_or(|bound| bound.at_least(movement.amount, decimals))
        };
        let unbounded = self.min_value.is_none() && self.max_value.is_none();
        sign_fits && decimals.map_or(unbounded, in_range)
    }
}

fn check_criterion(
    checks: &Checks<'_>,
    chain: Chain,
    assets: &Selection,
    index: usize,
    criterion: &FilterCriteria,
) -> Result<(), Error> {
    let named_by_contract = matches!(assets, Selection::Contracts(_));
    if !named_by_contract && verified(checks.ledger, chain, &criterion.symbol).is_empty() {
        return Err(unknown_symbol(chain, &format!("filter_criterias[{index}].symbol"), &criterion.symbol));
    }
    if let (Some(min), Some(max)) = (&criterion.min_value, &criterion.max_value)
        && min.exceeds(max)
    {
        let field = format!("filter_criterias[{index}].min_value");
        let why = format!("min_value {} is above max_value {}", min.0, max.0);
        return Err(refused(Reason::InvalidValue, &field, &min.0, &why));
    }
    Ok(())
}

fn selection(
    checks: &mut Checks<'_>,
    chain: Chain,
    symbols: Option<&[String]>,
    contracts: Option<&[Option<String>]>,
) -> Result<Selection, Error> {
    if let Some(contracts) = contracts.filter(|contracts| !contracts.is_empty()) {
        return named_contracts(checks, chain, contracts)
            .map(|named| Selection::Contracts(named.into_iter().map(|(_, asset)| asset).collect()));
    }
    let symbols = symbols.unwrap_or_default();
    at_most("symbols", symbols, MAX_ITEMS)?;
    if symbols.is_empty() || symbols.iter().any(|symbol| symbol.eq_ignore_ascii_case("all")) {
        return Ok(Selection::All);
    }
    let mut assets = BTreeSet::new();
    for (index, symbol) in symbols.iter().enumerate() {
        let entries = verified(checks.ledger, chain, symbol);
        if entries.is_empty() {
            return Err(unknown_symbol(chain, &format!("symbols[{index}]"), symbol));
        }
        assets.extend(entries.iter().map(|entry| entry.asset));
    }
    Ok(Selection::Symbols(assets))
}

/// The assets that `contracts` names, each with the text that named it.
pub(crate) fn named_contracts(
    checks: &mut Checks<'_>,
    chain: Chain,
    contracts: &[Option<String>],
) -> Result<Vec<(Option<String>, Asset)>, Error> {
    at_most("contracts", contracts, MAX_ITEMS)?;
    let mut named = Vec::with_capacity(contracts.len());
    for (index, contract) in contracts.iter().enumerate() {
        let asset = match contract.as_deref() {
            None => Asset::Native,
            Some(text) if text.eq_ignore_ascii_case("native") => Asset::Native,
            Some(text) => Asset::Token(checks.contract(chain, &format!("contracts[{index}]"), text)?),
        };
        named.push((contract.clone(), asset));
    }
    Ok(named)
}

fn unknown_symbol(chain: Chain, field: &str, symbol: &str) -> Error {
    let why = format!("no verified token of {chain} has the symbol {symbol:?}: name the token in `contracts`");
    refused(Reason::UnknownSymbol, field, symbol, &why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_exact_and_included() {
        let bound = |text: &str| serde_json::from_str::<Bound>(text).unwrap();
        let amount = |raw: u64| Amount::from(raw);
        assert!(bound("0.1").at_most(amount(10), 2) && bound("0.1").at_least(amount(10), 2));
        assert!(!bound("0.101").at_most(amount(10), 2), "0.10 is below 0.101");
        assert!(bound("0.101").at_least(amount(10), 2));
        assert!(!bound("0.101").at_least(amount(11), 2));
        assert!(!bound("1e80").at_most(Amount::MAX, 0), "past 256 bits no amount is large enough");
        assert!(bound("1e80").at_least(Amount::MAX, 0));
        assert!(bound("\"12.5\"").exceeds(&bound("9.75")) && !bound("9").exceeds(&bound("9.0")));
        assert!(serde_json::from_str::<Bound>("-1").is_err() && serde_json::from_str::<Bound>("\"x\"").is_err());
    }
}
