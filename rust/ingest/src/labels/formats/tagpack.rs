//! `TagPacks` of `GraphSense`: tags in YAML or JSON that inherit the fields of their header, and actor packs beside them.

use headwater_ledger::labels::Level;
use headwater_types::Chain;

use super::actorpack::{Actor, Actors};
use super::name_tag::{names_hot_wallet, names_token};
use super::reading::{date, filled};
use super::tagpack_context::own_claim;
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::{ChainHint, MENTION, RawClaim, RawLabels, RawLevel, Vocabulary};
use crate::source::json::Value;
use crate::source::{Probe, Yaml};

/// Source: the schema of `graphsense/graphsense-tagpack-tool`; packs of `graphsense/graphsense-tagpacks`, since the first of
/// 2019.
pub(super) const FORMAT: Format = Format {
    name: "tagpack",
    source: "graphsense_tagpacks",
    group: "graphsense",
    level: Level::Unknown,
    vocabulary: Vocabulary("graphsense"),
    chain: Some(Chain::ETHEREUM),
    refuses_empty: false,
    files: Files::Together,
    reads,
    read,
};

/// The concept of a marketplace, and of one that a source calls a darknet market.
const MARKET: &str = "market";
const DARKNET_MARKET: &str = "darknet_market";
/// The concepts of an exchange and of its hot wallet.
const EXCHANGE: &str = "exchange";
const HOT_WALLET: &str = "hot_wallet";
/// The concept of the contract of a token, which is not the business that its pack is about.
const TOKEN_CONTRACT: &str = "token_contract";
/// Concepts of addresses whose label says what happened to them, not who they belong to.
const LABEL_IS_NO_ENTITY: [&str; 2] = ["black_list", "blacklist"];

fn reads(probe: &Probe) -> bool {
    let head = String::from_utf8_lossy(probe.head());
    let has_line = |start: &str| head.lines().any(|line| line.starts_with(start));
    match head.trim_start_matches('\u{feff}').trim_start().bytes().next() {
        None | Some(b'[' | b'<') => false,
        Some(b'{') => probe.document().is_some_and(|document| is_pack(&document)),
        Some(_) if has_line("tags:") => TAGGED.iter().any(|tagged| head.contains(&format!("{tagged}:"))),
        Some(_) => has_line("actors:") && head.contains("id:"),
    }
}

/// The subject of a tag: an address, a transaction, or a cluster of an installation of `GraphSense`.
const TAGGED: [&str; 3] = ["address", "tx_hash", "entity"];

/// Returns whether a JSON document is a pack of tags or actors.
fn is_pack(document: &Value<'_>) -> bool {
    let first = |list: &str| document.get(list).and_then(|list| list.items().first());
    let is_named = ["title", "creator"].iter().any(|key| document.get(key).is_some());
    let is_tag = |tag: &Value<'_>| TAGGED.iter().any(|tagged| tag.get(tagged).is_some());
    is_named && (first("tags").is_some_and(is_tag) || first("actors").is_some_and(|actor| actor.get("id").is_some()))
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    let mut actors = Actors::default();
    let mut packs = Vec::new();
    for probe in probes {
        for document in Yaml::documents(probe.input())? {
            actors.add(&document);
            if document.get("tags").is_some() {
                packs.push((probe.path(), document));
            }
        }
    }
    if packs.is_empty() {
        labels.warnings.push("an actor pack names no address: give it together with TagPacks".to_owned());
    }
    for (path, pack) in &packs {
        let is_dark =
            ["title", "description"].iter().any(|key| pack.get(key).and_then(Yaml::text).is_some_and(says_dark));
        for tag in pack.get("tags").map_or(&[][..], Yaml::items) {
            let own = own_claim(tag, &mut labels);
            let claim = own.unwrap_or_else(|| Inherited { pack, tag, actors: &actors, is_dark }.claim(&mut labels));
            labels.claims.push(claim);
        }
        if pack.get("tags").map_or(&[][..], Yaml::items).iter().any(|tag| tag.get(TAGGED[2]).is_some()) {
            let what = "tags of entities are left out: their numbers are those of one installation of GraphSense";
            labels.warnings.push(what.to_owned());
        }
        labels.end_file(path);
    }
    Ok(labels)
}

/// One tag with what it inherits.
struct Inherited<'p> {
    pack: &'p Yaml,
    tag: &'p Yaml,
    actors: &'p Actors,
    /// True if the pack says that it is about the darknet.
    is_dark: bool,
}

/// The concepts under a key: a text, or a list of texts.
fn concepts_at<'y>(yaml: &'y Yaml, key: &str) -> Vec<&'y str> {
    let Some(value) = yaml.get(key) else { return Vec::new() };
    let texts = value.text().into_iter().chain(value.items().iter().filter_map(|item| item.text()));
    texts.map(str::trim).filter(|text| !text.is_empty()).collect()
}

fn says_dark(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["darknet", "dark_web", "dark web", "darkweb", "dark net", "darkmarket"].iter().any(|word| lower.contains(word))
}

impl Inherited<'_> {
    /// The text of a field: of the tag, else of the header.
    fn text(&self, key: &str) -> Option<&str> {
        filled(self.tag.get(key).or_else(|| self.pack.get(key)).and_then(Yaml::text))
    }

    /// The concepts of one kind: of the tag, else of the header.
    fn concepts_of(&self, key: &str) -> Vec<&str> {
        let own = concepts_at(self.tag, key);
        if own.is_empty() { concepts_at(self.pack, key) } else { own }
    }

    /// An EVM address on the page of a label of Etherscan that lists the tokens of a business too.
    fn is_token_of_a_page(&self) -> bool {
        let is_page =
            self.text("source").is_some_and(|source| source.contains("scan.io/") || source.contains("scan.com/"));
        is_page && self.text("label").is_some_and(names_token)
    }

    /// A tag that says where an address is named, not whose it is.
    fn is_mention(&self) -> bool {
        self.text("tag_type").is_some_and(|text| text.eq_ignore_ascii_case(MENTION))
    }

    fn concepts(&self, actor: Option<&Actor>) -> Vec<String> {
        if self.is_mention() {
            return vec![MENTION.to_owned()];
        }
        if self.is_token_of_a_page() {
            return vec![TOKEN_CONTRACT.to_owned()];
        }
        let abuse = self.concepts_of("abuse");
        let is_own_abuse = !concepts_at(self.tag, "abuse").is_empty();
        // What an address did says more than what the rest of its pack is.
        let business = ["category", "concepts"]
            .into_iter()
            .flat_map(|key| if is_own_abuse { concepts_at(self.tag, key) } else { self.concepts_of(key) });
        let mut concepts: Vec<&str> = abuse.into_iter().chain(business).collect();
        if concepts.is_empty() {
            concepts = actor.map_or(Vec::new(), |actor| actor.categories.iter().map(String::as_str).collect());
        }
        let is_market = concepts.contains(&MARKET) || self.concepts_of("category").contains(&MARKET);
        let actor_is_dark =
            || actor.is_some_and(|actor| says_dark(&actor.name) || actor.categories.iter().any(|is| says_dark(is)));
        if is_market && (self.is_dark || concepts.iter().any(|is| says_dark(is)) || actor_is_dark()) {
            concepts.retain(|concept| *concept != MARKET);
            concepts.push(DARKNET_MARKET);
        }
        let is_hot = self.text("label").is_some_and(names_hot_wallet);
        let mut kept: Vec<String> = Vec::new();
        for concept in concepts {
            let concept = if is_hot && concept == EXCHANGE { HOT_WALLET } else { concept };
            if !kept.iter().any(|held| held == concept) {
                kept.push(concept.to_owned());
            }
        }
        kept
    }

    /// The network decides before the currency, which may be a token.
    fn chain(&self) -> ChainHint {
        let name = self.text("network").or_else(|| self.text("currency"));
        name.map_or(ChainHint::None, |name| ChainHint::Chain(name.to_owned()))
    }

    fn claim(&self, labels: &mut RawLabels) -> RawClaim {
        let place = self.tag.place();
        let label = self.text("label");
        let actor_id = self.text("actor");
        let actor = actor_id.and_then(|id| self.actors.get(id));
        let concepts = self.concepts(actor);
        let is_entity =
            concepts.iter().all(|concept| concept != TOKEN_CONTRACT && !LABEL_IS_NO_ENTITY.contains(&concept.as_str()));
        let entity = actor.map(|actor| actor.name.as_str()).or(actor_id).or(label.filter(|_| is_entity));
        let is_mention = self.is_mention();
        RawClaim {
            place: Some(place),
            // A tag of a transaction has none.
            address: self.tag.get("address").and_then(Yaml::text).unwrap_or_default().to_owned(),
            chain: self.chain(),
            concepts,
            name: label.map(str::to_owned),
            entity: entity.filter(|_| !is_mention).map(str::to_owned),
            source_url: self.text("source").map(str::to_owned),
            level: self.text("confidence").map(|text| RawLevel::Stated(text.to_owned())),
            asserted_at: date(labels, place, self.text("lastmod")),
            is_address_only: self.text("is_cluster_definer").is_some_and(|text| text.eq_ignore_ascii_case("false")),
            ..RawClaim::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read};
    use super::*;

    #[test]
    fn tags_inherit_the_header_and_merge_anchors() {
        let pack = "\
title: Example pack
creator: Example
lastmod: 2021-03-04
source: https://forum.example/thread/1
currency: \"BTC \"
category: exchange
confidence: forensic
x-base: &base
  label: Example Exchange
  source: https://other.example/a
tags:
- address: 15XfF3if5W3CdJeNQqHQwudSpmK2Dpj69q
  label: Example Exchange
- <<: *base
  address: bc1qxlcd2z4wjadjpd8kf3u70fe7k9sajj89h24s3y
  lastmod: \"2022-05-06\"
- address: \"0xE35A1fe53C3784Bc74d362F61aBe92555e500A0B\"
  label: Example Scam
  currency: ETH
  abuse: scam
  confidence: gut_feeling
- {address: TUdtu2cy5sfATH4BFmGpDfFPSwNq8uYsRX, currency: USDT, label: Example Exchange, lastmod: 1614816000}
";
        let labels = read(&FORMAT, &[("anchors.yaml", pack)]);
        assert_eq!(
            all_shown(&labels),
            [
                "15XfF3if5W3CdJeNQqHQwudSpmK2Dpj69q | on BTC | exchange | named Example Exchange | of Example Exchange | at https://forum.example/thread/1 | level forensic | since 2021-03-04T00:00:00Z",
                "bc1qxlcd2z4wjadjpd8kf3u70fe7k9sajj89h24s3y | on BTC | exchange | named Example Exchange | of Example Exchange | at https://other.example/a | level forensic | since 2022-05-06T00:00:00Z",
                "0xE35A1fe53C3784Bc74d362F61aBe92555e500A0B | on ETH | scam | named Example Scam | of Example Scam | at https://forum.example/thread/1 | level gut_feeling | since 2021-03-04T00:00:00Z",
                "TUdtu2cy5sfATH4BFmGpDfFPSwNq8uYsRX | on USDT | exchange | named Example Exchange | of Example Exchange | at https://forum.example/thread/1 | level forensic | since 2021-03-04T00:00:00Z",
            ]
        );
        assert_eq!(labels.claims[1].place, Some(crate::Place::Line(14)));
        assert!(labels.warnings.is_empty());
    }

    #[test]
    fn fields_are_read_as_text() {
        let pack = "\
title: Example fields
source: https://lab.example/report
currency: ETH
lastmod: 2024-05-06 07:08:09.123456
tags:
- {address: 0x0000000000000000000000000000000000000005, label: Precompile five, abuse: scam}
- {address: '0xA0D6Ee9478ACD7ed0FDdBBC6d17Cb7Aff9734BeA', label: NO, concepts: [defi_bridge, organization]}
- {address: '0x583dF118810cB509e1678b2445DBb314360ff431', label: Named in an article, abuse: scam, tag_type: mention}
- {address: '0x8779aA9955F1Dc44351d9A0B434a519d67025B6a', label: Example Hot, currency: BNB, network: BSC, concepts: [hot_wallet], actor: example}
- {tx_hash: '16f0b26a2b215994d36c79224acd1677b87cdb9724f88df0500da83ed781c7e3', label: A transaction, abuse: scam}
";
        let rest = "at https://lab.example/report | since 2024-05-06T07:08:09Z";
        assert_eq!(
            all_shown(&read(&FORMAT, &[("fields.yaml", pack)])),
            [
                format!(
                    "0x0000000000000000000000000000000000000005 | on ETH | scam | named Precompile five | of Precompile five | {rest}"
                ),
                format!(
                    "0xA0D6Ee9478ACD7ed0FDdBBC6d17Cb7Aff9734BeA | on ETH | defi_bridge+organization | named NO | of NO | {rest}"
                ),
                format!(
                    "0x583dF118810cB509e1678b2445DBb314360ff431 | on ETH | mention | named Named in an article | {rest}"
                ),
                format!(
                    "0x8779aA9955F1Dc44351d9A0B434a519d67025B6a | on BSC | hot_wallet | named Example Hot | of example | {rest}"
                ),
                format!("on ETH | scam | named A transaction | of A transaction | {rest}"),
            ]
        );
    }

    #[test]
    fn mentions_keep_the_name_without_an_entity() {
        let pack = "\
title: Pack
currency: BTC
tags:
- {address: a1, label: Silk Road, tag_type: mention, category: market}
- {address: a2, label: x, actor: silkroad, tag_type: Mention}
- {address: a3, label: Silk Road}
";
        let labels = read(&FORMAT, &[("pack.yaml", pack)]);
        assert_eq!(
            all_shown(&labels),
            [
                "a1 | on BTC | mention | named Silk Road",
                "a2 | on BTC | mention | named x",
                "a3 | on BTC | named Silk Road | of Silk Road"
            ]
        );
    }

    #[test]
    fn actors_of_the_same_import_give_names_and_categories() {
        let actors = "\
title: Actors
actors:
- {id: hydramarket, label: Hydra Market, categories: [dark_web, market]}
- {id: opensea, label: Opensea, categories: [collectible, market], aliases: [open_sea]}
- {id: btcshop, label: BTC Shop, categories: [shop]}
";
        let pack = "\
title: Pack
currency: BTC
tags:
- {address: a1, label: x, actor: hydramarket, category: market}
- {address: a2, label: x, actor: open_sea, category: market}
- {address: a3, label: x, actor: btcshop}
- {address: a4, label: x, actor: unheard}
";
        let labels = read(&FORMAT, &[("pack.yaml", pack), ("actorpack.yaml", actors)]);
        assert_eq!(
            all_shown(&labels),
            [
                "a1 | on BTC | darknet_market | named x | of Hydra Market",
                "a2 | on BTC | market | named x | of Opensea",
                "a3 | on BTC | shop | named x | of BTC Shop",
                "a4 | on BTC | named x | of unheard",
            ]
        );
        let alone = read(&FORMAT, &[("actorpack.yaml", actors)]);
        assert_eq!((alone.claims.len(), alone.warnings.len()), (0, 1));
    }

    #[test]
    fn markets_are_of_the_darknet_if_pack_or_abuse_says_so() {
        let concepts = |title: &str, tag: &str| {
            let pack = format!("title: {title}\ntags:\n- {{address: a, {tag}}}\n");
            read(&FORMAT, &[("pack.yaml", &pack)]).claims[0].concepts.join("+")
        };
        assert_eq!(concepts("Darknet markets", "category: market"), "darknet_market");
        assert_eq!(concepts("Markets", "category: market, abuse: dark_web"), "dark_web+darknet_market");
        assert_eq!(concepts("Markets", "category: market"), "market");
    }

    #[test]
    fn tokens_on_a_label_page_are_not_its_business() {
        let pack = "\
title: Etherscan exchange
category: exchange
source: https://etherscan.io/accounts/label/exchange
tags:
- {address: '0x5b535edfa75d7cb706044da0171204e1c48d00e8', label: 808TA (808TA)}
- {address: '0x6d5c355ea0bef659d3598401a327521f51e9d4eb', label: 'Example: Exchange (formerly Other)'}
";
        let labels = read(&FORMAT, &[("wordcloud.yaml", pack)]);
        assert_eq!(
            (labels.claims[0].concepts.as_slice(), labels.claims[0].entity.as_deref()),
            (&["token_contract".to_owned()][..], None)
        );
        assert_eq!(labels.claims[1].concepts, ["exchange"]);
        // Elsewhere a name in brackets is part of the label.
        let other = pack.replace("https://etherscan.io/accounts/label/exchange", "https://ransomwhe.re/");
        assert_eq!(read(&FORMAT, &[("other.yaml", &other)]).claims[0].concepts, ["exchange"]);
    }

    #[test]
    fn packs_of_the_first_schema_are_read() {
        let pack = "\
---
title: First TagPack Example
creator: Somebody
lastmod: 2019-03-15
currency: BTC
category: Exchange
tags:
    - label: Example Shop
      address: 18hyLqUGZZyr1D6kPnTU329zdJHzXF8HfG
      source: https://shop.example/donate/
    - label: Other
      address: 1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV
      source: https://other.example
      currency: btc
      category: Miner
      lastmod: 2019-04-01
    - label: A cluster
      entity: 17642138
      source: https://other.example
";
        let labels = read(&FORMAT, &[("first.yaml", pack)]);
        assert_eq!(
            all_shown(&labels),
            [
                "18hyLqUGZZyr1D6kPnTU329zdJHzXF8HfG | on BTC | Exchange | named Example Shop | of Example Shop | at https://shop.example/donate/ | since 2019-03-15T00:00:00Z",
                "1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV | on btc | Miner | named Other | of Other | at https://other.example | since 2019-04-01T00:00:00Z",
                "on BTC | Exchange | named A cluster | of A cluster | at https://other.example | since 2019-03-15T00:00:00Z",
            ]
        );
        assert_eq!(labels.warnings.len(), 1);
    }

    #[test]
    fn packs_may_be_json() {
        let pack = r#"{"title": "Pack", "creator": "Somebody", "currency": "BTC", "confidence": null, "is_cluster_definer": false, "tags": [
            {"address": "18hyLqUGZZyr1D6kPnTU329zdJHzXF8HfG", "label": "Example \ud83d\ude00", "abuse": "ransomware", "lastmod": "2021-11-12"},
            {"address": "1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV", "label": "Other", "category": "mixing_service", "is_cluster_definer": true}
        ]}"#;
        let labels = read(&FORMAT, &[("pack.json", pack)]);
        assert_eq!(
            all_shown(&labels),
            [
                "18hyLqUGZZyr1D6kPnTU329zdJHzXF8HfG | on BTC | ransomware | named Example 😀 | of Example 😀 | since 2021-11-12T00:00:00Z",
                "1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV | on BTC | mixing_service | named Other | of Other",
            ]
        );
        let parts: Vec<_> = labels.claims.iter().map(|claim| (claim.place.unwrap(), claim.is_address_only)).collect();
        assert_eq!(parts, [(crate::Place::Row(1), true), (crate::Place::Row(2), false)]);
    }
}
