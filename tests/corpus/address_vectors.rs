//! Every published address vector, judged as its source judges it, but for the few named here with the reason.

use std::io::Read as _;

use flate2::read::GzDecoder;
use headwater_tests::corpus;
use headwater_types::address::inspect::{Correction, Format, inspect};
use headwater_types::address::{Checksum, Reason, eip55};
use headwater_types::{Address, Chain, Family, Network};
use serde_json::Value;

const NETWORKS: [Network; 4] = [Network::Mainnet, Network::Testnet, Network::Signet, Network::Regtest];

fn text(name: &str) -> String {
    let path = corpus().join("address-vectors").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut text = String::new();
        GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("the corpus holds whole files");
        return text;
    }
    String::from_utf8(bytes).expect("the vectors are UTF-8")
}

fn json(name: &str) -> Vec<Value> {
    serde_json::from_str(&text(name)).expect("a list of vectors")
}

fn parse(network: Network, text: &str) -> Result<Address, Reason> {
    Address::parse_on(Chain::BITCOIN, network, text).map_err(|error| error.reason)
}

fn script(address: &Address) -> String {
    match address {
        Address::Utxo(address) => hex::encode(address.script()),
        Address::Evm(_) | Address::Tron(_) => panic!("{address} is not a Bitcoin address"),
    }
}

fn refused_everywhere(text: &str) {
    for network in NETWORKS {
        let read = parse(network, text);
        assert!(read.is_err(), "{text:?} became {read:?} on {network}");
        let seen = inspect(text, Some(Chain::BITCOIN), network);
        assert!(!seen.valid && seen.address.is_none() && seen.reason.is_some(), "{text:?} on {network}");
    }
}

fn network_of(chain: &str) -> Network {
    match chain {
        "main" => Network::Mainnet,
        "test" => Network::Testnet,
        "signet" => Network::Signet,
        "regtest" => Network::Regtest,
        other => panic!("the vectors name a chain {other:?}"),
    }
}

/// A witness script of version 1 or above: the text of such a vector was made before BIP 350.
fn is_later_witness(script: &str, text: &str) -> bool {
    let is_witness = ["bc1", "tb1", "bcrt1"].iter().any(|head| text.to_lowercase().starts_with(head));
    is_witness && !script.starts_with("00")
}

#[test]
fn corpus_key_io_valid_is_accepted_but_for_keys_and_bip_350() {
    let (mut accepted, mut keys, mut taken_back) = (0, 0, 0);
    for vector in json("key_io_valid.json") {
        let (text, script_hex) = (vector[0].as_str().unwrap(), vector[1].as_str().unwrap());
        let network = network_of(vector[2]["chain"].as_str().unwrap());
        if vector[2]["isPrivkey"] == true {
            refused_everywhere(text);
            keys += 1;
        } else if is_later_witness(script_hex, text) {
            assert_eq!(parse(network, text), Err(Reason::Checksum), "{text}");
            refused_everywhere(text);
            taken_back += 1;
        } else {
            let address = parse(network, text).unwrap_or_else(|reason| panic!("{text} on {network}: {reason}"));
            assert_eq!((script(&address).as_str(), address.to_string().as_str()), (script_hex, text));
            assert_eq!(inspect(text, None, network).address, Some(address));
            if vector[2]["tryCaseFlip"] == true {
                let seen = inspect(&text.to_uppercase(), None, network);
                assert_eq!((seen.address, seen.corrections), (Some(address), vec![Correction::CaseFixed]));
            }
            let elsewhere = if network == Network::Mainnet { Network::Testnet } else { Network::Mainnet };
            assert_eq!(parse(elsewhere, text), Err(Reason::NetworkMismatch), "{text}");
            accepted += 1;
        }
    }
    println!("key_io_valid: {accepted} accepted, {keys} private keys and {taken_back} pre-BIP350 addresses refused");
    assert_eq!((accepted + taken_back, keys), (35, 27));
    assert!(taken_back >= 3);
}

#[test]
fn corpus_key_io_invalid_is_refused() {
    let vectors = json("key_io_invalid.json");
    for vector in &vectors {
        refused_everywhere(vector[0].as_str().unwrap());
        assert!(!inspect(vector[0].as_str().unwrap(), None, Network::Mainnet).valid);
    }
    println!("key_io_invalid: {} refused", vectors.len());
    assert_eq!(vectors.len(), 60);
}

/// The lists of a BIP's vector section, by the sentence that introduces them; items are (text, what follows it).
fn lists(name: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut lists: Vec<(String, Vec<(String, String)>)> = Vec::new();
    let mut introduction = String::new();
    for line in text(name).lines() {
        let Some(item) = line.strip_prefix("* ") else {
            introduction = if line.trim().is_empty() { introduction } else { format!("{introduction} {line}") };
            continue;
        };
        // The BIP lists other things behind its vectors.
        let Some((before, rest)) = item.split_once("<tt>") else { continue };
        if !introduction.is_empty() {
            lists.push((std::mem::take(&mut introduction), Vec::new()));
        }
        let (inner, after) = rest.split_once("</tt>").expect("a text ends");
        let text = match (before.strip_suffix(" + "), after.strip_prefix(" + ")) {
            (Some(code), _) => format!("{}{inner}", character(code)),
            (None, Some(code)) => format!("{inner}{}", character(code)),
            (None, None) => inner.to_owned(),
        };
        let after = after.trim_start_matches(": ").trim_start_matches("<tt>").trim_end_matches("</tt>");
        lists.last_mut().expect("a list was begun").1.push((text, after.to_owned()));
    }
    lists
}

fn character(code: &str) -> char {
    let digits = code.trim().trim_start_matches("0x");
    let digits = digits.split(|c: char| !c.is_ascii_hexdigit()).next().unwrap();
    char::from(u8::from_str_radix(digits, 16).expect("a byte in hex"))
}

fn network_of_text(text: &str) -> Network {
    if text.to_lowercase().starts_with("tb1") { Network::Testnet } else { Network::Mainnet }
}

/// The four lists in the order of both BIPs: strings that are valid, that are not, addresses that are valid, that are
/// not.
fn four_lists(name: &str) -> [Vec<(String, String)>; 4] {
    let lists = lists(name);
    let find = |words: &[&str]| {
        let mut found = lists.iter().filter(|(introduction, _)| {
            let last = introduction.to_lowercase();
            let last = &last[last.len().saturating_sub(150)..];
            words.iter().all(|word| last.contains(word))
        });
        found.next().unwrap_or_else(|| panic!("{name} has no list {words:?}")).1.clone()
    };
    [
        find(&["are valid bech32"]),
        find(&["are not valid bech32"]),
        find(&["valid segwit addresses and the scriptpubkey"]),
        find(&["invalid segwit addresses"]),
    ]
}

#[test]
fn corpus_bip_173_is_judged_as_bip_350_leaves_it() {
    let [strings, wrong, addresses, invalid] = four_lists("bip-0173_test_vectors.mediawiki");
    judge_strings(&strings, &wrong);
    let mut taken_back = 0;
    for (text, script_hex) in &addresses {
        let read = parse(network_of_text(text), text);
        if script_hex.starts_with("00") {
            assert_eq!(read.as_ref().map(script).as_ref(), Ok(script_hex), "{text}");
        } else {
            assert_eq!(read, Err(Reason::Checksum), "{text} of version 1 or above carries a Bech32 checksum");
            taken_back += 1;
        }
    }
    for (text, _) in &invalid {
        refused_everywhere(text);
    }
    println!(
        "BIP 173: {} + {} strings, {} addresses ({taken_back} taken back by BIP 350), {} invalid ones",
        strings.len(),
        wrong.len(),
        addresses.len(),
        invalid.len()
    );
    assert_eq!((strings.len(), wrong.len(), addresses.len(), taken_back, invalid.len()), (7, 12, 6, 3, 10));
}

#[test]
fn corpus_bip_350_is_judged_with_its_reasons() {
    let [strings, wrong, addresses, invalid] = four_lists("bip-0350_test_vectors.mediawiki");
    judge_strings(&strings, &wrong);
    for (text, script_hex) in &addresses {
        let address = parse(network_of_text(text), text).unwrap_or_else(|reason| panic!("{text}: {reason}"));
        assert_eq!((&script(&address), address.to_string()), (script_hex, text.to_lowercase()));
    }
    for (text, why) in &invalid {
        refused_everywhere(text);
        let expected = match why.as_str() {
            why if why.starts_with("Invalid checksum") => Reason::Checksum,
            why if why.starts_with("Invalid program length") => Reason::Length,
            "zero padding of more than 4 bits" | "Empty data section" => Reason::Length,
            "Invalid human-readable part" | "Invalid witness version" => Reason::Version,
            "Invalid character in checksum" => Reason::Alphabet,
            "Mixed case" => Reason::MixedCase,
            "Non-zero padding in 8-to-5 conversion" => Reason::Padding,
            other => panic!("BIP 350 has a new reason {other:?}"),
        };
        assert_eq!(parse(network_of_text(text), text), Err(expected), "{text}: {why}");
    }
    println!(
        "BIP 350: {} + {} strings, {} addresses, {} invalid ones with their reason",
        strings.len(),
        wrong.len(),
        addresses.len(),
        invalid.len()
    );
    assert_eq!((strings.len(), wrong.len(), addresses.len(), invalid.len()), (7, 14, 8, 15));
}

/// No such string is an address; that its checksum holds is shown by the reason, which is then the prefix.
fn judge_strings(right: &[(String, String)], wrong: &[(String, String)]) {
    for (text, _) in right {
        refused_everywhere(text);
        assert_eq!(parse(Network::Mainnet, text), Err(Reason::Version), "{text:?}");
    }
    for (text, why) in wrong {
        refused_everywhere(text);
        assert_ne!(parse(Network::Mainnet, text), Err(Reason::Version), "{text:?}: {why}");
    }
}

#[test]
fn corpus_eip_55_and_icap_hold_for_every_account() {
    let (mut direct, mut basic, mut flipped) = (0, 0, 0);
    let accounts = json("eip55_icap_accounts.json.gz");
    for account in &accounts {
        let field = |name: &str| account[name].as_str().unwrap();
        let (text, mixed, icap) = (field("address"), field("checksumAddress"), field("icapAddress"));
        let address = Address::parse(Chain::ETHEREUM, text).unwrap();
        assert_eq!((address.to_string().as_str(), address.to_checksummed().as_str()), (text, mixed));
        assert_ne!(eip55(mixed), Checksum::Failed, "{mixed}");

        let seen = inspect(icap, None, Network::Mainnet);
        assert_eq!((seen.address, seen.corrections), (Some(address), vec![Correction::IcapDecoded]), "{icap}");
        assert_eq!((seen.chain, seen.format, seen.checksum), (Some(Chain::ETHEREUM), Some(Format::Hex), Checksum::Ok));
        if icap.len() == 34 {
            direct += 1;
        } else {
            basic += 1;
        }

        if eip55(mixed) == Checksum::Ok {
            let place = mixed.char_indices().skip(2).find(|(_, letter)| letter.is_ascii_alphabetic()).unwrap().0;
            let letter = &mixed[place..=place];
            let other = if letter.to_uppercase() == letter { letter.to_lowercase() } else { letter.to_uppercase() };
            let wrong = format!("{}{other}{}", &mixed[..place], &mixed[place + 1..]);
            let seen = inspect(&wrong, None, Network::Mainnet);
            let one_case = wrong[2..] == wrong[2..].to_uppercase() || wrong[2..] == wrong[2..].to_lowercase();
            let expected = if one_case { Checksum::None } else { Checksum::Failed };
            assert_eq!((seen.valid, seen.checksum, seen.address), (true, expected, Some(address)), "{wrong}");
            flipped += 1;
        }
    }
    println!("accounts: {} ({direct} ICAP direct, {basic} basic, {flipped} with a letter flipped)", accounts.len());
    assert_eq!((accounts.len(), direct + basic), (775, 775));
    assert!(direct > 0 && basic > 0);
}

/// Taken as valid on Bitcoin's test network by the other validator; its version byte 0x26 is that of Bitcoin Gold.
const BITCOIN_GOLD: &str = "GSa5espVLNseXEfKt46zEdS6jrPkmFghBU";

#[test]
fn corpus_another_validator_agrees() {
    let file = text("multicoin_validator_cases.csv");
    let mut reader = csv::Reader::from_reader(file.as_bytes());
    let (mut cases, mut valid_cases) = (0, 0);
    for row in reader.records() {
        let row = row.unwrap();
        let (chain, network, text) = (row[0].parse::<Chain>().unwrap(), &row[1], &row[2]);
        let networks: &[Network] = match network {
            "prod" => &[Network::Mainnet],
            "testnet" => &[Network::Testnet],
            _ => &[Network::Mainnet, Network::Testnet],
        };
        let valid = networks.iter().any(|network| Address::parse_on(chain, *network, text).is_ok());
        // That validator takes a failed EIP-55 checksum for an invalid address; here it is a warning.
        let valid = valid && !(chain.family() == Family::Evm && eip55(text) == Checksum::Failed);
        let expected = &row[3] == "valid" && text != BITCOIN_GOLD;
        assert_eq!(valid, expected, "{chain} {network} {text}");
        cases += 1;
        valid_cases += usize::from(valid);
    }
    assert_eq!(parse(Network::Testnet, BITCOIN_GOLD), Err(Reason::Version));
    println!(
        "another validator: {cases} cases agree, {valid_cases} of them valid, but for one address of Bitcoin Gold"
    );
    assert_eq!(cases, 41);
}

#[test]
fn corpus_real_bitcoin_addresses_read_and_print_the_same() {
    let file = text("btc_addresses_real.txt.gz");
    let mut addresses: Vec<Address> = Vec::new();
    for line in file.lines() {
        let address = Address::parse(Chain::BITCOIN, line).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(address.to_string(), line);
        let key = address.key();
        assert_eq!(Address::from_key(Family::Utxo, Network::Mainnet, key.as_slice()), Some(address));
        let seen = inspect(line, None, Network::Mainnet);
        assert_eq!((seen.address, seen.corrected, seen.checksum), (Some(address), false, Checksum::Ok));
        addresses.push(address);
    }
    addresses.sort_unstable();
    assert!(
        addresses.is_sorted_by(|left, right| left.key().as_slice() < right.key().as_slice()),
        "order, and no twins"
    );
    println!("real Bitcoin addresses: {} read and printed the same", addresses.len());
    assert_eq!(addresses.len(), 40_000);
}
