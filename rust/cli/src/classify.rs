//! `headwater classify`: the class of addresses, in words.

use headwater_engine::endpoints::address_classify::{
    AddressClassification, AddressClassify, AddressClassifyReport, ENDPOINT, FeatureContribution,
};
use headwater_types::Chain;
use serde_json::{Value, json};

use super::address_list::{self, GivenAddress};
use super::batches::{self, Answers};
use super::error::Failure;
use super::output::Output;
use super::session::Session;
use super::table::{Layout, Table};
use super::view::View;
use super::words::{counted, number};
use super::{Settings, chain, tally};

/// Addresses of one call.
const BATCH: usize = 100;

/// Arguments of `classify`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain [default: the chain whose addresses have this form].
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Option<Chain>,
    /// Print the ten features that count most for the class.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    view: View,
    /// The addresses; `-` reads them from standard input, one per line or in the first column of CSV.
    #[arg(required = true)]
    address: Vec<String>,
}

/// Prints the class of addresses by what they did alone.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { chain, explain, view, address } = arguments;
    let is_csv = view.is_csv(output)?;
    let given = address_list::read(address)?;
    let session = Session::open(settings)?;
    let chain = match &given[..] {
        [one] if one.line.is_none() => Some(session.chain(*chain, &one.text)?),
        _ => *chain,
    };
    let mut warnings = Vec::new();
    let (mut model, mut as_of_block) = (None, None);
    let ask = |chain: &str, addresses: &[String]| {
        let request = json!({"blockchain": chain, "addresses": addresses, "explain": explain});
        let response = session.ask::<AddressClassify>(request)?;
        warnings.extend(response.warnings);
        let AddressClassifyReport { results, model: of_chain, as_of_block: block } = response.report;
        model = of_chain.or(model.take());
        as_of_block = block.or(as_of_block);
        Ok(results
            .into_iter()
            .map(|result| match &result.error {
                Some(error) => Err(error.clone()),
                None => Ok(result),
            })
            .collect())
    };
    let answers = batches::ask_each(&session, &given, (chain.map(Chain::name), BATCH), ask)?;
    let warnings = tally::merged(warnings);
    if is_csv {
        let rows = given.iter().zip(&answers).map(|(given, answer)| value(given, answer));
        tally::print_csv(&ENDPOINT, rows)?;
    } else {
        let results: Vec<Value> = given.iter().zip(&answers).map(|(given, answer)| value(given, answer)).collect();
        let answer =
            tally::envelope(&json!({"results": results, "model": model, "as_of_block": as_of_block}), &warnings);
        output.report(&answer, || match (&given[..], &answers[..]) {
            ([_], [Ok(one)]) => one_lines(one, view.layout(output)),
            _ => lines(&given, &answers, view.layout(output)),
        })?;
    }
    output.warn(&warnings);
    batches::check(&answers, output)
}

fn value(given: &GivenAddress, answer: &Result<AddressClassification, String>) -> Value {
    match answer {
        Ok(result) => json!(result),
        Err(why) => json!({"address": given.text, "predicted_class": null, "confidence": 0.0, "error": why}),
    }
}

fn one_lines(of: &AddressClassification, layout: Layout) -> Vec<String> {
    let mut lines = vec![format!("{}: {} on {}", verdict(of), &*of.address, &*of.blockchain)];
    let mut others: Vec<_> =
        of.probabilities.iter().flatten().filter(|(_, probability)| **probability >= 0.005).collect();
    others.sort_by(|one, other| other.1.total_cmp(one.1));
    let mut table = Table::new(["class", "probability"]);
    for (class, probability) in others {
        table.push(vec![class.clone(), format!("{probability:.3}")]);
    }
    lines.extend(table.lines(layout));
    if let Some(features) = &of.contributions {
        let mut table = Table::new(["feature", "value", "log-odds"]);
        for FeatureContribution { feature, value, contribution } in features {
            let value = value.map(number).unwrap_or_default();
            table.push(vec![(*feature).to_owned(), value, format!("{contribution:+.3}")]);
        }
        lines.push(format!("Features that count most for {}:", of.explained_class.as_deref().unwrap_or("the class")));
        lines.extend(table.lines(layout));
    }
    lines.push("A class comes from transfers alone, without labels. It is not a measure of risk.".to_owned());
    lines
}

/// Describes the class with its probability.
fn verdict(of: &AddressClassification) -> String {
    match of.predicted_class.as_deref() {
        Some("Unknown") | None => "no class is probable enough".to_owned(),
        Some(class) => format!("looks like {class}, with a probability of {:.2}", of.confidence),
    }
}

fn lines(given: &[GivenAddress], answers: &Answers<AddressClassification>, layout: Layout) -> Vec<String> {
    let class = |answer: &Result<AddressClassification, String>| match answer {
        Ok(of) => of.predicted_class.clone().unwrap_or_else(|| "Unknown".to_owned()),
        Err(_) => "no answer".to_owned(),
    };
    let classes = tally::of(answers.iter().map(class));
    let head = format!("{}: {classes}", counted(answers.len() as u64, "address", "addresses"));
    let mut table = Table::new(["class", "probability", "address", "chain", "error"]).with_kept(3).with_text();
    for (given, answer) in given.iter().zip(answers) {
        table.push(match answer {
            Ok(of) => vec![
                class(answer),
                format!("{:.2}", of.confidence),
                of.address.to_string(),
                of.blockchain.to_string(),
                String::new(),
            ],
            Err(why) => vec![class(answer), String::new(), given.text.clone(), String::new(), why.clone()],
        });
    }
    std::iter::once(head).chain(table.lines(layout)).collect()
}
