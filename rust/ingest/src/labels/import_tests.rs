use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Float64Array, Int64Array, StringArray};
use headwater_ledger::labels::{Action, Claim, DateBasis};
use headwater_types::Timestamp;

use super::*;

pub(super) const A: &str = "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b";
pub(super) const B: &str = "0x0494c0950a34a7f024c18ad5dca185f4aa01d307";
pub(super) const BITCOIN: &str = "3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8";

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn add(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

pub(super) fn read(content: &str, options: &LabelOptions) -> Result<Labels, String> {
    let files = Files::new();
    let name = if content.starts_with(['{', '[']) { "list.json" } else { "list.csv" };
    read_labels(&[files.add(name, content)], options).map_err(|error| error.to_string())
}

pub(super) fn plain(content: &str) -> Labels {
    read(content, &LabelOptions::default()).unwrap()
}

#[expect(clippy::unnecessary_wraps, reason = "it fills optional fields")]
pub(super) fn day(text: &str) -> Option<Timestamp> {
    Some(text.parse().unwrap())
}

#[test]
fn table_columns_are_all_honoured() {
    let labels = plain(&format!(
        "address,chain,code,name,entity,source,source_url,group,level,confidence,asserted_at,last_seen,valid_until,action\n\
         {A},bsc,mixer,Some name,Somebody,Lab,https://lab.example,g,forensic,0.4,2024-05-06,1715000000,2025-01-01,add\n"
    ));
    let [claim] = &labels.claims[..] else { panic!("{labels:?}") };
    let expected = Claim {
        address: headwater_types::Address::parse(Chain::BSC, A).unwrap(),
        scope: headwater_ledger::labels::Scope::Chain(Chain::BSC),
        code: Some(Code::Mixer),
        name: Some(Arc::from("Some name")),
        entity: Some(Arc::from("Somebody")),
        source: Arc::from("Lab"),
        source_url: Some(Arc::from("https://lab.example")),
        group: Arc::from("g"),
        level: Level::Forensic,
        reliability: 400,
        link: headwater_ledger::labels::Link::Exact,
        asserted_at: day("2024-05-06"),
        date_basis: Some(DateBasis::Address),
        last_seen: Some(Timestamp::new(1_715_000_000)),
        valid_until: day("2025-01-01"),
        action: Action::Add,
        dispute: None,
    };
    assert_eq!(claim, &expected);
    assert_eq!((labels.format, labels.source.as_str(), labels.list.as_str()), ("table", "list", "list"));
}

#[test]
fn table_dates_are_of_addresses_unless_a_column_says_otherwise() {
    let basis = |table: &str| -> Vec<_> { plain(table).claims.iter().map(|claim| claim.date_basis).collect() };
    let (address, entity) = (Some(DateBasis::Address), Some(DateBasis::Entity));
    assert_eq!(basis(&format!("address,chain,code,asserted_at\n{A},bsc,mixer,2024-05-06\n")), [address]);
    assert_eq!(basis(&format!("address,chain,code,asserted_at\n{A},bsc,mixer,\n")), [None], "without a date");
    let table = |cell: &str| format!("address,chain,code,asserted_at,date_basis\n{A},bsc,mixer,2024-05-06,{cell}\n");
    assert_eq!(
        [basis(&table("Entity")), basis(&table("address")), basis(&table(""))].concat(),
        [entity, address, None]
    );
    let error = read(&table("list"), &LabelOptions::default()).unwrap_err();
    assert!(error.contains("date_basis") && error.contains("address or entity"), "{error}");
}

#[test]
fn only_an_override_removes_a_claim() {
    let row = |level: &str| format!("address,chain,code,level,action\n{A},bsc,mixer,{level},remove\n");
    let removed = plain(&row("override"));
    assert_eq!((removed.claims[0].action, removed.claims[0].level), (Action::Remove, Level::Override));
    let error = read(&row("forensic"), &LabelOptions::default()).unwrap_err();
    assert!(error.contains(A) && error.contains("--level override"), "{error}");
}

#[test]
fn table_columns_have_other_names_in_any_case() {
    for (columns, options) in [
        ("Address,Blockchain,Label,Date", LabelOptions::default()),
        ("ADDRESS,network,category,first_seen", LabelOptions::default()),
        (
            "wallet,net,kind,when",
            LabelOptions {
                columns: [("address", "wallet"), ("chain", "net"), ("code", "kind"), ("asserted_at", "when")]
                    .map(|(ours, theirs)| (ours.to_owned(), theirs.to_owned()))
                    .to_vec(),
                ..LabelOptions::default()
            },
        ),
    ] {
        let labels = read(&format!("{columns}\n{A},ethereum,phishing,2024-05-06 07:08:09\n"), &options).unwrap();
        let claim = &labels.claims[0];
        assert_eq!((claim.code, claim.asserted_at), (Some(Code::Phishing), day("2024-05-06T07:08:09Z")), "{columns}");
    }
    // Beside a code the label is the name.
    let named = plain(&format!("address,chain,code,label\n{A},ethereum,phishing,Some name\n"));
    assert_eq!(named.claims[0].name.as_deref(), Some("Some name"));
    let missing =
        LabelOptions { columns: vec![("address".to_owned(), "wallet".to_owned())], ..LabelOptions::default() };
    let error = read("address,code\n", &missing).unwrap_err();
    assert!(error.contains("--column") && error.contains("\"wallet\"") && error.contains("address, code"), "{error}");
    let unknown = LabelOptions { columns: vec![("colour".to_owned(), "code".to_owned())], ..LabelOptions::default() };
    let error = read("address,code\n", &unknown).unwrap_err();
    assert!(error.contains("\"colour\"") && error.contains("valid_until"), "{error}");
    let scam = LabelOptions { code: Some(Code::Scam), chain: Some(Chain::ETHEREUM), ..LabelOptions::default() };
    for list in [format!("address\n{A}\n"), format!("address,note\n{A},seen twice\n")] {
        assert_eq!(read(&list, &scam).unwrap().claims[0].code, Some(Code::Scam), "{list}");
        assert!(read(&list, &LabelOptions::default()).is_err(), "{list}");
    }
    let backward = format!("address,chain,code,asserted_at,valid_until\n{A},bsc,mixer,2022-01-01,2021-01-01\n");
    let error = read(&backward, &LabelOptions::default()).unwrap_err();
    assert!(error.contains("2021-01-01") && error.contains("not before asserted_at"), "{error}");
}

#[test]
fn table_is_read_from_tabs_json_lines_arrays_and_gzip() {
    let row = format!("{{\"address\":\"{A}\",\"chain\":\"bsc\",\"code\":[\"mixer\",\"scam\"],\"valid_until\":null}}");
    for content in [
        format!("address\tchain\tcode\n{A}\tbsc\tmixer;scam\n"),
        format!("{row}\n"),
        format!("[{row}]"),
        format!("address,chain,code\n{A},bsc,mixer\n{A},56,scam\n"),
    ] {
        let codes: Vec<_> = plain(&content).claims.iter().map(|claim| claim.code.unwrap()).collect();
        assert_eq!(codes, [Code::Scam, Code::Mixer], "{content}");
    }
    let files = Files::new();
    let path = files.0.path().join("packed.csv.gz");
    let mut gzip = flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), flate2::Compression::fast());
    gzip.write_all(format!("address,chain,code\n{A},bsc,mixer\n").as_bytes()).unwrap();
    gzip.finish().unwrap();
    let labels = read_labels(&[path], &LabelOptions::default()).unwrap();
    assert_eq!((labels.list.as_str(), labels.counts.claims), ("packed", 1));
}

#[test]
fn table_without_chain_needs_one_for_evm_addresses() {
    let bare = format!("address,code\n{BITCOIN},mixer\n{A},mixer\n{A},scam\n");
    let error = read(&bare, &LabelOptions::default()).unwrap_err();
    assert!(error.contains("list.csv needs --chain") && error.contains("1 EVM addresses"), "{error}");
    let on_bsc = LabelOptions { chain: Some(Chain::BSC), ..LabelOptions::default() };
    assert_eq!(read(&bare, &on_bsc).unwrap().counts.claims, 3);
    let bitcoin = plain(&format!("address,code\n{BITCOIN},mixer\n"));
    assert_eq!(bitcoin.claims[0].scope.name(), "bitcoin");
    let sanction = plain(&format!("address,code\n{A},sanction\n"));
    assert_eq!(sanction.claims[0].scope.name(), "evm");
}

#[test]
fn table_errors_name_file_row_column_and_value() {
    let header = "address,chain,code,asserted_at,action";
    for (row, parts) in [
        (format!("{A},bsc,mixer,yesterday,add"), ["line 2", "asserted_at", "yesterday", "a date"]),
        (format!("{A},bsc,mixer,,drop"), ["line 2", "action", "drop", "add or remove"]),
        (format!("{A},bsc,mixer"), ["line 2", "row", "3 fields", "5 fields"]),
    ] {
        let error = read(&format!("{header}\n{row}\n"), &LabelOptions::default()).unwrap_err();
        assert!(error.contains("list.csv") && parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let windows = format!("{header}\r\n{A},bsc,mixer,,add\r\n{A},bsc,mixer,yesterday,add\r\n");
    let error = read(&windows, &LabelOptions::default()).unwrap_err();
    assert!(error.contains("line 3"), "{error}");
    let named = LabelOptions { format: Some("table".to_owned()), ..LabelOptions::default() };
    assert!(read("address,chain\n", &named).unwrap_err().contains("needs --code"));
    assert!(read("place,code\n", &named).unwrap_err().contains("needs --column"));
}

#[test]
fn table_of_unknown_codes_claims_nothing() {
    let labels = plain(&format!("address,chain,code\n{A},bsc,bad guy\n{A},bsc,mixer\n{B},bsc,bad guy\n"));
    assert_eq!((labels.counts.claims, labels.counts.no_code), (1, 1));
    assert!(labels.warnings[0].ends_with("without a claim: 2, \"bad guy\" 2"), "{:?}", labels.warnings);
}

#[test]
fn caller_gives_what_the_table_lacks() {
    let options = LabelOptions {
        source: Some("reserves".to_owned()),
        list: Some("bybit".to_owned()),
        chain: Some(Chain::ETHEREUM),
        level: Some(Level::ServiceData),
        group: Some("bybit.com".to_owned()),
        entity: Some("Bybit".to_owned()),
        code: Some(Code::Exchange),
        ..LabelOptions::default()
    };
    let labels = read(&format!("address,name\n{A},\n"), &options).unwrap();
    assert_eq!((labels.source.as_str(), labels.list.as_str()), ("reserves", "bybit"));
    let claim = &labels.claims[0];
    assert_eq!((claim.code, claim.level, claim.reliability), (Some(Code::Exchange), Level::ServiceData, 500));
    assert_eq!((&*claim.group, claim.entity.as_deref(), &*claim.source), ("bybit.com", Some("Bybit"), "reserves"));
}

#[test]
fn files_in_no_format_are_refused_or_left_out() {
    let files = Files::new();
    let readme = files.add("README.md", "# Labels\n");
    let empty = files.add("empty.csv", "");
    let error = read_labels(std::slice::from_ref(&readme), &LabelOptions::default()).unwrap_err().to_string();
    assert!(error.contains("README.md is in no known format of labels") && error.contains("table"), "{error}");
    assert!(error.contains("a Markdown text") && error.contains("--help"), "{error}");
    let named = LabelOptions { format: Some("unheard".to_owned()), ..LabelOptions::default() };
    let error_of_name = read_labels(std::slice::from_ref(&readme), &named).unwrap_err().to_string();
    // The names of all formats stand in lines that a terminal shows whole.
    let (_, names) = error_of_name.split_once("use one of\n").unwrap();
    assert!(names.lines().count() > 1 && names.lines().all(|line| line.len() <= 100), "{error_of_name}");
    assert_eq!(
        names.split([',', ' ', '\n']).filter(|name| !name.is_empty()).collect::<Vec<_>>(),
        label_formats().collect::<Vec<_>>()
    );
    let error = read_labels(&[empty], &LabelOptions::default()).unwrap_err().to_string();
    assert!(error.contains("is empty"), "{error}");
    assert!(read_labels(&[files.0.path().to_owned()], &LabelOptions::default()).is_err());
    let b = files.add("b.csv", &format!("address,chain,code\n{A},bsc,mixer\n"));
    let a = files.add("a.json", &format!("[{{\"address\":\"{B}\",\"chain\":\"bsc\",\"code\":\"mixer\"}}]"));
    let folder = files.0.path();
    let labels = read_labels(&[folder.to_owned()], &LabelOptions::default()).unwrap();
    let name = folder.file_name().unwrap().to_str().unwrap();
    assert_eq!((labels.list.as_str(), labels.counts.claims, labels.warnings.len()), (name, 2, 2));
    assert!(labels.warnings.iter().all(|warning| warning.contains("left out") && !warning.contains('\n')));
    assert_eq!(read_labels(&[a, b], &LabelOptions::default()).unwrap().list, "a+b");
    let nowhere = LabelOptions { format: Some("nowhere".to_owned()), ..LabelOptions::default() };
    let error = read_labels(&[readme], &nowhere).unwrap_err().to_string();
    assert!(error.contains("\"nowhere\"") && error.contains("table"), "{error}");
}

#[test]
fn warnings_of_several_files_name_the_file() {
    let files = Files::new();
    let header = "address,chain,code";
    let one = files.add("one.csv", &format!("{header}\n{A},bsc,mixer\n"));
    let two = files.add("two.csv", &format!("{header}\n{A},bsc,mixer\n0x1234,bsc,mixer\n{B},bsc,bad guy\n"));
    let labels = read_labels(&[one, two.clone()], &LabelOptions::default()).unwrap();
    let expected = [
        format!("texts without the form of an address, left out: 1, such as \"0x1234\" ({}, line 3)", two.display()),
        "words that the table of concepts lacks, without a claim: 1, \"bad guy\" 1".to_owned(),
    ];
    assert_eq!(labels.warnings, expected);
    let alone = read_labels(&[two], &LabelOptions::default()).unwrap();
    assert!(alone.warnings[0].ends_with("\"0x1234\" (line 3)"), "{:?}", alone.warnings);
}

#[test]
fn warning_that_files_share_is_said_once() {
    let files = Files::new();
    let wallet = |name: &str| files.add(name, &format!("address,coin\n{A},ETH-ethereum\n"));
    let paths = ["one.csv", "two.csv", "three.csv"].map(wallet);
    let reserves = LabelOptions { format: Some("exchange_reserves".to_owned()), ..LabelOptions::default() };
    let labels = read_labels(&paths, &reserves).unwrap();
    let [warning] = &labels.warnings[..] else { panic!("{:?}", labels.warnings) };
    assert!(warning.contains("one.csv and 2 more: the file does not name the exchange"), "{warning}");
}

#[test]
fn frame_is_read_as_a_table() {
    let text = |values: [Option<&str>; 2]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("address", text([Some(A), Some(B)]), true),
        ("blockchain", text([Some("ethereum"), Some("bsc")]), true),
        ("code", text([Some("exchange"), Some("mixer")]), true),
        ("confidence", Arc::new(Float64Array::from(vec![Some(0.5), None])) as ArrayRef, true),
        ("asserted_at", Arc::new(Date32Array::from(vec![Some(19_849), None])) as ArrayRef, true),
        ("last_seen", Arc::new(Int64Array::from(vec![None, Some(1_715_000_000)])) as ArrayRef, true),
        ("unread", Arc::new(arrow::array::NullArray::new(2)) as ArrayRef, true),
    ])
    .unwrap();
    let labels = read_label_frame(&[batch.clone(), batch.clone()], &LabelOptions::default()).unwrap();
    assert_eq!((labels.counts.claims, labels.counts.duplicates, labels.source.as_str()), (2, 2, "labels"));
    let exchange = labels.claims.iter().find(|claim| claim.code == Some(Code::Exchange)).unwrap();
    assert_eq!((exchange.level, exchange.reliability), (Level::Unknown, 500));
    assert_eq!(exchange.asserted_at, day("2024-05-06"));
    let error = read_label_frame(&[batch.project(&[1, 2]).unwrap()], &LabelOptions::default()).unwrap_err();
    assert!(error.to_string().contains("labels needs --column"), "{error}");
    assert_eq!(read_label_frame(&[], &LabelOptions::default()).unwrap().claims, []);
}

#[test]
fn statements_are_claims_or_duplicates() {
    let statements = 20_000_u32;
    let mut content = "address,chain,code,entity,asserted_at\n".to_owned();
    for number in 0..statements {
        use std::fmt::Write as _;
        let code = ["scam", "phishing", "exchange"][usize::try_from(number % 3).unwrap()];
        let time = 1_700_000_000 + number % 11;
        writeln!(content, "0x{:040x},bsc,{code},Entity {},{time}", number / 4, number % 7).unwrap();
    }
    let labels = plain(&content);
    assert_eq!(labels.counts.claims + labels.counts.duplicates, u64::from(statements));
}

#[test]
fn named_file_without_a_claim_is_an_error_beside_good_ones() {
    let files = Files::new();
    let good = files.add("good.csv", &format!("address,chain,code\n{A},bsc,mixer\n"));
    let empty = files.add("empty.csv", "address,chain,code\n?,bsc,mixer\n");
    let error = read_label_lists(&[good, empty], &LabelOptions::default()).unwrap_err().to_string();
    assert!(error.contains("empty.csv") && error.contains("1 without an address"), "{error}");
}

#[test]
fn files_without_a_claim_are_errors_that_say_why() {
    for (table, parts) in [
        ("address,category,entity\n".to_owned(), ["it has no row", "list.csv"]),
        (
            "address,category\n\"Moscow, Russia\",sanction\nMinsk,sanction\n".to_owned(),
            ["2 texts that are not addresses", "Moscow"],
        ),
        (
            format!("address,category,chain\n{A},scam,optimism\n"),
            ["1 addresses of EVM chains that are not held", "list.csv"],
        ),
        (format!("address,category,chain\n{A},Odd word,bsc\n"), ["without a code, name or entity", "\"Odd word\" 1"]),
    ] {
        let error = read(&table, &LabelOptions::default()).unwrap_err();
        assert!(error.contains("gives no claim") && parts.iter().all(|part| error.contains(part)), "{error}");
    }
}

#[test]
fn files_of_several_formats_are_a_list_each() {
    let files = Files::new();
    let row = format!("{{\"address\":\"{B}\",\"chain\":\"bsc\",\"code\":\"mixer\"}}");
    files.add("a.json", &format!("[{row}]"));
    files.add(
        "pack.yaml",
        &format!("title: t\ncreator: c\ntags:\n- address: '{A}'\n  label: x\n  currency: ETH\n  category: exchange\n"),
    );
    files.add("notes.md", "# Notes\n\nSome words about the lists.\n");
    files.add("empty.csv", "address,code\n?,mixer\n");
    files.add("bare.csv", &format!("address\n{A}\n"));
    let folder = [files.0.path().to_owned()];
    let reading = read_label_lists(&folder, &LabelOptions::default()).unwrap();
    let shown: Vec<_> = reading.lists.iter().map(|labels| (labels.format, labels.counts.claims)).collect();
    assert_eq!(shown, [("tagpack", 1), ("table", 1)]);
    let warnings = &reading.lists[1].warnings;
    assert!(warnings.iter().any(|warning| warning.contains("empty.csv: gives no claim")), "{warnings:?}");
    let left_out: Vec<_> =
        reading.left_out.iter().map(|file| file.path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(left_out, ["bare.csv", "notes.md"], "{:?}", reading.left_out);
    // One source and one name would replace one another.
    let options = LabelOptions { source: Some("s".to_owned()), list: Some("l".to_owned()), ..LabelOptions::default() };
    let lists: Vec<_> =
        read_label_lists(&folder, &options).unwrap().lists.into_iter().map(|labels| labels.list).collect();
    assert_eq!(lists, ["l/tagpack", "l/table"]);
    let error = read_labels(&folder, &options).unwrap_err().to_string();
    assert!(error.contains("tagpack, table"), "{error}");
}

#[test]
fn licence_is_that_of_the_source_unless_it_is_given() {
    let list = format!("<export><sanctionEntity logicalId=\"1\"><remark>ETH: {A}</remark></sanctionEntity></export>");
    let files = Files::new();
    let path = files.add("list.xml", &list);
    let licence = |licence: Option<&str>| {
        let options = LabelOptions { licence: licence.map(str::to_owned), ..LabelOptions::default() };
        read_labels(std::slice::from_ref(&path), &options).unwrap().licence
    };
    assert_eq!(licence(None).as_deref(), Some("reuse with attribution (Decision 2011/833/EU)"));
    assert_eq!(licence(Some("own terms")).as_deref(), Some("own terms"));
    assert_eq!(plain(&format!("address,chain,code\n{A},bsc,mixer\n")).licence, None);
}
