use proptest::prelude::*;

use super::*;

const TAPROOT: &str = "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0";

fn utxo_reason(text: &str) -> Reason {
    Address::parse(Chain::BITCOIN, text).expect_err(text).reason
}

#[test]
fn eip_55_vectors_hold() {
    // EIP-55, "Test Cases".
    for text in [
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
        "0xde709f2102306220921060314715629080e2fb77",
        "0x27b1fdb04752bbc536007a920d24acb045561c26",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    ] {
        let address = Address::parse(Chain::ETHEREUM, text).unwrap();
        assert_eq!(address.to_checksummed(), text);
        assert_eq!(address.to_string(), text.to_lowercase());
        assert_ne!(eip55(text), Checksum::Failed);
    }
    assert_eq!(eip55("0x52908400098527886E0F7030069857D2E4169EE7"), Checksum::None, "one case is not a checksum");
    assert_eq!(eip55("0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9adb"), Checksum::Failed);
}

#[test]
fn an_evm_address_is_0x_and_40_hex_digits() {
    for (text, reason) in [
        ("5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", Reason::UnknownForm),
        ("0X5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", Reason::UnknownForm),
        ("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae", Reason::Length),
        ("0x", Reason::Length),
        ("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeg", Reason::Alphabet),
        ("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaé", Reason::Length),
    ] {
        assert_eq!(Address::parse(Chain::ETHEREUM, text).unwrap_err().reason, reason, "{text}");
    }
}

#[test]
fn icap_vectors_hold() {
    // The ICAP page of the Ethereum wiki: one address in the direct form.
    let bytes = icap::parse("XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS").unwrap();
    assert_eq!(evm::text(&bytes), "0x00c5496aee77c1ba1f0854206a26dda82a81d6d8");
    assert_eq!(icap::parse("XE7438O073KYGTWWZN0F2WZ0R8PX5ZPPZS"), Err(Reason::Checksum));
    assert_eq!(icap::parse("XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZ"), Err(Reason::Length));
    assert_eq!(icap::parse("XE7338O073KYGTWWZN0F2WZ0R8PX5ZPP-S"), Err(Reason::Alphabet));
}

#[test]
fn bip_350_vectors_hold() {
    // BIP 350, "Test vectors for v0-v16 native segregated witness addresses".
    for (network, text, script) in [
        (
            Network::Mainnet,
            "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
            "0014751e76e8199196d454941c45d1b3a323f1433bd6",
        ),
        (
            Network::Mainnet,
            "bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y",
            "5128751e76e8199196d454941c45d1b3a323f1433bd6751e76e8199196d454941c45d1b3a323f1433bd6",
        ),
        (Network::Mainnet, "BC1SW50QGDZ25J", "6002751e"),
        (Network::Mainnet, "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs", "5210751e76e8199196d454941c45d1b3a323"),
        (Network::Mainnet, TAPROOT, "512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"),
        (
            Network::Testnet,
            "tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c",
            "5120000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433",
        ),
    ] {
        let Ok(Address::Utxo(address)) = Address::parse_on(Chain::BITCOIN, network, text) else { panic!("{text}") };
        assert_eq!(hex::encode(address.script()), script);
        assert_eq!(address.to_string(), text.to_lowercase());
    }
}

#[test]
fn a_witness_address_is_refused_for_the_right_reason() {
    // BIP 350, "invalid segwit addresses and the reason for their invalidity".
    for (text, reason) in [
        ("tc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq5zuyut", Reason::Version),
        ("bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd", Reason::Checksum),
        ("tb1z0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqglt7rf", Reason::Checksum),
        ("BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL", Reason::Checksum),
        ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh", Reason::Checksum),
        ("tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47", Reason::Checksum),
        ("bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4", Reason::Alphabet),
        ("BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R", Reason::Version),
        ("bc1pw5dgrnzv", Reason::Length),
        ("bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav", Reason::Length),
        ("BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P", Reason::Length),
        ("tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq", Reason::MixedCase),
        ("bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf", Reason::Length),
        ("tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vpggkg4j", Reason::Padding),
        ("bc1gmk9yu", Reason::Length),
        ("bc1", Reason::Length),
        ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t", Reason::Length),
        ("bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080", Reason::NetworkMismatch),
        // Before BIP 350 this was the address of that program.
        ("bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7k7grplx", Reason::Checksum),
    ] {
        assert_eq!(utxo_reason(text), reason, "{text}");
    }
}

#[test]
fn base58check_is_judged_by_checksum_version_and_network() {
    let genesis = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
    assert_eq!(Address::parse(Chain::BITCOIN, genesis).unwrap().to_string(), genesis);
    for network in [Network::Testnet, Network::Signet, Network::Regtest] {
        let text = "2N2JD6wb56AfK4tfmM6PwdVmoYk2dCKf4Br";
        assert_eq!(Address::parse_on(Chain::BITCOIN, network, text).unwrap().to_string(), text);
    }
    for (text, reason) in [
        ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", Reason::Checksum),
        ("1A1zP1eP5QGefi2DMPTfTL5SLmv7Di", Reason::Length),
        ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNO", Reason::Alphabet),
        ("mo9ncXisMeAoXwqcV5EWuyncbmCcQN4rVs", Reason::NetworkMismatch),
        // A private key, and an address of Litecoin.
        ("5Kd3NBUAdUnhyzenEwVLy9pBKxSwXvE9FMPyR4UKZvpe6E3AgLr", Reason::Version),
        ("LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1", Reason::Version),
        ("", Reason::UnknownForm),
        ("satoshi", Reason::UnknownForm),
    ] {
        assert_eq!(utxo_reason(text), reason, "{text}");
    }
    assert_eq!(utxo_reason(&"1".repeat(100_000)), Reason::UnknownForm);
}

#[test]
fn tron_is_read_from_base58_and_from_hex() {
    // The USDT contract on TRON.
    let text = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
    let address = Address::parse(Chain::TRON, text).unwrap();
    for hex in ["41a614f803b6fd780986a42c78ec9c7f77e6ded13c", "0x41a614f803b6fd780986a42c78ec9c7f77e6ded13c"] {
        assert_eq!(Address::parse(Chain::TRON, hex).unwrap(), address);
    }
    assert_eq!(address.to_string(), text);
    for (text, reason) in [
        ("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6T", Reason::Checksum),
        ("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6", Reason::Length),
        ("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLjOt", Reason::Alphabet),
        ("27bLJCYjbH6MT8DBF9xcrK6yZnm43vx7MNQ", Reason::Version),
        ("0xa614f803b6fd780986a42c78ec9c7f77e6ded13c", Reason::UnknownForm),
        ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", Reason::UnknownForm),
    ] {
        assert_eq!(Address::parse(Chain::TRON, text).unwrap_err().reason, reason, "{text}");
    }
}

fn networks() -> impl Strategy<Value = Network> {
    prop::sample::select(vec![Network::Mainnet, Network::Testnet, Network::Signet, Network::Regtest])
}

fn witness() -> impl Strategy<Value = UtxoPayload> {
    let version_0 = prop_oneof![prop::collection::vec(any::<u8>(), 20), prop::collection::vec(any::<u8>(), 32)];
    let program = prop_oneof![
        (Just(0), version_0),
        (1..=16_u8, prop::collection::vec(prop_oneof![Just(0), any::<u8>()], 2..=40)),
    ];
    program.prop_map(|(version, bytes)| UtxoPayload::Witness(WitnessProgram::new(version, &bytes).unwrap()))
}

fn addresses_on(network: Network) -> impl Strategy<Value = Address> {
    let payload = prop_oneof![
        any::<[u8; 20]>().prop_map(UtxoPayload::PublicKeyHash),
        any::<[u8; 20]>().prop_map(UtxoPayload::ScriptHash),
        witness(),
    ];
    prop_oneof![
        any::<[u8; 20]>().prop_map(Address::Evm),
        any::<[u8; 20]>().prop_map(Address::Tron),
        payload.prop_map(move |payload| Address::Utxo(UtxoAddress { network, payload })),
    ]
}

fn chain_of(address: &Address) -> Chain {
    match address {
        Address::Evm(_) => Chain::ETHEREUM,
        Address::Tron(_) => Chain::TRON,
        Address::Utxo(_) => Chain::BITCOIN,
    }
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(
        (network, address) in networks().prop_flat_map(|network| (Just(network), addresses_on(network)))
    ) {
        let chain = chain_of(&address);
        prop_assert_eq!(Address::parse_on(chain, network, &address.to_string()), Ok(address));
        prop_assert_eq!(Address::parse_on(chain, network, &address.to_checksummed()), Ok(address));
        prop_assert_eq!(Address::from_key(address.family(), network, address.key().as_slice()), Some(address));
        let seen = inspect::inspect(&address.to_string(), None, network);
        prop_assert_eq!(seen.address, Some(address));
        prop_assert!(!seen.corrected && seen.corrections.is_empty());
    }

    #[test]
    fn keys_are_ordered_like_addresses(
        left in addresses_on(Network::Mainnet), right in addresses_on(Network::Mainnet)
    ) {
        if left.family() == right.family() {
            prop_assert_eq!(left.cmp(&right), left.key().cmp(&right.key()));
            prop_assert_eq!(left.cmp(&right), left.key().as_slice().cmp(right.key().as_slice()));
        }
    }

    #[test]
    fn a_changed_character_never_passes_a_checksum(
        address in addresses_on(Network::Mainnet), place in any::<prop::sample::Index>(), character in "[a-zA-Z0-9]"
    ) {
        let text = address.to_string();
        let place = place.index(text.len());
        let changed = format!("{}{character}{}", &text[..place], &text[place + 1..]);
        if !matches!(address, Address::Evm(_)) && changed != text {
            let read = Address::parse(chain_of(&address), &changed);
            prop_assert!(read.is_err(), "{} became {:?}", changed, read);
        }
    }

    #[test]
    fn no_text_makes_reading_panic(text in any::<String>()) {
        for chain in Chain::all() {
            let _ = Address::parse(chain, &text);
            let _ = inspect::inspect(&text, Some(chain), Network::Mainnet);
        }
        let seen = inspect::inspect(&text, None, Network::Mainnet);
        prop_assert_eq!(seen.valid, seen.address.is_some());
        prop_assert_eq!(seen.valid, seen.reason.is_none());
        let _ = inspect::neighbours(&text, None, Network::Mainnet);
    }
}
