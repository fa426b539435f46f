//! Typed values of bitcoin out of JSON objects.

use headwater_types::{Address, Amount, BlockHash, Chain, Family, Network, Timestamp, TxHash};

use crate::error::FieldError;
use crate::networks::{self, of_address};
use crate::source::{Object, plain_decimal, plain_number, time_of};

/// Satoshis are the eighth decimal of a bitcoin.
const DECIMALS: u8 = 8;

impl Object<'_> {
    /// The version of a transaction, which nodes print as a signed number before release 28 and as an unsigned one
    /// since.
    pub(crate) fn version(&self, name: &str) -> Result<Option<u32>, FieldError> {
        self.read(name, "a whole number of 32 bits, signed or not", |text| {
            let number: i64 = text.parse().ok()?;
            u32::try_from(number).ok().or_else(|| i32::try_from(number).ok().map(i32::cast_unsigned))
        })
    }

    pub(crate) fn time(&self, name: &str) -> Result<Option<Timestamp>, FieldError> {
        // Header times have 32 bits.
        self.read(name, "epoch seconds of at most 32 bits, or a date and time of day in UTC", |text| {
            time_of(text).filter(|time| u32::try_from(time.secs()).is_ok())
        })
    }

    pub(crate) fn transaction(&self, name: &str) -> Result<TxHash, FieldError> {
        let hash =
            self.read(name, HASH, |text| TxHash::parse(Family::Utxo, text).ok().filter(|hash| !hash.is_made()))?;
        self.need(name, hash, HASH)
    }

    pub(crate) fn block_hash(&self, name: &str) -> Result<Option<BlockHash>, FieldError> {
        self.read(name, HASH, |text| BlockHash::parse(Family::Utxo, text).ok())
    }

    /// A script in plain hex.
    pub(crate) fn script(&self, name: &str) -> Result<Option<Vec<u8>>, FieldError> {
        // An empty script is the empty text.
        self.read(name, "a script in hex", |text| hex::decode(text).ok())
    }

    /// Whole satoshis.
    pub(crate) fn satoshis(&self, name: &str) -> Result<Option<u64>, FieldError> {
        self.read(name, "satoshis, at most all that can exist", |text| {
            plain_number::<u64>(text).filter(|satoshis| *satoshis <= super::block::MAX_MONEY)
        })
    }

    /// An amount in bitcoin as a double, in satoshis: 53 bits count all satoshis there can be, so the nearest is the one.
    pub(crate) fn rounded_bitcoins(&self, name: &str) -> Result<Option<u64>, FieldError> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked before")]
        self.read(name, "an amount in BTC, at most all that can exist", |text| {
            let satoshis = (text.parse::<f64>().ok()? * 1e8).round();
            #[expect(clippy::cast_precision_loss, reason = "all money has 51 bits")]
            let all = super::block::MAX_MONEY as f64;
            (0.0..=all).contains(&satoshis).then_some(satoshis as u64)
        })
    }

    /// An amount in bitcoin, exactly, in satoshis.
    pub(crate) fn bitcoins(&self, name: &str) -> Result<Option<u64>, FieldError> {
        self.read(name, "an amount in BTC with at most 8 decimals", |text| {
            let amount = Amount::parse_decimal(&plain_decimal(text)?, DECIMALS).ok()?.to_u128()?;
            u64::try_from(amount).ok().filter(|satoshis| *satoshis <= super::block::MAX_MONEY)
        })
    }
}

const HASH: &str = "a hash of 64 hex digits";

/// An address as the source writes it; `None` for what stands in place of one.
pub(crate) fn address(network: Network, text: &str) -> Option<Address> {
    Address::parse_on(Chain::BITCOIN, network, text).ok()
}

/// The other networks that a text is an address of; `None` for an address of `network`, and for a text without the form
/// of one, as sources print for scripts without an address.
pub(crate) fn other_network(network: Network, text: &str) -> Option<String> {
    const MAX_NAMED: usize = 3;
    if address(network, text).is_some() {
        return None;
    }
    let fits = of_address(text);
    // Releases of nodes before BIP 350 print later witness versions with another checksum.
    let is_own = |fit: &&networks::Network| match network {
        Network::Mainnet => fit.held == Some(Chain::BITCOIN),
        Network::Testnet | Network::Signet | Network::Regtest => fit.is_test_of(Chain::BITCOIN),
    };
    if fits.is_empty() || fits.iter().any(is_own) {
        return None;
    }
    Some(fits.iter().take(MAX_NAMED).map(|fit| fit.name).collect::<Vec<_>>().join(" or "))
}

/// Checks that an address, which a source prints beside a script, is not one of another network.
pub(crate) fn check_address(network: Network, column: &str, text: &str) -> Result<(), FieldError> {
    match other_network(network, text) {
        None => Ok(()),
        Some(other) => {
            let expected = format!("an address of bitcoin {network}; this is one of {other}");
            Err(FieldError::new(column, Some(text), expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::json;

    fn bitcoins(text: &str) -> Option<u64> {
        let document = format!("{{\"value\": {text}}}");
        let value = json::parse(&document, &crate::Bounds::default()).unwrap();
        Object::whole(&value).bitcoins("value").ok().flatten()
    }

    #[test]
    fn amounts_in_bitcoin_are_read_without_a_float() {
        for (text, satoshis) in [
            ("50.00000000", 5_000_000_000),
            ("50", 5_000_000_000),
            ("0.00002700", 2_700),
            ("2.7e-05", 2_700),
            ("1e-8", 1),
            ("1E+2", 10_000_000_000),
            ("1.5e1", 1_500_000_000),
            ("0.07", 7_000_000),
            ("20999999.97690000", 2_099_999_997_690_000),
            ("0.0", 0),
            ("\"0.29\"", 29_000_000),
        ] {
            assert_eq!(bitcoins(text), Some(satoshis), "{text}");
        }
        for text in ["0.000000001", "1e-9", "-1", "1e99", "22000000", "true", "\"1,5\"", "\"1e\"", "\"e5\"", "\"1e-\""]
        {
            assert_eq!(bitcoins(text), None, "{text}");
        }
    }

    #[test]
    fn other_networks_are_named_by_the_form_of_an_address() {
        let other = |network, text| other_network(network, text).unwrap_or_default();
        assert_eq!(other(Network::Mainnet, "LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp"), "litecoin");
        assert_eq!(other(Network::Mainnet, "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"), "bitcoin-testnet");
        assert_eq!(other(Network::Testnet, "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"), "");
        assert_eq!(other(Network::Testnet, "1QHVKfhTPgvLfV3MwF1RR14EQb3EPpuxJg"), "bitcoin");
        for text in ["1QHVKfhTPgvLfV3MwF1RR14EQb3EPpuxJg", "nonstandard", "d-f3b2a1", "unknown", ""] {
            assert_eq!(other(Network::Mainnet, text), "", "{text}");
        }
    }

    #[test]
    fn an_error_names_the_way_to_the_value() {
        let value =
            json::parse(r#"{"vout": [{"n": 0}, {"n": "x"}], "time": 16000000000}"#, &crate::Bounds::default()).unwrap();
        let whole = Object::whole(&value);
        let outputs = whole.list("vout").unwrap();
        assert_eq!(outputs[1].number("n").unwrap_err().column, "vout[1].n");
        assert_eq!(whole.list("vin").map(|_| ()).unwrap_err().column, "vin");
        assert!(whole.time("time").is_err());
    }
}
