//! `headwater usage`.

use std::io;

use clap::ArgGroup;
use headwater_state::{KeyUsage, Month, MonthlyUsage, now_ms};

use super::Settings;
use super::error::Failure;
use super::output::{Output, date, grouped, say, table};

/// Arguments of `usage`.
#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["key", "month"])))]
pub struct Arguments {
    /// Id of a key; without --month, the usage of its account in this month of UTC.
    key: Option<String>,
    /// Show a month of UTC, such as 2026-11, by key and endpoint; of all keys, unless one is named.
    #[arg(long, value_name = "MONTH", value_parser = month)]
    month: Option<Month>,
    /// Print CSV.
    #[arg(long, requires = "month", conflicts_with = "json")]
    csv: bool,
}

fn month(text: &str) -> Result<Month, String> {
    text.parse::<Month>().map_err(|error| error.to_string())
}

/// Shows calls and credits by endpoint: of an account in this month, or of every key in any month.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    match (&arguments.key, arguments.month) {
        (key, Some(month)) => {
            let usage = settings.existing()?.consult(|admin| admin.monthly_usage(month, key.as_deref()))?;
            if arguments.csv { csv(&usage) } else { output.report(&usage, || monthly(&usage)) }
        }
        (Some(key), None) => of_account(settings, key, output),
        (None, None) => Err(Failure::usage("name a key, or a month with --month")),
    }
}

/// Shows what an account used in the current month.
fn of_account(settings: &Settings, key: &str, output: Output) -> Result<(), Failure> {
    let usage = settings.existing()?.consult(|admin| admin.usage(key, now_ms()))?;
    output.report(&usage, || {
        let mut rows = vec![["endpoint", "calls", "failed", "credits"].map(str::to_owned).to_vec()];
        rows.extend(usage.by_endpoint.iter().map(|line| {
            let numbers = [line.calls, line.failed, line.credits].map(|number| grouped(number.unsigned_abs()));
            std::iter::once(line.endpoint.clone()).chain(numbers).collect()
        }));
        let head = format!(
            "plan {}, {} credits left; from {} to {}",
            usage.plan,
            grouped(usage.credit_remaining.unsigned_abs()),
            date(usage.period_start),
            date(usage.period_end)
        );
        std::iter::once(head).chain(table(&rows)).collect()
    })
}

fn monthly(usage: &MonthlyUsage) -> Vec<String> {
    let head = format!("{} (UTC), from {} to {}", usage.month, date(usage.period_start), date(usage.period_end));
    let note = (!usage.complete).then(|| incomplete(usage));
    let mut rows = vec![["key", "name", "endpoint", "calls", "failed", "credits"].map(str::to_owned).to_vec()];
    let row = |texts: [&str; 3], numbers: [i64; 3]| -> Vec<String> {
        let numbers = numbers.map(|number| grouped(number.unsigned_abs()));
        texts.into_iter().map(str::to_owned).chain(numbers).collect()
    };
    rows.extend(usage.usage.iter().map(|KeyUsage { key_id, name, endpoint, calls, failed, credits }| {
        row([key_id, name, endpoint], [*calls, *failed, *credits])
    }));
    rows.push(row(["all", "", ""], [usage.calls, usage.failed, usage.credits]));
    std::iter::once(head).chain(note).chain(table(&rows)).collect()
}

fn incomplete(usage: &MonthlyUsage) -> String {
    format!("{} is not complete: calls that count for it may still come or end", usage.month)
}

/// Prints one line per key and endpoint; the note that a month is not complete goes to standard error.
fn csv(usage: &MonthlyUsage) -> Result<(), Failure> {
    let mut out = csv::Writer::from_writer(io::stdout());
    let written = (|| {
        out.write_record(["month", "key_id", "name", "endpoint", "calls", "failed", "credits"])?;
        for KeyUsage { key_id, name, endpoint, calls, failed, credits } in &usage.usage {
            let [calls, failed, credits] = [calls, failed, credits].map(ToString::to_string);
            out.write_record([&usage.month, key_id, name, endpoint, &calls, &failed, &credits])?;
        }
        out.flush()?;
        Ok::<_, csv::Error>(())
    })();
    match written.map_err(io::Error::from) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error.into()),
        _ => {}
    }
    if !usage.complete {
        say(&format!("note: {}", incomplete(usage)));
    }
    Ok(())
}
