use proptest::prelude::*;

use super::*;

const EIP55: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const LOWER: &str = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
const SEGWIT: &str = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
const LEGACY: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
const TRON: &str = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
const TRON_HEX: &str = "41a614f803b6fd780986a42c78ec9c7f77e6ded13c";
const TRON_EVM: &str = "0xa614f803b6fd780986a42c78ec9c7f77e6ded13c";

fn free(query: &str) -> Inspection {
    inspect(query, None, Network::Mainnet)
}

fn on(chain: Chain, query: &str) -> Inspection {
    inspect(query, Some(chain), Network::Mainnet)
}

fn address(seen: &Inspection) -> String {
    seen.address.expect("the text is an address").to_string()
}

#[test]
fn the_canonical_text_is_left_alone() {
    for (text, chain, format, checksum) in [
        (LOWER, Chain::ETHEREUM, Format::Hex, Checksum::None),
        (TRON, Chain::TRON, Format::TronBase58, Checksum::Ok),
        (LEGACY, Chain::BITCOIN, Format::Base58check, Checksum::Ok),
        (SEGWIT, Chain::BITCOIN, Format::Bech32, Checksum::Ok),
        (
            "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
            Chain::BITCOIN,
            Format::Bech32m,
            Checksum::Ok,
        ),
    ] {
        let seen = free(text);
        assert_eq!((address(&seen), seen.chain), (text.to_owned(), Some(chain)));
        assert_eq!((seen.format, seen.checksum, seen.kind), (Some(format), checksum, Kind::Address));
        assert!(!seen.corrected && seen.corrections.is_empty() && seen.candidates.is_empty() && seen.reason.is_none());
    }
    assert_eq!(free(LOWER).chains, [Chain::ETHEREUM, Chain::BSC]);
    assert_eq!(on(Chain::BSC, LOWER).chain, Some(Chain::BSC));
}

#[test]
fn every_correction_is_made_and_said() {
    use Correction::{
        Base58ToHex, CaseFixed, HexToBase58, IcapDecoded, InvisibleRemoved, PrefixAdded, Trimmed, UriStripped,
    };
    let icap = "XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS";
    let icap_address = "0x00c5496aee77c1ba1f0854206a26dda82a81d6d8";
    for (query, chain, expected, corrections) in [
        (format!(" {LOWER}\n"), None, LOWER, vec![Trimmed]),
        (format!("\u{feff}{LOWER}\u{200b}"), None, LOWER, vec![InvisibleRemoved]),
        (format!("\u{a0}{}\u{200d}{}", &TRON[..9], &TRON[9..]), None, TRON, vec![Trimmed, InvisibleRemoved]),
        ("bc1q w508 d6qe jxtd g4y5 r3za rvar y0c5 xw7k v8f3 t4".into(), None, SEGWIT, vec![InvisibleRemoved]),
        (LOWER[2..].to_owned(), None, LOWER, vec![PrefixAdded]),
        (EIP55.to_owned(), None, LOWER, vec![CaseFixed]),
        (LOWER.replace("0x", "0X"), None, LOWER, vec![CaseFixed]),
        (EIP55[2..].to_owned(), None, LOWER, vec![PrefixAdded, CaseFixed]),
        (SEGWIT.to_uppercase(), None, SEGWIT, vec![CaseFixed]),
        (TRON_HEX.to_owned(), None, TRON, vec![HexToBase58]),
        (format!("0x{}", TRON_HEX.to_uppercase()), None, TRON, vec![HexToBase58]),
        (TRON_EVM.to_owned(), Some(Chain::TRON), TRON, vec![HexToBase58]),
        (TRON_EVM[2..].to_owned(), Some(Chain::TRON), TRON, vec![HexToBase58]),
        (TRON.to_owned(), Some(Chain::ETHEREUM), TRON_EVM, vec![Base58ToHex]),
        (format!("ethereum:pay-{LOWER}@1/transfer?uint256=1"), None, LOWER, vec![UriStripped]),
        (format!("eip155:1:{LOWER}"), None, LOWER, vec![UriStripped]),
        (format!("eip155:137:{LOWER}"), None, LOWER, vec![UriStripped]),
        (format!("tron:728126428:{TRON}"), None, TRON, vec![UriStripped]),
        (format!("bip122:000000000019d6689c085ae165831e93:{LEGACY}"), None, LEGACY, vec![UriStripped]),
        (format!("BITCOIN:{}?amount=1", SEGWIT.to_uppercase()), None, SEGWIT, vec![UriStripped, CaseFixed]),
        (format!("https://tronscan.org/#/address/{TRON}/transfers"), None, TRON, vec![UriStripped]),
        (icap.to_owned(), None, icap_address, vec![IcapDecoded]),
        (format!("iban:{icap}"), None, icap_address, vec![UriStripped, IcapDecoded]),
        ("XE73 38O0 73KY GTWW ZN0F 2WZ0 R8PX 5ZPP ZS".into(), None, icap_address, vec![InvisibleRemoved, IcapDecoded]),
    ] {
        let seen = inspect(&query, chain, Network::Mainnet);
        assert!(seen.valid && seen.corrected, "{query:?}");
        assert_eq!(seen.query, query);
        assert_eq!((address(&seen).as_str(), &seen.corrections), (expected, &corrections), "{query:?}");
    }
    assert_eq!(free(&format!("ethereum:{LOWER}@56")).chain, Some(Chain::BSC));
    assert_eq!(free(&format!("bsc:{LOWER}")).chain, Some(Chain::BSC));
}

#[test]
fn uri_prefix_or_explorer_link_selects_the_chain() {
    let bytes = "5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060";
    for (query, chain, expected) in [
        (format!("eth:{EIP55}"), Chain::ETHEREUM, LOWER),
        (format!("bnb:{EIP55}"), Chain::BSC, LOWER),
        (format!("BSC:{LOWER}"), Chain::BSC, LOWER),
        (format!("trx:{TRON}"), Chain::TRON, TRON),
        (format!("btc:{SEGWIT}"), Chain::BITCOIN, SEGWIT),
        (format!("tron:0x2b6653dc:{TRON}"), Chain::TRON, TRON),
        (format!("https://etherscan.io/address/{EIP55}#tokentxns"), Chain::ETHEREUM, LOWER),
        (format!("https://bscscan.com/address/{EIP55}"), Chain::BSC, LOWER),
        (format!("https://WWW.BscScan.com/token/{LOWER}"), Chain::BSC, LOWER),
        (format!("bscscan.com/address/{LOWER}"), Chain::BSC, LOWER),
        (format!("https://tronscan.org/#/address/{TRON}"), Chain::TRON, TRON),
        (format!("https://tronscan.io/#/contract/{TRON}/code"), Chain::TRON, TRON),
        (format!("https://blockchair.com/ethereum/address/{LOWER}"), Chain::ETHEREUM, LOWER),
        (format!("https://blockchair.com/de/bnb/address/{LOWER}?from=x"), Chain::BSC, LOWER),
        (format!("https://blockchair.com/bitcoin/address/{LEGACY}"), Chain::BITCOIN, LEGACY),
        (format!("https://www.blockchain.com/explorer/addresses/btc/{LEGACY}"), Chain::BITCOIN, LEGACY),
        (format!("https://www.blockchain.com/eth/address/{LOWER}"), Chain::ETHEREUM, LOWER),
        (format!("https://mempool.space/address/{SEGWIT}"), Chain::BITCOIN, SEGWIT),
        (format!("https://blockstream.info/address/{SEGWIT}"), Chain::BITCOIN, SEGWIT),
        (format!("https://live.blockcypher.com/btc/address/{LEGACY}/"), Chain::BITCOIN, LEGACY),
        (format!("https://explorer.example/bsc/address/{LOWER}"), Chain::ETHEREUM, LOWER),
    ] {
        let seen = free(&query);
        assert_eq!((seen.chain, address(&seen).as_str()), (Some(chain), expected), "{query}");
        assert!(seen.corrections.contains(&Correction::UriStripped), "{query}");
    }
    assert_eq!(free(&format!("https://bscscan.com/tx/0x{bytes}")).chains, [Chain::BSC]);
    assert_eq!(free(&format!("https://tronscan.org/#/transaction/{bytes}")).chains, [Chain::TRON]);
    assert!(!free(&format!("https://mempool.space/address/{LOWER}")).valid, "a link that contradicts its address");
    assert_eq!(on(Chain::ETHEREUM, &format!("bnb:{LOWER}")).chain, Some(Chain::ETHEREUM), "the field comes first");
}

#[test]
fn twenty_bytes_become_a_tron_address_only_when_tron_is_asked() {
    assert_eq!(free(TRON_EVM).chains, [Chain::ETHEREUM, Chain::BSC]);
    let seen = on(Chain::TRON, TRON_EVM);
    assert_eq!((address(&seen).as_str(), &seen.chains[..]), (TRON, &[Chain::TRON][..]));
}

#[test]
fn a_failed_eip_55_checksum_leaves_the_address_valid() {
    let seen = free("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD");
    assert!(seen.valid);
    assert_eq!((seen.checksum, seen.format, address(&seen).as_str()), (Checksum::Failed, Some(Format::Hex), LOWER));
    // One digit of an EIP-55 text was mistyped: the right one is found, but not applied.
    let mistyped = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe1";
    let seen = free(mistyped);
    assert_eq!(address(&seen), mistyped.to_lowercase());
    assert!(seen.candidates.iter().any(|guess| guess.address.to_string() == LOWER && guess.edits == 1));
}

#[test]
fn a_changed_character_is_guessed_and_never_applied() {
    for (query, meant, reason) in [
        ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", LEGACY, Reason::Checksum),
        ("1A1zP1eP5QGefi2DMPTfTL5SLmv7Div0Na", LEGACY, Reason::Alphabet),
        ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", SEGWIT, Reason::Checksum),
        ("bc1qw5o8d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", SEGWIT, Reason::Alphabet),
        ("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6T", TRON, Reason::Checksum),
        ("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjIj6t", TRON, Reason::Alphabet),
        ("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeg", LOWER, Reason::Alphabet),
        ("Bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", SEGWIT, Reason::MixedCase),
    ] {
        let seen = free(query);
        assert!(!seen.valid && seen.address.is_none() && seen.chain.is_none(), "{query}");
        assert_eq!((seen.reason, seen.kind), (Some(reason), Kind::Address), "{query}");
        assert!(seen.candidates.len() <= MAX_CANDIDATES);
        let guess = seen.candidates.iter().find(|guess| guess.address.to_string() == meant).expect(query);
        assert_eq!(guess.edits, 1);
        assert!(neighbours(query, None, Network::Mainnet).iter().any(|guess| guess.address.to_string() == meant));
    }
    assert_eq!(free("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb").checksum, Checksum::Failed);
    assert!(free("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeg").candidates.is_empty(), "nothing decides among sixteen");
}

#[expect(clippy::disallowed_methods, reason = "the long run is asked for through the environment")]
fn is_full() -> bool {
    std::env::var_os("HEADWATER_FULL").is_some()
}

#[test]
fn changed_character_at_any_place_is_guessed() {
    let taproot = "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0";
    let script = "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy";
    for meant in [LEGACY, "1111111111111111111114oLvT2", script, TRON, SEGWIT, taproot] {
        for place in 0..meant.len() {
            let characters = ["1", "2", "3", "T", "z", "Z", "q", "l", "0", "o", "O", "b", "-"];
            // Two at each place, or all of them; seven places see each of them.
            let some = if is_full() { 0..13 } else { 2 * place..2 * place + 2 };
            for character in some.map(|number| characters[number % 13]) {
                let mistyped = format!("{}{character}{}", &meant[..place], &meant[place + 1..]);
                // Another case alone is repaired where the notation has one.
                if mistyped.eq_ignore_ascii_case(meant) {
                    continue;
                }
                let seen = free(&mistyped);
                assert!(!seen.valid && seen.kind == Kind::Address, "{mistyped}");
                let found = seen.candidates.iter().any(|guess| guess.address.to_string() == meant && guess.edits == 1);
                assert!(found, "{meant} is not among the guesses for {mistyped}");
            }
        }
    }
}

#[test]
fn mistyped_hex_prefix_is_guessed() {
    for mistyped in [EIP55.replace("0x", "Ox"), EIP55.replace("0x", "0z"), EIP55.replace("0x", "00")] {
        let seen = free(&mistyped);
        assert!(seen.candidates.iter().any(|guess| guess.address.to_string() == LOWER), "{mistyped}");
    }
    let lower = LOWER.replace("0x", "ox");
    assert!(free(&lower).candidates.is_empty(), "nothing says that it is right");
    assert_eq!(neighbours(&lower, None, Network::Mainnet).len(), 1, "unless it was seen");
}

#[test]
fn an_address_of_another_network_is_not_valid() {
    let testnet = "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7";
    let seen = free(testnet);
    assert_eq!((seen.valid, seen.reason, seen.checksum), (false, Some(Reason::NetworkMismatch), Checksum::Ok));
    assert!(inspect(testnet, None, Network::Signet).valid);
    assert_eq!(inspect(SEGWIT, None, Network::Regtest).reason, Some(Reason::NetworkMismatch));
    assert_eq!(inspect(LEGACY, None, Network::Testnet).reason, Some(Reason::NetworkMismatch));
}

#[test]
fn transaction_hash_is_not_taken_for_an_address() {
    let digits = "5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060";
    let seen = free(&format!("0x{digits}"));
    assert_eq!((seen.valid, seen.kind, &seen.chains[..]), (false, Kind::TxHash, &[Chain::ETHEREUM, Chain::BSC][..]));
    assert_eq!(free(digits).chains, [Chain::BITCOIN, Chain::TRON]);
    assert_eq!(free(digits).tx_hash, TxHash::parse(Family::Utxo, digits).ok());
    assert_eq!(on(Chain::TRON, digits).chains, [Chain::TRON]);
}

#[test]
fn the_chain_asked_for_restricts() {
    let seen = on(Chain::BITCOIN, LOWER);
    assert_eq!((seen.valid, seen.reason, seen.kind), (false, Some(Reason::UnknownForm), Kind::Unknown));
    assert_eq!(seen.chains, [Chain::ETHEREUM, Chain::BSC], "where the form would be valid");
    assert!(!free(&format!("ethereum:{LEGACY}")).valid, "a URI that contradicts its address");
    assert!(!free(&format!("litecoin:{LEGACY}")).valid, "a URI of another coin");
}

#[test]
fn invalid_address_has_a_reason() {
    for (query, reason, kind) in [
        ("", Reason::UnknownForm, Kind::Unknown),
        ("hello", Reason::UnknownForm, Kind::Unknown),
        ("vitalik.eth", Reason::UnknownForm, Kind::Unknown),
        ("0x1234", Reason::Length, Kind::Address),
        (&LOWER[2..41], Reason::Length, Kind::Address),
        ("LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1", Reason::Version, Kind::Address),
        ("XE7438O073KYGTWWZN0F2WZ0R8PX5ZPPZS", Reason::Checksum, Kind::Address),
    ] {
        let seen = free(query);
        assert_eq!((seen.valid, seen.reason, seen.kind), (false, Some(reason), kind), "{query}");
    }
}

#[test]
fn an_inspection_is_written_as_answers_show_it() {
    let shown = serde_json::to_value(free(EIP55)).unwrap();
    let expected = serde_json::json!({
        "query": EIP55, "valid": true, "chain": "ethereum", "address": LOWER, "corrected": true,
        "corrections": ["case_fixed"], "format": "eip55", "checksum": "ok", "kind": "address",
        "chains": ["ethereum", "bsc"], "candidates": [], "reason": null
    });
    assert_eq!(shown, expected);
}

proptest! {
    #[test]
    fn a_mistyped_character_is_among_the_neighbours(
        bytes in any::<[u8; 20]>(), place in 0..40_usize, digit in 0..16_usize
    ) {
        let text = Address::Evm(bytes).to_string();
        let mistyped = format!("{}{}{}", &text[..2 + place], &"0123456789abcdef"[digit..=digit], &text[3 + place..]);
        prop_assume!(mistyped != text);
        let near = neighbours(&mistyped, None, Network::Mainnet);
        prop_assert_eq!(near.len(), 600);
        prop_assert!(near.iter().any(|guess| guess.address == Address::Evm(bytes)));
    }
}
