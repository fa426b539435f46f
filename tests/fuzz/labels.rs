//! Lists of labels of every form, whole and damaged.

use std::path::PathBuf;

use headwater_ingest::labels::{LabelOptions, read_labels};
use headwater_ledger::labels::{Action, Code, Level};
use headwater_testkit::fuzz::FuzzOutcome;
use headwater_types::Chain;

use crate::fuzz::{put, reader};

const A: &str = "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b";
const B: &str = "0x7330c536024389edb93b629aec8a214c391c2581";
const BITCOIN: &str = "3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8";
const TRON: &str = "TDumhjnkbkDDrKrMXb242Wh8jXt3u66NpT";

/// Pieces that mean something to readers of lists.
const WORDS: [&str; 26] = [
    A,
    BITCOIN,
    TRON,
    "€",
    "\u{feff}",
    "\u{200b}",
    "\0",
    "&amp;",
    "eip155:56",
    "evm",
    "Digital Currency Address - XBT",
    "sanction",
    "phish-hack",
    "address",
    "<<: *a",
    "&a",
    "---\n",
    "[CYBER2]",
    "2024-05-06",
    "45418",
    "\"tags\":",
    "<?xml version=\"1.0\"?>",
    "<![CDATA[",
    "| --- |",
    "module.exports = {",
    "{\"headwater\":{\"code\":",
];

/// A file that is written anew for every input.
struct Door {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Door {
    fn of(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        Self { _folder: folder, path }
    }

    /// Reads the file as it is and with all that a caller can say: claims that hold together, or an error that names
    /// the file and is short.
    fn take(&self, input: &[u8]) -> FuzzOutcome {
        put(&self.path, input);
        let said = LabelOptions { code: Some(Code::Scam), chain: Some(Chain::ETHEREUM), ..LabelOptions::default() };
        let read = [LabelOptions::default(), said].map(|options| {
            let read = read_labels(std::slice::from_ref(&self.path), &options);
            match &read {
                Ok(labels) => {
                    for claim in &labels.claims {
                        let is_telling = claim.code.is_some() || claim.name.is_some() || claim.entity.is_some();
                        assert!(is_telling && claim.reliability <= 1_000, "{claim:?}");
                        assert!(claim.action == Action::Add || claim.level == Level::Override, "{claim:?}");
                    }
                }
                Err(error) => {
                    let (message, name) = (error.to_string(), self.path.file_name().unwrap().to_str().unwrap());
                    assert!(message.contains(name), "{message}");
                    assert!(message.len() < 4_000 && message.lines().count() <= 24, "{message}");
                }
            }
            read.is_ok()
        });
        if read.contains(&true) { FuzzOutcome::Taken } else { FuzzOutcome::Refused }
    }
}

fn try_out(reader_name: &'static str, file: &str, samples: &[String]) {
    let door = Door::of(file);
    reader(reader_name).samples(samples).words(WORDS).check(|input| door.take(input));
}

#[test]
fn lists_in_json_are_read_or_refused() {
    let samples = [
        format!(r#"[{{"address":"{A}","chain":"bsc","code":["mixer","scam"],"asserted_at":"2024-05-06"}}]"#),
        format!(
            "{{\"address\":\"{A}\",\"chain\":\"bsc\",\"code\":\"mixer\"}}\n{{\"address\":\"{B}\",\"chain\":1,\"code\":\"scam\"}}\n"
        ),
        format!(
            r#"{{"result":[{{"address":"{BITCOIN}","family":"Example","blockchain":"bitcoin","createdAt":"2021-07-21T14:28:19.000Z","balance":1,"transactions":[]}}]}}"#
        ),
        format!(
            r#"[{{"chain_id":"eip155:1","address":"{A}","tag_id":"usage_category","tag_value":"cex","time_created":"2025-01-02"}}]"#
        ),
        format!(
            r#"{{"id":"a","schema":"CryptoWallet","properties":{{"publicKey":["{A}"],"currency":["ETH"],"holder":["b"],"topics":["sanction"]}},"datasets":["us_ofac_sdn"]}}"#
        ),
        format!(
            r#"{{"status":"1","message":"OK","result":[{{"address":"{A}","nametag":"Example: Deposit 2","labels":["Phish / Hack"],"labels_slug":["phish-hack"],"lastupdatedtimestamp":1721899658}}]}}"#
        ),
        format!(
            r#"[{{"address":"{A}","chain":"ethereum","arkhamEntity":{{"id":"x","name":"Example","type":"cex"}},"arkhamLabel":{{"name":"Hot Wallet"}}}}]"#
        ),
        format!(
            r#"{{"success":true,"result":[{{"id":1,"name":"x.example","category":"Phishing","addresses":["{A}","{B}"]}}]}}"#
        ),
        format!(
            r#"{{"id":"p","schema":"Person","caption":"X","target":true,"datasets":["us_ofac_sdn"],"properties":{{"topics":["sanction"],"cryptoWallets":[{{"id":"w","schema":"CryptoWallet","datasets":["us_ofac_sdn"],"properties":{{"publicKey":["{BITCOIN}"],"currency":["XBT"]}}}}]}}}}"#
        ),
        format!(r#"{{"{A}":"Example 14","{B}":{{"name":"Other"}},"tron":["{TRON}"]}}"#),
        format!(r#"{{"coinbase_tags":{{}},"payout_addresses":{{"{BITCOIN}":{{"name":"Pool","link":"x"}}}}}}"#),
    ];
    try_out("labels_json", "list.json", &samples);
}

#[test]
fn lists_in_xml_are_read_or_refused() {
    let samples = [
        format!(
            "<export generationDate=\"2026-02-13T00:00:00\"><sanctionEntity logicalId=\"1\"><remark>Wallet TRX: {TRON}</remark>\
             <nameAlias wholeName=\"Example\" strong=\"true\"/></sanctionEntity></export>"
        ),
        format!(
            "<CONSOLIDATED_LIST dateGenerated=\"2026-02-13T00:00:00\"><INDIVIDUALS><INDIVIDUAL><DATAID>1</DATAID><FIRST_NAME>A\
             </FIRST_NAME><LISTED_ON>2020-01-02</LISTED_ON><COMMENTS1>Bitcoin: {BITCOIN}</COMMENTS1></INDIVIDUAL></INDIVIDUALS>\
             </CONSOLIDATED_LIST>"
        ),
        format!(
            "<?xml version=\"1.0\"?><sdnList xmlns=\"http://x\"><publshInformation><Publish_Date>05/06/2024</Publish_Date>\
         </publshInformation><sdnEntry><uid>1</uid><lastName>EXAMPLE &amp; CO</lastName><sdnType>Entity</sdnType><idList>\
         <id><uid>2</uid><idType>Digital Currency Address - ETH</idType><idNumber>{A} </idNumber></id></idList></sdnEntry>\
         </sdnList>"
        ),
    ];
    try_out("labels_xml", "list.xml", &samples);
}

#[test]
fn lists_in_yaml_are_read_or_refused() {
    let samples = [
        format!(
            "title: Pack\ncreator: x\ncurrency: BTC\nbase: &a\n  label: Example\ntags:\n- <<: *a\n  address: {BITCOIN}\n  \
             lastmod: 2021-03-04\n  category: exchange\n- {{address: '{A}', currency: ETH, label: Scam, abuse: scam}}\n"
        ),
        format!(
            "title: x\ncreator: headwater\ntags:\n- address: \"{A}\"\n  label: \"a\"\n  source: \"s\"\n  currency: ETH\n  network: ETH\n  \
             confidence: forensic\n  context: \"{{\\\"headwater\\\":{{\\\"chain\\\":\\\"evm\\\",\\\"code\\\":\\\"drainer\\\",\\\"level\\\":\\\"forensic\\\",\\\"group\\\":\\\"g\\\",\\\"source\\\":\\\"s\\\"}}}}\"\n"
        ),
    ];
    try_out("labels_yaml", "list.yaml", &samples);
}

#[test]
fn lists_in_tables_are_read_or_refused() {
    let samples = [
        format!(
            "address,chain,code,name,entity,level,confidence,asserted_at,valid_until\n{A},bsc,mixer,\"a, b\",c,forensic,0.4,2024-05-06,\n"
        ),
        format!("address\tchain\tcode\n{A}\tbsc\tmixer;scam\n"),
        format!("address,chainId,label,nameTag\n{A},1,phish-hack,Fake_Phishing1\n"),
        format!(
            "36,\"EXAMPLE\",-0- ,\"CYBER2\",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,\"Digital Currency Address - ETH {A}; alt. Digital Currency Address - XBT {BITCOIN}.\"\n"
        ),
        format!("chain_id,address,tag_id,tag_value\neip155:1,{A},usage_category,cex\neip155:any,{B},owner_project,x\n"),
        format!("address;name;code;chain\n{TRON};A;scam;tron\n"),
        format!(
            "Address,FLAG,isSanctioned,status,Date Added\n{A},1,false,active,\"May 6, 2024\"\n{B},0,true,removed,2024-05-06\n"
        ),
        format!("coin,address,balance,message,signature\nbtc,{BITCOIN},12.5,m,s\nusdt,{TRON},1,m,s\n"),
        format!(
            "canonical_id,entity_id,schema,prop,value,dataset,lang,original_value,external,first_seen,last_seen\n\
             a,a,CryptoWallet,publicKey,{BITCOIN},us_ofac_sdn,,,f,2024-05-06T00:00:00,2026-01-01T00:00:00\n\
             a,a,CryptoWallet,topics,sanction,us_ofac_sdn,,,f,2024-05-06T00:00:00,2026-01-01T00:00:00\n"
        ),
    ];
    try_out("labels_tables", "list.csv", &samples);
}

#[test]
fn lists_in_text_and_markdown_are_read_or_refused() {
    let (text, markdown) = (Door::of("list.txt"), Door::of("list.md"));
    let samples = [
        format!("# addresses\n{A}\n\n{BITCOIN} - Exploiter\n// remark\n{TRON}\n"),
        format!("# Title\n\n### Addresses\n\n- {A} - Exploiter\n- `{B}` used\n"),
        format!("| address | name |\n|---|---|\n| {A} | Exploiter |\n"),
        format!(
            "EXAMPLE MIXER (a.k.a. SAMPLE); Digital Currency\n      Address - ETH {A}; alt. Digital\n      Currency Address - XBT {BITCOIN} [CYBER2].\n\n"
        ),
        format!("const config = {{ ethereum: {{ owners: ['{A}'] }} }}\nmodule.exports = config\n"),
    ];
    reader("labels_text").samples(samples).words(WORDS).check(|input| {
        let _ = (text.take(input), markdown.take(input));
        // Some of the forms are refused by what they look like, whoever asks.
        FuzzOutcome::Taken
    });
}
