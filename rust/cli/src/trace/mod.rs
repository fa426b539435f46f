//! `headwater trace`.

mod explain;
mod svg;

use std::path::{Path, PathBuf};

use headwater_types::Chain;
use serde_json::{Value, json};

use super::error::Failure;
use super::output::{Output, write_file};
use super::{Settings, chain, query};

/// The endpoint that answers.
const ENDPOINT: &str = "trace";

/// What `trace` takes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain.
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Chain,
    /// Hops in the direction of payments, 0 to 7 [default: 2].
    #[arg(long, value_name = "N")]
    outward: Option<u64>,
    /// Hops against it, 0 to 7 [default: 2].
    #[arg(long, value_name = "N")]
    inward: Option<u64>,
    /// Counterparties of an address that are followed, largest first, 1 to 100 [default: 10].
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// How traced money mixes with other money: haircut, fifo, poison or none [default: haircut].
    #[arg(long)]
    method: Option<String>,
    /// First time, epoch seconds, included.
    #[arg(long, value_name = "T")]
    from: Option<i64>,
    /// Last time, epoch seconds, included.
    #[arg(long, value_name = "T")]
    to: Option<i64>,
    /// Do not go on over bridges to other chains.
    #[arg(long)]
    one_chain: bool,
    /// Write a file, by its ending: .json for the whole answer, .graphml for programs that draw graphs, .svg for a picture.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Where the trace begins.
    address: String,
}

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Graphml,
    Svg,
}

/// Says where the money of an address went, and where it came from.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let form = arguments.out.as_deref().map(form_of).transpose()?;
    let whole = query::ask_store(settings, (ENDPOINT, &request(arguments)), output)?;
    let (Some(form), Some(out)) = (form, &arguments.out) else {
        return output.report(&whole, || explain::lines(&whole["data"]));
    };
    let text = match form {
        Form::Json => whole.to_string() + "\n",
        Form::Graphml => headwater_table::graphml(&whole["data"]),
        Form::Svg => svg::picture(&whole["data"]),
    };
    write_file(out, &text)?;
    let summary = &whole["data"]["summary"];
    let (file, nodes, edges) = (out.display().to_string(), &summary["node_count"], &summary["edge_count"]);
    let report = json!({"file": file, "nodes": nodes, "edges": edges, "warnings": whole["meta"]["warnings"]});
    output.report(&report, || vec![format!("{file}: {nodes} addresses, {edges} edges")])
}

fn form_of(out: &Path) -> Result<Form, Failure> {
    match out.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("json") => Ok(Form::Json),
        Some("graphml") => Ok(Form::Graphml),
        Some("svg") => Ok(Form::Svg),
        _ => Err(Failure::usage(format!(
            "--out: {} does not end in .json, .graphml or .svg, which say what is written",
            out.display()
        ))),
    }
}

/// The request, without what was not given.
fn request(arguments: &Arguments) -> Value {
    let Arguments { chain, outward, inward, limit, method, from, to, one_chain, address, .. } = arguments;
    let bridge_chains = one_chain.then(|| json!([]));
    let settings = query::without_nulls(json!({
        "outward_depth": outward, "inward_depth": inward, "limit": limit, "method": method, "start_time": from,
        "end_time": to, "bridge_chains": bridge_chains,
    }));
    json!({"blockchain": chain.name(), "address": address, "track_setting": settings})
}
