//! The words: addresses, hashes, amounts.

use headwater_testkit::fuzz::FuzzOutcome;
use headwater_types::address::eip55;
use headwater_types::address::inspect::{MAX_CANDIDATES, inspect};
use headwater_types::{Address, Amount, Chain, Family, Network, TxHash};

use crate::fuzz::{reader, text};

const ADDRESSES: [&str; 9] = [
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdac17f958d2ee523a2206206994597c13d831ec7",
    "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t",
    "41a614f803b6fd780986a42c78ec9c7f77e6ded13c",
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
    "3Kawbc5pkpQPfmaoGCBiaw5t2uK6WBoVVe",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
    "mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn",
];
const NETWORKS: [Network; 4] = [Network::Mainnet, Network::Testnet, Network::Signet, Network::Regtest];

#[test]
fn accepted_address_prints_itself_on_every_network() {
    let words = ["0x", "bc1", "tb1p", "bcrt1", "41", "T", "1", "3", "ı", "\u{200b}", "0X"];
    reader("addresses").samples(ADDRESSES).words(words).check(|input| {
        let Some(text) = text(input) else { return FuzzOutcome::Refused };
        let _ = eip55(text);
        let mut met = FuzzOutcome::Refused;
        for (chain, network) in Chain::all().flat_map(|chain| NETWORKS.map(|network| (chain, network))) {
            let Ok(address) = Address::parse_on(chain, network, text) else { continue };
            met = FuzzOutcome::Taken;
            for printed in [address.to_string(), address.to_checksummed()] {
                assert_eq!(Address::parse_on(chain, network, &printed), Ok(address), "{text:?} on {chain} {network}");
            }
            let held = Address::from_key(chain.family(), network, address.key().as_slice());
            assert_eq!(held, Some(address), "{text:?} on {chain} {network}");
        }
        met
    });
}

#[test]
fn what_is_put_right_is_an_address_and_a_guess_is_one_too() {
    let samples = [
        " bitcoin:BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4?amount=1 ",
        "ethereum:0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359@1?value=2e18",
        "eip155:1:0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359",
        "https://etherscan.io/address/0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359#tokentxns",
        "XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS",
        "fb6916095ca1df60bb79ce92ce3ea74c37c5d359",
    ];
    let words = ["XE", "bitcoin:", "eip155:1:", "tron:", "https://tronscan.org/#/address/", "?", "@", "\u{feff}", "İ"];
    reader("inspections").samples(samples).samples(&ADDRESSES[..8]).words(words).check(|input| {
        let Some(text) = text(input).filter(|text| text.len() < 10_000) else { return FuzzOutcome::Refused };
        let mut met = FuzzOutcome::Refused;
        for chain in [None, Some(Chain::ETHEREUM), Some(Chain::TRON), Some(Chain::BITCOIN)] {
            let found = inspect(text, chain, Network::Mainnet);
            assert_eq!(found.valid, found.address.is_some());
            assert!(found.candidates.len() <= MAX_CANDIDATES);
            assert!(!found.valid || found.reason.is_none(), "{text:?}");
            if let Some(address) = found.address {
                met = FuzzOutcome::Taken;
                let of = found.chain.or(found.chains.first().copied()).expect("an address is of a chain");
                assert_eq!(Address::parse(of, &address.to_string()), Ok(address), "{text:?}");
                let again = inspect(&address.to_string(), Some(of), Network::Mainnet);
                assert_eq!((again.address, again.corrected), (Some(address), false), "{text:?}");
            }
        }
        met
    });
}

#[test]
fn a_hash_that_is_taken_prints_itself() {
    let hash = "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060";
    let samples = [
        hash,
        &hash[2..],
        "GENESIS_fb6916095ca1df60bb79ce92ce3ea74c37c5d359",
        "REWARD_5_fb6916095ca1df60bb79ce92ce3ea74c37c5d359",
        "WITHDRAWAL_17034870_fb6916095ca1df60bb79ce92ce3ea74c37c5d359",
    ];
    let words = ["OPENING_", "FORK_", "REWARD_", "GENESIS_", "_", "0x", "+1", "4294967295", "-0"];
    reader("hashes").samples(samples).words(words).check(|input| {
        let Some(text) = text(input) else { return FuzzOutcome::Refused };
        let mut met = FuzzOutcome::Refused;
        for family in [Family::Evm, Family::Tron, Family::Utxo] {
            let Ok(hash) = TxHash::parse(family, text) else { continue };
            met = FuzzOutcome::Taken;
            assert_eq!(TxHash::parse(family, &hash.display(family)), Ok(hash), "{text:?} of {}", family.name());
        }
        met
    });
}

#[test]
fn an_amount_that_is_taken_prints_itself_and_nothing_is_rounded() {
    let samples = ["0", "12.5", "0x1bc16d674ec80000", "1000000000000000000", "0.000000000000000001"];
    let words = [".", "00", "e18", "_", "+", "-", "٣", "\u{a0}"];
    reader("amounts").samples(samples).words(words).check(|input| {
        let Some(text) = text(input) else { return FuzzOutcome::Refused };
        let mut met = FuzzOutcome::from(&Amount::parse_hex(text));
        if let Ok(amount) = Amount::parse_raw(text) {
            assert_eq!(
                amount.to_string(),
                Some(text.trim_start_matches('0')).filter(|text| !text.is_empty()).unwrap_or("0")
            );
        }
        for decimals in [0, 1, 6, 8, 18, 77, 255] {
            let Ok(amount) = Amount::parse_decimal(text, decimals) else { continue };
            met = FuzzOutcome::Taken;
            let printed = amount.to_decimal(decimals);
            assert_eq!(Amount::parse_decimal(&printed, decimals), Ok(amount), "{text:?}");
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
            let plain = format!(
                "{}{}{fraction}",
                if whole.is_empty() { "0" } else { whole },
                if fraction.is_empty() { "" } else { "." }
            );
            assert_eq!(printed, plain, "{text:?} with {decimals}");
            assert!(amount.to_f64(decimals).is_finite());
        }
        met
    });
}
