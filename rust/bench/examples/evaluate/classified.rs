//! Scores of real addresses by what lists say of them, their own labels withheld.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use headwater_intel::classify::{Classifier, Classifiers};
use headwater_intel::risk::{Assessor, Intelligence, RiskScope, SufficiencyLevel};
use headwater_ledger::labels::Scope;
use headwater_ledger::read::Generations;
use headwater_ledger::{Cancel, Store};
use headwater_types::{Address, Chain};

use super::auc::area_between;

/// Fewest transfers for a class.
const MIN_TRANSFERS: usize = 5;

/// Most addresses that are named.
const NAMED: usize = 10;

/// Prints the scores of the addresses of a table `address,class,...`, and the unlabelled ones that score highest. `model` is
/// a classifier in place of the one of the program.
pub fn print(store: &Path, table: &Path, model: Option<&Path>) -> Result<()> {
    let ledger = Store::open(store)?.current()?;
    let own = model.map(|path| -> Result<Classifiers> {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        Ok(Classifiers::default().with(Classifier::parse(&bytes)?))
    });
    let own = own.transpose()?;
    let (ledger, cancel) = (&*ledger, Cancel::new());
    let intelligence = match own {
        Some(classifiers) => Intelligence { classifiers: Arc::new(classifiers), ..Intelligence::default() },
        None => Intelligence::default(),
    };
    let text = std::fs::read_to_string(table).with_context(|| table.display().to_string())?;
    let chains = Scope::Chain(Chain::ETHEREUM);
    let mut assessor = Assessor::new(RiskScope::present(ledger, &intelligence, chains, &cancel));
    let mut scores: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut active: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut judged: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut unlabelled: Vec<(f64, Address, Vec<String>)> = Vec::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split(',');
        let (Some(address), Some(class)) = (fields.next(), fields.next()) else { continue };
        let Ok(address) = Address::parse(Chain::ETHEREUM, address) else { continue };
        if ledger.account(Chain::ETHEREUM, &address)?.is_none() {
            continue;
        }
        let is_unlabelled = class == "Unlabelled" && assessor.assess(&address)?.labels.codes.is_empty();
        let assessment = assessor.assess_without_labels(&address)?;
        let of = &assessment.judgement;
        scores.entry(class).or_default().push(of.score);
        if assessment.history.is_some_and(|history| history.all.len() >= MIN_TRANSFERS) {
            active.entry(class).or_default().push(of.score);
        }
        if of.sufficiency.level != SufficiencyLevel::Insufficient {
            judged.entry(class).or_default().push(of.score);
        }
        if is_unlabelled {
            let reasons =
                of.factors.iter().map(|factor| format!("{} {:.1} ({})", factor.code, factor.points, factor.detail));
            unlabelled.push((of.score, address, reasons.collect()));
        }
    }
    println!("Area under the curve, scams against unlabelled addresses:\n");
    for (of, what) in [(&scores, "all"), (&active, "of five transfers or more"), (&judged, "with enough data to judge")]
    {
        let [scams, others] = ["Scam", "Unlabelled"].map(|class| of.get(class).map_or(&[][..], Vec::as_slice));
        println!("- {what}: {:.4}, of {} and {}", area_between(scams, others), scams.len(), others.len());
    }
    println!();
    println!("| class | addresses | median | 75 % below | 90 % below | share from 30 | share from 70 |");
    println!("|---|---|---|---|---|---|---|");
    for (class, mut of) in scores.into_iter().filter(|(_, of)| of.len() >= 10) {
        of.sort_by(f64::total_cmp);
        let at = |percent: usize| of[(of.len() - 1) * percent / 100];
        #[expect(clippy::cast_precision_loss, reason = "a few thousand addresses")]
        let from = |least: f64| of.iter().filter(|score| **score >= least).count() as f64 / of.len() as f64;
        let (medium, high) = (from(30.0), from(70.0));
        println!(
            "| {class} | {} | {:.1} | {:.1} | {:.1} | {medium:.3} | {high:.3} |",
            of.len(),
            at(50),
            at(75),
            at(90)
        );
    }
    unlabelled.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    println!("\nThe highest scores of addresses that no list names:\n");
    for (score, address, reasons) in unlabelled.into_iter().take(NAMED) {
        println!("- {score:.2} `{address}`: {}", reasons.join("; "));
    }
    Ok(())
}
