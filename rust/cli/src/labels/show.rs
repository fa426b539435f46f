//! `headwater labels show`: who addresses are, and who says so.

use headwater_engine::endpoints::labels::{AddressLabels, ENDPOINT, LabelledAddress, LabelsReport};
use headwater_types::Chain;
use serde_json::{Value, json};

use super::super::address_list::{self, GivenAddress};
use super::super::batches::{self, Answers};
use super::super::error::Failure;
use super::super::output::{Output, say};
use super::super::session::Session;
use super::super::table::{Layout, Table};
use super::super::view::View;
use super::super::words::{counted, dispute, number, time};
use super::super::{Settings, chain, tally};

/// Addresses of one call.
const BATCH: usize = 100;

/// Arguments of `labels show`.
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    /// The chain [default: the chain whose addresses have this form].
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Option<Chain>,
    #[command(flatten)]
    view: View,
    /// The addresses; `-` reads them from standard input, one per line or in the first column of CSV.
    #[arg(required = true)]
    address: Vec<String>,
}

/// Prints the labels of addresses, and the claims behind them.
pub(super) fn run(settings: &Settings, arguments: &Show, output: Output) -> Result<(), Failure> {
    let Show { chain, view, address } = arguments;
    let is_csv = view.is_csv(output)?;
    let given = address_list::read(address)?;
    let session = Session::open(settings)?;
    let chain = match &given[..] {
        [one] if one.line.is_none() => Some(session.chain(*chain, &one.text)?),
        _ => *chain,
    };
    let mut warnings = Vec::new();
    let mut csv_rows = Vec::new();
    let ask = |chain: &str, addresses: &[String]| {
        let request = json!({"blockchain": chain, "addresses": addresses});
        if is_csv {
            csv_rows.extend(session.list(&ENDPOINT, request.clone())?.rows);
        }
        let response = session.ask::<AddressLabels>(request)?;
        warnings.extend(response.warnings);
        Ok(match response.report {
            LabelsReport::One(one) => vec![Ok(one)],
            LabelsReport::Batch { results } => results.into_iter().map(Ok).collect(),
        })
    };
    let answers = batches::ask_each(&session, &given, (chain.map(Chain::name), BATCH), ask)?;
    let warnings = tally::merged(warnings);
    if is_csv {
        tally::print_csv(&ENDPOINT, csv_rows.into_iter())?;
        // The rows of claims have no column for an error.
        for why in answers.iter().filter_map(|answer| answer.as_ref().err()) {
            say(&format!("error: {why}"));
        }
    } else {
        let results: Vec<Value> = given.iter().zip(&answers).map(|(given, answer)| value(given, answer)).collect();
        let answer = tally::envelope(&json!({"results": results}), &warnings);
        output.report(&answer, || match (&given[..], &answers[..]) {
            ([_], [Ok(one)]) => one_lines(one, view.layout(output)),
            _ => lines(&given, &answers, view.layout(output)),
        })?;
    }
    output.warn(&warnings);
    batches::check(&answers, output)
}

fn value(given: &GivenAddress, answer: &Result<LabelledAddress, String>) -> Value {
    match answer {
        Ok(labelled) => json!(labelled),
        Err(why) => json!({"address": given.text, "error": why}),
    }
}

/// Describes who an address is.
fn verdict(of: &LabelledAddress) -> String {
    let codes: Vec<_> = of.labels.iter().map(|code| &**code).collect();
    let who = match (&of.entity_name, &codes[..]) {
        (None, []) if of.sources.is_empty() => return "no list names this address".to_owned(),
        (None, []) => return "the claims about this address do not count".to_owned(),
        (Some(name), []) => name.clone(),
        (None, codes) => codes.join(", "),
        (Some(name), codes) => format!("{name}: {}", codes.join(", ")),
    };
    let active = of.sources.iter().filter(|source| source.confidence > 0.0);
    let mut doubts = Vec::new();
    if of.sources.iter().any(|source| source.disputed.is_some()) {
        doubts.push("disputed");
    }
    let mut active = active.peekable();
    if active.peek().is_some() && active.all(|source| source.inherited_from.is_some()) {
        doubts.push("inherited from other addresses");
    }
    let doubts = if doubts.is_empty() { String::new() } else { format!(" ({})", doubts.join(", ")) };
    format!("{who}{doubts}, confidence {}", number(of.confidence))
}

/// Names who an address is: the entity, else the first label.
fn who(of: &LabelledAddress) -> String {
    let label = of.labels.first().map(|code| code.to_string());
    of.entity_name.clone().or(label).unwrap_or_else(|| "no label".to_owned())
}

fn one_lines(of: &LabelledAddress, layout: Layout) -> Vec<String> {
    let mut lines = vec![verdict(of), format!("  {} on {}", &*of.address, &*of.blockchain)];
    if of.sources.is_empty() {
        lines.push("  That says nothing else of it: lists name few addresses.".to_owned());
        return lines;
    }
    let head =
        ["label", "confidence", "source", "name", "entity", "level", "first seen", "status", "inherited", "dispute"];
    let mut table = Table::new(head);
    for source in &of.sources {
        table.push(vec![
            source.label.clone(),
            number(source.confidence),
            source.source.clone(),
            source.name.clone().unwrap_or_default(),
            source.entity.clone().unwrap_or_default(),
            source.level.to_string(),
            source.first_seen.map(time).unwrap_or_default(),
            source.status.name().to_owned(),
            source.inherited_from.map(|from| from.name().to_owned()).unwrap_or_default(),
            source.disputed.as_ref().map(dispute).unwrap_or_default(),
        ]);
    }
    lines.push(String::new());
    lines.extend(table.lines(layout));
    lines
}

fn lines(given: &[GivenAddress], answers: &Answers<LabelledAddress>, layout: Layout) -> Vec<String> {
    let named = answers.iter().flatten().filter(|of| !of.labels.is_empty() || of.entity_name.is_some()).count();
    let head = format!("{}: lists name {named}", counted(answers.len() as u64, "address", "addresses"));
    let mut table = Table::new(["who", "address", "chain", "claims", "labels"]).with_kept(2).with_text();
    for (given, answer) in given.iter().zip(answers) {
        table.push(match answer {
            Ok(of) => vec![
                who(of),
                of.address.to_string(),
                of.blockchain.to_string(),
                of.sources.len().to_string(),
                verdict(of),
            ],
            Err(why) => vec!["no answer".to_owned(), given.text.clone(), String::new(), String::new(), why.clone()],
        });
    }
    std::iter::once(head).chain(table.lines(layout)).collect()
}
