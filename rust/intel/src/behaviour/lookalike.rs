//! Addresses that look alike: people compare a few characters in front and a few behind.

use headwater_types::Address;

/// The first and the last characters of an address, `0x` apart; `None` where it has fewer.
pub(super) fn ends(address: &Address, leading: usize, trailing: usize) -> Option<(String, String)> {
    let text = address.to_string();
    let body = text.strip_prefix("0x").unwrap_or(&text);
    let behind = body.len().checked_sub(trailing)?;
    Some((body.get(..leading)?.to_owned(), body.get(behind..)?.to_owned()))
}
