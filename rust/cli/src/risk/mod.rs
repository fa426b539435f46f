//! `headwater risk`.

mod explain;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use headwater_engine::{ENDPOINTS, QueryEngine};
use headwater_intel::risk::Parameters;
use headwater_ledger::{Cancel, Store};
use headwater_state::clock::milliseconds;
use headwater_types::Chain;
use serde_json::json;

use super::Settings;
use super::error::Failure;
use super::intelligence::intelligence;
use super::interrupt::on_interrupt;
use super::output::Output;
use super::query;

/// The endpoint that answers.
const ENDPOINT: &str = "address-risk";

/// What `risk` takes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain; `evm` judges the labels of one account on every EVM chain.
    #[arg(long, value_parser = chain(), ignore_case = true, required_unless_present = "print_parameters")]
    chain: Option<String>,
    /// Parameters of the score [default: those that `intel.risk_parameters` names, else those of the program].
    #[arg(long, value_name = "FILE")]
    parameters: Option<PathBuf>,
    /// Print the parameters of the program, to begin an own file from.
    #[arg(long, conflicts_with_all = ["chain", "parameters", "address"])]
    print_parameters: bool,
    /// The address.
    #[arg(required_unless_present = "print_parameters")]
    address: Option<String>,
}

/// Reads the name of a chain or an alias of it, or `evm`.
fn chain() -> impl TypedValueParser<Value = String> {
    let value =
        |chain: Chain| PossibleValue::new(chain.name()).aliases(chain.aliases().iter().copied()).alias(chain.caip2());
    PossibleValuesParser::new(Chain::all().map(value).chain([PossibleValue::new("evm")]))
}

/// Says how risky an address is, and why.
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
    let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.name == ENDPOINT);
    let endpoint = endpoint.ok_or_else(|| Failure::failed(format!("there is no endpoint {ENDPOINT}")))?;
    let store = Store::open(settings.store()?)?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let engine = QueryEngine::new(Arc::new(store)).with_clock(milliseconds).with_intelligence(intelligence);
    let request = json!({"blockchain": arguments.chain, "address": arguments.address});
    let whole = query::ask(&engine, (endpoint, &request), output, &cancel)?;
    output.report(&whole, || explain::lines(&whole["data"], &parameters))
}

/// Reads a file of parameters.
fn read(file: &Path) -> Result<Parameters, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("--parameters: cannot read {}: {error}", file.display())))?;
    Parameters::parse(&text).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))
}
