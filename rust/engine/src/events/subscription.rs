//! Subscriptions: an event type with its filters.

use headwater_ledger::Ledger;
use headwater_ledger::labels::Code;
use headwater_ledger::read::Direction;
use headwater_types::{Address, Asset, Chain};
use rustc_hash::FxHashSet;
use serde::Deserialize;
use serde_json::{Value, json};

use super::EventType;
use super::kind::Filter;
use super::rows::Row;
use super::selector::{AddressRole, address, contract, symbol};
use super::threshold::{BalanceThreshold, Threshold};
use crate::fields::{AddressText, ChainText, ContractList, SymbolList, form};
use crate::limits::MAX_ITEMS;
use crate::request::ListSize;
use crate::request::{Checks, DirectionFilter, Warnings, at_most, decode, refused, symbol_texts};
use crate::scope::Bound;
use crate::{Error, Method, Reason, Warning};

/// The maximum number of addresses of a subscription.
const MAX_ADDRESSES: usize = 10_000;

/// The maximum number of confirmations: far more than any fork removes.
const MAX_CONFIRMATIONS: u64 = 1_000;

form! {
    /// Addresses of a subscription.
    WatchedAddresses(Vec<String> => [String], Default): json!({
        "type": "array", "maxItems": MAX_ADDRESSES, "items": AddressText::json()
    });
    /// Labels of a subscription.
    LabelList(Vec<String> => [String], Default): json!({"type": "array", "maxItems": MAX_ITEMS, "items": {"type": "string"}});
    /// Blocks to wait for.
    Confirmations(u64 => u64, Copy): json!({
        "type": "integer", "format": "int64", "minimum": 0, "maximum": MAX_CONFIRMATIONS, "default": 1
    });
}

/// Which events a subscription tells of.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
pub struct EventFilters {
    /// Only of this chain.
    blockchain: Option<ChainText>,
    /// Only of these addresses. Everything but `large_transfer` fires for nothing until some are set; a stream takes at
    /// most 1,000.
    addresses: Option<WatchedAddresses>,
    /// Only of these symbols; omitted, empty or with `all`: every symbol. A symbol matches verified tokens only.
    symbols: Option<SymbolList>,
    /// Only of these contracts, null or `native` for the native coin; stands before `symbols`.
    contracts: Option<ContractList>,
    /// As seen from the addresses.
    direction: Option<DirectionFilter>,
    /// Only movements of at least this value; of `large_transfer` 100,000 where nothing is said.
    min_amount_usd: Option<Bound>,
    /// Only movements in which somebody takes part who has one of these labels; of `label_change` only changes of one of
    /// them.
    labels: Option<LabelList>,
    /// Blocks that count as one confirmation each, the first one its own; 0 and 1 tell at once.
    min_confirmations: Option<Confirmations>,
    /// Of `balance_threshold`, which needs it.
    threshold: Option<BalanceThreshold>,
}

/// The filters under their name, so that errors contain `filters.addresses[3]`.
#[derive(Debug, Deserialize)]
struct Request {
    filters: Option<EventFilters>,
}

/// An event type with its checked filters.
#[derive(Debug, Clone)]
pub struct Subscription {
    event_type: EventType,
    pub(super) chain: Option<Chain>,
    pub(super) addresses: FxHashSet<Address>,
    assets: Assets,
    direction: DirectionFilter,
    /// The minimum value of a movement, in US dollars.
    pub(super) min_amount_usd: Option<f64>,
    pub(super) labels: Vec<String>,
    /// The confirmations before an event; 1 makes it at once.
    pub(super) min_confirmations: u64,
    pub(super) threshold: Option<Threshold>,
}

/// The assets of the filters.
#[derive(Debug, Clone, PartialEq)]
enum Assets {
    /// Verified ones.
    Verified,
    /// Verified ones with one of these symbols, lowercase.
    Symbols(Vec<String>),
    /// These, verified or not.
    Contracts(Vec<Asset>),
}

/// The check of symbols against the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SymbolCheck {
    Required,
    Skipped,
}

impl Subscription {
    /// Checks the subscription of a client. Without filters (null) the defaults apply: for large transfers, verified assets
    /// of all chains from 100,000 US dollars.
    ///
    /// # Errors
    /// Invalid input, with its field (`filters.addresses[3]`): an unknown event type, chain or symbol; an invalid address;
    /// a list that is too long (10,000 addresses, 100 symbols or contracts); a missing threshold.
    pub fn parse(event_type: &str, filters: &Value, ledger: &dyn Ledger) -> Result<(Self, Vec<Warning>), Error> {
        Self::checked(EventType::parse(event_type)?, filters, ledger, SymbolCheck::Required)
    }

    /// Reads a stored subscription, the output of [`Subscription::to_json`]. Symbols that the registry has lost since are
    /// accepted.
    ///
    /// # Errors
    /// When it is not such an output.
    pub fn restore(event_type: &str, filters: &Value, ledger: &dyn Ledger) -> Result<Self, Error> {
        let (subscription, _) = Self::checked(EventType::parse(event_type)?, filters, ledger, SymbolCheck::Skipped)?;
        Ok(subscription)
    }

    fn checked(
        event_type: EventType,
        filters: &Value,
        ledger: &dyn Ledger,
        symbols: SymbolCheck,
    ) -> Result<(Self, Vec<Warning>), Error> {
        let mut warnings = Warnings::default();
        let request: Request = decode(&json!({ "filters": filters }), Method::Post, &mut warnings)?;
        let fields = request.filters.unwrap_or_default();
        let (list_size, intelligence) = (ListSize::Pages, &crate::Intelligence::default());
        let mut checks =
            Checks { ledger, warnings: &mut warnings, filter_hash: 0, max_rows: 0, list_size, intelligence };
        let subscription = Self::of_fields(event_type, fields, &mut checks, symbols)?;
        subscription.warn(&mut warnings);
        Ok((subscription, warnings.into_list()))
    }

    fn of_fields(
        event_type: EventType,
        fields: EventFilters,
        checks: &mut Checks<'_>,
        symbols: SymbolCheck,
    ) -> Result<Self, Error> {
        let chain = fields.blockchain.map(|name| checks.chain("filters.blockchain", &name)).transpose()?;
        let texts = fields.addresses.unwrap_or_default();
        at_most("filters.addresses", &texts, MAX_ADDRESSES)?;
        let mut addresses = FxHashSet::default();
        for (index, text) in texts.iter().enumerate() {
            addresses.insert(address(
                checks,
                chain,
                (&format!("filters.addresses[{index}]"), text),
                AddressRole::Address,
            )?);
        }
        let min_amount_usd = fields.min_amount_usd.as_ref().map(Bound::to_f64);
        if min_amount_usd.is_some_and(f64::is_infinite) {
            let text = fields.min_amount_usd.as_ref().map(Bound::text).unwrap_or_default();
            let why = "expected US dollars, here are more than a double holds";
            return Err(refused(Reason::InvalidValue, "filters.min_amount_usd", text, &why));
        }
        let min_confirmations = fields.min_confirmations.map_or(1, u64::from).max(1);
        if min_confirmations > MAX_CONFIRMATIONS {
            let why = format!("at most {MAX_CONFIRMATIONS} confirmations can be waited for");
            let field = "filters.min_confirmations";
            return Err(refused(Reason::InvalidValue, field, &min_confirmations.to_string(), &why));
        }
        let labels = fields.labels.unwrap_or_default();
        at_most("filters.labels", &labels, MAX_ITEMS)?;
        let threshold = match fields.threshold {
            None if event_type.0.needs_threshold => {
                let why = "filters.threshold is required: {\"symbol\" or \"contract\", \"amount\", \"crossing\"}";
                return Err(Error::invalid(Reason::MissingField, "filters.threshold", why));
            }
            fields => fields.map(|fields| Threshold::new(checks, chain, fields, symbols == SymbolCheck::Required)),
        };
        Ok(Self {
            event_type,
            chain,
            addresses,
            assets: assets(checks, chain, fields.symbols, fields.contracts, symbols)?,
            direction: fields.direction.unwrap_or(DirectionFilter::All),
            min_amount_usd: min_amount_usd.or(event_type.0.default_min_usd),
            labels: labels.into(),
            min_confirmations,
            threshold: threshold.transpose()?,
        })
    }

    /// Warns of unknown labels, missing addresses and filters without effect.
    fn warn(&self, warnings: &mut Warnings) {
        let event = self.event_type;
        for (index, label) in self.labels.iter().enumerate().filter(|(_, label)| Code::from_name(label).is_none()) {
            let message = format!("filters.labels[{index}]: {label:?} is not a code that labels have");
            warnings.add("unknown_label", Some("filters.labels"), message);
        }
        if !self.can_fire() {
            let message = format!("{event} fires for nothing until addresses are set");
            warnings.add("no_addresses", Some("filters.addresses"), message);
        }
        for (filter, field) in Filter::ALL {
            let has_effect = match filter {
                Filter::Direction if self.addresses.is_empty() => false,
                filter => !event.0.ignored.contains(&filter),
            };
            if self.has(filter) && !has_effect {
                warnings.add("no_effect", Some(field), format!("{field} has no effect on {event} as it stands"));
            }
        }
    }

    /// Returns whether a filter differs from its default.
    fn has(&self, filter: Filter) -> bool {
        match filter {
            Filter::Threshold => self.threshold.is_some(),
            Filter::Symbols => matches!(self.assets, Assets::Symbols(_)),
            Filter::Contracts => matches!(self.assets, Assets::Contracts(_)),
            Filter::Direction => self.direction != DirectionFilter::All,
            Filter::MinAmountUsd => self.min_amount_usd.is_some(),
            Filter::Labels => !self.labels.is_empty(),
            Filter::MinConfirmations => self.min_confirmations > 1,
        }
    }

    /// Returns the event type.
    #[must_use]
    pub const fn event_type(&self) -> EventType {
        self.event_type
    }

    /// Returns the number of its addresses.
    #[must_use]
    pub fn address_count(&self) -> usize {
        self.addresses.len()
    }

    /// Returns its filters, defaults included: for views and for the state.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut addresses: Vec<String> = self.addresses.iter().map(Address::to_string).collect();
        addresses.sort_unstable();
        let symbols = match &self.assets {
            Assets::Symbols(symbols) => symbols.clone(),
            Assets::Verified | Assets::Contracts(_) => Vec::new(),
        };
        let contracts: Vec<Option<String>> = match &self.assets {
            Assets::Contracts(assets) => assets.iter().map(|asset| asset.contract().map(Address::to_string)).collect(),
            Assets::Verified | Assets::Symbols(_) => Vec::new(),
        };
        let mut filters = json!({
            "blockchain": self.chain.map(Chain::name),
            "addresses": addresses,
            "symbols": symbols,
            "contracts": contracts,
            "direction": self.direction.name(),
            "min_amount_usd": self.min_amount_usd,
            "labels": self.labels,
            "min_confirmations": self.min_confirmations,
        });
        if let Some(threshold) = &self.threshold {
            filters["threshold"] = threshold.to_json();
        }
        filters
    }

    /// Returns whether events wait for more than one confirmation.
    #[must_use]
    pub const fn waits(&self) -> bool {
        self.min_confirmations > 1
    }

    /// Returns whether it can make events.
    pub(super) fn can_fire(&self) -> bool {
        !self.event_type.0.needs_addresses || !self.addresses.is_empty()
    }

    /// Returns whether asset and value of a row fit the filters.
    pub(super) fn wants(&self, row: &Row) -> bool {
        let is_asset = match &self.assets {
            Assets::Verified => row.shown.verified,
            Assets::Symbols(symbols) => {
                row.shown.verified && row.shown.symbol.as_ref().is_some_and(|symbol| symbols.contains(symbol))
            }
            Assets::Contracts(assets) => assets.contains(&row.asset),
        };
        let is_worth = |min: f64| min <= 0.0 || row.shown.amount_usd.is_some_and(|usd| usd >= min);
        is_asset && self.min_amount_usd.is_none_or(is_worth)
    }

    /// Returns whether a direction fits the filters.
    pub(super) fn wants_direction(&self, direction: Direction) -> bool {
        match self.direction {
            DirectionFilter::All => true,
            DirectionFilter::In => direction == Direction::In,
            DirectionFilter::Out => direction == Direction::Out,
        }
    }
}

fn assets(
    checks: &mut Checks<'_>,
    chain: Option<Chain>,
    symbols: Option<SymbolList>,
    contracts: Option<ContractList>,
    check: SymbolCheck,
) -> Result<Assets, Error> {
    let texts = symbols.unwrap_or_default();
    symbol_texts("filters.symbols", &texts)?;
    if let Some(contracts) = contracts.filter(|contracts| !contracts.is_empty()) {
        at_most("filters.contracts", &contracts, MAX_ITEMS)?;
        let mut assets = Vec::with_capacity(contracts.len());
        for (index, text) in contracts.iter().enumerate() {
            let asset = contract(checks, chain, &format!("filters.contracts[{index}]"), text.as_deref())?;
            if !assets.contains(&asset) {
                assets.push(asset);
            }
        }
        return Ok(Assets::Contracts(assets));
    }
    if texts.is_empty() || texts.iter().any(|text| text.eq_ignore_ascii_case("all")) {
        return Ok(Assets::Verified);
    }
    let mut symbols = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let field = format!("filters.symbols[{index}]");
        let symbol = symbol(checks, chain, (&field, text), check == SymbolCheck::Required)?;
        if !symbols.contains(&symbol) {
            symbols.push(symbol);
        }
    }
    Ok(Assets::Symbols(symbols))
}
