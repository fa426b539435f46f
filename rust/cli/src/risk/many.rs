//! `headwater risk` of many addresses: a row each, the verdict first.

use headwater_engine::endpoints::address_risk_batch::{AddressRiskBatch, ENDPOINT, RiskResult};
use serde_json::{Value, json};

use super::provider;
use super::verdict::RiskVerdict;
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
    let mut warnings = Vec::new();
    let request = |chain: &str, addresses: &[String]| {
        let queries: Vec<Value> =
            addresses.iter().map(|address| json!({"blockchain": chain, "address": address})).collect();
        without_nulls(json!({"queries": queries, "third_party": provider(output)}))
    };
    if view.is_csv(output)? {
        let ask = |chain: &str, addresses: &[String]| {
            let list = session.list(&ENDPOINT, request(chain, addresses))?;
            warnings.extend(list.head.warnings);
            Ok(list.rows.into_iter().map(of_row).collect())
        };
        let answers = batches::ask_each(session, given, (chain, BATCH), ask)?;
        let rows = given.iter().zip(&answers).map(|(given, answer)| match answer {
            Ok(row) => row.clone(),
            Err(why) => json!({"blockchain": chain.unwrap_or_default(), "address": given.text, "error": why}),
        });
        tally::print_csv(&ENDPOINT, rows)?;
        output.warn(&tally::merged(warnings));
        return batches::check(&answers, output);
    }
    let ask = |chain: &str, addresses: &[String]| {
        let response = session.ask::<AddressRiskBatch>(request(chain, addresses))?;
        warnings.extend(response.warnings);
        Ok(response.report.results.into_iter().map(of_result).collect())
    };
    let answers = batches::ask_each(session, given, (chain, BATCH), ask)?;
    let warnings = tally::merged(warnings);
    let results: Vec<Value> = given.iter().zip(&answers).map(|(given, answer)| value(given, answer)).collect();
    let answer = tally::envelope(&json!({"results": results}), &warnings);
    output.report(&answer, || lines(given, &answers, view.layout(output)))?;
    output.warn(&warnings);
    batches::check(&answers, output)
}

/// Returns a row, or its error.
fn of_row(row: Value) -> Result<Value, String> {
    match row["error"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => Ok(row),
    }
}

/// Returns a result, or its error.
fn of_result(result: RiskResult) -> Result<RiskResult, String> {
    match result.error {
        Some(error) => Err(error),
        None => Ok(result),
    }
}

fn value(given: &GivenAddress, answer: &Result<RiskResult, String>) -> Value {
    match answer {
        Ok(result) => json!(result),
        Err(why) => json!({"address": given.text, "error": why}),
    }
}

fn lines(given: &[GivenAddress], answers: &Answers<RiskResult>, layout: Layout) -> Vec<String> {
    let judged = |answer: &Result<RiskResult, String>| -> Option<String> {
        let result = answer.as_ref().ok()?;
        RiskVerdict::of_result(result).map(|judged| judged.kind().to_owned())
    };
    let kinds = answers.iter().map(|answer| judged(answer).unwrap_or_else(|| "without an answer".to_owned()));
    let head = format!("{}: {}", counted(answers.len() as u64, "address", "addresses"), tally::of(kinds));
    let mut table = Table::new(["verdict", "address", "chain", "reason"]).with_kept(2).with_text();
    for (given, answer) in given.iter().zip(answers) {
        table.push(row(given, answer));
    }
    std::iter::once(head).chain(table.lines(layout)).collect()
}

fn row(given: &GivenAddress, answer: &Result<RiskResult, String>) -> Vec<String> {
    let result = match answer {
        Ok(result) => result,
        Err(why) => return vec!["no answer".to_owned(), given.text.clone(), String::new(), why.clone()],
    };
    let (level, reason) = RiskVerdict::of_result(result).map(|of| (of.level(), of.reason())).unwrap_or_default();
    vec![level, result.address.clone(), result.blockchain.clone(), reason]
}
