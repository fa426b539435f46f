//! Tokens that change balances without transfers: sums of their movements drift away from what accounts hold.

use headwater_types::{Address, Asset, Chain};

/// Known ones on Ethereum: liquid staking, elastic supply, and the interest-bearing tokens of Aave's second version.
const ETHEREUM: [&str; 8] = [
    "0x028171bca77440897b824ca71d1c56cac55b68a3", // aDAI
    "0x030ba81f1c18d280636f32af80b9aad02cf0854e", // aWETH
    "0x2a8e1e676ec238d8a992307b495b45b3feaa5e86", // OUSD
    "0x35fa164735182de50811e8e2e824cfb9b6118ac2", // eETH
    "0x3ed3b47dd13ec9a98b44e6204a523e766b225811", // aUSDT
    "0xae7ab96520de3a18e5e111b5eaab095312d7fe84", // stETH
    "0xbcca60bb61934080951369a648fb03df4f96263c", // aUSDC
    "0xd46ba6d942050d489dbd938a2c909a5d5039a161", // AMPL
];

/// Whether an asset is known to rebase.
pub(crate) fn rebases(chain: Chain, asset: &Asset) -> bool {
    chain == Chain::ETHEREUM && asset.contract().is_some_and(is_listed)
}

fn is_listed(contract: &Address) -> bool {
    ETHEREUM.binary_search(&contract.to_string().as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_found_by_contract() {
        assert!(ETHEREUM.is_sorted());
        for text in ETHEREUM {
            let asset = Asset::Token(Address::parse(Chain::ETHEREUM, text).unwrap());
            assert!(rebases(Chain::ETHEREUM, &asset) && !rebases(Chain::BSC, &asset));
        }
        assert!(!rebases(Chain::ETHEREUM, &Asset::Native));
    }
}
