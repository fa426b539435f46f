//! `headwater risk`.

mod explain;
mod many;
mod verdict;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use headwater_engine::endpoints::address_risk::AddressRisk;
use headwater_intel::risk::Parameters;
use headwater_types::Chain;
use serde_json::json;

use super::Settings;
use super::address_list;
use super::error::Failure;
use super::generation::GenerationArgument;
use super::intelligence::intelligence;
use super::output::Output;
use super::session::Session;
use super::view::View;

/// Arguments of `risk`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain; `evm` assesses the labels of one account on every EVM chain [default: the chain whose addresses have this
    /// form].
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Option<String>,
    /// Parameters of the score [default: the file of `intel.risk_parameters`, else the built-in ones].
    #[arg(long, value_name = "FILE")]
    parameters: Option<PathBuf>,
    /// Print the built-in parameters, as a start for a file of your own.
    #[arg(long, conflicts_with_all = ["chain", "parameters", "address"])]
    print_parameters: bool,
    #[command(flatten)]
    view: View,
    /// The addresses; `-` reads them from standard input, one per line or in the first column of CSV.
    #[arg(required_unless_present = "print_parameters")]
    address: Vec<String>,
}

/// Reads the name of a chain or an alias of it, or `evm`.
fn chain() -> impl TypedValueParser<Value = String> {
    let value =
        |chain: Chain| PossibleValue::new(chain.name()).aliases(chain.aliases().iter().copied()).alias(chain.caip2());
    PossibleValuesParser::new(Chain::all().map(value).chain([PossibleValue::new("evm")]))
}

/// Prints the risk of an address, and what it is made of.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    if arguments.print_parameters {
        let text = Parameters::standard_text();
        return output.report(&json!({"parameters": text}), || text.lines().map(str::to_owned).collect());
    }
    let mut intelligence = intelligence(settings)?;
    if let Some(file) = &arguments.parameters {
        intelligence.parameters = Arc::new(read(file)?);
    }
    let parameters = Arc::clone(&intelligence.parameters);
    let given = address_list::read(&arguments.address)?;
    let session = Session::with(settings, GenerationArgument::default(), intelligence)?;
    let (chain, view) = (arguments.chain.as_deref(), arguments.view);
    let [one] = &given[..] else { return many::run(&session, &given, chain, (view, output)) };
    if one.line.is_some() || view.csv {
        return many::run(&session, &given, chain, (view, output));
    }
    let chain = match chain {
        Some(chain) => chain.to_owned(),
        None => session.chain(None, &one.text)?.name().to_owned(),
    };
    let request = json!({"blockchain": chain, "address": one.text, "third_party": provider(output)});
    let response = session.ask::<AddressRisk>(request)?;
    output.answer(&response, || explain::lines(&response, &parameters, view.layout(output)))
}

/// Returns the use of a provider of further claims. The command line has none, so that people would read a warning about it
/// in every answer; scripts get the answer of `query`.
fn provider(output: Output) -> Option<&'static str> {
    (!output.is_json()).then_some("off")
}

/// Reads a file of parameters.
fn read(file: &Path) -> Result<Parameters, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("--parameters: cannot read {}: {error}", file.display())))?;
    Parameters::parse(&text).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))
}
