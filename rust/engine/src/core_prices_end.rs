//! Warns of US dollars that are unknown because the core prices have ended.

use headwater_ledger::Ledger;
use headwater_ledger::market::{AssetTerms, PRICE_MAX_AGE_SECS, core_prices};
use headwater_ledger::read::Scan;
use headwater_types::{Address, Asset, Chain, TimeWindow, Timestamp};

use crate::Error;
use crate::request::Warnings;

/// The code of the warning.
pub(crate) const CODE: &str = "core_prices_end";

/// The ends of the core prices of a ledger, and which of them an answer passes.
pub(crate) struct CorePricesEnd<'a> {
    ledger: &'a dyn Ledger,
    /// Rate symbols whose newest price is a core price, with the time of that price; true where the answer values something
    /// later than this price is used.
    ends: Vec<(&'static str, Timestamp, bool)>,
}

impl<'a> CorePricesEnd<'a> {
    /// The ends that no value has passed yet.
    pub fn new(ledger: &'a dyn Ledger) -> Self {
        let prices = ledger.prices();
        let end = |symbol: &'static str| {
            let last = prices.latest(symbol)?.time;
            prices.is_core(symbol, last).then_some((symbol, last, false))
        };
        Self { ledger, ends: core_prices().iter().filter_map(|(symbol, _)| end(symbol)).collect() }
    }

    /// Notes that the answer values a rate symbol at a time.
    pub fn note(&mut self, symbol: &str, time: Timestamp) {
        for (of, last, is_passed) in &mut self.ends {
            *is_passed |= *of == symbol && time.secs().saturating_sub(last.secs()) > PRICE_MAX_AGE_SECS;
        }
    }

    /// Notes that the answer values an asset at a time.
    pub fn note_asset(&mut self, terms: &AssetTerms, time: Option<Timestamp>) {
        if let (Some(symbol), Some(time)) = (&terms.rate_symbol, time) {
            self.note(symbol, time);
        }
    }

    /// Notes that the answer values the native coin of a chain up to the last block held.
    pub fn note_chain(&mut self, chain: Chain) {
        if let Some(time) = self.ledger.coverage().get(&chain).and_then(|coverage| coverage.last_time) {
            self.note(chain.native_symbol(), time);
        }
    }

    /// Notes that the answer values what an account did with the native coin of its chain. Reads one movement, and none
    /// where the chain ends before the prices.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn note_account(&mut self, chain: Chain, address: &Address) -> Result<(), Error> {
        let symbol = chain.native_symbol();
        let Some((_, last, _)) = self.ends.iter().find(|(of, ..)| *of == symbol) else { return Ok(()) };
        let first_unpriced = last.secs() + PRICE_MAX_AGE_SECS + 1;
        let head = self.ledger.coverage().get(&chain).and_then(|coverage| coverage.last_time);
        if head.is_none_or(|head| head.secs() < first_unpriced) {
            return Ok(());
        }
        let Some(account) = self.ledger.account(chain, address)? else { return Ok(()) };
        let window = TimeWindow::new(Some(first_unpriced), None).unwrap_or_default();
        let scan = Scan { window, assets: Some(vec![Asset::Native]), ..Scan::default() };
        if let Some(posting) = self.ledger.page(&account, &scan, 1)?.first() {
            self.note(symbol, posting.time);
        }
        Ok(())
    }

    /// Warns of the ends that were passed.
    pub fn warn(&self, warnings: &mut Warnings) {
        for (symbol, last, _) in self.ends.iter().filter(|(.., is_passed)| *is_passed) {
            let message = format!(
                "the core prices of {symbol} end at {last}: US dollars more than a day later are unknown; `headwater prices \
                 import FILE` adds prices"
            );
            warnings.add(CODE, None, message);
        }
    }
}
