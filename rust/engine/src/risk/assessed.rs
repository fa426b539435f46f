//! Assessing addresses one after the other.

use std::collections::BTreeSet;

use headwater_intel::label::{Aggregate, Moment, SourceClaim, aggregate};
use headwater_intel::risk::{Assessment, Dimension, Factor, Place, RiskScope, RiskScorer, of_labels};
use headwater_ledger::labels::{Action, Claim, Code, Link, Scope};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Timestamp};

use super::factor::FactorRecord;
use super::report::{AnalysisDepth, RiskDecision, RiskDimensions, RiskMeta, RiskReport};
use crate::Error;
use crate::fields::{AddressText, CodeText, Time};
use crate::intelligence::Intelligence;
use crate::labels::{InheritedThrough, LabelListRecord, LinkBudget};
use crate::request::{ThirdParty, Warnings};

/// Features that the evidence of `scam_pattern` names.
const NAMED_FEATURES: usize = 5;

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
        let Intelligence { parameters, classifiers, .. } = self.intelligence;
        let scope = RiskScope::present(self.ledger, place, (parameters, classifiers), self.cancel);
        let mut scorer = RiskScorer::new(RiskScope { named_features: NAMED_FEATURES, ..scope });
        let moment = scope.moment;
        let mut claims = scorer.claims(&address)?;
        scorer.read(&address)?;
        let mut judged = aggregate(&claims, &moment);
        let mut assessment = scorer.assess(&judged)?;
        let asked_for = self.ask(asked, (&claims, &judged), &assessment, moment, warnings);
        let third_party_used = asked_for.is_some();
        let further = asked_for.unwrap_or_default();
        if !further.is_empty() {
            claims.extend(further.iter().map(Claim::borrowed));
            judged = aggregate(&claims, &moment);
            assessment = scorer.assess(&judged)?;
        }
        warn_of_undated(&assessment, warnings);

        let family = place.chain().family();
        let cap = parameters.behaviour.cap;
        let dimensions = RiskDimensions::new(self.ledger, family, &assessment, (&judged, scorer.history()), cap)?;
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
        let sources = self.lists(place, &judged, &assessment)?;
        let computed_at = self.intelligence.now_secs.map(|now| now());
        let coverage = match place {
            Place::Chain(chain) => self.ledger.coverage().get(&chain),
            Place::Evm => None,
        };
        let head = coverage.and_then(|coverage| coverage.last_time).map(Timestamp::secs);
        Ok(RiskReport {
            blockchain: CodeText(place.name().to_owned()),
            address: AddressText::from(address),
            composite_score: super::rounded(assessment.score, 2),
            risk_level: assessment.level.into(),
            decision: RiskDecision::new(&assessment),
            factors: assessment.factors.iter().map(|factor| FactorRecord::new(factor, inherited(factor))).collect(),
            meta: RiskMeta {
                assessment: assessment.sufficiency.level.into(),
                assessment_reasons: assessment.sufficiency.reasons.iter().map(|reason| (*reason).into()).collect(),
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
                sources,
                as_of_block: coverage.and_then(|coverage| coverage.last_block),
                third_party_used,
            },
            dimensions,
        })
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
            let of = of_labels(parameters, aggregate);
            (of.gates.first().map(|gate| gate.reason), of.score)
        };
        let ((gate, _), (gate_with, score_with)) = (outcome(judged), outcome(&with));
        let rest = 1.0 - assessment.base.score / 100.0;
        // What labels alone would come to, beside what is known from elsewhere.
        let most = 100.0 - rest * (100.0 - score_with);
        let level = |score: f64| headwater_intel::risk::Level::of(parameters, score);
        gate != gate_with || level(most.max(assessment.score)) != assessment.level
    }

    /// Returns the lists whose claims a score rests on.
    fn lists(
        &self,
        place: Place,
        judged: &Aggregate<'_>,
        assessment: &Assessment,
    ) -> Result<Vec<LabelListRecord>, Error> {
        let table = self.ledger.labels();
        let counted = judged.sources.iter().filter(|source| source.confidence > 0.0);
        let mut claims: Vec<Claim<&str>> = counted.map(|source| source.claim).collect();
        for (neighbour, _) in assessment.graph.iter().flat_map(|graph| &graph.risky) {
            let about = table.claims(place.chain(), &neighbour.address)?;
            claims.extend(
                about.into_iter().filter(|claim| claim.code.is_some_and(|code| neighbour.codes.contains(&code))),
            );
        }
        LabelListRecord::of_claims(table, &claims)
    }

    /// Names the imports of labels in force.
    pub fn labels_version(&self) -> String {
        format!("{:016x}", self.ledger.labels().digest())
    }
}

/// Warns of sanctioned counterparties whose lists do not say since when.
fn warn_of_undated(assessment: &Assessment, warnings: &mut Warnings) {
    let Some(lists) = assessment.graph.as_ref().map(|graph| &graph.undated_lists).filter(|lists| !lists.is_empty())
    else {
        return;
    };
    let message = format!(
        "{} gives no date of a listing: payments from before it count in full, like later ones",
        lists.join(", ")
    );
    warnings.add("undated_listing", None, message);
}
