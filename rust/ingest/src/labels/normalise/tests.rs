use headwater_ledger::labels::{Action, Code, DateBasis, Level};
use headwater_types::{Chain, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::labels::raw::{ChainHint, MENTION, RawClaim, RawDateBasis, RawLevel};

const A: &str = "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b";
const B: &str = "0x0494c0950a34a7f024c18ad5dca185f4aa01d307";
const TRON: &str = "TDumhjnkbkDDrKrMXb242Wh8jXt3u66NpT";
const BITCOIN: &str = "3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8";

fn rules() -> Rules<'static> {
    Rules {
        source: "import",
        vocabulary: Vocabulary::OWN,
        group: None,
        format_group: "family",
        level: None,
        format_level: Level::WebCrawl,
        chain: None,
        format_chain: Some(Chain::ETHEREUM),
        entity: None,
        code: None,
    }
}

fn raw(address: &str, concept: &str) -> RawClaim {
    RawClaim { address: address.to_owned(), concepts: vec![concept.to_owned()], ..RawClaim::default() }
}

#[expect(clippy::unnecessary_wraps, reason = "it fills optional fields")]
fn day(day: i64) -> Option<Timestamp> {
    Some(Timestamp::new(day * 86_400))
}

fn ticker(text: &str) -> ChainHint {
    ChainHint::Ticker(text.to_owned())
}

#[expect(clippy::unnecessary_wraps, reason = "it fills optional fields")]
fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

fn read_by(rules: &Rules<'_>, claims: Vec<RawClaim>) -> Normalised {
    normalise(RawLabels { claims, ..RawLabels::default() }, rules).unwrap()
}

fn read(claims: Vec<RawClaim>) -> Normalised {
    read_by(&rules(), claims)
}

/// Chains, address, code and group of each claim.
fn shown(normalised: &Normalised) -> Vec<String> {
    let row = |claim: &Claim| {
        let code = claim.code.map_or("-", Code::name);
        format!("{} {} {code} {}", claim.scope.name(), claim.address, claim.group)
    };
    normalised.claims.iter().map(row).collect()
}

#[test]
fn repeats_become_one_claim_with_first_and_last_time() {
    let one = |name: &str, asserted_at, last_seen| RawClaim {
        name: text(name),
        asserted_at,
        last_seen,
        ..raw(A, "phishing")
    };
    let found = read(vec![one("late", day(9), None), one("early", day(3), day(5)), one("undated", None, None)]);
    let [claim] = &found.claims[..] else { panic!("one claim: {:?}", found.claims) };
    assert_eq!((claim.asserted_at, claim.last_seen, claim.name.as_deref()), (day(3), day(9), Some("early")));
    assert_eq!((found.counts.claims, found.counts.duplicates), (1, 2));
    let once = read(vec![one("once", day(3), day(3))]);
    assert_eq!((once.claims[0].asserted_at, once.claims[0].last_seen), (day(3), None));
}

#[test]
fn mentions_take_no_code_of_actors_and_callers() {
    let silk_road = |concepts: &[&str]| RawClaim {
        address: BITCOIN.to_owned(),
        name: text("Silk Road"),
        concepts: concepts.iter().map(|concept| (*concept).to_owned()).collect(),
        ..RawClaim::default()
    };
    let rules = Rules { vocabulary: Vocabulary("graphsense"), entity: Some("Silk Road"), ..rules() };
    let read = |rules: &Rules<'_>, concepts: &[&str]| read_by(rules, vec![silk_road(concepts)]);
    assert_eq!(read(&rules, &[]).claims[0].code, Some(Code::DarknetMarket));
    for (code, concept) in [(None, MENTION), (Some(Code::Scam), MENTION), (None, "website_mention")] {
        let found = read(&Rules { code, ..rules }, &[concept]);
        assert_eq!((found.claims[0].code, found.claims[0].name.as_deref()), (None, Some("Silk Road")));
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    }
}

#[test]
fn address_date_of_repeats_counts_before_earlier_entity_dates() {
    let one = |asserted_at, date_basis| RawClaim { asserted_at, date_basis, ..raw(A, "sanction") };
    let (address, entity, unknown) = (RawDateBasis::Address, RawDateBasis::Entity, RawDateBasis::Unknown);
    let joined = |claims: Vec<RawClaim>| {
        let found = read(claims);
        let [claim] = &found.claims[..] else { panic!("one claim: {:?}", found.claims) };
        (claim.asserted_at, claim.date_basis)
    };
    let dates = vec![one(day(1), entity), one(day(7), address), one(day(9), address), one(day(2), unknown)];
    assert_eq!(joined(dates), (day(7), Some(DateBasis::Address)));
    assert_eq!(joined(vec![one(day(5), entity), one(day(1), unknown)]), (day(5), Some(DateBasis::Entity)));
    assert_eq!(joined(vec![one(day(5), unknown)]), (day(5), None));
    assert_eq!(joined(vec![one(None, address), one(day(5), entity)]), (day(5), Some(DateBasis::Entity)));
    assert_eq!(joined(vec![one(None, address)]), (None, None));
}

#[test]
fn repeats_end_when_all_of_them_end() {
    let one = |valid_until| RawClaim { valid_until, ..raw(A, "sanction") };
    assert_eq!(read(vec![one(day(3)), one(day(5))]).claims[0].valid_until, day(5));
    assert_eq!(read(vec![one(day(3)), one(None)]).claims[0].valid_until, None);
}

#[test]
fn repeats_keep_the_highest_level() {
    let one = |level| RawClaim { level: Some(RawLevel::Known(level)), ..raw(A, "scam") };
    let found = read(vec![one(Level::Heuristic), one(Level::Forensic), one(Level::WebCrawl)]);
    assert_eq!((found.claims[0].level, found.claims[0].reliability), (Level::Forensic, 500));
}

#[test]
fn claims_of_other_code_entity_group_or_action_stay_apart() {
    let claims = vec![
        raw(A, "scam"),
        raw(A, "phishing"),
        RawClaim { entity: text("Some"), ..raw(A, "scam") },
        RawClaim { entity: text("SOME 2"), ..raw(A, "scam") },
        RawClaim { group: text("other"), ..raw(A, "scam") },
        RawClaim { action: Action::Remove, ..raw(A, "scam") },
    ];
    let found = read(claims);
    assert_eq!((found.counts.claims, found.counts.duplicates), (5, 1));
    let entities: Vec<_> = found.claims.iter().map(|claim| claim.entity.as_deref()).collect();
    assert_eq!(entities, [None, None, None, None, Some("SOME")]);
    let codes: Vec<_> = found.claims.iter().map(|claim| claim.code.unwrap()).collect();
    assert_eq!(codes, [Code::Phishing, Code::Scam, Code::Scam, Code::Scam, Code::Scam]);
}

#[test]
fn sanctions_hold_on_every_evm_chain_whatever_the_hint() {
    let chain = |hint: &str| ChainHint::Chain(hint.to_owned());
    let claims = [
        ticker("ARB"),
        ticker("USDT"),
        chain("bsc"),
        chain("arbitrum"),
        ChainHint::None,
        chain("Solana"),
        chain("Foo"),
    ]
    .map(|chain| RawClaim { chain, ..raw(A, "sanction") });
    let found = read_by(&Rules { format_chain: None, ..rules() }, claims.to_vec());
    assert_eq!(shown(&found), [format!("evm {A} sanction family")]);
    assert_eq!((found.counts.duplicates, found.counts.unknown_chain, found.missing_chain), (6, 0, 0));

    let terror = |chain| RawClaim { chain, ..raw(A, "terrorist_financing") };
    let found = read(vec![terror(ChainHint::None), terror(chain("bsc"))]);
    assert_eq!(
        shown(&found),
        [format!("bsc {A} terrorist_financing family"), format!("evm {A} terrorist_financing family")]
    );
}

#[test]
fn other_codes_hold_on_the_chain_of_the_hint() {
    let chain = |hint: &str, concept| RawClaim { chain: ChainHint::Chain(hint.to_owned()), ..raw(A, concept) };
    let found = read(vec![chain("bsc", "scam"), chain("arbitrum", "scam"), chain("arbitrum", "mixer"), raw(A, "scam")]);
    assert_eq!(shown(&found), [format!("bsc {A} scam family"), format!("ethereum {A} scam family")]);
    assert_eq!((found.counts.unknown_chain, found.counts.no_code), (1, 0));
    let missing =
        read_by(&Rules { format_chain: None, ..rules() }, vec![raw(A, "scam"), raw(A, "mixer"), raw(B, "sanction")]);
    assert_eq!((missing.missing_chain, missing.counts.claims), (1, 1));
}

#[test]
fn bitcoin_and_tron_go_by_their_form() {
    let claims = vec![
        RawClaim { chain: ticker("ETH"), ..raw(BITCOIN, "scam") },
        RawClaim { chain: ticker("XBT"), ..raw(TRON, "scam") },
    ];
    let found = read(claims);
    assert_eq!(shown(&found), [format!("tron {TRON} scam family"), format!("bitcoin {BITCOIN} scam family")]);
    assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
}

#[test]
fn evm_addresses_under_a_chain_without_any_are_left_out() {
    let on = |chain, concept| RawClaim { chain, ..raw(A, concept) };
    let chain = |name: &str| ChainHint::Chain(name.to_owned());
    let left_out = ["EVM addresses under a chain that has none, left out: tron 1"];
    for rules in [rules(), Rules { chain: Some(Chain::BSC), ..rules() }, Rules { format_chain: None, ..rules() }] {
        let found = read_by(&rules, vec![on(chain("tron"), "scam")]);
        assert_eq!((shown(&found), &found.warnings[..]), (Vec::new(), &left_out.map(str::to_owned)[..]));
        let found = read_by(&rules, vec![on(chain("tron"), "sanction")]);
        assert_eq!(shown(&found), [format!("evm {A} sanction family")]);
        assert!(found.warnings[0].contains("taken by their form"), "{:?}", found.warnings);
    }
    assert_eq!(shown(&read(vec![on(ticker("TRX"), "scam")])), [format!("ethereum {A} scam family")]);
}

#[test]
fn other_coins_are_kept_under_their_ticker() {
    let litecoin = RawClaim {
        chain: ticker("LTC"),
        entity: text("Somebody"),
        ..raw("LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp, 3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8", "sanction")
    };
    let found = read(vec![litecoin.clone(), litecoin]);
    assert_eq!((found.claims.len(), found.counts.other_ticker, found.counts.malformed), (0, 2, 0));
    let expected = |address: &str| Foreign {
        ticker: "LTC".to_owned(),
        address: address.to_owned(),
        code: Some(Code::Sanction),
        entity: text("Somebody"),
    };
    assert_eq!(found.foreign, [expected(BITCOIN), expected("LeSpCTzPrDs1xRd2HhDkQ3Apy3gEdPcjSp")]);
}

#[test]
fn names_without_code_are_kept_and_counted_by_address() {
    let named = |address: &str, concept: &str, name: &str| RawClaim { name: text(name), ..raw(address, concept) };
    let found = read(vec![
        named(A, "unheard-of", "Example &amp; Sons: Deployer"),
        named(A, "", "Example &amp; Sons: Deployer"),
        raw(B, "unheard-of"),
        named(TRON, "unheard-of", "Somebody"),
        RawClaim { concepts: vec!["mixer".to_owned(), "unheard-of".to_owned()], ..named(TRON, "", "Somebody") },
    ]);
    assert_eq!((found.counts.claims, found.counts.no_code, found.counts.duplicates), (1, 2, 0));
    let rows: Vec<_> = found.claims.iter().map(|claim| (claim.name.as_deref(), claim.code)).collect();
    assert_eq!(
        rows,
        [(Some("Example & Sons: Deployer"), None), (Some("Somebody"), None), (Some("Somebody"), Some(Code::Mixer)),]
    );
    assert_eq!(found.warnings, ["words that the table of concepts lacks, without a claim: 4, \"unheard-of\" 4"]);
}

#[test]
fn concepts_of_one_code_are_no_duplicates() {
    let both = RawClaim { concepts: vec!["mixer".to_owned(), "Mixer".to_owned()], ..raw(A, "") };
    let found = read(vec![both]);
    assert_eq!((found.counts.claims, found.counts.duplicates), (1, 0));
}

#[test]
fn code_and_entity_of_the_caller_stand_where_the_file_has_none() {
    let rules = Rules { code: Some(Code::Exchange), entity: Some("Bybit"), ..rules() };
    let bare = RawClaim { concepts: Vec::new(), ..raw(A, "") };
    let found = read_by(&rules, vec![bare, RawClaim { entity: text("OKX"), ..raw(B, "exchange_hot_wallet") }]);
    let rows: Vec<_> =
        found.claims.iter().map(|claim| (claim.code.unwrap(), claim.entity.as_deref().unwrap())).collect();
    assert_eq!(rows, [(Code::ExchangeHotWallet, "OKX"), (Code::Exchange, "Bybit")]);
}

#[test]
fn entities_of_fraud_are_none_and_the_name_stays() {
    let named = |name: &str| RawClaim { name: text(name), entity: text(name), ..raw(A, "phishing") };
    for name in ["Fake_Phishing99", "🐟 Drainer"] {
        let found = read(vec![named(name)]);
        assert_eq!((found.claims[0].entity.as_deref(), found.claims[0].name.as_deref()), (None, Some(name)));
    }
    let alike = read(vec![named("Вinance 3")]);
    assert_eq!(alike.claims[0].entity.as_deref(), Some("Вinance"));
    assert!(alike.warnings[0].contains("mix scripts"), "{:?}", alike.warnings);
}

#[test]
fn group_is_the_callers_the_rows_the_sites_or_the_formats() {
    let one = |group: Option<&str>, url: Option<&str>, source: Option<&str>| RawClaim {
        group: group.map(str::to_owned),
        source_url: url.map(str::to_owned),
        source: source.map(str::to_owned),
        ..raw(A, "scam")
    };
    let group = |rules: &Rules<'_>, claim| read_by(rules, vec![claim]).claims[0].group.to_string();
    let site = Some("https://forum.example/1");
    assert_eq!(group(&Rules { group: Some("g"), ..rules() }, one(Some("row"), site, None)), "g");
    assert_eq!(group(&rules(), one(Some("row"), site, None)), "row");
    assert_eq!(group(&rules(), one(None, site, Some("https://other.example"))), "forum.example");
    assert_eq!(group(&rules(), one(None, None, Some("https://other.example"))), "other.example");
    assert_eq!(group(&rules(), one(None, None, Some("Example Lab"))), "family");
    let own = Rules { format_group: "", ..rules() };
    assert_eq!(group(&own, one(None, None, Some("Example Lab"))), "example lab");
    assert_eq!(group(&own, one(None, None, None)), "import");
}

#[test]
fn sanction_copied_by_etherscan_counts_to_ofac() {
    let etherscan = Rules { format_group: "etherscan", format_level: Level::TrustedProvider, ..rules() };
    let found = read_by(&etherscan, vec![raw(A, "sanction"), raw(A, "phishing")]);
    assert_eq!(shown(&found), [format!("ethereum {A} phishing etherscan"), format!("evm {A} sanction ofac")]);
    assert_eq!(found.claims[1].level, Level::TrustedProvider);
    let stated = read_by(&Rules { group: Some("etherscan"), ..etherscan }, vec![raw(A, "sanction")]);
    assert_eq!(&*stated.claims[0].group, "etherscan");
}

#[test]
fn source_of_a_row_stands_before_that_of_the_import() {
    let row = RawClaim { source: text("Lab"), source_url: text("https://lab.example"), ..raw(A, "scam") };
    let found = read(vec![row, raw(B, "scam")]);
    let rows: Vec<_> = found.claims.iter().map(|claim| (&*claim.source, claim.source_url.as_deref())).collect();
    assert_eq!(rows, [("import", None), ("Lab", Some("https://lab.example"))]);
}

#[test]
fn texts_without_address_are_counted_by_reason() {
    let found = read(
        ["-", "", "0x1234", "0x1234", "13xrb1rsxbssbqosundrbxqq1nhrgeeqq5", "TPНXAYWa2dSFx8Budif1gFHc7CEABpnYsv"]
            .into_iter()
            .chain(["0x71DfF8D948f1C1727e7CFdbbF934e707b84765C5", "0x71DfF8D948f1C1727e7CFdbbF934e707b84765C5"])
            .map(|address| raw(address, "scam"))
            .collect(),
    );
    let counts = found.counts;
    assert_eq!((counts.no_address, counts.malformed, counts.bad_checksum), (2, 1, 1));
    assert_eq!((counts.repaired, counts.eip55, counts.claims, counts.duplicates), (1, 1, 2, 1));
    assert_eq!(found.warnings.len(), 4, "{:?}", found.warnings);
}

#[test]
fn no_statement_makes_no_claim() {
    let found = read(Vec::new());
    assert_eq!((found.claims.len(), found.counts), (0, Counts::default()));
}

fn any_claim() -> impl Strategy<Value = RawClaim> {
    let pick = |values: &'static [&'static str]| proptest::sample::select(values).prop_map(str::to_owned);
    let cell = pick(&[
        A,
        B,
        TRON,
        BITCOIN,
        "-",
        "0x12",
        "0xD86e1Ea9ab69ACF2ABc60CB07A2D2D46F369B50B, TDumhjnkbkDDrKrMXb242Wh8jXt3u66NpT",
    ]);
    let hint = prop_oneof![
        Just(ChainHint::None),
        Just(ChainHint::AnyEvm),
        pick(&["ETH", "LTC", "USDT", "BNB"]).prop_map(ChainHint::Ticker),
        pick(&["bsc", "arbitrum", "Ziliqa"]).prop_map(ChainHint::Chain),
    ];
    let concepts = proptest::collection::vec(pick(&["scam", "sanction", "exchange", "nothing"]), 0..3);
    let name = proptest::option::of(pick(&["Binance 1", "binance: hot wallet", "Other", "Fake_Phishing1"]));
    let times = proptest::option::of((0_i64..3).prop_map(Timestamp::new));
    let level = proptest::option::of(pick(&["forensic", "0.3", "gut"]).prop_map(RawLevel::Stated));
    let source = proptest::option::of(pick(&["https://a.example/1", "https://a.example/2", "Lab"]));
    (cell, hint, concepts, name, (times.clone(), times), level, source).prop_map(
        |(address, chain, concepts, name, (asserted_at, valid_until), level, source)| RawClaim {
            address,
            chain,
            concepts,
            entity: name.clone(),
            name,
            asserted_at,
            valid_until,
            level,
            source,
            ..RawClaim::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn order_of_statements_does_not_change_the_claims(
        claims in proptest::collection::vec(any_claim(), 0..24).prop_flat_map(|claims| {
            (Just(claims.clone()), Just(claims).prop_shuffle())
        })
    ) {
        let (one, other) = (read(claims.0), read(claims.1));
        prop_assert!(one.claims.is_sorted_by_key(|claim| (claim.address, claim.scope, claim.code)));
        prop_assert_eq!(one.claims, other.claims);
        prop_assert_eq!(one.foreign, other.foreign);
        prop_assert_eq!(one.counts, other.counts);
    }
}
