//! Plain tables of labels.

use super::tests::{A, B, BITCOIN, day, plain, read};
use super::*;

/// The claims of a table with these columns: codes and names, in order of addresses.
fn codes_and_names(content: &str, options: &LabelOptions) -> Vec<(Option<Code>, Option<String>)> {
    let options = LabelOptions { chain: options.chain.or(Some(Chain::ETHEREUM)), ..options.clone() };
    let labels = read(content, &options).unwrap();
    labels.claims.iter().map(|claim| (claim.code, claim.name.as_deref().map(str::to_owned))).collect()
}

fn with_code(code: Code) -> LabelOptions {
    LabelOptions { code: Some(code), ..LabelOptions::default() }
}

#[test]
fn label_is_a_name_unless_all_its_parts_are_codes() {
    let free = LabelOptions::default();
    let name = |text: &str| Some(text.to_owned());
    let one = |cell: &str| codes_and_names(&format!("Address,Label\n{A},\"{cell}\"\n"), &free);
    assert_eq!(one("Smart NFT Trader"), [(None, name("Smart NFT Trader"))]);
    assert_eq!(one("Token Millionaire, Fund"), [(None, name("Token Millionaire, Fund"))]);
    assert_eq!(one("Mixer, Fund"), [(None, name("Mixer, Fund"))]);
    assert_eq!(one("Darknet Market"), [(Some(Code::DarknetMarket), None)]);
    assert_eq!(one("scam; Mixing"), [(Some(Code::Scam), None), (Some(Code::Mixer), None)]);
    // With a column of codes a name is a name, even where its cell is blank.
    let beside = format!("address,category,name\n{A},,Mixer\n{B},Ransomware,Some name\n");
    assert_eq!(codes_and_names(&beside, &free), [(Some(Code::Ransomware), name("Some name")), (None, name("Mixer"))]);
}

#[test]
fn code_of_the_caller_stands_before_all_columns() {
    let table = format!("address,category,label\n{A},exchange,Some person\n");
    let given = with_code(Code::Sanction);
    assert_eq!(codes_and_names(&table, &given), [(Some(Code::Sanction), Some("Some person".to_owned()))]);
    let options = LabelOptions { chain: Some(Chain::ETHEREUM), ..given };
    assert_eq!(read(&table, &options).unwrap().warnings, ["columns that were not read: category"]);
}

#[test]
fn columns_that_are_not_read_are_named() {
    let table = format!("Address,Name Tag,Private Note,Date Added,score\n{A},Some wallet,a note,2024-05-06,7\n");
    let labels = read(&table, &LabelOptions { chain: Some(Chain::BSC), ..with_code(Code::Scam) }).unwrap();
    assert_eq!(labels.warnings, ["columns that were not read: Private Note, score"]);
    let claim = &labels.claims[0];
    assert_eq!((claim.name.as_deref(), claim.asserted_at), (Some("Some wallet"), day("2024-05-06")));
}

#[test]
fn rows_that_a_flag_denies_claim_nothing() {
    for (column, denied, affirmed) in [
        ("FLAG", "0", "1"),
        ("isScam", "false", "True"),
        ("is_fraud", "no", "yes"),
        ("status", "removed", "active"),
        ("revoked", "true", "false"),
        ("class", "2", "1"),
        ("label", "0", "1"),
        ("malicious", "0", "1"),
        ("type", "licit", "illicit"),
    ] {
        let table = format!("address,{column}\n{A},{denied}\n{B},{affirmed}\n");
        let options = LabelOptions { chain: Some(Chain::ETHEREUM), ..with_code(Code::Scam) };
        let labels = read(&table, &options).unwrap();
        let addresses: Vec<_> = labels.claims.iter().map(|claim| claim.address.to_string()).collect();
        assert_eq!((addresses, labels.counts.denied), (vec![B.to_owned()], 1), "{column}: {:?}", labels.warnings);
        assert!(labels.warnings.iter().any(|warning| warning.contains(&format!("({column} 1)"))), "{column}");
    }
    // Who an address is does not depend on a flag of crime.
    let table = format!("address,category,is_scam\n{A},exchange,0\n{B},scam,0\n");
    assert_eq!(codes_and_names(&table, &LabelOptions::default()), [(Some(Code::Exchange), None)]);
}

/// The codes of a table on Ethereum, by address.
fn codes_of(content: &str, code: Option<Code>) -> Vec<(String, Option<Code>)> {
    let options = LabelOptions { chain: Some(Chain::ETHEREUM), code, ..LabelOptions::default() };
    match read(content, &options) {
        Ok(labels) => labels.claims.iter().map(|claim| (claim.address.to_string(), claim.code)).collect(),
        Err(error) => panic!("{content}: {error}"),
    }
}

#[test]
fn flags_do_not_depend_on_the_order_of_columns() {
    let (phishing, scam) = ((A.to_owned(), Some(Code::Phishing)), (A.to_owned(), Some(Code::Scam)));
    for table in [
        "address,phishing_activities,fake_token\nA,1,0\n",
        "address,fake_token,phishing_activities\nA,0,1\n",
        "address,category,is_ponzi\nA,phishing,0\n",
    ] {
        assert_eq!(
            codes_of(&table.replace("\nA", &format!("\n{A}")), None),
            std::slice::from_ref(&phishing),
            "{table}"
        );
    }
    let table = format!("address,is_scam,is_phishing\n{A},1,0\n");
    assert_eq!(codes_of(&table, None), std::slice::from_ref(&scam));
    assert_eq!(codes_of(&table, Some(Code::Scam)), [scam]);
}

#[test]
fn rows_whose_flags_cannot_be_read_are_left_out() {
    let table = |cell: &str| format!("address,sanctioned\n{A},{cell}\n{B},true\n");
    for cell in ["unknown", "N/A", "pending", "", "no match", "not sanctioned", "maybe"] {
        let codes = codes_of(&table(cell), Some(Code::Sanction));
        assert_eq!(codes, [(B.to_owned(), Some(Code::Sanction))], "{cell}");
    }
    // A flag of another crime must not be false either.
    let other = format!("address,is_hacker\n{A},0\n{B},1\n");
    assert_eq!(codes_of(&other, Some(Code::Scam)), [(B.to_owned(), Some(Code::Scam))]);
    let status = format!("address,category,status\n{A},scam,under review\n{B},scam,active\n");
    assert_eq!(codes_of(&status, None), [(B.to_owned(), Some(Code::Scam))]);
    // A column without any value of a flag is not one.
    let offline = format!("address,category,status\n{A},scam,Offline\n");
    assert_eq!(codes_of(&offline, None).len(), 1);
    let removed = format!("address,category,delisted\n{A},scam,2021-05-05\n{B},scam,false\n");
    assert_eq!(codes_of(&removed, None), [(B.to_owned(), Some(Code::Scam))]);
}

#[test]
fn words_for_harmless_deny_crimes_alone() {
    for (column, cell) in [
        ("category", "scam, false positive"),
        ("category", "phishing|whitelisted"),
        ("verdict", "benign"),
        ("role", "victim"),
    ] {
        let table = format!("address,type,{column}\n{A},scam,\"{cell}\"\n{B},scam,x\n");
        let table = if column == "category" { table.replace(",type,", ",n,") } else { table };
        let options = LabelOptions { chain: Some(Chain::ETHEREUM), ..LabelOptions::default() };
        let labels = read(&table, &options);
        let is_there = labels.is_ok_and(|labels| labels.claims.iter().any(|claim| claim.address.to_string() == A));
        assert!(!is_there, "{table}");
    }
    for label in ["white", "non-phishing", "not a scam", "safe", "Victim"] {
        let table = format!("address,label\n{A},{label}\n{B},scam\n");
        assert_eq!(codes_of(&table, Some(Code::Scam)), [(B.to_owned(), Some(Code::Scam))], "{label}");
    }
    let victim = format!("address,name\n{A},Phishing victim 7\n{B},Thief\n");
    assert_eq!(codes_of(&victim, Some(Code::Hack)), [(B.to_owned(), Some(Code::Hack))]);
    let safe = format!("address,label\n{A},Safe\n");
    assert_eq!(codes_of(&safe, None), [(A.to_owned(), None)], "the name of a wallet");
    let named = format!("address,label\n{A},No KYC exchange\n");
    assert_eq!(codes_of(&named, None), [(A.to_owned(), Some(Code::NoKycExchange))]);
}

#[test]
fn members_of_later_rows_of_json_count() {
    let rows = format!(
        "[{{\"address\":\"{A}\",\"category\":\"scam\"}},{{\"address\":\"{B}\",\"category\":\"scam\",\"status\":\"removed\"}}]"
    );
    let lines = rows.trim_matches(['[', ']']).replace("},{", "}\n{");
    for content in [rows, lines] {
        assert_eq!(codes_of(&content, None), [(A.to_owned(), Some(Code::Scam))], "{content}");
    }
    let beside = format!("{{\"address\":[\"{A}\",\"{B}\"],\"category\":[\"scam\",\"exchange\"]}}");
    let error = read(&beside, &LabelOptions { chain: Some(Chain::BSC), ..LabelOptions::default() }).unwrap_err();
    assert!(error.contains("side by side"), "{error}");
}

#[test]
fn columns_of_one_name_and_of_several_chains_are_refused() {
    let given = LabelOptions { chain: Some(Chain::ETHEREUM), ..LabelOptions::default() };
    let error = read(&format!("address,address,code\n{A},{B},scam\n"), &given).unwrap_err();
    assert!(error.contains("several columns are named \"address\""), "{error}");
    let error = read(&format!("address,blockchain,network,code\n{A},ethereum,sepolia,scam\n"), &given).unwrap_err();
    assert!(error.contains("several columns name the chain"), "{error}");
    let cash = read(&format!("address,chain,coin,code\n{BITCOIN},bitcoin,BCH,scam\n"), &given).unwrap_err();
    assert!(cash.contains("gives no claim"), "{cash}");
    let link = plain(&format!("address,url,code\n{A},https://bscscan.com/address/{A},scam\n"));
    assert_eq!(link.claims[0].scope.name(), "bsc");
}

#[test]
fn words_for_nothing_are_neither_names_nor_entities() {
    let labels = plain(&format!("address,chain,code,name,entity\n{A},bsc,mixer,N/A,null\n"));
    assert_eq!((&labels.claims[0].name, &labels.claims[0].entity), (&None, &None));
}

#[test]
fn flags_named_after_a_code_give_it() {
    let table = format!("address,phishing_activities,mixer,isSanctioned\n{A},1,0,false\n{B},0,0,true\n");
    let codes = codes_and_names(&table, &LabelOptions::default());
    assert_eq!(codes, [(Some(Code::Sanction), None), (Some(Code::Phishing), None)]);
    let none = format!("address,mixer\n{A},0\n");
    let error = read(&none, &LabelOptions { chain: Some(Chain::BSC), ..LabelOptions::default() }).unwrap_err();
    assert!(error.contains("gives no claim") && error.contains("1 denied by a column"), "{error}");
}

#[test]
fn table_without_what_says_what_addresses_are_asks_for_it() {
    let table = format!(",Index,Address,FLAG,total ether received\n0,1,{A},0,586.46\n");
    let error = read(&table, &LabelOptions::default()).unwrap_err();
    assert!(
        error.contains("needs --code") && error.contains("total ether received") && error.contains("\"FLAG\""),
        "{error}"
    );
}

#[test]
fn dates_that_can_mean_two_days_are_errors_of_their_row() {
    for date in ["06/05/2024", "45418"] {
        let error = read(&format!("address,category,date\n{A},phishing,{date}\n"), &with_code(Code::Scam)).unwrap_err();
        assert!(error.contains("line 2") && error.contains(date) && error.contains("2024-05-06"), "{error}");
    }
}

#[test]
fn coin_column_is_a_ticker() {
    let table = format!("coin,address,balance\nbtc,{BITCOIN},1\neth,{A},2\nltc,3KBJ9aU9SGZiw4oUGU3wAuyGq48uEE1y3M,1\n");
    let options = LabelOptions { entity: Some("Some exchange".to_owned()), ..with_code(Code::Exchange) };
    let labels = read(&table, &options).unwrap();
    let scopes: Vec<_> = labels.claims.iter().map(|claim| claim.scope.name()).collect();
    assert_eq!((scopes, labels.counts.other_ticker), (vec!["ethereum", "bitcoin"], 1));
}

#[test]
fn known_actors_have_their_code_on_bitcoin_alone() {
    let table = format!("address,chain,entity\n{BITCOIN},bitcoin,SilkRoadMarketplace\n{A},bsc,Hydra\n");
    let labels = plain(&table);
    let codes: Vec<_> = labels.claims.iter().map(|claim| (claim.scope.name(), claim.code)).collect();
    assert_eq!(codes, [("bsc", None), ("bitcoin", Some(Code::DarknetMarket))]);
}
