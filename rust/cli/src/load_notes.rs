//! Notes after loads of files and from nodes.

use headwater_ingest::StoreReport;

use super::output::grouped;

/// The hint after the first load of a store without lists of labels.
const HINT: &str = "no list of labels is imported, so answers name nobody: `headwater labels import core` imports OFAC's \
                    addresses, mining pools, exchanges, mixers and well-known contracts";

/// Returns what a user should do with the store after a load, in sentences.
pub(super) fn notes_of_store(report: &StoreReport) -> Vec<String> {
    let freezes = report.freezes.map(|freezes| {
        let count = grouped(freezes.claims);
        format!("{count} freezes of token issuers are labels now, version {}", freezes.version)
    });
    let unlisted_tokens = report.unlisted_tokens.map(|count| {
        let tokens = if count == 1 { "token is" } else { "tokens are" };
        format!(
            "{} {tokens} in no registry, hidden from answers and without a price: `headwater tokens import FILE` adds a \
             registry",
            grouped(count)
        )
    });
    let hint = report.lacks_lists.then(|| HINT.to_owned());
    freezes.into_iter().chain(unlisted_tokens).chain(hint).collect()
}
