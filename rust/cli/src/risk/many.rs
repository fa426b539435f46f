//! `headwater risk` of many addresses: a row each, the verdict first.

use headwater_engine::Warning;
use headwater_engine::endpoints::address_risk_batch::{AddressRiskBatch, ENDPOINT, RiskResult};
use serde_json::{Value, json};

use super::provider;
use super::verdict::Judged;
use crate::address_list::GivenAddress;
use crate::batches::{self, Answers};
use crate::error::Failure;
use crate::output::Output;
use crate::session::{Session, without_nulls};
use crate::table::{Layout, Table};
use crate::tally;
use crate::view::View;
use crate::words::counted;

/// Addresses of one call.
const BATCH: usize = 50;

/// Prints the risk of each address.
pub(super) fn run(
    session: &Session,
    given: &[GivenAddress],
    chain: Option<&str>,
    (view, output): (View, Output),
) -> Result<(), Failure> {
    let is_csv = view.is_csv(output)?;
    let mut warnings = Vec::new();
    let mut csv_rows = Vec::new();
    let ask = |chain: &str, addresses: &[String]| {
        let queries: Vec<Value> =
            addresses.iter().map(|address| json!({"blockchain": chain, "address": address})).collect();
        let request = without_nulls(json!({"queries": queries, "third_party": provider(output)}));
        if is_csv {
            let list = session.list(&ENDPOINT, request)?;
            warnings.extend(list.head.warnings);
            let errors = list.rows.iter().map(|row| row["error"].as_str().map(str::to_owned));
            let answers = errors.map(|error| error.map_or(Ok(None), Err)).collect();
            csv_rows.extend(list.rows);
            return Ok(answers);
        }
        let response = session.ask::<AddressRiskBatch>(request)?;
        warnings.extend(response.warnings);
        Ok(response
            .report
            .results
            .into_iter()
            .map(|result| match &result.error {
                Some(error) => Err(error.clone()),
                None => Ok(Some(result)),
            })
            .collect())
    };
    let answers = batches::ask_each(session, given, (chain, BATCH), ask)?;
    let warnings = Warning::merged(warnings);
    if is_csv {
        tally::print_csv(&ENDPOINT, csv_rows.into_iter())?;
    } else {
        let results: Vec<Value> = given.iter().zip(&answers).map(|(given, answer)| value(given, answer)).collect();
        let answer = tally::envelope(json!({"results": results}), &warnings);
        output.report(&answer, || lines(given, &answers, view.layout(output)))?;
    }
    output.warn(&warnings);
    batches::check(&answers, output)
}

fn value(given: &GivenAddress, answer: &Result<Option<RiskResult>, String>) -> Value {
    match answer {
        Ok(result) => json!(result),
        Err(why) => json!({"address": given.text, "error": why}),
    }
}

fn lines(given: &[GivenAddress], answers: &Answers<Option<RiskResult>>, layout: Layout) -> Vec<String> {
    let judged = |answer: &'_ Result<Option<RiskResult>, String>| -> Option<String> {
        let result = answer.as_ref().ok()?.as_ref()?;
        Judged::of_result(result).map(|judged| judged.kind().to_owned())
    };
    let kinds = answers.iter().map(|answer| judged(answer).unwrap_or_else(|| "without an answer".to_owned()));
    let head = format!("{}: {}", counted(answers.len() as u64, "address", "addresses"), tally::of(kinds));
    let mut table = Table::new(["verdict", "address", "chain", "reason"]).with_kept(2).with_text();
    for (given, answer) in given.iter().zip(answers) {
        table.push(row(given, answer));
    }
    std::iter::once(head).chain(table.lines(layout)).collect()
}

fn row(given: &GivenAddress, answer: &Result<Option<RiskResult>, String>) -> Vec<String> {
    let result = match answer {
        Ok(Some(result)) => result,
        Ok(None) => return vec![String::new(), given.text.clone()],
        Err(why) => return vec!["no answer".to_owned(), given.text.clone(), String::new(), why.clone()],
    };
    let (level, reason) = Judged::of_result(result).map(|of| (of.level(), of.reason())).unwrap_or_default();
    vec![level, result.address.clone(), result.blockchain.clone(), reason]
}
