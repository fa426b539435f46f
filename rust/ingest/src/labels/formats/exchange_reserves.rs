//! Wallets that exchanges publish as proof of their reserves.

use headwater_ledger::labels::Level;

use super::reading::each_table_row;
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::{Probe, Row};

/// Source: the tables of Bybit (`Coin,Height,Amount,Address`) and OKX (`coin,Network,Snapshot Height,address,...`). The
/// signatures beside them are not checked, so the level is not `ownership`.
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

fn reads(probe: &Probe) -> bool {
    has_network(probe) || (probe.has(&["Coin", "Height", "Amount", "Address"]) && probe.columns().len() == 4)
}

fn read(probes: &[Probe], given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    if given.entity.is_none() {
        labels.warnings.push("the file does not name the exchange: give its name with --entity".to_owned());
    }
    for probe in probes {
        let has_network = has_network(probe);
        each_table_row(probe, &["coin", "network", "address"], &mut labels, |row: &Row<'_>, labels| {
            let coin = row.text("coin")?.unwrap_or_default();
            let network = if has_network { row.text("network")? } else { None };
            // `USDT-ETH` is a coin on a network.
            let network = network.as_deref().or_else(|| coin.split_once('-').map(|(_, network)| network));
            labels.claims.push(RawClaim {
                place: Some(row.place()),
                // The sum of a coin has none.
                address: row.text("address")?.unwrap_or_default().into_owned(),
                chain: network.map_or(ChainHint::None, |network| ChainHint::Chain(network.trim().to_owned())),
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
        assert_eq!(read(&FORMAT, &[("bybit.csv", bybit)]).warnings.len(), 1);
    }
}
