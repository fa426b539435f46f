//! Which movements of an account an answer is about: assets, direction, time, amount ranges, and what is hidden by
//! default.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use headwater_ledger::market::AssetTerms;
use headwater_ledger::read::{Direction, Posting, Scan, Status};
use headwater_types::{Amount, AmountError, Asset, Chain, Family, TimeWindow};
use serde::{Deserialize, Deserializer, de};
use serde_json::json;

use crate::asset_book::AssetView;
use crate::fields::{ContractList, OptIn, SymbolList, SymbolText, TimeBound, schema};
use crate::limits::MAX_ITEMS;
use crate::request::{Checks, DirectionFilter, Sign, at_most, refused, symbol_text, symbol_texts};
use crate::valuation::verified;
use crate::{Error, Reason};

/// Most amount ranges of a request.
pub(crate) const MAX_CRITERIA: usize = 50;

/// An amount range for one symbol.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct FilterCriteria {
    /// Symbol it applies to, in any case.
    symbol: SymbolText,
    /// Smallest amount, in whole units, included.
    min_value: Option<Bound>,
    /// Largest amount, in whole units, included.
    max_value: Option<Bound>,
    /// The flow it applies to: `+` incoming, `-` outgoing, null both.
    sign: Option<Sign>,
}

/// A bound of an amount range: decimal text, so that no double stands between the client and the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound(String);

impl utoipa::PartialSchema for Bound {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        schema(&json!({
            "description": "An amount: a number, or decimal text, which is exact.",
            "oneOf": [
                {"title": "AmountNumber", "type": "number", "format": "double", "minimum": 0},
                {"title": "AmountText", "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?$"}
            ]
        }))
    }
}

impl utoipa::ToSchema for Bound {
    fn name() -> Cow<'static, str> {
        "DecimalAmount".into()
    }
}

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
                // The shortest text that reads back the same is what the client wrote; nothing may be written as -0.0.
                self.visit_str(&(number + 0.0).to_string())
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl Bound {
    /// As the client wrote it.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The nearest double; infinite past the largest.
    pub(crate) fn to_f64(&self) -> f64 {
        self.0.parse().expect("decimal digits are read as a double")
    }

    /// The bound in the smallest unit, rounded down, and whether something was rounded off; `None` past 256 bits.
    fn raw(&self, decimals: u8) -> Option<(Amount, bool)> {
        let (whole, fraction) = self.0.split_once('.').unwrap_or((&self.0, ""));
        let kept = fraction.len().min(usize::from(decimals));
        let rounded = fraction[kept..].bytes().any(|digit| digit != b'0');
        let text = if kept == 0 { whole.to_owned() } else { format!("{whole}.{}", &fraction[..kept]) };
        Amount::parse_decimal(&text, decimals).ok().map(|amount| (amount, rounded))
    }

    /// The smallest amount that is not below the bound; `None` where there is none.
    pub(crate) fn least(&self, decimals: u8) -> Option<Amount> {
        let (bound, rounded) = self.raw(decimals)?;
        if rounded { bound.checked_add(Amount::from(1_u64)) } else { Some(bound) }
    }

    /// The largest amount that is not above the bound.
    fn most(&self, decimals: u8) -> Amount {
        self.raw(decimals).map_or(Amount::MAX, |(bound, _)| bound)
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
    pub symbols: Option<SymbolList>,
    pub contracts: Option<ContractList>,
    pub direction: Option<DirectionFilter>,
    pub start_time: Option<TimeBound>,
    pub end_time: Option<TimeBound>,
    pub filter_criterias: Option<Vec<FilterCriteria>>,
    pub include_unverified: Option<OptIn>,
    pub include_zero_value: Option<OptIn>,
    pub include_failed: Option<OptIn>,
}

/// What edges can answer for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeScope {
    /// Everything that is shown by default.
    Default,
    /// One asset, whoever vouches for it.
    Asset(Asset),
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

impl From<&Posting> for Judged {
    fn from(posting: &Posting) -> Self {
        let Posting { direction, status, amount, .. } = *posting;
        Self { direction, status, amount }
    }
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
            include_unverified: OptIn::is_taken(fields.include_unverified),
            include_zero_value: OptIn::is_taken(fields.include_zero_value),
            include_failed: OptIn::is_taken(fields.include_failed),
        })
    }

    /// The movements of one asset, whoever vouches for it.
    pub fn of_asset(chain: Chain, asset: Asset, window: TimeWindow) -> Self {
        Self {
            chain,
            window,
            direction: DirectionFilter::All,
            assets: Selection::Contracts(BTreeSet::from([asset])),
            criteria: Vec::new(),
            include_unverified: false,
            include_zero_value: false,
            include_failed: false,
        }
    }

    /// The same in another window.
    pub fn within(&self, window: TimeWindow) -> Self {
        Self { window, ..self.clone() }
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

    /// Returns whether the native coin is in scope.
    pub fn has_native(&self) -> bool {
        match &self.assets {
            Selection::All => true,
            Selection::Symbols(assets) | Selection::Contracts(assets) => assets.contains(&Asset::Native),
        }
    }

    /// Returns whether an asset was asked for, whatever moved of it.
    pub fn has_asset(&self, asset: &AssetView) -> bool {
        match &self.assets {
            Selection::All => asset.verified || self.include_unverified,
            Selection::Symbols(assets) | Selection::Contracts(assets) => assets.contains(&asset.asset),
        }
    }

    /// Returns whether an asset would be in scope if a registry vouched for it.
    pub fn hides_asset(&self, asset: &AssetView) -> bool {
        matches!(self.assets, Selection::All) && !self.has_asset(asset)
    }

    /// How movements of an asset are judged.
    pub fn rule(&self, asset: &AssetView) -> Rule {
        self.rule_of(&asset.asset, &asset.terms)
    }

    /// How movements of an asset of these terms are judged.
    pub fn rule_of(&self, asset: &Asset, terms: &AssetTerms) -> Rule {
        let at_best = match &self.assets {
            Selection::All if terms.verified || self.include_unverified => Verdict::Shown,
            Selection::All => Verdict::Unverified,
            Selection::Symbols(assets) | Selection::Contracts(assets) if assets.contains(asset) => Verdict::Shown,
            Selection::Symbols(_) | Selection::Contracts(_) => Verdict::Outside,
        };
        Rule {
            at_best,
            direction: self.direction,
            ranges: self.ranges(terms),
            include_failed: self.include_failed,
            include_zero_value: self.include_zero_value,
        }
    }

    /// Returns whether an amount is hidden because it is nothing.
    pub fn hides(&self, amount: Amount) -> bool {
        amount.is_zero() && !self.include_zero_value
    }

    /// The amount ranges of an asset, one of which a movement must meet; `None` where its symbol is not listed and so
    /// free. A namesake that is neither verified nor named by contract is not meant by a symbol.
    fn ranges(&self, terms: &AssetTerms) -> Option<Vec<AmountRange>> {
        if !terms.verified && !matches!(self.assets, Selection::Contracts(_)) {
            return None;
        }
        let symbol = terms.symbol.as_ref()?;
        let of_symbol = self.criteria.iter().filter(|criterion| criterion.symbol.to_lowercase() == *symbol);
        let ranges: Vec<_> = of_symbol.map(|criterion| criterion.range(terms.decimals)).collect();
        (!ranges.is_empty()).then_some(ranges)
    }
}

/// How movements of one asset are judged: what a scope says of them all.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    /// What becomes of a movement that nothing else is said of.
    at_best: Verdict,
    direction: DirectionFilter,
    ranges: Option<Vec<AmountRange>>,
    include_failed: bool,
    include_zero_value: bool,
}

impl Rule {
    /// Judges a movement. One that is hidden for several reasons goes under the first of failed, unverified, zero value.
    pub fn judge(&self, movement: &Judged) -> Verdict {
        let direction_fits = match self.direction {
            DirectionFilter::All => true,
            DirectionFilter::In => movement.direction == Direction::In,
            DirectionFilter::Out => movement.direction == Direction::Out,
        };
        let in_range = || match &self.ranges {
            None => true,
            Some(ranges) => ranges.iter().any(|range| range.holds(movement)),
        };
        if self.at_best == Verdict::Outside || !direction_fits || !in_range() {
            Verdict::Outside
        } else if movement.status == Some(Status::Failed) && !self.include_failed {
            Verdict::Failed
        } else if self.at_best == Verdict::Shown && movement.amount.is_zero() && !self.include_zero_value {
            Verdict::ZeroValue
        } else {
            self.at_best
        }
    }
}

/// One criterion in the smallest unit of one asset.
#[derive(Debug, Clone)]
struct AmountRange {
    sign: Option<Sign>,
    /// Smallest and largest amount, included; `None` where no amount is in it.
    amounts: Option<(Amount, Amount)>,
}

impl AmountRange {
    fn holds(&self, movement: &Judged) -> bool {
        let sign_fits = match self.sign {
            None => true,
            Some(Sign::Positive) => movement.direction == Direction::In,
            Some(Sign::Negative) => movement.direction == Direction::Out,
        };
        sign_fits && self.amounts.is_some_and(|(least, most)| least <= movement.amount && movement.amount <= most)
    }
}

impl FilterCriteria {
    /// Of an asset without known decimals only an unbounded range holds anything.
    fn range(&self, decimals: Option<u8>) -> AmountRange {
        let amounts = match (&self.min_value, &self.max_value, decimals) {
            (None, None, _) => Some((Amount::ZERO, Amount::MAX)),
            (_, _, None) => None,
            (min, max, Some(decimals)) => {
                let least = min.as_ref().map_or(Some(Amount::ZERO), |bound| bound.least(decimals));
                let most = max.as_ref().map_or(Amount::MAX, |bound| bound.most(decimals));
                least.map(|least| (least, most))
            }
        };
        AmountRange { sign: self.sign, amounts }
    }
}

fn check_criterion(
    checks: &Checks<'_>,
    chain: Chain,
    assets: &Selection,
    index: usize,
    criterion: &FilterCriteria,
) -> Result<(), Error> {
    symbol_text(&format!("filter_criterias[{index}].symbol"), &criterion.symbol)?;
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
    let symbols = symbols.unwrap_or_default();
    // Also where contracts stand before them: what cannot be meant is told rather than passed over.
    symbol_texts("symbols", symbols)?;
    if let Some(contracts) = contracts.filter(|contracts| !contracts.is_empty()) {
        return named_contracts(checks, chain, contracts)
            .map(|named| Selection::Contracts(named.into_iter().map(|(_, asset)| asset).collect()));
    }
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
            Some(text) => checks.asset(chain, &format!("contracts[{index}]"), text)?,
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
        assert_eq!((bound("0.1").least(2), bound("0.1").most(2)), (Some(amount(10)), amount(10)));
        assert_eq!(bound("0.101").least(2), Some(amount(11)), "0.10 is below 0.101");
        assert_eq!(bound("0.101").most(2), amount(10));
        assert_eq!(bound("1e80").least(0), None, "past 256 bits no amount is large enough");
        assert_eq!(bound("1e80").most(0), Amount::MAX);
        let last = format!("{}.5", Amount::MAX);
        assert_eq!((bound(&last).least(0), bound(&last).most(0)), (None, Amount::MAX));
        assert!(bound("\"12.5\"").exceeds(&bound("9.75")) && !bound("9").exceeds(&bound("9.0")));
        assert!(serde_json::from_str::<Bound>("-1").is_err() && serde_json::from_str::<Bound>("\"x\"").is_err());
    }
}
