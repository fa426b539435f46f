//! Assessing addresses one after the other.

use std::collections::BTreeSet;

use headwater_intel::behaviour::{Findings, History, HistoryGather, OthersInLedger};
use headwater_intel::classify::{Verdict, context_of};
use headwater_intel::label::{Aggregate, Moment, SourceClaim, aggregate, claims_of};
use headwater_intel::risk::{
    Assessment, ContextChoice, Dimension, Factor, GraphScore, Parameters, Subject, assess, is_sent_by, neighbours,
};
use headwater_ledger::labels::{Action, Claim, Code, Link, Scope};
use headwater_ledger::read::Coverage;
use headwater_ledger::{Cancel, Ledger};
use headwater_metrics::features::BaseGather;
use headwater_types::{Address, Chain, Family, Timestamp};

use super::factor::FactorRecord;
use super::report::{AnalysisDepth, RiskDecision, RiskDimensions, RiskMeta, RiskReport};
use crate::Error;
use crate::fields::{AddressText, CodeText, Time};
use crate::intelligence::Intelligence;
use crate::labels::{InheritedThrough, LinkBudget};
use crate::request::{ThirdParty, Warnings};

/// Where an address is assessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// On one chain.
    Chain(Chain),
    /// As one account on every EVM chain: by its labels alone.
    Evm,
}

impl Place {
    /// The text in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chain(chain) => chain.name(),
            Self::Evm => "evm",
        }
    }

    /// The chain whose forms of addresses hold.
    pub const fn chain(self) -> Chain {
        match self {
            Self::Chain(chain) => chain,
            Self::Evm => Chain::ETHEREUM,
        }
    }

    /// The chains that it is about.
    pub fn chains(self) -> Vec<Chain> {
        match self {
            Self::Chain(chain) => vec![chain],
            Self::Evm => Chain::all().filter(|chain| chain.family() == Family::Evm).collect(),
        }
    }

    /// The chain whose movements are judged; `None` where labels are all there is.
    pub fn judged_chain(self) -> Option<Chain> {
        match self {
            Self::Chain(chain @ (Chain::ETHEREUM | Chain::TRON)) => Some(chain),
            Self::Chain(_) | Self::Evm => None,
        }
    }

    fn holds(self, scope: Scope) -> bool {
        match self {
            Self::Chain(chain) => scope.contains(chain),
            Self::Evm => Chain::all().any(|chain| chain.family() == Family::Evm && scope.contains(chain)),
        }
    }
}

/// One address to assess.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub place: Place,
    pub address: Address,
}

/// Assesses addresses over one ledger.
pub(crate) struct Assessor<'a> {
    pub ledger: &'a dyn Ledger,
    pub intelligence: &'a Intelligence,
    pub third_party: ThirdParty,
    pub links: LinkBudget,
    pub cancel: &'a Cancel,
}

impl Assessor<'_> {
    /// The risk of an address as answers carry it.
    pub fn report(&self, asked: Asked, warnings: &mut Warnings) -> Result<RiskReport, Error> {
        let Asked { place, address } = asked;
        let (coverage, moment) = self.moment(place);
        let mut claims = match place {
            Place::Chain(chain) => claims_of(self.ledger, chain, &address, self.cancel)?,
            Place::Evm => self.ledger.labels().claims_about(&address)?,
        };
        claims.retain(|claim| place.holds(claim.scope));
        let history = self.history(asked, moment)?;
        let subject = match (place.judged_chain(), &history) {
            (None, _) => Subject::UnsupportedChain,
            (Some(_), None) => Subject::DataUnavailable,
            (Some(_), Some((history, findings))) => Subject::Seen(history, findings),
        };

        let mut judged = aggregate(&claims, &moment);
        let class = self.class(asked, &judged, subject)?;
        let mut assessment = self.assess(asked, (&judged, class), subject, moment)?;
        let asked_for = self.ask(asked, (&claims, &judged), &assessment, moment, warnings);
        let third_party_used = asked_for.is_some();
        let further = asked_for.unwrap_or_default();
        if !further.is_empty() {
            claims.extend(further.iter().map(Claim::borrowed));
            judged = aggregate(&claims, &moment);
            assessment = self.assess(asked, (&judged, class), subject, moment)?;
        }

        let family = place.chain().family();
        let cap = self.intelligence.parameters.behaviour.cap;
        let history = history.as_ref().map(|(history, _)| history);
        let dimensions = RiskDimensions::new(self.ledger, family, &assessment, (&judged, history), cap)?;
        let through = self.links.inherited_through(self.ledger, (place.chain(), &address), &judged, self.cancel)?;
        let inherited = |factor: &Factor| -> Vec<InheritedThrough> {
            let is_of = |source: &&SourceClaim<'_>| {
                let is_code = source.claim.code.is_some_and(|code| code.name() == factor.code);
                is_code && source.claim.link == Link::Cluster && source.confidence > 0.0
            };
            let of_code = judged.sources.iter().filter(|_| factor.dimension == Dimension::Intel).filter(is_of);
            let named: BTreeSet<Address> = of_code.map(|source| source.claim.address).collect();
            named.iter().filter_map(|address| through.get(address).cloned()).collect()
        };
        let computed_at = self.intelligence.now_secs.map(|now| now());
        let head = coverage.and_then(|coverage| coverage.last_time).map(Timestamp::secs);
        Ok(RiskReport {
            blockchain: CodeText(place.name().to_owned()),
            address: AddressText::from(address),
            composite_score: super::rounded(assessment.score, 2),
            risk_level: assessment.level.into(),
            decision: RiskDecision::new(&assessment),
            factors: assessment.factors.iter().map(|factor| FactorRecord::new(factor, inherited(factor))).collect(),
            meta: RiskMeta {
                analysis_depth: match (&assessment.behaviour, &assessment.graph) {
                    (_, Some(_)) => AnalysisDepth::Edge,
                    (Some(_), None) => AnalysisDepth::Point,
                    (None, None) => AnalysisDepth::IntelOnly,
                },
                behavior_available: assessment.behaviour.is_some(),
                graph_available: assessment.graph.is_some(),
                graph_reason: assessment.expansion.into(),
                computed_at: Time(computed_at.or(head).unwrap_or_default()),
                model_version: self.intelligence.parameters.version.clone(),
                labels_version: self.labels_version(),
                as_of_block: coverage.and_then(|coverage| coverage.last_block),
                third_party_used,
            },
            dimensions,
        })
    }

    /// The score of an address with these labels, and the context of its class where labels give none.
    pub fn assess(
        &self,
        Asked { place, address }: Asked,
        (judged, class): (&Aggregate<'_>, Option<ContextChoice>),
        subject: Subject<'_>,
        moment: Moment,
    ) -> Result<Assessment, Error> {
        let parameters = &*self.intelligence.parameters;
        let mut counterparties = |history: &History| -> Result<Option<GraphScore>, Error> {
            let look_up = |address: &Address| -> Result<Aggregate<'_>, Error> {
                Ok(aggregate(&claims_of(self.ledger, place.chain(), address, self.cancel)?, &moment))
            };
            let mut is_sent = is_sent_by(self.ledger, &address);
            let is_own = |transaction| Ok(is_sent(transaction)?);
            let (screened, all) = neighbours(parameters, history, look_up, is_own)?;
            Ok(Some(GraphScore::of(parameters, &screened, all)))
        };
        assess(parameters, judged, subject, class, &mut counterparties)
    }

    /// The context of the class of an address, where its labels give none and it did something.
    fn class(
        &self,
        asked: Asked,
        judged: &Aggregate<'_>,
        subject: Subject<'_>,
    ) -> Result<Option<ContextChoice>, Error> {
        let parameters = &*self.intelligence.parameters;
        let chain = match subject {
            Subject::Seen(history, _) if !history.all.is_empty() => asked.place.judged_chain(),
            Subject::Seen(..) | Subject::UnsupportedChain | Subject::DataUnavailable => None,
        };
        let classifier = chain.and_then(|chain| self.intelligence.classifiers.of(chain));
        let (Some(classifier), None) = (classifier, ContextChoice::of_labels(parameters, judged)) else {
            return Ok(None);
        };
        let Some(account) = self.ledger.account(classifier.model().chain(), &asked.address)? else { return Ok(None) };
        let mut gather = BaseGather::new(classifier.model().chain());
        let verdict = classifier.classify(gather.read(self.ledger, &account, self.cancel)?);
        Ok(verdict.and_then(|verdict| context_of_class(parameters, &verdict)))
    }

    /// What a chain holds, and the moment of its labels.
    pub fn moment(&self, place: Place) -> (Option<&Coverage>, Moment) {
        let coverage = |chain: Chain| self.ledger.coverage().get(&chain);
        let (held, head) = match place {
            Place::Chain(chain) => (coverage(chain), coverage(chain).and_then(|coverage| coverage.last_time)),
            Place::Evm => {
                let chains = Chain::all().filter(|chain| chain.family() == Family::Evm);
                (None, chains.filter_map(|chain| coverage(chain)?.last_time).max())
            }
        };
        (held, Moment::present(self.ledger.labels(), head))
    }

    /// What the address did, empty where it was never seen, and what the rules make of it; `None` where nothing is held of
    /// the chain, or behaviours are not judged on it.
    fn history(&self, asked: Asked, moment: Moment) -> Result<Option<(History, Findings)>, Error> {
        let Some(chain) = asked.place.judged_chain() else { return Ok(None) };
        let Some(coverage) = self.ledger.coverage().get(&chain).filter(|coverage| coverage.transactions > 0) else {
            return Ok(None);
        };
        let Parameters { scan, behaviours, .. } = &*self.intelligence.parameters;
        let gather = || HistoryGather::new(self.ledger, chain, moment, &scan.stablecoins, scan.most_transfers);
        let history = match self.ledger.account(chain, &asked.address)? {
            Some(account) => gather().read(self.ledger, &account, self.cancel)?,
            None => History::until(coverage.last_time.map_or(0, Timestamp::secs)),
        };
        let others = OthersInLedger::new(self.ledger, gather(), scan.others, self.cancel);
        let findings = behaviours.scan(&asked.address, &history, &others)?;
        Ok(Some((history, findings)))
    }

    /// Further claims of the provider: `None` where it was not asked.
    fn ask(
        &self,
        asked: Asked,
        labels: (&[Claim<&str>], &Aggregate<'_>),
        assessment: &Assessment,
        moment: Moment,
        warnings: &mut Warnings,
    ) -> Option<Vec<Claim>> {
        let Some(provider) = &self.intelligence.provider else {
            if self.third_party == ThirdParty::Force {
                let message =
                    "no provider of further claims is configured: the score rests on the labels of this store";
                warnings.add("no_provider", Some("third_party"), message);
            }
            return None;
        };
        let is_wanted = match self.third_party {
            ThirdParty::Off => false,
            ThirdParty::Force => true,
            ThirdParty::Auto => self.could_change(labels, assessment, provider.level(), moment),
        };
        if !is_wanted {
            return None;
        }
        match provider.claims(asked.place.name(), &asked.address) {
            Ok(claims) => Some(claims),
            Err(why) => {
                let message = format!("{} could not be asked: {why}", provider.name());
                warnings.add("provider_failed", Some("third_party"), message);
                None
            }
        }
    }

    /// Whether the gravest claims that a provider may make would change level or gate.
    fn could_change(
        &self,
        (claims, judged): (&[Claim<&str>], &Aggregate<'_>),
        assessment: &Assessment,
        level: headwater_ledger::labels::Level,
        moment: Moment,
    ) -> bool {
        let strongest = |code: Code| Claim {
            address: Address::Evm([0; 20]),
            scope: Scope::Evm,
            code: Some(code),
            name: None,
            entity: None,
            source: "provider",
            source_url: None,
            group: "provider",
            level,
            reliability: level.thousandths(),
            link: Link::Exact,
            asserted_at: None,
            date_basis: None,
            last_seen: None,
            valid_until: None,
            action: Action::Add,
            dispute: None,
        };
        let with: Vec<_> = claims.iter().copied().chain([Code::Sanction, Code::Ransomware].map(strongest)).collect();
        let with = aggregate(&with, &moment);
        let parameters = &self.intelligence.parameters;
        let outcome = |aggregate: &Aggregate<'_>| {
            let subject = Subject::UnsupportedChain;
            assess::<Error>(parameters, aggregate, subject, None, &mut |_| Ok(None))
                .ok()
                .map(|of| (of.gates.first().map(|gate| gate.reason), of.score))
        };
        let (Some((gate, _)), Some((gate_with, score_with))) = (outcome(judged), outcome(&with)) else { return true };
        let rest = 1.0 - assessment.base.score / 100.0;
        // What labels alone would come to, beside what is known from elsewhere.
        let most = 100.0 - rest * (100.0 - score_with);
        let level = |score: f64| headwater_intel::risk::Level::of(parameters, score);
        gate != gate_with || level(most.max(assessment.score)) != assessment.level
    }

    /// Names the imports of labels in force.
    pub fn labels_version(&self) -> String {
        format!("{:016x}", self.ledger.labels().digest())
    }
}

/// The context of a class, where it has one and is probable enough.
pub(crate) fn context_of_class(parameters: &Parameters, verdict: &Verdict) -> Option<ContextChoice> {
    ContextChoice::of_class(parameters, context_of(&verdict.class)?, verdict.confidence)
}
