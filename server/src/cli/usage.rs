//! `headwater usage`.

use super::Shared;
use super::error::Failure;
use super::output::{Output, date, grouped, table};
use crate::state::now_ms;

/// What `usage` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Id of a key: the usage of its account in this month of UTC.
    key: String,
}

/// Shows calls and credits of an account by endpoint.
pub(super) fn run(shared: &Shared, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let usage = shared.existing()?.consult(|admin| admin.usage(&arguments.key, now_ms()))?;
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
