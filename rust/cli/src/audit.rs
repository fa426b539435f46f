//! `headwater audit`.

use clap::Subcommand;
use headwater_state::{AuditFilter, AuditListing, ChangeListing, LogUse, RequestSum, SumFilter};
use headwater_types::TimeWindow;
use headwater_types::text::shortened;
use serde_json::json;

use super::error::Failure;
use super::output::{Output, date, grouped, size, table};
use super::{Settings, cursor};

/// Arguments of `audit`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Only requests with this key.
    #[arg(long, value_name = "ID")]
    key: Option<String>,
    /// Only requests that ended with this status.
    #[arg(long, value_parser = clap::value_parser!(u16).range(100..=599))]
    status: Option<u16>,
    /// Only requests since then: Unix seconds, or 2026-01-31, or 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<i64>,
    /// Only requests before the one with this id, to continue an earlier list.
    #[arg(long, value_name = "REQUEST_ID", value_parser = cursor)]
    before: Option<String>,
    /// Maximum number of rows, newest first.
    #[arg(long, global = true, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List changes of the back office, newest first, with the values before and after.
    Changes,
    /// Count requests that were refused or came without a key, by minute, endpoint and status, newest first.
    Sums {
        /// Only requests that ended with this status.
        #[arg(long, value_parser = clap::value_parser!(u16).range(100..=599))]
        status: Option<u16>,
        /// Only requests since then: Unix seconds, or 2026-01-31, or 2026-01-31T12:00:00Z.
        #[arg(long, value_name = "TIME", value_parser = time)]
        since: Option<i64>,
    },
}

/// Reads a time as Unix seconds.
fn time(text: &str) -> Result<i64, String> {
    let date = || text.parse::<chrono::NaiveDate>().ok()?.and_hms_opt(0, 0, 0).map(|time| time.and_utc().timestamp());
    let instant = || chrono::DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp());
    let expected = "expected Unix seconds, 2026-01-31 or 2026-01-31T12:00:00Z";
    match text.parse().ok().or_else(date).or_else(instant) {
        Some(secs @ 0..=TimeWindow::LAST_SECS) => Ok(secs),
        Some(..0) => Err(format!("it lies before 1970: {expected}")),
        Some(_) => Err(format!("it looks like milliseconds: {expected}")),
        None => Err(expected.to_owned()),
    }
}

/// Shows requests, or changes of the back office.
pub(super) fn run(settings: &Settings, arguments: Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { command, key, status, since, before, limit } = arguments;
    if command.is_some() && (key.is_some() || status.is_some() || since.is_some() || before.is_some()) {
        return Err(Failure::usage(
            "--key, --status, --since and --before choose requests: leave them out, or write --status and --since behind \
             sums",
        ));
    }
    let log = settings.log.usage(&settings.place()?);
    match command {
        None => {}
        Some(Command::Changes) => {
            let changes = settings.existing()?.consult(|admin| admin.changes(None, limit))?;
            return output.report(&json!({"changes": changes}), || change_lines(&changes));
        }
        Some(Command::Sums { status, since }) => {
            let filter = SumFilter { status, from_secs: since, after: None, limit };
            let sums = settings.existing()?.consult(|admin| admin.request_sums(&filter))?;
            return output.report(&json!({"sums": sums, "log": log}), || sum_lines(&sums, log.as_ref()));
        }
    }
    let from_ms = since.map(|secs| secs.saturating_mul(1000));
    let filter = AuditFilter { key_id: key, status, from_ms, before, limit };
    let requests = settings.existing()?.consult(|admin| admin.audit(&filter))?;
    output.report(&json!({"requests": requests, "log": log}), || {
        let mut lines = request_lines(&requests);
        lines.push(log_line(log.as_ref()));
        lines
    })
}

/// Says where the requests are that the database does not list.
fn log_line(log: Option<&LogUse>) -> String {
    match log {
        Some(LogUse { folder, files, bytes, .. }) => format!(
            "refused and keyless requests: `headwater audit sums` counts them, {} lists them ({} files, {})",
            folder.display(),
            grouped(*files),
            size(*bytes)
        ),
        None => "refused and keyless requests: `headwater audit sums` counts them; name the store or audit.log_dir to \
                 find the log that lists them"
            .to_owned(),
    }
}

fn sum_lines(sums: &[RequestSum], log: Option<&LogUse>) -> Vec<String> {
    let mut rows = vec![["from", "seconds", "endpoint", "status", "requests"].map(str::to_owned).to_vec()];
    rows.extend(sums.iter().map(|sum| {
        vec![
            date(sum.start),
            sum.span_secs.to_string(),
            sum.endpoint.clone().unwrap_or_else(|| "(no route)".to_owned()),
            sum.status.to_string(),
            sum.requests.to_string(),
        ]
    }));
    let mut lines = if sums.is_empty() { vec!["no request fits".to_owned()] } else { table(&rows) };
    lines.push(log_line(log));
    lines
}

/// Shortens parameters to one line of a table.
fn one_line(parameters: &str) -> String {
    /// The maximum number of characters.
    const SHOWN: usize = 200;
    shortened(&parameters.split_whitespace().collect::<Vec<_>>().join(" "), SHOWN)
}

fn request_lines(requests: &[AuditListing]) -> Vec<String> {
    if requests.is_empty() {
        return vec!["no request fits".to_owned()];
    }
    let mut head = vec!["time", "request", "key", "method", "endpoint", "status", "cost", "ms", "bytes"];
    let with_parameters = requests.iter().any(|request| request.parameters.is_some());
    head.extend(with_parameters.then_some("parameters"));
    let mut rows = vec![head.into_iter().map(str::to_owned).collect()];
    rows.extend(requests.iter().map(|request| {
        let mut row = vec![
            date(request.ts_ms / 1000),
            request.request_id.clone(),
            request.key_id.clone().unwrap_or_default(),
            request.method.clone(),
            request.endpoint.clone().unwrap_or_default(),
            request.status.to_string(),
            request.cost.to_string(),
            request.duration_ms.to_string(),
            request.bytes.to_string(),
        ];
        row.extend(with_parameters.then(|| one_line(request.parameters.as_deref().unwrap_or_default())));
        row
    }));
    table(&rows)
}

fn change_lines(changes: &[ChangeListing]) -> Vec<String> {
    if changes.is_empty() {
        return vec!["nothing was changed yet".to_owned()];
    }
    let mut rows = vec![["time", "who", "what", "target", "before", "after"].map(str::to_owned).to_vec()];
    rows.extend(changes.iter().map(|change| {
        vec![
            date(change.ts_ms / 1000),
            change.actor.clone(),
            change.action.clone(),
            change.target.clone(),
            change.before.clone().unwrap_or_default(),
            change.after.clone().unwrap_or_default(),
        ]
    }));
    table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_in_the_forms_that_people_write() {
        // 2000-02-29T12:34:56Z, as `date -u -d @951827696` prints it.
        for (text, secs) in [
            ("951827696", 951_827_696),
            ("2000-02-29T12:34:56Z", 951_827_696),
            ("2000-02-29T13:34:56+01:00", 951_827_696),
            ("1970-01-02", 86_400),
        ] {
            assert_eq!(time(text), Ok(secs), "{text}");
        }
        for text in ["", "yesterday", "2000-02-30", "-1", "1969-12-31"] {
            assert!(time(text).is_err(), "{text}");
        }
        assert!(time("1600000000000").unwrap_err().contains("milliseconds"));
    }
}
