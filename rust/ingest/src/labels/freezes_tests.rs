use sha3::{Digest, Keccak256};

use super::*;

const USDT: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
const USDC: &str = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
const TUSD: &str = "0x0000000000085d4780b73119b644ae5ecd22b376";
const FDUSD: &str = "0xc5f0f7b66764f6ec8c8dff7ba683102295e16409";
const USDTB: &str = "0xc139190f447e929f090edeb554d95abb8b18ac1c";

/// A log that owns its parts: contract, block, index, topics, data.
struct Owned(Chain, Address, u64, u64, Vec<[u8; 32]>, Vec<u8>);

fn topic(signature: &str) -> [u8; 32] {
    Keccak256::digest(signature.as_bytes()).into()
}

fn word(last: u8) -> [u8; 32] {
    let mut word = [0; 32];
    word[31] = last;
    word
}

fn account_of(last: u8) -> Address {
    Address::Evm(*word(last).last_chunk().unwrap())
}

fn log(contract: &str, (block, index): (u64, u64), signature: &str, topics: &[[u8; 32]], data: &[[u8; 32]]) -> Owned {
    let contract = Address::parse(Chain::ETHEREUM, contract).unwrap();
    let topics = [&[topic(signature)], topics].concat();
    Owned(Chain::ETHEREUM, contract, block, index, topics, data.concat())
}

fn read_with(logs: &[Owned], extra: &[Issuer]) -> Labels {
    let borrowed = logs.iter().map(|Owned(chain, contract, block, log_index, topics, data)| FreezeLog {
        chain: *chain,
        block: *block,
        time: Timestamp::new(i64::try_from(*block).unwrap() * 100),
        log_index: *log_index,
        contract: *contract,
        topics,
        data,
    });
    freezes(borrowed, extra)
}

fn read(logs: &[Owned]) -> Labels {
    read_with(logs, &[])
}

/// Account, group, start and end of each claim.
fn shown(labels: &Labels) -> Vec<(Address, &str, i64, Option<i64>)> {
    let row = |claim: &'_ Claim| (claim.asserted_at.unwrap().secs(), claim.valid_until.map(Timestamp::secs));
    labels.claims.iter().map(|claim| (claim.address, &*claim.group, row(claim).0, row(claim).1)).collect()
}

#[test]
fn freeze_topics_are_hashes_of_their_signatures() {
    let table: Vec<_> = rows(EVENTS).collect();
    assert_eq!(table.len(), KINDS.len());
    for row in &table {
        assert_eq!(row[1], format!("0x{}", hex::encode(topic(&row[0]))), "{}", &row[0]);
    }
    assert_eq!(freeze_topics().count(), 19);
    assert_eq!(rows(ISSUERS).count(), issuers().len());
}

#[test]
fn freeze_account_is_read_from_data_topics_and_lists() {
    let logs = [
        log(USDT, (1, 0), "AddedBlackList(address)", &[], &[word(1)]),
        log(USDC, (1, 1), "Blacklisted(address)", &[word(2)], &[]),
        log(FDUSD, (1, 2), "Freeze(address,address)", &[word(9), word(3)], &[]),
        log(USDTB, (1, 3), "AccountsBlocked(address[])", &[], &[word(32), word(2), word(4), word(5)]),
        log(TUSD, (1, 4), "Blacklisted(address,bool)", &[word(6)], &[word(1)]),
    ];
    let groups = ["tether", "circle", "firstdigital", "usdtb", "usdtb", "trueusd"];
    let expected: Vec<_> = (1..).zip(groups).map(|(last, group)| (account_of(last), group, 100, None)).collect();
    let labels = read(&logs);
    assert_eq!(shown(&labels), expected);
    let claim = &labels.claims[0];
    assert_eq!((claim.code, claim.level, claim.reliability), (Some(Code::IssuerFrozen), Level::IssuerFreeze, 1_000));
    assert_eq!(claim.source_url.as_deref(), Some("eip155:1:0xdac17f958d2ee523a2206206994597c13d831ec7"));
}

#[test]
fn freeze_ends_with_its_release_in_order_of_block_and_index() {
    let frozen = |place| log(USDC, place, "Blacklisted(address)", &[word(1)], &[]);
    let released = |place| log(USDC, place, "UnBlacklisted(address)", &[word(1)], &[]);
    let labels = read(&[released((7, 0)), frozen((5, 3)), frozen((9, 1)), released((4, 0)), frozen((6, 0))]);
    assert_eq!(shown(&labels), [(account_of(1), "circle", 500, Some(700)), (account_of(1), "circle", 900, None)]);
    let counts = Counts { claims: 2, duplicates: 1, ends: 1, end_without_start: 1, ..Counts::default() };
    assert_eq!(labels.counts, counts);
    let within = read(&[released((5, 9)), frozen((5, 8))]);
    assert_eq!(shown(&within), [(account_of(1), "circle", 500, Some(500))]);
}

#[test]
fn freeze_flag_of_a_log_freezes_or_ends() {
    let flag = |index, flag| log(TUSD, (3, index), "Blacklisted(address,bool)", &[word(1)], &[word(flag)]);
    assert_eq!(shown(&read(&[flag(5, 0), flag(0, 1)])), [(account_of(1), "trueusd", 300, Some(300))]);
}

#[test]
fn freeze_stays_when_the_balance_is_destroyed() {
    let labels = read(&[
        log(USDT, (1, 0), "AddedBlackList(address)", &[], &[word(1)]),
        log(USDT, (2, 0), "DestroyedBlackFunds(address,uint256)", &[], &[word(1), word(77)]),
    ]);
    assert_eq!(shown(&labels), [(account_of(1), "tether", 100, None)]);
    assert_eq!(labels.counts.destroyed, 1);
}

#[test]
fn freezes_of_tokens_are_claims_of_their_own() {
    let labels = read(&[
        log(USDT, (1, 0), "AddedBlackList(address)", &[], &[word(1)]),
        log(USDC, (2, 0), "Blacklisted(address)", &[word(1)], &[]),
        log(USDT, (3, 0), "RemovedBlackList(address)", &[], &[word(1)]),
    ]);
    assert_eq!(shown(&labels), [(account_of(1), "circle", 200, None), (account_of(1), "tether", 100, Some(300))]);
    assert!(labels.claims.is_sorted());
}

#[test]
fn logs_that_repeat_count_once() {
    let logs = || {
        [
            log(USDC, (1, 0), "Blacklisted(address)", &[word(1)], &[]),
            log(USDC, (2, 0), "UnBlacklisted(address)", &[word(1)], &[]),
            log("0x1212121212121212121212121212121212121212", (2, 1), "Blacklisted(address)", &[word(2)], &[]),
        ]
    };
    let twice: Vec<Owned> = logs().into_iter().chain(logs()).collect();
    let labels = read(&twice);
    assert_eq!(labels, read(&logs()));
    let counts = Counts { claims: 1, ends: 1, unknown_contract: 1, ..Counts::default() };
    assert_eq!(labels.counts, counts);
    assert_eq!(labels.warnings.len(), 1);
}

#[test]
fn contracts_of_the_caller_are_issuers_too() {
    let contract = Address::Evm([0x12; 20]);
    let logs = [log(&contract.to_string(), (1, 0), "Blacklisted(address)", &[word(2)], &[])];
    let own = Issuer { group: Arc::from("mine"), chain: Chain::ETHEREUM, contract };
    assert_eq!(shown(&read_with(&logs, std::slice::from_ref(&own))), [(account_of(2), "mine", 100, None)]);
    // On another chain it is another contract.
    let elsewhere = Issuer { chain: Chain::BSC, ..own };
    assert_eq!(read_with(&logs, &[elsewhere]).counts.unknown_contract, 1);
}

#[test]
fn freeze_on_tron_is_in_topic_one() {
    let contract = Address::parse(Chain::TRON, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t").unwrap();
    let mut prefixed = word(2);
    prefixed[11] = 0x41;
    let frozen = |index, account| {
        Owned(Chain::TRON, contract, 1, index, vec![topic("AddedBlackList(address)"), account], vec![])
    };
    let labels = read(&[frozen(0, word(1)), frozen(1, prefixed)]);
    let accounts: Vec<_> = labels.claims.iter().map(|claim| (claim.address, claim.scope)).collect();
    let tron = |last| (Address::Tron(*word(last).last_chunk().unwrap()), Scope::Chain(Chain::TRON));
    assert_eq!(accounts, [tron(1), tron(2)]);
}

#[test]
fn arguments_of_another_form_are_malformed() {
    let full = [0xff; 32];
    let logs = [
        log(USDT, (1, 0), "AddedBlackList(address)", &[], &[]),
        log(USDC, (1, 1), "Blacklisted(address)", &[full], &[]),
        log(FDUSD, (1, 2), "Freeze(address,address)", &[word(1)], &[]),
        log(USDTB, (1, 3), "AccountsBlocked(address[])", &[], &[word(32), word(3), word(1)]),
        log(USDTB, (1, 4), "AccountsBlocked(address[])", &[], &[word(33), word(0)]),
        log(USDTB, (1, 5), "AccountsBlocked(address[])", &[], &[full, full]),
        log(USDTB, (1, 6), "AccountsBlocked(address[])", &[], &[word(32), full]),
        log(TUSD, (1, 7), "Blacklisted(address,bool)", &[word(1)], &[]),
    ];
    let labels = read(&logs);
    assert_eq!((labels.claims.len(), labels.counts.malformed), (0, 8));
    let other = read(&[log(USDC, (1, 0), "Transfer(address,address,uint256)", &[word(1), word(2)], &[word(3)])]);
    assert_eq!(other.counts, Counts::default());
}
