//! The disagreement of two sources, for the error that names it.

use std::fmt::{Debug, Display};

use headwater_types::{BlockHash, Chain};

use crate::error::{ConflictParties, LedgerError, Result};

/// The fact that two sources disagree about.
pub(super) struct FactRef<'a> {
    pub(super) chain: Chain,
    pub(super) what: &'static str,
    pub(super) id: &'a dyn Fn() -> String,
}

impl FactRef<'_> {
    /// Returns what either states; both must agree.
    pub(super) fn same<T: PartialEq + Debug>(
        &self,
        field: &'static str,
        held: Option<T>,
        offered: Option<T>,
    ) -> Result<Option<T>> {
        match (held, offered) {
            (Some(held), Some(offered)) if held != offered => Err(self.conflict(field, &held, &offered)),
            (held, offered) => Ok(held.or(offered)),
        }
    }

    /// The hash of a block that either states, written as the chain writes it.
    pub(super) fn same_block(
        &self,
        field: &'static str,
        held: Option<BlockHash>,
        offered: Option<BlockHash>,
    ) -> Result<Option<BlockHash>> {
        match (held, offered) {
            (Some(held), Some(offered)) if held != offered => {
                let family = self.chain.family();
                Err(self.contradiction(field, &held.display(family), &offered.display(family)))
            }
            (held, offered) => Ok(held.or(offered)),
        }
    }

    pub(super) fn conflict(&self, field: &'static str, held: &dyn Debug, offered: &dyn Debug) -> LedgerError {
        self.contradiction(field, &shown(held), &shown(offered))
    }

    /// A conflict of values that are written for people.
    pub(super) fn contradiction<H, O>(&self, field: &'static str, held: &H, offered: &O) -> LedgerError
    where
        H: Display + ?Sized,
        O: Display + ?Sized,
    {
        LedgerError::Conflict {
            chain: self.chain,
            what: self.what,
            id: (self.id)(),
            field,
            held: held.to_string(),
            offered: offered.to_string(),
            between: ConflictParties::Rows,
        }
    }
}

/// Long values must not fill an error message.
fn shown(value: &dyn Debug) -> String {
    const SHOWN: usize = 160;
    let text = format!("{value:?}");
    // What is there is shown as it is.
    let text = text.strip_prefix("Some(").and_then(|text| text.strip_suffix(')')).unwrap_or(&text);
    match text.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text.to_owned(),
    }
}
