//! `headwater usage`.

use headwater_state::now_ms;

use super::Settings;
use super::error::Failure;
use super::output::{Output, date, grouped, table};

/// Arguments of `usage`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Id of a key of the account; the month is that of UTC.
    key: String,
}

/// Shows calls and credits of an account by endpoint.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let usage = settings.existing()?.consult(|admin| admin.usage(&arguments.key, now_ms()))?;
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
