//! Finds the networks whose addresses have the form of a text.

use bitcoin::base58;

use super::{NETWORKS, Network};

/// Shorter texts are not addresses.
const SHORTEST: usize = 25;

const BECH32_CHARACTERS: &str = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// The characters of an address of `CashAddr` behind its prefix.
const CASH_CHARACTERS: usize = 42;

/// The networks that have addresses with the prefix, or the version byte of `Base58Check`, of a text.
pub(crate) fn of_address(text: &str) -> Vec<&'static Network> {
    if let Some(network) = of_prefix(text) {
        return vec![network];
    }
    let Some(version) = version_of(text) else { return Vec::new() };
    NETWORKS.iter().filter(|network| has_form(network, "b58:", |byte| version == byte)).collect()
}

/// The network that an address names in its prefix (Bech32, `CashAddr`).
pub(crate) fn of_prefix(text: &str) -> Option<&'static Network> {
    let lower = text.to_ascii_lowercase();
    if lower.len() < SHORTEST {
        return None;
    }
    let is_bech32 = |prefix: &str| {
        let data = lower.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('1'));
        data.is_some_and(|data| data.chars().all(|letter| BECH32_CHARACTERS.contains(letter)))
    };
    let is_uri = |scheme: &str| lower.strip_prefix(scheme).is_some_and(|rest| rest.starts_with(':'));
    NETWORKS.iter().find(|network| has_form(network, "hrp:", is_bech32) || has_form(network, "uri:", is_uri)).or_else(
        // Nodes of Bitcoin Cash may print addresses without their prefix.
        || {
            let is_cash = lower.len() == CASH_CHARACTERS
                && lower.starts_with(['q', 'p'])
                && lower.chars().all(|letter| BECH32_CHARACTERS.contains(letter));
            if is_cash { super::by_name("bitcoin-cash") } else { None }
        },
    )
}

fn has_form(network: &Network, kind: &str, is: impl Fn(&str) -> bool) -> bool {
    network.forms.iter().filter_map(|form| form.strip_prefix(kind)).any(is)
}

/// The bytes before the hash of a `Base58Check` address in hex: one or two, where its checksum holds.
fn version_of(text: &str) -> Option<String> {
    const HASH: usize = 20;
    if text.len() < SHORTEST || text.len() > 2 * SHORTEST {
        return None;
    }
    let bytes = base58::decode_check(text).ok()?;
    let version = bytes.len().checked_sub(HASH).and_then(|length| bytes.get(..length));
    version.filter(|version| (1..=2).contains(&version.len())).map(hex::encode)
}
