//! Scores of real addresses by what lists say of them, their own labels withheld.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use headwater_intel::behaviour::{HistoryGather, OthersInLedger};
use headwater_intel::label::{Aggregate, Moment, aggregate};
use headwater_intel::risk::{GraphScore, Parameters, Subject, assess, is_sent_by, neighbours};
use headwater_ledger::read::Generations;
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_types::{Address, Chain};

use super::auc::area_between;

/// Most addresses that are named.
const NAMED: usize = 10;

/// Prints the scores of the addresses of a table `address,class,...`, and the unlabelled ones that score highest.
pub fn print(store: &Path, table: &Path) -> Result<()> {
    let ledger = Store::open(store)?.current()?;
    let (ledger, parameters, cancel) = (&*ledger, Parameters::standard(), Cancel::new());
    let text = std::fs::read_to_string(table).with_context(|| table.display().to_string())?;
    let moment = Moment::present(ledger.labels(), ledger.coverage()[&Chain::ETHEREUM].last_time);
    let look_up = |address: &Address| -> Result<Aggregate<'_>, LedgerError> {
        Ok(aggregate(&ledger.labels().claims(Chain::ETHEREUM, address)?, &moment))
    };
    let scan = &parameters.scan;
    let gather = || HistoryGather::new(ledger, Chain::ETHEREUM, moment, &scan.stablecoins, scan.most_transfers);
    let others = OthersInLedger::new(ledger, gather(), scan.others, &cancel);
    let mut scores: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut unlabelled: Vec<(f64, Address, Vec<String>)> = Vec::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split(',');
        let (Some(address), Some(class)) = (fields.next(), fields.next()) else { continue };
        let Ok(address) = Address::parse(Chain::ETHEREUM, address) else { continue };
        let Some(account) = ledger.account(Chain::ETHEREUM, &address)? else { continue };
        let history = gather().read(ledger, &account, &cancel)?;
        let findings = parameters.behaviours.scan(&address, &history, &others)?;
        let of = assess(parameters, &Aggregate::default(), Subject::Seen(&history, &findings), None, &mut |history| {
            let (screened, all) = neighbours(parameters, history, look_up, is_sent_by(ledger, &address))?;
            Ok::<_, LedgerError>(Some(GraphScore::of(parameters, &screened, all)))
        })?;
        scores.entry(class).or_default().push(of.score);
        if class == "Unlabelled" && look_up(&address)?.codes.is_empty() {
            let reasons =
                of.factors.iter().map(|factor| format!("{} {:.1} ({})", factor.code, factor.points, factor.detail));
            unlabelled.push((of.score, address, reasons.collect()));
        }
    }
    let of = |class: &str| scores.get(class).map_or(&[][..], Vec::as_slice);
    let area = area_between(of("Scam"), of("Unlabelled"));
    println!("Area under the curve, scams against unlabelled addresses: {area:.4}.\n");
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
