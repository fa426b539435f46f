//! `headwater trace`.

mod explain;
mod verdict;

use std::path::{Path, PathBuf};

use headwater_engine::endpoints::trace::TraceAnalysis;
use headwater_engine::trace::TraceSummary;
use headwater_picture::{Picture, PictureFormat};
use headwater_types::Chain;
use serde_json::{Value, json};

use super::error::Failure;
use super::output::{Output, write_file, write_json};
use super::session::Session;
use super::view::WideFlag;
use super::{Settings, chain, when};

/// Arguments of `trace`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain [default: the chain whose addresses have this form].
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Option<Chain>,
    /// Hops in the direction of payments, 0 to 7 [default: 2].
    #[arg(long, value_name = "N")]
    outward: Option<u64>,
    /// Hops against it, 0 to 7 [default: 2].
    #[arg(long, value_name = "N")]
    inward: Option<u64>,
    /// Maximum number of counterparties followed per address, largest first, 1 to 100 [default: 10].
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Maximum number of addresses, 1 to 5,000 [default: 500].
    #[arg(long, value_name = "N")]
    max_nodes: Option<u64>,
    /// Mixing of traced money with other money: haircut, fifo, poison or none [default: haircut].
    #[arg(long)]
    method: Option<String>,
    /// First day or time, such as 2025-03-17.
    #[arg(long, value_name = "TIME", value_parser = when::from)]
    from: Option<i64>,
    /// Last day or time, included.
    #[arg(long, value_name = "TIME", value_parser = when::until)]
    to: Option<i64>,
    /// Do not follow bridges to other chains.
    #[arg(long)]
    one_chain: bool,
    /// Write a file, by its ending: .html for a picture to look around in, .svg or .png for a static one, .json for the whole
    /// answer, .graphml for programs that draw graphs.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    wide: WideFlag,
    /// Address at which the trace begins.
    address: String,
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Graphml,
    Picture(PictureFormat),
}

/// Prints or writes a trace of the money of an address.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let form = arguments.out.as_deref().map(form_of).transpose()?;
    let session = Session::open(settings)?;
    let chain = session.chain(arguments.chain, &arguments.address)?;
    let response = session.ask::<TraceAnalysis>(request(arguments, chain))?;
    let report = &response.report;
    let (Some(form), Some(out)) = (form, &arguments.out) else {
        return output.answer(&response, || explain::lines(report, arguments.wide.layout(output)));
    };
    match form {
        Form::Json => write_json(out, &response)?,
        Form::Graphml => write_file(out, headwater_table::graphml(report))?,
        Form::Picture(format) => {
            let picture = Picture::of_trace(report).write(format);
            write_file(out, picture.map_err(|error| Failure::failed(error.to_string()))?)?;
        }
    }
    let file = out.display().to_string();
    let TraceSummary { node_count: nodes, edge_count: edges, .. } = report.summary;
    let warnings = Some(&response.warnings).filter(|warnings| !warnings.is_empty());
    let written = json!({"file": file, "nodes": nodes, "edges": edges, "warnings": warnings});
    output.report(&written, || vec![format!("{file}: {nodes} addresses, {edges} edges")])?;
    output.warn(&response.warnings);
    Ok(())
}

fn form_of(out: &Path) -> Result<Form, Failure> {
    match out.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase).as_deref() {
        Some("json") => Ok(Form::Json),
        Some("graphml") => Ok(Form::Graphml),
        _ => PictureFormat::of_file(out).map(Form::Picture).map_err(|_| {
            Failure::usage(format!(
                "--out: {} does not end in .html, .svg, .png, .json or .graphml: use the ending of the format to write",
                out.display()
            ))
        }),
    }
}

fn request(arguments: &Arguments, chain: Chain) -> Value {
    let Arguments { outward, inward, limit, max_nodes, method, from, to, one_chain, address, .. } = arguments;
    let bridge_chains = one_chain.then(|| json!([]));
    json!({"blockchain": chain.name(), "address": address, "track_setting": {
        "outward_depth": outward, "inward_depth": inward, "limit": limit, "max_nodes": max_nodes, "method": method, "start_time": from,
        "end_time": to, "bridge_chains": bridge_chains,
    }})
}
