//! `headwater query`.

use std::fs;
use std::io::{self, BufWriter, Read};
use std::path::{Path, PathBuf};

use headwater_engine::{self as engine, Column, ColumnKind, ENDPOINTS, Endpoint};
use headwater_table::{Format, TableError};
use serde_json::{Map, Value, json};

use super::Settings;
use super::cells::cell;
use super::error::Failure;
use super::generation::GenerationArgument;
use super::intelligence::intelligence;
use super::output::{Output, grouped, write_json};
use super::progress::{Bar, Unit};
use super::rows::{ListAnswer, table_of, table_of_records};
use super::session::Session;
use super::table::{Layout, Table};
use super::view::View;

/// Lists the endpoints with a line each, for help.
fn endpoints() -> String {
    let width = ENDPOINTS.iter().map(|endpoint| endpoint.name.len()).max().unwrap_or(0);
    let line = |endpoint: &Endpoint| format!("  {:<width$}  {}", endpoint.name, endpoint.summary);
    let lines: Vec<_> = ENDPOINTS.iter().map(line).collect();
    format!("Endpoints:\n{}", lines.join("\n"))
}

/// Arguments of `query`.
#[derive(Debug, clap::Args)]
#[command(after_help = endpoints())]
pub struct Arguments {
    /// The path of the endpoint without its version, such as `transactions`, `counterparty/overview` or
    /// `transaction/HASH`.
    endpoint: String,
    /// The request as a JSON object; `@FILE` reads it from a file, `-` from standard input.
    #[arg(long, value_name = "JSON")]
    body: Option<String>,
    /// Set one parameter, or one field of the body of a POST endpoint, as text or as a JSON list or object.
    #[arg(long = "param", value_name = "NAME=VALUE")]
    params: Vec<String>,
    /// Write the answer to a file, by its ending: .json for the whole answer; .csv, .ndjson, .parquet or .arrow for the
    /// rows of a list, all of them unless a `limit` is given.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    view: View,
    #[command(flatten)]
    generation: GenerationArgument,
}

/// Asks an endpoint by its name.
pub(super) fn run(
    settings: &Settings,
    endpoints: &'static [Endpoint],
    arguments: Arguments,
    output: Output,
) -> Result<(), Failure> {
    let (endpoint, in_path) = find(endpoints, &arguments.endpoint)?;
    let request = request(in_path, arguments.body.as_deref(), &arguments.params)?;
    let form = arguments.out.as_deref().map(|out| form_of(out, endpoint)).transpose()?.flatten();
    let session = Session::with(settings, arguments.generation, intelligence(settings)?)?;
    if let (Some(format), Some(out)) = (form, &arguments.out) {
        return table(&session, (endpoint, request), (format, out), output);
    }
    if arguments.out.is_none() && arguments.view.is_csv(output)? {
        return session.print_csv(endpoint, request, output);
    }
    let is_read = output.is_on_terminal() || (arguments.view.wide && !output.is_json());
    if arguments.out.is_none() && is_read && endpoint.columns().is_some() {
        let list = session.list(endpoint, request)?;
        return output
            .report(&list.rows, || list_lines(endpoint, &list, arguments.view.layout(output)))
            .map(|()| output.warn(&list.head.warnings));
    }
    let response =
        session.engine.answer(endpoint, request, &session.cancel).map_err(|error| Failure::from_engine(&error))?;
    match arguments.out {
        None if is_read => {
            let layout = arguments.view.layout(output);
            output.report(&response, || record_lines(&endpoint.report_columns(), &response.value(), layout))?;
        }
        None => output.json(&response)?,
        Some(out) => write_json(&out, &response)?,
    }
    output.warn(&response.warnings);
    Ok(())
}

/// Formats the rows of a list: how many there are, the rows, and how to continue.
fn list_lines(endpoint: &Endpoint, list: &ListAnswer, layout: Layout) -> Vec<String> {
    let shown = grouped(list.rows.len() as u64);
    let count = match list.head.total {
        Some(total) if total != list.rows.len() as u64 => format!("{shown} of {} rows", grouped(total)),
        _ => format!("{shown} rows"),
    };
    let mut lines = vec![count];
    if !list.rows.is_empty() {
        lines.extend(table_of(endpoint, &list.rows).lines(layout));
    }
    lines.extend(list.head.next_cursor.iter().map(|cursor| format!("more follows: --param cursor={cursor}")));
    lines
}

/// Formats a record: its fields, and below them the lists in it.
fn record_lines(columns: &[Column], record: &Value, layout: Layout) -> Vec<String> {
    let (mut facts, mut lists) = (Table::new(["field", "value"]).with_text(), Vec::new());
    for column in columns.iter().filter(|column| column.name != "meta") {
        collect(&mut facts, &mut lists, &column.name, (column, &record[&*column.name]));
    }
    let mut lines = facts.lines(layout);
    for (name, columns, rows) in lists {
        lines.extend([String::new(), format!("{name}:")]);
        lines.extend(table_of_records(columns, rows).lines(layout));
    }
    lines
}

/// A list within a record: its name, its columns and its rows.
type NestedList<'r> = (String, &'r [Column], &'r [Value]);

/// Collects the fields and the lists below a field.
fn collect<'r>(
    facts: &mut Table,
    lists: &mut Vec<NestedList<'r>>,
    name: &str,
    (column, value): (&'r Column, &'r Value),
) {
    match (&column.kind, value) {
        (ColumnKind::Record(columns), Value::Object(_)) => {
            for inner in columns {
                collect(facts, lists, &format!("{name}.{}", inner.name), (inner, &value[&*inner.name]));
            }
        }
        (ColumnKind::Records(columns), Value::Array(rows)) if !rows.is_empty() => {
            lists.push((name.to_owned(), columns, rows));
        }
        _ => facts.push(vec![name.to_owned(), cell(column, value)]),
    }
}

/// Writes the rows of a list; an existing file is kept until the new one is complete.
fn table(
    session: &Session,
    question: (&Endpoint, engine::Arguments),
    (format, out): (Format, &Path),
    output: Output,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::failed(format!("cannot write {}: {error}", out.display()));
    let mut partial = out.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let file = BufWriter::new(fs::File::create(&partial).map_err(failed)?);
    let bar = Bar::new(Unit::Steps);
    let written = headwater_table::write(
        &session.engine,
        question,
        (format, file),
        &|rows, total| bar.update(rows, total.unwrap_or(rows), "rows"),
        &session.cancel,
    );
    drop(bar);
    let written = written.map_err(|error| match &error {
        TableError::Engine(error) => Failure::from_engine(error),
        TableError::Rows(_) | TableError::Write(_) => Failure::failed(format!("{}: {error}", out.display())),
    });
    let (file, written) = written.inspect_err(|_| {
        // The partial file is useless, and a failure to remove it changes nothing.
        let _ = fs::remove_file(&partial);
    })?;
    file.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
    fs::rename(&partial, out).map_err(failed)?;
    output.warn(&written.warnings);
    let report = json!({
        "file": out.display().to_string(), "rows": written.rows, "next_cursor": written.next_cursor,
        "warnings": written.warnings,
    });
    output.report(&report, || {
        let rest = written.next_cursor.iter().map(|cursor| format!("more follows: --param cursor={cursor}"));
        let first = format!("{}: {} rows", out.display(), grouped(written.rows));
        std::iter::once(first).chain(rest).collect()
    })
}

/// Returns the endpoint of a path, and the parameter in the path.
fn find<'a>(
    endpoints: &'static [Endpoint],
    path: &'a str,
) -> Result<(&'static Endpoint, Option<Parameter<'a>>), Failure> {
    let bare = path.trim_matches('/');
    let bare = bare.strip_prefix("v1/").or_else(|| bare.strip_prefix("v2/")).unwrap_or(bare);
    if let Some(endpoint) = endpoints.iter().find(|endpoint| endpoint.name == bare) {
        return Ok((endpoint, None));
    }
    let with_parameter = endpoints.iter().find_map(|endpoint| Some((endpoint, parameter_in(endpoint, bare)?)));
    let Some((endpoint, (name, value))) = with_parameter else {
        let names: Vec<&str> = endpoints.iter().map(|endpoint| endpoint.name).collect();
        return Err(Failure::usage(format!("unknown endpoint {path:?}: expected one of {}", names.join(", "))));
    };
    // A path copied from the documentation contains the name of the parameter instead of a value.
    let is_given = value != format!("{{{name}}}");
    Ok((endpoint, is_given.then_some((name, value))))
}

/// The name and value of a parameter.
type Parameter<'a> = (&'static str, &'a str);

/// Returns the last part of a path, if the endpoint has a parameter there.
fn parameter_in<'a>(endpoint: &Endpoint, bare: &'a str) -> Option<Parameter<'a>> {
    let (_, last) = endpoint.path.rsplit_once('/')?;
    let name = last.strip_prefix('{')?.strip_suffix('}')?;
    let value = bare.strip_prefix(endpoint.name)?.strip_prefix('/')?;
    (!value.is_empty() && !value.contains('/')).then_some((name, value))
}

/// Collects the arguments of a call; the engine decides what the texts of parameters mean.
fn request(
    in_path: Option<Parameter<'_>>,
    body: Option<&str>,
    params: &[String],
) -> Result<engine::Arguments, Failure> {
    let body = body.map(read_body).transpose()?.unwrap_or_default();
    let mut arguments = engine::Arguments::from(Value::Object(body));
    let split = |param| str::split_once(param, '=').ok_or(param);
    for param in in_path.map(Ok).into_iter().chain(params.iter().map(|param| split(&**param))) {
        let (name, value) =
            param.map_err(|param| Failure::usage(format!("--param {param:?} is not of the form NAME=VALUE")))?;
        if arguments.contains(name) {
            return Err(Failure::usage(format!("the parameter {name:?} is given twice")));
        }
        arguments = arguments.with_text(name, value);
    }
    Ok(arguments)
}

fn read_body(body: &str) -> Result<Map<String, Value>, Failure> {
    let (text, place) = if body == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| Failure::failed(format!("standard input: {error}")))?;
        (text, "standard input".to_owned())
    } else if let Some(path) = body.strip_prefix('@') {
        let text = fs::read_to_string(path).map_err(|error| Failure::failed(format!("cannot read {path}: {error}")))?;
        (text, path.to_owned())
    } else {
        (body.to_owned(), "--body".to_owned())
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => {
            Err(Failure::usage(format!("{place} must be a JSON object, such as {{\"blockchain\": \"ethereum\"}}")))
        }
        Err(error) => Err(Failure::usage(format!("{place} is not valid JSON: {error}"))),
    }
}

/// Returns the format of a file by its ending; `None` for JSON.
fn form_of(out: &Path, endpoint: &Endpoint) -> Result<Option<Format>, Failure> {
    let ending = out.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match (Format::of_ending(ending), endpoint.columns()) {
        (None, _) if ending.eq_ignore_ascii_case("json") => Ok(None),
        (Some(format), Some(_)) => Ok(Some(format)),
        (Some(_), None) => {
            let name = endpoint.name;
            Err(Failure::usage(format!("the answer of {name} is not a list: write it to a file that ends in .json")))
        }
        (None, _) => {
            let endings = Format::ALL.map(|format| format!(".{}", format.ending())).join(", ");
            let out = out.display();
            Err(Failure::usage(format!(
                "{out} has an ending that cannot be written: expected .json, or of lists {endings}"
            )))
        }
    }
}
