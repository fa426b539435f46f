//! Pools of Tornado Cash in the configuration of its interface and forks.

use headwater_ledger::labels::Level;

use super::script::texts;
use super::{Files, Format, Given};
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::Probe;
use crate::{IngestError, Place};

/// Source: `config.js` of `tornadocash/tornado-core`: `netId1[.tokens].eth.instanceAddress['0.1']`.
pub(super) const FORMAT: Format = Format {
    name: "tornado",
    source: "tornado",
    group: "tornado",
    level: Level::ServiceData,
    vocabulary: Vocabulary::OWN,
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

/// The key of the pools of a token, by amount.
const POOLS: &str = "instanceAddress";
/// The beginning of the key of a chain.
const CHAIN: &str = "netId";

fn reads(probe: &Probe) -> bool {
    let head = String::from_utf8_lossy(probe.head());
    head.contains(POOLS) && head.contains(CHAIN)
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        for text in texts(&probe.input().document_text()?) {
            let [keys @ .., token, pools, amount] = &text.keys[..] else { continue };
            let chain = keys.iter().find_map(|key| key.strip_prefix(CHAIN));
            let Some(chain) = chain.filter(|_| pools == POOLS) else { continue };
            labels.claims.push(RawClaim {
                place: Some(Place::Line(text.line)),
                address: text.value,
                chain: ChainHint::Chain(chain.to_owned()),
                concepts: vec!["mixer".to_owned()],
                name: Some(format!("Tornado Cash: {amount} {}", token.to_uppercase())),
                entity: Some("Tornado Cash".to_owned()),
                ..RawClaim::default()
            });
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read};
    use super::*;

    #[test]
    fn pools_are_claims_of_their_chain() {
        let config = "module.exports = {\n  deployments: {\n    netId1: {\n      eth: {\n        instanceAddress: {\n          '0.1': '0x12D66f87A04A9E220743712cE6d9bB1B5616B8Fc',\n        },\n        symbol: 'ETH', decimals: 18,\n      },\n      tokens: { dai: { instanceAddress: { '100': '' }, tokenAddress: '0x6B175474E89094C44Da98b954EedeAC495271d0F' } },\n      proxy: '0x0D5550d52428E7e3175bfc9550207e4ad3859b17',\n    },\n    netId5: { eth: { instanceAddress: { 1: '0x3535249DFBb73e21c2aCDC6e42796d920A0379b7' } } },\n  },\n}\n";
        assert_eq!(
            all_shown(&read(&FORMAT, &[("config.js", config)])),
            [
                "0x12D66f87A04A9E220743712cE6d9bB1B5616B8Fc | on 1 | mixer | named Tornado Cash: 0.1 ETH | of Tornado Cash",
                "on 1 | mixer | named Tornado Cash: 100 DAI | of Tornado Cash",
                "0x3535249DFBb73e21c2aCDC6e42796d920A0379b7 | on 5 | mixer | named Tornado Cash: 1 ETH | of Tornado Cash",
            ]
        );
    }
}
