//! Says what an answer leaves out by default because no registry vouches for the token.

use crate::request::Warnings;

/// The code of the warning.
pub(crate) const CODE: &str = "unverified_hidden";

/// What an answer hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// Rows of a list, or movements of a sum.
    Movements(u64),
    /// At least so many rows of a list that was not read to its end.
    SomeMovements(u64),
    /// Rows of a ranking.
    Counterparties(u64),
    /// Rows of a ranking that is split by token.
    CounterpartyTokens(u64),
    /// Balances.
    Tokens(u64),
}

/// Says how much is hidden, and what shows it. Silent where nothing is.
pub(crate) fn warn(hidden: Hidden, warnings: &mut Warnings) {
    let (count, [one, many]) = match hidden {
        Hidden::Movements(count) => (count, ["movement is", "movements are"]),
        Hidden::SomeMovements(count) => (count, ["movement or more is", "movements or more are"]),
        Hidden::Counterparties(count) => (count, ["counterparty is", "counterparties are"]),
        Hidden::CounterpartyTokens(count) => (count, ["token of a counterparty is", "tokens of counterparties are"]),
        Hidden::Tokens(count) => (count, ["token is", "tokens are"]),
    };
    if count > 0 {
        let what = if count == 1 { one } else { many };
        let message = format!(
            "{count} {what} hidden: no registry vouches for the token; `headwater tokens import FILE` adds a registry, \
             include_unverified shows what it does not know"
        );
        warnings.add_counted(CODE, message, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unverified_nothing_hidden_warns_of_nothing() {
        let mut warnings = Warnings::default();
        warn(Hidden::Movements(0), &mut warnings);
        warn(Hidden::Tokens(1), &mut warnings);
        let list = warnings.into_list();
        assert_eq!((list.len(), list[0].count), (1, Some(1)));
        assert!(list[0].message.starts_with("1 token is hidden: "), "{}", list[0].message);
    }
}
