//! What an address did, as labels.

use headwater_intel::behaviour::{History, HistoryGather, OthersInLedger};
use headwater_intel::label::Moment;
use headwater_intel::risk::Parameters;
use headwater_ledger::read::Scan;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Chain, Family, TimeWindow, Timestamp};

use crate::Error;
use crate::fields::{CodeText, Time};
use crate::intelligence::Intelligence;
use crate::labels::{ClaimStatus, LabelSource};

/// Who is named as the source, and as the level, of what was detected.
pub(crate) const SOURCE: &str = "behaviour_detector";
/// How sure a label is that rests on behaviour alone.
pub(crate) const CONFIDENCE: f64 = 0.30;

/// Addresses with more movements are not looked through for their labels.
const MOST_POSTINGS: u64 = 20_000;
/// Silent for so long before the end of the data.
const DORMANT_SECS: i64 = 365 * 86_400;

/// What detectors say of addresses of one chain.
pub(crate) struct Detector<'a> {
    pub ledger: &'a dyn Ledger,
    pub intelligence: &'a Intelligence,
    pub chain: Chain,
    /// What happened later is left out.
    pub as_of: Option<Timestamp>,
    pub cancel: &'a Cancel,
}

impl Detector<'_> {
    /// The behaviours of an address, in the order of the catalogue, and `dormant`; `None` where it has too many movements to
    /// look through.
    pub fn labels(&self, address: &Address) -> Result<Option<Vec<LabelSource>>, Error> {
        if self.chain.family() == Family::Utxo {
            return Ok(Some(Vec::new()));
        }
        let Some(account) = self.ledger.account(self.chain, address)? else { return Ok(Some(Vec::new())) };
        if account.postings > MOST_POSTINGS {
            return Ok(None);
        }
        let last = self.ledger.coverage().get(&self.chain).and_then(|coverage| coverage.last_time);
        let head = last.unwrap_or(Timestamp::new(0));
        let head = self.as_of.map_or(head, |as_of| as_of.min(head));
        let moment = self.as_of.map_or_else(|| Moment::present(self.ledger.labels(), last), Moment::at);
        let until = self.as_of.map(Timestamp::secs);
        // A time before all data leaves nothing.
        let window = TimeWindow::new(None, until).unwrap_or_default();
        let Parameters { scan: of, behaviours, .. } = &*self.intelligence.parameters;
        let gather = || {
            HistoryGather::new(self.ledger, self.chain, moment, &of.stablecoins, of.most_transfers)
                .within(Scan { window, ..Scan::default() }, head.secs())
        };
        let history = gather().read(self.ledger, &account, self.cancel)?;
        let others = OthersInLedger::new(self.ledger, gather(), of.others, self.cancel);
        let findings = behaviours.scan(address, &history, &others)?;
        let mut labels: Vec<_> = findings
            .found
            .iter()
            .map(|(behaviour, find)| label(behaviour.code(), behaviour.name(), (find.first, find.last)))
            .collect();
        labels.extend(dormant(&history));
        Ok(Some(labels))
    }
}

/// Whether the address was active, and has not been for a year.
fn dormant(history: &History) -> Option<LabelSource> {
    let (first, last) = history.span()?;
    let is_silent = history.head.saturating_sub(last.secs()) >= DORMANT_SECS;
    is_silent.then(|| label("dormant", "Dormant", (first.secs(), last.secs())))
}

fn label(code: &str, name: &str, (first, last): (i64, i64)) -> LabelSource {
    LabelSource {
        source: SOURCE.to_owned(),
        source_url: None,
        label: code.to_owned(),
        confidence: CONFIDENCE,
        first_seen: Some(Time(first)),
        last_seen: Some(Time(last)),
        public: false,
        inherited_from: None,
        name: Some(name.to_owned()),
        entity: None,
        level: CodeText(SOURCE.to_owned()),
        group: SOURCE.to_owned(),
        valid_until: None,
        status: ClaimStatus::Active,
    }
}
