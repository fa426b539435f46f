//! The public lists and the freezes of issuers, held against the truth and the facts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use headwater_ledger::facts::{LogFacts, MovementFact, TransactionFacts};
use headwater_ledger::read::Status;
use headwater_simulate::truth::{PublicLabel, Role};
use headwater_simulate::{Economy, LabelFormat, LabelList};
use headwater_types::{Address, Amount, Asset, Chain, Family, Timestamp, TxHash};

use crate::{DEMO, demo};

const DAY: i64 = 86_400;

fn of_list<'a>(economy: &'a Economy, list: &'a str) -> impl Iterator<Item = &'a PublicLabel> {
    economy.truth.labels.iter().filter(move |label| label.list == list)
}

fn roles(economy: &Economy) -> BTreeMap<(Chain, Address), (Role, &str)> {
    economy.truth.addresses.iter().map(|row| ((row.chain, row.address), (row.role, &*row.owner))).collect()
}

fn text(list: &LabelList, file: usize) -> &str {
    std::str::from_utf8(&list.files[file].bytes).unwrap()
}

fn seconds(text: &str) -> Option<u64> {
    (!text.is_empty()).then(|| text.parse::<Timestamp>().unwrap().secs().unsigned_abs())
}

#[test]
fn plain_lists_state_what_the_truth_files_and_not_what_is_right() {
    let mut seen = BTreeSet::new();
    for list in DEMO.lists.iter().filter(|list| list.format == LabelFormat::Plain && list.edition.is_none()) {
        let mut lines = text(list, 0).lines();
        let header = "blockchain,address,code,entity,source,source_url,group,level,asserted_at,valid_until";
        assert_eq!(lines.next(), Some(header), "{}", list.name);
        let published: Vec<_> = lines.map(|line| line.split(',').collect::<Vec<_>>()).collect();
        let truth: Vec<_> = of_list(&DEMO, &list.name).collect();
        assert_eq!(published.len(), truth.len(), "{}", list.name);
        for (row, label) in published.iter().zip(truth) {
            let [chain, address, code, entity, source, url, group, level, asserted, until] = row[..] else {
                panic!("{row:?}")
            };
            let chain: Chain = chain.parse().unwrap();
            assert_eq!((chain, Address::parse(chain, address).unwrap()), (label.chain, label.address));
            assert_eq!([code, entity, group, level], [&*label.code, &label.entity, &label.group, &label.level]);
            assert_eq!((source, level), (&*list.name, list.level));
            assert_eq!(url, format!("https://{group}/{}", list.name));
            assert_eq!((seconds(asserted), seconds(until)), (label.asserted_secs, label.valid_until_secs));
        }
        seen.insert(&*list.name);
    }
    let expected = [
        "crowd-tags",
        "darknet-markets",
        "explorer-tags",
        "fraud-watch",
        "pool-list",
        "scam-reports",
        "service-addresses",
    ];
    assert_eq!(seen, expected.into_iter().collect());
    let dated = of_list(&DEMO, "explorer-tags").filter(|label| label.asserted_secs.is_some()).count();
    assert!(dated > 100 && dated < of_list(&DEMO, "explorer-tags").count());
}

#[test]
fn right_claims_fit_the_role_and_wrong_ones_do_not() {
    use Role::{
        CounterfeitToken, DarknetMarket, DarknetVendor, Duster, ExchangeHot, PaymentHot, ScamCollector, ScamContract,
        ScamLayer, ScamOperator, SpoofedToken, TokenDeployer,
    };
    let scam = [ScamContract, ScamCollector, ScamOperator, ScamLayer, TokenDeployer, SpoofedToken, CounterfeitToken];
    let roles = roles(&DEMO);
    let mut judged = 0;
    for label in &DEMO.truth.labels {
        let (role, _) = roles[&(label.chain, label.address)];
        let fits = match &*label.code {
            "sanction" => scam.contains(&role) || matches!(role, Role::MixerPool | DarknetMarket | DarknetVendor),
            "darknet_market" => role == DarknetMarket,
            "illicit_goods" => role == DarknetVendor,
            "exchange_hot_wallet" => role == ExchangeHot && label.list != "crowd-tags",
            "payment" => role == PaymentHot,
            "ransomware" => matches!(role, ScamOperator | ScamLayer),
            "extortion" => role == ScamCollector,
            "drainer" | "ponzi" | "pig_butchering" | "theft" | "address_poisoning" | "rug_pull" | "scam"
            | "phishing" => scam.contains(&role) || role == Duster,
            _ => continue,
        };
        // Makers of tokens deceive or do not: their role does not show it.
        if !matches!(role, TokenDeployer) {
            assert_eq!(fits, label.correct, "{label:?} {role:?}");
            judged += 1;
        }
    }
    assert!(judged > 500, "{judged}");
    let wrong = |list| of_list(&DEMO, list).filter(|label| !label.correct).count();
    assert!(wrong("scam-reports") > 3 && wrong("fraud-watch") > 3 && wrong("darknet-markets") > 0);
    assert_eq!(wrong("service-addresses") + wrong("explorer-tags") + wrong("pool-list"), 0);
    let withdrawn = of_list(&DEMO, "scam-reports").filter(|label| label.valid_until_secs.is_some());
    assert!(
        withdrawn.inspect(|label| assert!(!label.correct && label.asserted_secs < label.valid_until_secs)).count() > 1
    );
}

#[test]
fn the_two_lists_of_scams_overlap_and_each_has_its_own() {
    let of = |list| of_list(&DEMO, list).map(|label| (label.chain, label.address)).collect::<BTreeSet<_>>();
    let (reports, watch) = (of("scam-reports"), of("fraud-watch"));
    assert!(reports.intersection(&watch).count() > 5);
    assert!(reports.difference(&watch).count() > 10 && watch.difference(&reports).count() > 10);
    let groups: BTreeSet<_> = DEMO.truth.labels.iter().map(|label| (&*label.list, &*label.group)).collect();
    assert!(groups.contains(&("scam-reports", "scam-reports.example")));
    assert!(groups.contains(&("fraud-watch", "fraud-watch.example")));
    assert!(groups.contains(&("service-addresses", "northgate.example")));
}

#[test]
fn no_claim_is_made_before_its_address_occurs_or_after_the_end() {
    let mut first: BTreeMap<(Chain, Address), i64> = BTreeMap::new();
    let mut end = 0;
    for batch in &DEMO.batches {
        // Contracts may be there before anybody uses them.
        first.extend(batch.contracts.iter().map(|contract| ((batch.chain, *contract), i64::MIN)));
        for facts in &batch.transactions {
            let time = facts.time.unwrap().secs();
            end = end.max(time);
            let body = facts.body.iter().flat_map(|body| [body.from, body.to]);
            let moved = facts.movements.iter().flat_map(|movement| [movement.from, movement.to]);
            let paid = facts.utxo.iter().flat_map(|utxo| &utxo.outputs).map(|output| output.owner);
            for address in body.chain(moved).chain(paid).chain([facts.created]).flatten() {
                let known = first.entry((batch.chain, address)).or_insert(time);
                *known = (*known).min(time);
            }
        }
    }
    let mut dated = 0;
    // A sanctioned EVM address is listed for every chain as soon as it occurs on one.
    let of_chain = |label: &PublicLabel| label.list != "sanctions";
    for label in &DEMO.truth.labels {
        let Some(asserted) = label.asserted_secs.map(u64::cast_signed) else { continue };
        if let Some(first) = first.get(&(label.chain, label.address)).filter(|_| of_chain(label)) {
            // Lists of days know only the day.
            assert!(asserted + DAY > *first || first + DAY > end, "{label:?} {first}");
        }
        assert!(asserted <= end && label.valid_until_secs.is_none_or(|until| until.cast_signed() <= end), "{label:?}");
        dated += 1;
    }
    assert!(dated > 1_000, "{dated}");
}

/// The addresses of an edition, each with the day of its listing.
fn edition(list: &LabelList) -> BTreeMap<Address, u64> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[2..8], ["sanction", "", "ofac", "", "ofac", "sanctions_list"], "{line}");
        // Every EVM chain reads the addresses of one.
        let chain = if cells[0] == "evm" { Chain::ETHEREUM } else { cells[0].parse().unwrap() };
        (Address::parse(chain, cells[1]).unwrap(), seconds(cells[8]).unwrap())
    };
    text(list, 0).lines().skip(1).map(row).collect()
}

#[test]
fn the_second_edition_of_the_sanctions_lacks_what_was_delisted() {
    let editions: Vec<_> = DEMO.lists.iter().filter(|list| list.edition.is_some()).collect();
    let [before, after] = editions[..] else { panic!("two editions") };
    assert_eq!((&*before.name, &*before.source, before.level), ("sanctions", "ofac", "sanctions_list"));
    assert_eq!((&before.name, &before.source), (&after.name, &after.source));
    let dates = [before, after].map(|list| list.edition.unwrap().secs().unsigned_abs());
    assert!(dates[0] < dates[1]);
    let listed = [edition(before), edition(after)];
    let truth = |kept: &dyn Fn(&PublicLabel) -> bool| -> BTreeSet<Address> {
        of_list(&DEMO, "sanctions").filter(|label| kept(label)).map(|label| label.address).collect()
    };
    assert_eq!(
        listed[0].keys().copied().collect::<BTreeSet<_>>(),
        truth(&|label| label.asserted_secs.unwrap() <= dates[0])
    );
    assert_eq!(listed[1].keys().copied().collect::<BTreeSet<_>>(), truth(&|label| label.valid_until_secs.is_none()));
    let delisted: Vec<_> = of_list(&DEMO, "sanctions").filter(|label| label.valid_until_secs.is_some()).collect();
    assert!(delisted.iter().all(|label| label.valid_until_secs == Some(dates[1])));
    // A mixer rightly, people wrongly.
    let roles = roles(&DEMO);
    for label in &delisted {
        let mixer = roles[&(label.chain, label.address)].0 == Role::MixerPool;
        assert_eq!(label.correct, mixer, "{label:?}");
    }
    assert!(delisted.iter().any(|label| label.correct) && delisted.iter().any(|label| !label.correct));
    for family in [Family::Evm, Family::Tron, Family::Utxo] {
        assert!(listed[1].keys().any(|address| address.family() == family), "{family:?}");
    }
    assert!(listed[1].keys().any(|address| !listed[0].contains_key(address)), "some are new");
    assert_ne!(text(before, 0).lines().nth(1), text(after, 0).lines().nth(1), "editions differ in the case of letters");
    let owners: BTreeSet<_> = of_list(&DEMO, "sanctions").map(|label| roles[&(label.chain, label.address)].1).collect();
    for party in ["scam-drainer", "scam-investment", "scam-theft-1", "mixer-whirlpit"] {
        assert!(owners.contains(party), "{owners:?}");
    }
}

#[test]
fn sanctions_are_dated_between_the_crime_and_its_edition() {
    let editions: Vec<_> = DEMO.lists.iter().filter(|list| list.edition.is_some()).collect();
    let dates: Vec<u64> = editions.iter().map(|list| list.edition.unwrap().secs().unsigned_abs()).collect();
    let mut first: BTreeMap<Address, u64> = BTreeMap::new();
    let mut last: BTreeMap<Address, u64> = BTreeMap::new();
    for facts in DEMO.batches.iter().flat_map(|batch| &batch.transactions) {
        let time = facts.time.unwrap().secs().unsigned_abs();
        let named = facts.body.iter().flat_map(|body| [body.from, body.to]).chain([facts.created]);
        let ends = facts.movements.iter().flat_map(|movement| [movement.from, movement.to]);
        let outputs = facts.utxo.iter().flat_map(|utxo| &utxo.outputs).map(|output| output.owner);
        for address in named.chain(ends).chain(outputs).flatten() {
            first.entry(address).and_modify(|known| *known = time.min(*known)).or_insert(time);
            last.entry(address).and_modify(|known| *known = time.max(*known)).or_insert(time);
        }
    }
    let contracts: BTreeSet<Address> = DEMO.batches.iter().flat_map(|batch| batch.contracts.iter().copied()).collect();
    let (mut within_months, mut continuing, mut listed) = (0, 0, 0);
    for (list, edition_date) in editions.iter().zip(&dates) {
        for (address, since) in edition(list) {
            assert!(since <= *edition_date && since.is_multiple_of(DAY.unsigned_abs()), "{address} {since}");
            // Contracts are there, and are named in logs, before anybody pays them.
            let Some(first) = first.get(&address).filter(|_| !contracts.contains(&address)) else { continue };
            assert!(*first < since, "{address} is in use from {first}, listed from {since}");
            listed += 1;
            within_months += u32::from(since - first <= 151 * DAY.unsigned_abs());
            continuing += u32::from(last[&address] > since + DAY.unsigned_abs());
        }
    }
    assert!(listed > 20 && within_months == listed, "{within_months} of {listed} are listed within months");
    assert!(continuing > 0, "some continue behind the listing");
    let days: BTreeSet<_> = edition(editions[1]).into_values().collect();
    assert!(days.len() > 3, "parties are designated on days of their own: {days:?}");
}

#[test]
fn the_list_of_ransoms_names_payments_of_the_chain() {
    let list = DEMO.lists.iter().find(|list| list.format == LabelFormat::Ransomwhere).unwrap();
    assert_eq!((&*list.name, &*list.source, list.level), ("ransomware", "ransomwhe.re", "forensic"));
    let export: serde_json::Value = serde_json::from_str(text(list, 0)).unwrap();
    let rows = export["result"].as_array().unwrap();
    let truth: Vec<_> = of_list(&DEMO, "ransomware").collect();
    assert!(rows.len() >= 4 && rows.len() == truth.len(), "{} {}", rows.len(), truth.len());
    let mut paid: BTreeMap<(TxHash, Address), u64> = BTreeMap::new();
    for facts in DEMO.batches.iter().filter(|batch| batch.chain == Chain::BITCOIN).flat_map(|batch| &batch.transactions)
    {
        for output in &facts.utxo.as_ref().unwrap().outputs {
            if let Some(owner) = output.owner {
                *paid.entry((facts.hash, owner)).or_default() += output.amount;
            }
        }
    }
    for (row, label) in rows.iter().zip(truth) {
        let address = Address::parse(Chain::BITCOIN, row["address"].as_str().unwrap()).unwrap();
        assert_eq!((address, row["family"].as_str().unwrap_or("")), (label.address, &*label.entity));
        assert_eq!(seconds(row["createdAt"].as_str().unwrap()), label.asserted_secs);
        assert_eq!(row["blockchain"], "bitcoin");
        let mut sum = 0;
        for transaction in row["transactions"].as_array().unwrap() {
            let hash = TxHash::parse(Family::Utxo, transaction["hash"].as_str().unwrap()).unwrap();
            let amount = transaction["amount"].as_u64().unwrap();
            assert_eq!(paid[&(hash, address)], amount);
            assert!(transaction["amountUSD"].as_f64().unwrap() > 0.0);
            sum += amount;
        }
        assert_eq!(row["balance"], sum);
        assert_eq!(label.correct, sum > 0);
    }
}

/// Topics and places of the account as the contracts of Tether and Circle have them: topic 0, whether the account is in
/// the data, the group, and what it does.
const EVENTS: [(&str, &str, IssuerAction); 5] = [
    ("42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc", "tether", IssuerAction::Freeze),
    ("d7e9ec6e6ecd65492dce6bf513cd6867560d49544421d0783ddf06e76c24470c", "tether", IssuerAction::Release),
    ("61e6e66b0d6339b2980aecc6ccc0039736791f0ccde9ed512e789a7fbdd698c6", "tether", IssuerAction::Destroy),
    ("ffa4e6181777692565cf28528fc88fd1516ea86b56da075235fa575af6a4b855", "circle", IssuerAction::Freeze),
    ("117e3210bb9aa7d9baff172026820255c6f6c30ba8999d1c2fd88e2848137c4e", "circle", IssuerAction::Release),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum IssuerAction {
    Freeze,
    Release,
    Destroy,
}

const CONTRACTS: [(Chain, &str, &str); 4] = [
    (Chain::ETHEREUM, "0xdac17f958d2ee523a2206206994597c13d831ec7", "tether"),
    (Chain::ETHEREUM, "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "circle"),
    (Chain::TRON, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "tether"),
    (Chain::TRON, "TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8", "circle"),
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Returns what a log says of an account, when it is one of an issuer.
fn read(chain: Chain, log: &LogFacts) -> Option<(Address, &'static str, IssuerAction, Amount)> {
    let &(_, group, deed) = EVENTS.iter().find(|event| event.0 == hex(&log.topics[0]))?;
    let contract = |row: &&(Chain, &str, &str)| row.0 == chain && Address::parse(chain, row.1) == Ok(log.address);
    let known = CONTRACTS.iter().find(contract).unwrap_or_else(|| panic!("{chain} {} is not an issuer", log.address));
    assert_eq!(known.2, group);
    let in_data = chain == Chain::ETHEREUM && group == "tether";
    let (word, rest) = if in_data { log.data.split_at(32) } else { (&log.topics[1][..], &log.data[..]) };
    assert_eq!((log.topics.len(), word[..12].to_vec()), (if in_data { 1 } else { 2 }, vec![0; 12]));
    assert_eq!(rest.len(), if deed == IssuerAction::Destroy { 32 } else { 0 });
    let mut account = [0; 20];
    account.copy_from_slice(&word[12..]);
    let account = if chain == Chain::TRON { Address::Tron(account) } else { Address::Evm(account) };
    let amount = rest.try_into().map_or(Amount::ZERO, Amount::from_be_bytes);
    Some((account, group, deed, amount))
}

/// Chain, account and issuer.
type Key = (Chain, Address, &'static str);
/// A freeze with its begin and its end.
type Span = (Key, u64, Option<u64>);

/// The freezes of an economy as its logs state them, with the accounts whose funds were destroyed. On the way nobody
/// moves what is frozen.
fn replay(economy: &Economy) -> (Vec<Span>, BTreeSet<(Key, IssuerAction)>) {
    let (mut open, mut done, mut seen) = (BTreeMap::<Key, u64>::new(), Vec::new(), BTreeSet::new());
    let groups: BTreeMap<_, _> =
        CONTRACTS.iter().map(|row| ((row.0, Address::parse(row.0, row.1).unwrap()), row.2)).collect();
    for batch in economy.batches.iter().filter(|batch| matches!(batch.chain, Chain::ETHEREUM | Chain::TRON)) {
        let chain = batch.chain;
        let mut ordered: Vec<&TransactionFacts> = batch.transactions.iter().collect();
        ordered.sort_by_key(|facts| (facts.block, facts.index.unwrap_or(u32::MAX)));
        for facts in ordered.into_iter().filter(|facts| facts.status == Some(Status::Success)) {
            let is_burn = |to: Option<Address>| to.is_some_and(|to| to.is_zero());
            let moves = facts.movements.iter().filter(|movement| movement.kind == MovementFact::Token);
            for movement in moves.filter(|movement| !is_burn(movement.to)) {
                let Asset::Token(contract) = movement.asset else { continue };
                let Some(&group) = groups.get(&(chain, contract)).filter(|_| !movement.amount.is_zero()) else {
                    continue;
                };
                let to = movement.to.filter(|_| group == "circle");
                for account in [movement.from, to].into_iter().flatten() {
                    assert!(!open.contains_key(&(chain, account, group)), "{chain} {account} moves what is frozen");
                }
            }
            let at = facts.time.unwrap().secs().unsigned_abs();
            for log in &facts.logs {
                let Some((account, group, deed, _)) = read(chain, log) else { continue };
                let key = (chain, account, group);
                seen.insert((key, deed));
                match deed {
                    IssuerAction::Freeze => assert!(open.insert(key, at).is_none()),
                    IssuerAction::Release => done.push((key, open.remove(&key).unwrap(), Some(at))),
                    IssuerAction::Destroy => assert!(open.contains_key(&key)),
                }
            }
        }
    }
    done.extend(open.into_iter().map(|(key, at)| (key, at, None)));
    done.sort_unstable();
    (done, seen)
}

#[test]
fn freezes_follow_from_the_logs_of_the_real_contracts() {
    for seed in [7, 0, u64::MAX] {
        let economy = demo(seed);
        let (freezes, seen) = replay(economy);
        let mut truth: Vec<_> = of_list(economy, "issuer-freezes")
            .inspect(|label| assert_eq!((&*label.code, &*label.level), ("issuer_frozen", "issuer_freeze")))
            .map(|label| {
                let group = if label.group == "tether" { "tether" } else { "circle" };
                let from = label.asserted_secs.unwrap();
                ((label.chain, label.address, group), from, label.valid_until_secs)
            })
            .collect();
        truth.sort_unstable();
        assert_eq!(freezes, truth);
        assert!((16..=21).contains(&freezes.len()), "seed {seed}: {}", freezes.len());
        let kinds: BTreeSet<_> = seen.iter().map(|((chain, _, group), deed)| (*chain, *group, *deed)).collect();
        for chain in [Chain::ETHEREUM, Chain::TRON] {
            for (group, deed) in [
                ("tether", IssuerAction::Freeze),
                ("tether", IssuerAction::Release),
                ("tether", IssuerAction::Destroy),
                ("circle", IssuerAction::Freeze),
                ("circle", IssuerAction::Release),
            ] {
                assert!(kinds.contains(&(chain, group, deed)), "seed {seed}: {chain} {group} {deed:?}: {kinds:?}");
            }
        }
        for ((chain, account, _), _) in seen.iter().filter(|(_, deed)| *deed == IssuerAction::Destroy) {
            let reported =
                |row: &headwater_simulate::truth::TrueBalance| row.chain == *chain && row.address == *account;
            assert!(economy.truth.true_balances.iter().any(reported), "{chain} {account}");
        }
        // Issuers freeze the guilty, and now and then somebody innocent.
        let roles = roles(economy);
        let innocent = freezes.iter().filter(|((chain, account, _), ..)| roles[&(*chain, *account)].0 == Role::Person);
        let innocent = innocent.inspect(|freeze| assert!(freeze.2.is_some())).count();
        assert!((1..=6).contains(&innocent), "{innocent}");
    }
}

#[test]
fn every_seed_has_claims_of_every_list() {
    for seed in [0, 1, 2] {
        let economy = demo(seed);
        for list in &economy.lists {
            let right = of_list(economy, &list.name).filter(|label| label.correct).count();
            assert!(right > 0 || list.name == "crowd-tags", "seed {seed}: {}", list.name);
            assert!(!list.files.is_empty() && list.files.iter().all(|file| !file.bytes.is_empty()));
        }
        let names: Vec<_> = economy.lists.iter().map(|list| &*list.name).collect();
        assert_eq!(names.len(), 10, "{names:?}");
    }
}
