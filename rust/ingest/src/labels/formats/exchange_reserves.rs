//! Wallets that exchanges publish as proof of their reserves.

use headwater_ledger::labels::Level;

use super::reading::each_table_row;
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::{Probe, Row};

/// Source: the tables of Bybit (`Coin,Height,Amount,Address`), OKX (`coin,Network,Snapshot Height,address,...`) and Huobi
/// (`coin,address,balance,message,signature`). The signatures beside them are not checked, so the level is not `ownership`.
pub(super) const FORMAT: Format = Format {
    name: "exchange_reserves",
    source: "exchange_reserves",
    group: "exchange_reserves",
    level: Level::ServiceData,
    vocabulary: Vocabulary::OWN,
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

fn has_network(probe: &Probe) -> bool {
    probe.has(&["coin", "Network", "Snapshot Height", "address", "amount"])
}

/// Returns true if the coin is the native one of the chain, or a token on the chain that the form of the address names.
fn has_signatures(probe: &Probe) -> bool {
    probe.has(&["coin", "address", "message", "signature"])
}

fn reads(probe: &Probe) -> bool {
    has_network(probe)
        || has_signatures(probe)
        || (probe.has(&["Coin", "Height", "Amount", "Address"]) && probe.columns().len() == 4)
}

fn read(probes: &[Probe], given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    if given.entity.is_none() {
        labels.warnings.push("the file does not name the exchange: give its name with --entity".to_owned());
    }
    for probe in probes {
        let (has_network, has_signatures) = (has_network(probe), has_signatures(probe));
        each_table_row(probe, &["coin", "network", "address"], &mut labels, |row: &Row<'_>, labels| {
            let coin = row.text("coin")?.unwrap_or_default();
            let network = if has_network { row.text("network")? } else { None };
            // `USDT-ETH` is a coin on a network.
            let network =
                network.as_deref().or_else(|| coin.split_once('-').map(|(_, network)| network)).map(str::trim);
            let of_coin = || match &*coin {
                coin if has_signatures && !coin.is_empty() => ChainHint::Ticker(coin.to_owned()),
                _ => ChainHint::None,
            };
            labels.claims.push(RawClaim {
                place: Some(row.place()),
                // The sum of a coin has none.
                address: row.text("address")?.unwrap_or_default().into_owned(),
                chain: network.map_or_else(of_coin, |network| ChainHint::Chain(network.to_owned())),
                concepts: vec![given.code.clone().unwrap_or_else(|| "exchange".to_owned())],
                ..RawClaim::default()
            });
            Ok(())
        })?;
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read, read_given};
    use super::*;

    #[test]
    fn network_decides_and_the_caller_names_the_exchange() {
        let bybit = "Coin,Height,Amount,Address\n\
            BTC-BTC,900000,\"1,234.5\",1B8y7yRsACi9r9KNKNri6eEVr15Bu6wSBv bc1q2dp5ck7ttmcgqq0sr4wsy6egp3925qcy798mtv\n\
            BTC(ALL),,1234.5,\n\
            USDT-ETH,23000000,5,0x0494c0950a34a7f024c18ad5dca185f4aa01d307\n";
        let okx = "coin,Network,Snapshot Height,address,amount,message,signature1,signature2,redeem script/ public key\n\
            USDT,TRX,75000000,TSTsGgdGYYLGWnL7D7By9Qcm3tud8bYDJo,8,I am an Example address,0x02,,\n";
        let given = Given { entity: Some("Bybit".to_owned()), ..Given::default() };
        let labels = read_given(&FORMAT, &[("bybit.csv", bybit), ("okx.csv", okx)], &given).unwrap();
        assert_eq!(
            all_shown(&labels),
            [
                "1B8y7yRsACi9r9KNKNri6eEVr15Bu6wSBv bc1q2dp5ck7ttmcgqq0sr4wsy6egp3925qcy798mtv | on BTC | exchange",
                "exchange",
                "0x0494c0950a34a7f024c18ad5dca185f4aa01d307 | on ETH | exchange",
                "TSTsGgdGYYLGWnL7D7By9Qcm3tud8bYDJo | on TRX | exchange",
            ]
        );
        assert!(labels.warnings.is_empty());
        let huobi = "coin,address,balance,message,signature\n\
            btc,1B8y7yRsACi9r9KNKNri6eEVr15Bu6wSBv,12.5,Example message,H0x\n\
            usdt,TSTsGgdGYYLGWnL7D7By9Qcm3tud8bYDJo,100,Example message,0x12\n";
        assert_eq!(
            all_shown(&read_given(&FORMAT, &[("huobi.csv", huobi)], &given).unwrap()),
            [
                "1B8y7yRsACi9r9KNKNri6eEVr15Bu6wSBv | ticker btc | exchange",
                "TSTsGgdGYYLGWnL7D7By9Qcm3tud8bYDJo | ticker usdt | exchange",
            ]
        );
        assert_eq!(read(&FORMAT, &[("bybit.csv", bybit)]).warnings.len(), 1);
    }
}
