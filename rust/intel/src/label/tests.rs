//! The vectors of the method, worked by hand.

use headwater_ledger::labels::{Action, Claim, Code, DateBasis, Dispute, LabelTable, Level, Link, Scope};
use headwater_types::{Address, Chain, Timestamp};
use proptest::prelude::*;

use super::{Aggregate, Moment, SanctionsListing, Standing, aggregate};

const DAY: i64 = 86_400;
const NOW: i64 = 1_700_000_000;

fn claim(code: Code, level: Level, group: &'static str) -> Claim<&'static str> {
    Claim {
        address: Address::Evm([1; 20]),
        scope: Scope::Chain(Chain::ETHEREUM),
        code: Some(code),
        name: None,
        entity: None,
        source: group,
        source_url: None,
        group,
        level,
        reliability: level.thousandths(),
        link: Link::Exact,
        asserted_at: None,
        date_basis: None,
        last_seen: None,
        valid_until: None,
        action: Action::Add,
        dispute: None,
    }
}

fn present() -> Moment {
    Moment::present(&LabelTable::default(), Some(Timestamp::new(NOW)))
}

fn of(claims: &[Claim<&'static str>]) -> Aggregate<'static> {
    aggregate(claims, &present())
}

fn near(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-12, "{one} is not {other}");
}

#[test]
fn confidence_vectors_of_the_method() {
    let phishing = |level, group| claim(Code::Phishing, level, group);
    near(of(&[phishing(Level::WebCrawl, "a")]).of(Code::Phishing), 0.20);
    near(of(&[phishing(Level::Forensic, "a"), phishing(Level::WebCrawl, "b")]).of(Code::Phishing), 0.60);
    let three = ["a", "b", "c"].map(|group| phishing(Level::Forensic, group));
    near(of(&three).of(Code::Phishing), 0.875);
    near(of(&[phishing(Level::ServiceApi, "a"), phishing(Level::AuthorityData, "b")]).of(Code::Phishing), 0.88);
    near(of(&[phishing(Level::SanctionsList, "a"), phishing(Level::WebCrawl, "b")]).of(Code::Phishing), 1.0);
    let copies = [Level::WebCrawl; 5].map(|level| phishing(level, "one"));
    near(of(&copies).of(Code::Phishing), 0.20);
    assert_eq!(of(&copies).groups(), 1);
}

#[test]
fn kinds_of_business_weaken_each_other_and_risk_codes_do_not() {
    let exchange = claim(Code::Exchange, Level::ServiceApi, "a");
    let mixer = claim(Code::Mixer, Level::WebCrawl, "b");
    let both = of(&[exchange, mixer, claim(Code::Phishing, Level::Forensic, "c")]);
    near(both.of(Code::Exchange), 0.7 * (1.0 - 0.5 * 0.2));
    near(both.of(Code::Mixer), 0.2 * (1.0 - 0.5 * 0.7));
    near(both.of(Code::Phishing), 0.5);
    let same = of(&[exchange, claim(Code::ExchangeHotWallet, Level::Forensic, "b")]);
    near(same.of(Code::Exchange), 0.7);
    near(same.of(Code::ExchangeHotWallet), 0.5);
    let protocols = of(&[claim(Code::Dex, Level::Forensic, "a"), claim(Code::Bridge, Level::Forensic, "b")]);
    near(protocols.of(Code::Dex), 0.5);
}

#[test]
fn identity_claims_age_and_others_do_not() {
    let dated = |code, level, days: i64| Claim {
        asserted_at: Some(Timestamp::new(NOW - days * DAY)),
        ..claim(code, level, "a")
    };
    near(of(&[dated(Code::Exchange, Level::Forensic, 365)]).of(Code::Exchange), 0.5 * (-365.0_f64 / 1825.0).exp2());
    near(of(&[dated(Code::Exchange, Level::Forensic, 9_000)]).of(Code::Exchange), 0.25);
    near(of(&[dated(Code::Exchange, Level::Ownership, 9_000)]).of(Code::Exchange), 1.0);
    near(of(&[dated(Code::Phishing, Level::Forensic, 9_000)]).of(Code::Phishing), 0.5);
    near(of(&[dated(Code::Mixer, Level::Forensic, 9_000)]).of(Code::Mixer), 0.5);
    near(of(&[dated(Code::Exchange, Level::Forensic, -10)]).of(Code::Exchange), 0.5);
    let link = Claim { link: Link::Cluster, ..claim(Code::Phishing, Level::Forensic, "a") };
    near(of(&[link]).of(Code::Phishing), 0.45);
}

#[test]
fn entity_is_named_when_it_leads() {
    let named = |entity, level, group| Claim { entity: Some(entity), ..claim(Code::Exchange, level, group) };
    let one = of(&[named("Binance 14", Level::Forensic, "a")]);
    assert_eq!(one.entity, Some("Binance"));
    near(one.confidence, 0.5);
    assert_eq!(of(&[named("Binance", Level::WebCrawl, "a")]).entity, None, "below 0.30");
    let tied = of(&[named("Binance", Level::Forensic, "a"), named("Kraken", Level::Forensic, "b")]);
    assert_eq!(tied.entity, None, "a tie");
    near(tied.confidence, 0.75);
    let spellings = [named("binance.com", Level::Forensic, "a"), named("Binance: Hot Wallet", Level::Forensic, "b")];
    let joined = of(&spellings);
    assert_eq!(joined.entities.len(), 1);
    near(joined.entities[0].confidence, 0.75);
    let pools = ["Example Pool", "Twin Pool"]
        .map(|pool| Claim { entity: Some(pool), ..claim(Code::MiningPool, Level::ServiceData, "mempool") });
    assert_eq!(of(&pools).entity, None);
    near(of(&pools).of(Code::MiningPool), 0.5);
}

#[test]
fn ended_sanction_is_delisted_and_stays_so() {
    let listed =
        Claim { valid_until: Some(Timestamp::new(NOW)), ..claim(Code::Sanction, Level::SanctionsList, "ofac") };
    let now = of(&[listed]);
    assert_eq!(now.codes.iter().map(|code| code.code).collect::<Vec<_>>(), [Code::SanctionDelisted]);
    near(now.of(Code::SanctionDelisted), 1.0);
    let before = aggregate(&[listed], &Moment::at(Timestamp::new(NOW - 1)));
    near(before.of(Code::Sanction), 1.0);
    let elsewhere = claim(Code::Sanction, Level::SanctionsList, "ofac");
    let both = of(&[listed, elsewhere]);
    assert_eq!((both.of(Code::Sanction), both.of(Code::SanctionDelisted)), (1.0, 0.0), "the group still lists it");
    let of_eu = of(&[listed, claim(Code::Sanction, Level::SanctionsList, "eu")]);
    assert_eq!((of_eu.of(Code::Sanction), of_eu.of(Code::SanctionDelisted)), (1.0, 1.0));
}

#[test]
fn authority_decides_over_copies_of_its_list() {
    let ended =
        Claim { valid_until: Some(Timestamp::new(NOW - 1)), ..claim(Code::Sanction, Level::SanctionsList, "ofac") };
    let copy = claim(Code::Sanction, Level::TrustedProvider, "ofac");
    let judged = of(&[ended, copy]);
    assert_eq!(judged.codes.iter().map(|code| code.code).collect::<Vec<_>>(), [Code::SanctionDelisted]);
    near(of(&[copy]).of(Code::Sanction), 0.5);
}

#[test]
fn later_sighting_makes_no_claim_younger_as_of_a_time() {
    let exchange = Claim {
        asserted_at: Some(Timestamp::new(NOW - 1825 * DAY)),
        last_seen: Some(Timestamp::new(NOW + DAY)),
        ..claim(Code::Exchange, Level::Forensic, "a")
    };
    near(aggregate(&[exchange], &Moment::at(Timestamp::new(NOW))).of(Code::Exchange), 0.25);
}

#[test]
fn ended_freeze_counts_no_more_and_is_shown() {
    let frozen = Claim {
        asserted_at: Some(Timestamp::new(NOW - 10)),
        valid_until: Some(Timestamp::new(NOW - 5)),
        ..claim(Code::IssuerFrozen, Level::IssuerFreeze, "tether")
    };
    let now = of(&[frozen]);
    assert_eq!((now.codes.len(), now.confidence), (0, 0.0));
    assert_eq!((now.sources[0].standing, now.sources[0].confidence), (Standing::Ended, 0.0));
    near(aggregate(&[frozen], &Moment::at(Timestamp::new(NOW - 7))).of(Code::IssuerFrozen), 1.0);
    assert!(aggregate(&[frozen], &Moment::at(Timestamp::new(NOW - 11))).sources.is_empty(), "not made yet");
}

#[test]
fn removed_code_is_shown_as_overridden() {
    let removal = Claim { action: Action::Remove, ..claim(Code::Phishing, Level::Override, "local") };
    let judged = of(&[claim(Code::Phishing, Level::Forensic, "a"), removal]);
    assert!(judged.codes.is_empty());
    assert_eq!(judged.sources.len(), 1);
    assert_eq!(judged.sources[0].standing, Standing::Overridden);
}

#[test]
fn single_weak_report_is_reported_once() {
    let once = of(&[claim(Code::Phishing, Level::WebCrawl, "a")]);
    near(once.of(Code::ReportedOnce), 0.2);
    let strong = of(&[claim(Code::Phishing, Level::Forensic, "a")]);
    near(strong.of(Code::ReportedOnce), 0.0);
    let identity = of(&[claim(Code::Exchange, Level::WebCrawl, "a")]);
    near(identity.of(Code::ReportedOnce), 0.0);
}

const DOUBT: Dispute<&str> = Dispute { by: "cli:ada", at: Timestamp::new(NOW), reason: "a typing error" };

fn disputed(claim: Claim<&'static str>) -> Claim<&'static str> {
    Claim { dispute: Some(DOUBT), ..claim }
}

#[test]
fn disputed_claim_counts_half() {
    let one = disputed(claim(Code::Phishing, Level::Forensic, "a"));
    let alone = of(&[one]);
    near(alone.of(Code::Phishing), 0.25);
    near(alone.codes[0].reliability, 0.25);
    near(alone.sources[0].confidence, 0.25);
    near(alone.of(Code::ReportedOnce), 0.25);
    assert_eq!(alone.dispute_of(Code::Phishing), Some(DOUBT));
    // Beside a web crawl: 1 - (1 - 0.25) (1 - 0.2).
    let both = of(&[one, claim(Code::Phishing, Level::WebCrawl, "b")]);
    near(both.of(Code::Phishing), 0.4);
    near(both.codes[0].reliability, 0.25);
    // Through a cluster: 0.5 · 0.5 · 0.9.
    near(of(&[Claim { link: Link::Cluster, ..one }]).of(Code::Phishing), 0.225);
    // An identity of five years: 0.5 · 0.7 · 0.5.
    let aged =
        Claim { asserted_at: Some(Timestamp::new(NOW - 1825 * DAY)), ..claim(Code::Exchange, Level::ServiceApi, "a") };
    near(of(&[disputed(aged)]).of(Code::Exchange), 0.175);
}

#[test]
fn claims_beyond_dispute_are_marked_and_count_in_full() {
    for (code, level) in [
        (Code::Sanction, Level::SanctionsList),
        (Code::IssuerFrozen, Level::IssuerFreeze),
        (Code::Mixer, Level::LedgerImmanent),
    ] {
        let judged = of(&[disputed(claim(code, level, "a"))]);
        near(judged.of(code), 1.0);
        near(judged.codes[0].reliability, 1.0);
        assert_eq!(judged.dispute_of(code), Some(DOUBT));
    }
    // Shown keys and the word of a curator are as full as these, and halved.
    near(of(&[disputed(claim(Code::Mixer, Level::Ownership, "a"))]).of(Code::Mixer), 0.5);
    near(of(&[disputed(claim(Code::Mixer, Level::Override, "a"))]).of(Code::Mixer), 0.5);
}

#[test]
fn dispute_is_told_of_the_claims_that_give_the_name() {
    let named = |entity, level, group| Claim { entity: Some(entity), ..claim(Code::Exchange, level, group) };
    let sure = named("Binance 14", Level::Ownership, "a");
    let other = disputed(claim(Code::Phishing, Level::Forensic, "b"));
    let judged = of(&[sure, other]);
    assert_eq!((judged.entity, judged.dispute_of_name()), (Some("Binance"), None), "the name is not disputed");
    assert_eq!(judged.dispute_of(Code::Phishing), Some(DOUBT));
    assert_eq!(of(&[disputed(sure), other]).dispute_of_name(), Some(DOUBT));
    // Without an entity the first code is the name.
    assert_eq!(of(&[other]).dispute_of_name(), Some(DOUBT));
    assert_eq!(of(&[claim(Code::Mixer, Level::Ownership, "a"), other]).dispute_of_name(), None);
    let ended = Claim { valid_until: Some(Timestamp::new(NOW - 1)), ..other };
    assert_eq!(of(&[ended]).dispute_of(Code::Phishing), None, "it counts no more");
}

proptest! {
    #[test]
    fn order_of_claims_and_copies_change_nothing(
        picks in prop::collection::vec((0usize..Code::ALL.len(), 0usize..Level::ALL.len(), 0usize..4), 1..12),
        copied in 0usize..12,
    ) {
        let groups = ["a", "b", "c", "d"];
        let mut claims: Vec<_> =
            picks.iter().map(|&(code, level, group)| claim(Code::ALL[code], Level::ALL[level], groups[group])).collect();
        let whole = of(&claims);
        claims.reverse();
        prop_assert_eq!(&of(&claims).codes, &whole.codes);
        let mirrored = claims[copied % claims.len()];
        claims.push(Claim { source: "mirror", ..mirrored });
        let with_copy: Vec<_> = of(&claims).codes.into_iter().filter(|code| code.code != Code::ReportedOnce).collect();
        let without: Vec<_> = whole.codes.into_iter().filter(|code| code.code != Code::ReportedOnce).collect();
        prop_assert_eq!(with_copy, without);
    }
}

fn listed(group: &'static str, day: i64, date_basis: Option<DateBasis>) -> Claim<&'static str> {
    let asserted_at = Some(Timestamp::new(day * DAY));
    Claim { asserted_at, date_basis, ..claim(Code::Sanction, Level::SanctionsList, group) }
}

#[test]
fn address_date_of_a_listing_counts_before_entity_dates() {
    let (address, entity) = (Some(DateBasis::Address), Some(DateBasis::Entity));
    let since = |claims: &[Claim<&'static str>]| {
        let SanctionsListing { since, date_basis, undated } = of(claims).sanctions_listing().unwrap();
        (since.map(|since| since.secs() / DAY), date_basis, undated)
    };
    let undated = claim(Code::Sanction, Level::SanctionsList, "ofac");
    assert_eq!(since(&[listed("ofac", 100, entity)]), (Some(100), entity, None));
    assert_eq!(since(&[listed("ofac", 100, entity), listed("eu", 300, address)]), (Some(300), address, None));
    let addresses = [listed("a", 300, address), listed("b", 200, address), listed("c", 100, None)];
    assert_eq!(since(&addresses), (Some(200), address, None));
    assert_eq!(since(&[listed("a", 100, None), listed("b", 300, entity)]), (Some(300), entity, None));
    assert_eq!(since(&[listed("a", 100, None)]), (Some(100), None, None));
    // A copy of the same authority without dates adds nothing; another authority without dates does.
    assert_eq!(since(&[undated, listed("ofac", 100, entity)]), (Some(100), entity, None));
    assert_eq!(since(&[undated, listed("eu", 100, entity)]), (Some(100), entity, Some("ofac")));
    assert_eq!(since(&[undated]), (None, None, Some("ofac")));
    // Claims through a cluster count only without claims about the address itself.
    let inherited = Claim { link: Link::Cluster, ..listed("ofac", 50, address) };
    assert_eq!(since(&[inherited, listed("ofac", 100, entity)]), (Some(100), entity, None));
    assert_eq!(since(&[inherited]), (Some(50), address, None));
}

#[test]
fn listing_needs_an_active_list_of_sanctions() {
    let copy = Claim { level: Level::TrustedProvider, ..listed("etherscan", 100, Some(DateBasis::Address)) };
    assert_eq!(of(&[copy]).sanctions_listing(), None);
    let delisted = Claim { valid_until: Some(Timestamp::new(NOW - 1)), ..listed("ofac", 100, None) };
    assert_eq!(of(&[delisted]).sanctions_listing(), None);
    let mixer = Claim { code: Some(Code::Mixer), ..listed("ofac", 100, None) };
    assert_eq!(of(&[mixer]).sanctions_listing(), None);
}

#[test]
fn listing_begins_with_its_day_unless_a_list_has_no_date() {
    let listing = of(&[listed("ofac", 100, Some(DateBasis::Address))]).sanctions_listing().unwrap();
    let begins = |listing: SanctionsListing<'_>| listing.begins().map(Timestamp::secs);
    assert_eq!(begins(listing), Some(100 * DAY));
    let at_noon = SanctionsListing { since: Some(Timestamp::new(100 * DAY + DAY / 2)), ..listing };
    assert_eq!(begins(at_noon), Some(100 * DAY));
    assert_eq!(begins(SanctionsListing { undated: Some("eu"), ..listing }), None);
    assert_eq!(begins(SanctionsListing { since: None, undated: Some("eu"), ..listing }), None);
}
