//! One row of a ranking of counterparties.

use headwater_metrics::flow::{AssetTally, Group};
use headwater_types::{Chain, Usd};
use serde::Serialize;

use crate::asset_book::{AssetBook, AssetView};
use crate::fields::{AddressText, ChainName, CodeText, DecimalText, SignedDecimalText, Time};
use crate::flows::{Sums, Unvalued, names};
use crate::valuation::Output;

/// Assets that a row lists one by one.
const MAX_ASSETS: usize = 20;

/// Rows that follow the last one given.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, utoipa::ToSchema)]
pub struct BelowCutoff {
    /// How many.
    pub count: u64,
    /// Their US dollars together.
    pub total_amount_usd: f64,
}

impl BelowCutoff {
    /// Returns their number and sum; `None` without rows.
    pub(crate) fn of(usd: impl ExactSizeIterator<Item = Usd>) -> Option<Self> {
        let count = u64::try_from(usd.len()).expect("a count fits");
        (count > 0).then(|| Self { count, total_amount_usd: usd.sum::<Usd>().to_f64() })
    }
}

/// One counterparty (with `per_symbol` one counterparty and asset).
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CounterpartyRow {
    /// The counterparty.
    pub address: AddressText,
    /// Chain.
    pub blockchain: ChainName,
    /// Time of the first movement, epoch seconds.
    pub first_activity: Time,
    /// Time of the last movement, epoch seconds.
    pub last_activity: Time,
    /// Received from the counterparty.
    pub received_amount: Option<DecimalText>,
    /// Received in US dollars, over the priced movements.
    pub received_amount_usd: f64,
    /// Distinct transactions that came in.
    pub received_count: u64,
    /// Sent to the counterparty.
    pub sent_amount: Option<DecimalText>,
    /// Sent in US dollars, over the priced movements.
    pub sent_amount_usd: f64,
    /// Distinct transactions that went out.
    pub sent_count: u64,
    /// Symbol of the amounts' asset; `all` when several are summed.
    pub symbol: String,
    /// Symbols that moved.
    pub symbols: Vec<String>,
    /// Received and sent together; null only where decimals are unknown.
    pub total_amount: Option<DecimalText>,
    /// Both in US dollars, over the priced movements.
    pub total_amount_usd: f64,
    /// Distinct transactions either way.
    pub total_count: u64,
    /// Movements.
    pub total_transfers: u64,
    /// Received less sent; may be negative.
    pub net_amount: Option<SignedDecimalText>,
    /// Received less sent in US dollars; null when nothing had a price.
    pub net_amount_usd: Option<f64>,
    /// The assets that moved, each in its own units: largest US dollars first, unpriced ones last, then by symbol and
    /// contract; at most 20.
    pub assets: Vec<CounterpartyAsset>,
    /// How many assets moved.
    pub assets_total: u64,
    /// Codes of its labels, most confident first.
    pub labels: Vec<CodeText>,
    /// The entity behind it; null when none is clearly ahead.
    pub entity_name: Option<String>,
    /// Movements that the US dollar sums do not hold.
    pub unpriced_count: u64,
    /// Fields of the row that are 0 because no movement behind them has a price. Tables and frames have null there.
    #[schema(value_type = Vec<String>)]
    pub unpriced_fields: Vec<&'static str>,
}

/// One asset of a counterparty, in its own whole units.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CounterpartyAsset {
    /// Lowercase symbol; null when neither registry nor source names it.
    pub symbol: Option<String>,
    /// Contract; null for the native coin.
    pub contract: Option<AddressText>,
    /// Received from the counterparty; null where decimals are unknown, and past 256 bits.
    pub received_amount: Option<DecimalText>,
    /// Sent to the counterparty.
    pub sent_amount: Option<DecimalText>,
    /// Both together.
    pub total_amount: Option<DecimalText>,
}

impl CounterpartyRow {
    /// A row without labels; `symbol` is that of the one asset of its amounts.
    pub(crate) fn new(
        chain: Chain,
        address: &str,
        group: &Group,
        (sums, is_of_one_asset): (Sums, bool),
        book: &AssetBook<'_>,
    ) -> Self {
        let all = &group.all;
        let symbols = names(group, book);
        let symbol = match (is_of_one_asset, symbols.first()) {
            (true, Some(only)) => only.clone(),
            _ => "all".to_owned(),
        };
        let (amounts, dollars) = (sums.unvalued, Unvalued::of_dollars(all));
        Self {
            address: AddressText(address.to_owned()),
            blockchain: chain.into(),
            first_activity: all.first.map_or(Time(0), Time::from),
            last_activity: all.last.map_or(Time(0), Time::from),
            received_amount: sums.received.map(DecimalText),
            received_amount_usd: all.received.usd.to_f64(),
            received_count: all.received.transactions,
            sent_amount: sums.sent.map(DecimalText),
            sent_amount_usd: all.sent.usd.to_f64(),
            sent_count: all.sent.transactions,
            symbol,
            symbols,
            total_amount: sums.total.map(DecimalText),
            total_amount_usd: (all.received.usd + all.sent.usd).to_f64(),
            total_count: all.transactions,
            total_transfers: all.transfers(),
            net_amount: sums.net.map(SignedDecimalText),
            net_amount_usd: all.known_net_usd().map(Usd::to_f64),
            assets: assets(group, book),
            assets_total: u64::try_from(group.by_asset.len()).expect("a count fits"),
            labels: Vec::new(),
            entity_name: None,
            unpriced_count: all.unpriced(),
            unpriced_fields: Unvalued::names([
                ("received_amount", amounts.received),
                ("received_amount_usd", dollars.received),
                ("sent_amount", amounts.sent),
                ("sent_amount_usd", dollars.sent),
                ("total_amount", amounts.total),
                ("total_amount_usd", dollars.total),
                ("net_amount", amounts.total),
            ]),
        }
    }
}

/// The largest assets of a group.
fn assets(group: &Group, book: &AssetBook<'_>) -> Vec<CounterpartyAsset> {
    let usd = |tally: &AssetTally| {
        let is_known = !Unvalued::of_dollars(&tally.tally).total;
        is_known.then(|| tally.tally.received.usd + tally.tally.sent.usd)
    };
    let mut assets: Vec<(Option<Usd>, &AssetView, &AssetTally)> =
        group.by_asset.iter().map(|(number, tally)| (usd(tally), book.view(*number), tally)).collect();
    // Unknown dollars are below all known ones.
    assets.sort_by(|(one_usd, one, _), (other_usd, other, _)| {
        let by_usd = other_usd.cmp(one_usd);
        by_usd.then_with(|| (&one.symbol, &one.contract).cmp(&(&other.symbol, &other.contract)))
    });
    assets.truncate(MAX_ASSETS);
    let asset = |(_, view, tally): (_, &AssetView, &AssetTally)| {
        let sums = Sums::of_asset(&Output::Own, tally, view);
        CounterpartyAsset {
            symbol: view.symbol.clone(),
            contract: view.contract.clone(),
            received_amount: sums.received.map(DecimalText),
            sent_amount: sums.sent.map(DecimalText),
            total_amount: sums.total.map(DecimalText),
        }
    };
    assets.into_iter().map(asset).collect()
}
