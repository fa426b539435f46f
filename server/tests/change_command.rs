//! `headwater change`: the same answer as `headwater query`, in words.

use serde_json::{Value, json};

use crate::support::{run, run_json};

/// A coinbase of 0.1 BTC and two payments, as bitcoin-etl writes them: 0.05 BTC to a shop and the rest, which is passed
/// on.
fn store() -> (tempfile::TempDir, String) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("store").to_str().unwrap().to_owned();
    let id = |number: u64| format!("{number:064x}");
    let output = |index: u64, value: u64, (address, hash): (&str, &str)| {
        json!({"index": index, "value": value, "type": "pubkeyhash", "addresses": [address], "required_signatures": 1,
               "script_asm": "", "script_hex": format!("76a914{hash}88ac")})
    };
    let row = |number: u64, input: Option<(u64, u64)>, outputs: Vec<Value>| {
        let inputs: Vec<Value> = input
            .map(|(spent, place)| {
                json!({"index": 0, "spent_transaction_hash": id(spent), "spent_output_index": place, "sequence": 4_294_967_293_u64})
            })
            .into_iter()
            .collect();
        json!({"type": "transaction", "hash": id(number), "size": 200, "virtual_size": 200, "version": 2, "lock_time": 0,
               "block_number": number, "block_hash": id(100 + number), "block_timestamp": 1_600_000_000 + 600 * number,
               "is_coinbase": inputs.is_empty(), "index": 0, "inputs": inputs, "outputs": outputs})
        .to_string()
    };
    let [miner, shop, change] = [
        ("12cbQLTFMXRnSzktFkuoG3eHoMeFtpTu3S", "11b366edfc0a8b66feebae5c2e25a7b6a5d1cf31"),
        ("1FDCgJ8m2xDyVmYuankk13XReVC2Zvs5cz", "9be0801aa1907d22813074b627ba0ebb468d5913"),
        ("1HxbaBMF2jXBVnagoHvaA6rLxmaYL8gb8T", "ba05bfee0caf5e175452cf7b2879718a9ac7c8d3"),
    ];
    let rows = [
        row(1, None, vec![output(0, 10_000_000, miner)]),
        row(2, Some((1, 0)), vec![output(0, 5_000_000, shop), output(1, 4_999_123, change)]),
        row(3, Some((2, 1)), vec![output(0, 4_998_001, miner)]),
    ];
    let file = place.path().join("transactions.json");
    std::fs::write(&file, rows.join("\n") + "\n").unwrap();
    run_json(&["ingest", file.to_str().unwrap(), "--json", "--store", &path]);
    (place, path)
}

fn change(path: &str, arguments: &[&str]) -> (i32, String, String) {
    let output = run(&[&["change"], arguments, &["--store", path]].concat());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn change_as_json_is_the_answer_of_query_and_words_say_it() {
    let (_place, path) = store();
    let txid = format!("{:064x}", 2);
    let query =
        run_json(&["query", "btc/change-address", "--param", &format!("txid={txid}"), "--json", "--store", &path]);
    assert_eq!(query["data"]["change"]["index"], 1, "{query}");
    assert_eq!(run_json(&["change", &txid, "--json", "--store", &path]), query);
    let (code, words, _) = change(&path, &[&txid]);
    assert_eq!(code, 0);
    for part in [
        &format!("{txid}, block 2, 2020-09-13"),
        "Output 1 is the change, with a confidence of ",
        "0.04999123 btc",
        "power_of_ten_6",
        "1HxbaBMF2jXBVnagoHvaA6rLxmaYL8gb8T",
        "An answer is a probability",
    ] {
        assert!(words.contains(part), "{part:?} is missing in\n{words}");
    }
    let (code, words, _) = change(&path, &[&format!("{:064x}", 1)]);
    assert!(code == 0 && words.contains("No change is named: the transaction mints coins."), "{words}");
}

#[test]
fn a_wrong_id_and_an_unknown_one_are_failures_that_name_it() {
    let (_place, path) = store();
    let (code, _, error) = change(&path, &["12"]);
    assert!(code != 0 && error.contains("txid: expected the id of a Bitcoin transaction"), "{code} {error}");
    let (code, _, error) = change(&path, &[&"f".repeat(64)]);
    assert!(code != 0 && error.contains("no transaction ffff"), "{code} {error}");
}
