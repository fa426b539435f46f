//! Answers of nodes of TRON and Bitcoin, and exports of their data.

use super::imported;
use crate::fuzz::reader;

const OWNER: &str = "41e552f6487585c2b58bc2c9bb4492bc1f17132cd0";
const OTHER: &str = "41b6381d9f70a4fbe5157e6a7a4a16fbbe9b2f13ca";
const USDT: &str = "a614f803b6fd780986a42c78ec9c7f77e6ded13c";
const TRANSFER: &str = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const ID: &str = "ababababababababababababababababababababababababababababababab01";

fn block() -> String {
    let zeros = "0".repeat(48);
    format!(
        r#"{{"blockID":"0000000000000007{zeros}","block_header":{{"raw_data":{{"number":7,"timestamp":1650176103000,"parentHash":"0000000000000006{zeros}"}},"witness_signature":"00"}},"transactions":[{{"ret":[{{"contractRet":"SUCCESS"}}],"signature":["00"],"txID":"{ID}","raw_data":{{"contract":[{{"parameter":{{"value":{{"amount":5,"owner_address":"{OWNER}","to_address":"{OTHER}"}},"type_url":"x"}},"type":"TransferContract"}}],"timestamp":1}}}}]}}"#
    )
}

fn info() -> String {
    let word = |address: &str| format!("{:0>64}", &address[2..]);
    let (from, to) = (word(OWNER), word(OTHER));
    format!(
        r#"{{"id":"{ID}","blockNumber":7,"blockTimeStamp":1650176103000,"fee":9,"contractResult":[""],"receipt":{{"net_usage":3,"result":"SUCCESS"}},"log":[{{"address":"{USDT}","topics":["{TRANSFER}","{from}","{to}"],"data":"{:064x}"}}],"internal_transactions":[{{"hash":"{ID}","caller_address":"{OWNER}","transferTo_address":"{OTHER}","callValueInfo":[{{"callValue":7}}],"note":"63616c6c"}}]}}"#,
        9
    )
}

/// A block, and what became of its transaction.
pub(super) fn answers() -> [String; 2] {
    [block(), format!("[{}]", info())]
}

#[test]
fn answers_of_tron_nodes() {
    let words = ["\"ret\":[]", "TriggerSmartContract", "\"callValueInfo\":[{}]", "\"note\":\"zz\"", "41", "null"];
    let samples = [block(), format!("[{}]", info())];
    imported(reader("tron_node").samples(samples).words(words), "tron.json");
}

#[test]
fn answers_and_exports_of_bitcoin() {
    let core = r#"{"hash":"00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee","height":170,"version":1,"merkleroot":"7dac2c5666815c17a3b36427de37bb9d2e2c5ccec3f8633eb91a4205cb4c10ff","time":1231731025,"previousblockhash":"000000002a22cfee1f2c846adbd12b3e183d4f97683f85dad08a79780a84bd55","nTx":2,"tx":[{"txid":"b1fea52486ce0c62bb442b530a3f0132b826c74e473d1f2c220bfa78111c5082","vin":[{"coinbase":"04ffff001d0102","sequence":4294967295}],"vout":[{"value":50.00000000,"n":0,"scriptPubKey":{"hex":"6a0568656c6c6f","type":"nulldata"}}]},{"txid":"f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16","version":-2,"fee":1.5e-07,"vin":[{"txid":"0437cd7f8525ceed2324359c2d0ba26006d92d856a9c20fa0241106ee5a597c9","vout":0,"sequence":4294967293,"prevout":{"generated":true,"height":9,"value":0.00000115,"scriptPubKey":{"hex":"76a914751e76e8199196d454941c45d1b3a323f1433bd688ac"}}}],"vout":[{"value":0.00000100,"n":0,"scriptPubKey":{"hex":"0014751e76e8199196d454941c45d1b3a323f1433bd6"}}]}]}"#;
    let etl = r#"{"hash":"7940cdde4d713e171849efc6bd89939185be270266c94e92369e3877ad89455a","block_number":50001,"block_hash":"000000001c920d495e1eeef2452b6d1c6c229a919b28196c103ecffebabee141","block_timestamp":1270917100,"is_coinbase":false,"index":1,"inputs":[{"index":0,"spent_transaction_hash":"7940cdde4d713e171849efc6bd89939185be270266c94e92369e3877ad89455a","spent_output_index":3,"script_hex":"00","value":715,"type":"pubkeyhash","addresses":["1HaHTfmvoUW6i6nhJf8jJs6tU4cHNmBQHQ"]}],"outputs":[{"index":0,"script_hex":"76a914b5cd7aaed869cd5ccb45868e8666e7e934a2373688ac","type":"pubkeyhash","addresses":["1HaHTfmvoUW6i6nhJf8jJs6tU4cHNmBQHQ"],"value":700}],"fee":15}"#;
    let words = ["\"value\":1e-9", "21000000.00000001", "\"vout\":[]", "\"coinbase\":\"\"", "\"height\":1e9", "null"];
    imported(reader("bitcoin_json").samples([core, etl]).words(words), "block.json");
}
