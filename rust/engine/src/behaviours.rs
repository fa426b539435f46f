//! What an address did, as labels.

use headwater_intel::behaviour::{Behaviour, HistoryGather, KnownAs, OthersInLedger, Roles};
use headwater_intel::bitcoin::peel_chain::{PeelRules, peel_chain_of};
use headwater_intel::label::Moment;
use headwater_intel::risk::Parameters;
use headwater_ledger::read::{Account, Scan, ScanOrder};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Chain, Family, TimeWindow, Timestamp};

use crate::fields::{CodeText, Time};
use crate::labels::{ClaimStatus, DateBasis, LabelSource};
use crate::{Error, Intelligence};

/// Who is named as the source, and as the level, of what was detected.
pub(crate) const SOURCE: &str = "behaviour_detector";
/// How sure a label is that rests on behaviour alone.
pub(crate) const CONFIDENCE: f64 = 0.30;

/// Addresses with more movements are not looked through for their labels.
const MOST_POSTINGS: u64 = 20_000;
/// Steps of a peel chain that are followed in each direction.
const MOST_STEPS: usize = 200;
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
        if self.chain.family() == Family::Utxo {
            return self.utxo_labels(&account, (window, head), moment).map(Some);
        }
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
        let span = history.span().map(|(first, last)| (first.secs(), last.secs()));
        labels.extend(span.and_then(|span| dormant(span, head)));
        Ok(Some(labels))
    }

    /// On UTXO chains movements have no counterparty, so that most rules do not apply: whether it passes a coin on in a peel
    /// chain, and `dormant`.
    fn utxo_labels(
        &self,
        account: &Account,
        (window, head): (TimeWindow, Timestamp),
        moment: Moment,
    ) -> Result<Vec<LabelSource>, Error> {
        let Self { ledger, intelligence, cancel, .. } = self;
        let limits = &intelligence.parameters.behaviours.peel_chain.limits;
        let rules = PeelRules {
            least_steps: limits.least_hops,
            most_gap_secs: Some(limits.most_gap_secs),
            most_steps: MOST_STEPS,
            ..PeelRules::default()
        };
        let mut known = KnownAs::at(self.chain, moment);
        let services = [Roles::EXCHANGE, Roles::DEPOSIT, Roles::MIXER, Roles::BRIDGE];
        let mut is_service = |address: &Address| {
            let (roles, _) = known.of(&**ledger.labels(), address)?;
            Ok(services.into_iter().any(|service| roles.holds(service)))
        };
        let scan = |order| Scan { window, order, ..Scan::default() };
        let newest = scan(ScanOrder::NewestFirst);
        let mut labels = Vec::new();
        if let Some(chain) = peel_chain_of(*ledger, account, &newest, (&rules, &mut is_service), cancel)?
            && let (Some(first), Some(last)) = (chain.steps.first(), chain.steps.last())
        {
            let behaviour = Behaviour::PeelChain;
            labels.push(label(behaviour.code(), behaviour.name(), (first.time.secs(), last.time.secs())));
        }
        let end = |scan| ledger.page(account, &scan, 1).map(|page| page.first().map(|posting| posting.time.secs()));
        let span = end(scan(ScanOrder::OldestFirst))?.zip(end(newest)?);
        labels.extend(span.and_then(|span| dormant(span, head)));
        Ok(labels)
    }
}

/// Returns whether an address of this first and last movement was active, and has not been for a year.
fn dormant((first, last): (i64, i64), head: Timestamp) -> Option<LabelSource> {
    let is_silent = head.secs().saturating_sub(last) >= DORMANT_SECS;
    is_silent.then(|| label("dormant", "Dormant", (first, last)))
}

fn label(code: &str, name: &str, (first, last): (i64, i64)) -> LabelSource {
    LabelSource {
        source: SOURCE.to_owned(),
        source_url: None,
        label: code.to_owned(),
        confidence: CONFIDENCE,
        first_seen: Some(Time(first)),
        date_basis: Some(DateBasis::Address),
        last_seen: Some(Time(last)),
        public: false,
        inherited_from: None,
        inherited_through: None,
        name: Some(name.to_owned()),
        entity: None,
        level: CodeText(SOURCE.to_owned()),
        group: SOURCE.to_owned(),
        list: None,
        licence: None,
        valid_until: None,
        status: ClaimStatus::Active,
        disputed: None,
    }
}
