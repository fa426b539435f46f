use super::*;

fn read(hex_text: &str) -> (Option<String>, ScriptType, Option<String>) {
    let lock = read_script(&hex::decode(hex_text).unwrap(), Network::Mainnet);
    (lock.owner.map(|owner| owner.to_string()), lock.form, lock.data.map(hex::encode))
}

fn owned(hex_text: &str, form: ScriptType, owner: &str) {
    assert_eq!(read(hex_text), (Some(owner.to_owned()), form, None));
}

const SATOSHI: &str = "04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f";
const SHORT_KEY: &str = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

#[test]
fn a_bare_public_key_belongs_to_the_address_of_its_hash() {
    owned(&format!("41{SATOSHI}ac"), ScriptType::P2pk, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
    // The generator point, whose addresses are in BIP 173: 751e76e8199196d454941c45d1b3a323f1433bd6.
    owned(&format!("21{SHORT_KEY}ac"), ScriptType::P2pk, "1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH");
    // A prefix that no key has, and a key of the other length.
    assert_eq!(read(&format!("2105{}ac", &SHORT_KEY[2..])).1, ScriptType::Nonstandard);
    assert_eq!(read(&format!("2104{}ac", &SHORT_KEY[2..])).1, ScriptType::Nonstandard);
}

#[test]
fn the_standard_forms_have_their_owners() {
    owned(
        "76a914751e76e8199196d454941c45d1b3a323f1433bd688ac",
        ScriptType::P2pkh,
        "1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH",
    );
    // A vector of Bitcoin Core (key_io_valid.json).
    owned("a91474f209f6ea907e2ea48f74fae05782ae8a66525787", ScriptType::P2sh, "3CMNFxN1oHBc4R1EpboAL5yzHGgE611Xou");
    // BIP 173 and BIP 350.
    owned(
        "0014751e76e8199196d454941c45d1b3a323f1433bd6",
        ScriptType::P2wpkh,
        "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
    );
    owned(
        "512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
        ScriptType::P2tr,
        "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
    );
    let testnet = hex::decode("00201863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262").unwrap();
    let lock = read_script(&testnet, Network::Testnet);
    assert_eq!(lock.form, ScriptType::P2wsh);
    assert_eq!(lock.owner.unwrap().to_string(), "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7");
}

#[test]
fn later_witness_versions_have_an_address_and_no_form_yet() {
    // BIP 350: version 16 with two bytes, version 2 with sixteen.
    owned("6002751e", ScriptType::Nonstandard, "bc1sw50qgdz25j");
    owned("5210751e76e8199196d454941c45d1b3a323", ScriptType::Nonstandard, "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs");
    // Version 0 with any other length is none, nor is a program with bytes behind it.
    assert_eq!(read("0010751e76e8199196d454941c45d1b3a323"), (None, ScriptType::Nonstandard, None));
    assert_eq!(read("0014751e76e8199196d454941c45d1b3a323f1433bd600").1, ScriptType::Nonstandard);
}

#[test]
fn a_bare_multisig_has_no_owner() {
    let key = format!("21{SHORT_KEY}");
    let long = format!("41{SATOSHI}");
    for script in [format!("51{key}51ae"), format!("52{key}{long}{key}53ae"), format!("51{}0111ae", key.repeat(17))] {
        assert_eq!(read(&script), (None, ScriptType::Multisig, None), "{script}");
    }
    // More needed than there are, a wrong number of keys, no keys, bytes that are no key, something behind the count.
    for script in [
        format!("52{key}51ae"),
        format!("51{key}52ae"),
        "5150ae".to_owned(),
        "5102aabb51ae".to_owned(),
        format!("51{key}5151ae"),
        format!("51{}0115ae", key.repeat(21)),
        format!("51{}ae", key.repeat(300)),
        "ae".to_owned(),
    ] {
        assert_eq!(read(&script), (None, ScriptType::Nonstandard, None), "{script}");
    }
}

#[test]
fn the_data_of_an_op_return_is_what_it_pushes() {
    let data = |script: &str| {
        let (owner, form, data) = read(script);
        assert_eq!((owner, form), (None, ScriptType::OpReturn), "{script}");
        data.unwrap()
    };
    assert_eq!(data("6a"), "");
    assert_eq!(data("6a0568656c6c6f"), "68656c6c6f");
    assert_eq!(data("6a4c0568656c6c6f"), "68656c6c6f");
    assert_eq!(data("6a4d050068656c6c6f"), "68656c6c6f");
    assert_eq!(data("6a4e0500000068656c6c6f"), "68656c6c6f");
    // Several pushes follow each other; small-number codes are no data (runes mark themselves by one).
    assert_eq!(data("6a5d02aabb01cc"), "aabbcc");
    // A push past the end, in every form, ends the script: 4 GiB are announced, nothing is allocated.
    assert_eq!(data("6a01aa05bb"), "aa");
    assert_eq!(data("6a01aa4effffffffbb"), "aa");
    assert_eq!(data("6a4e"), "");
}

#[test]
fn anything_else_is_nonstandard() {
    for script in ["", "00", "51", "a914", "76a914aabb88ac", "ac", "0102"] {
        assert_eq!(read(script), (None, ScriptType::Nonstandard, None), "{script}");
    }
}
