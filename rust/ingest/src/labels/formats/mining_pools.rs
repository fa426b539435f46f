//! Mining pools: their payout addresses, and what they write into the blocks that they find.

use std::path::Path;

use headwater_ledger::labels::Level;

use super::reading::{filled, placed, with_json};
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::json::Value;
use crate::source::{Bounds, Content, Input, Probe};

/// Source: `pools-v2.json` of `mempool/mining-pools`, or the files that it is made of, `pools/<name>.json`; `pools.json` of
/// `blockchain/Blockchain-Known-Pools` and `btccom/Blockchain-Known-Pools`, from which it grew.
pub(super) const FORMAT: Format = Format {
    name: "mining_pools",
    source: "mempool",
    group: "mempool",
    level: Level::ServiceData,
    vocabulary: Vocabulary::OWN,
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

/// A text that a mining pool writes into the coinbase input of its blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolTag {
    /// The pool.
    pub pool: String,
    /// The text, with all its blanks: a block is the pool's when its coinbase script has these bytes.
    pub tag: String,
}

/// Reads the texts that mining pools write into their blocks, from the files that give their payout addresses.
///
/// # Errors
/// When the file cannot be read or is not a JSON document.
pub fn read_pool_tags(path: &Path) -> Result<Vec<PoolTag>, IngestError> {
    with_json(&Input::new(path, &Bounds::default())?, |document| {
        let of_pools = pools(document).iter().flat_map(|pool| {
            let tags = texts(pool, "tags").filter(|tag| !tag.trim().is_empty());
            tags.map(|tag| PoolTag { pool: name_of(pool).to_owned(), tag: tag.to_owned() })
        });
        let of_tags = document.get(KNOWN_TAGS).map_or(&[][..], Value::members).iter();
        let of_tags = of_tags
            .filter(|(tag, _)| !tag.trim().is_empty())
            .map(|(tag, pool)| PoolTag { pool: name_of(pool).to_owned(), tag: tag.clone().into_owned() });
        Ok(of_pools.chain(of_tags).collect())
    })
}

/// The members of a list that has no pools, but their tags and addresses with the pool of each.
const KNOWN_TAGS: &str = "coinbase_tags";
const KNOWN_ADDRESSES: &str = "payout_addresses";

/// The pools of a list, or the one of a file of its own.
fn pools<'v, 'a>(document: &'v Value<'a>) -> &'v [Value<'a>] {
    if document.get("addresses").is_some() { std::slice::from_ref(document) } else { document.items() }
}

fn name_of<'v>(pool: &'v Value<'_>) -> &'v str {
    filled(pool.get("name").and_then(Value::text)).unwrap_or_default()
}

fn texts<'v>(pool: &'v Value<'v>, name: &str) -> impl Iterator<Item = &'v str> {
    pool.get(name).map_or(&[][..], Value::items).iter().filter_map(Value::text)
}

fn reads(probe: &Probe) -> bool {
    let has_pools = probe.has(&["name", "addresses", "tags"]);
    let is_known = || probe.has(&[KNOWN_TAGS, KNOWN_ADDRESSES]);
    *probe.content() == Content::Json && (has_pools || is_known())
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        with_json(probe.input(), |document| {
            let of_pools = placed(pools(document))
                .flat_map(|(place, pool)| texts(pool, "addresses").map(move |address| (place, address, pool)));
            let known = document.get(KNOWN_ADDRESSES).map_or(&[][..], Value::members);
            let known = placed(known).map(|(place, (address, pool))| (place, &**address, pool));
            for (place, address, pool) in of_pools.chain(known) {
                labels.claims.push(RawClaim {
                    place: Some(place),
                    address: address.to_owned(),
                    chain: ChainHint::Chain("bitcoin".to_owned()),
                    concepts: vec!["mining_pool".to_owned()],
                    entity: filled(Some(name_of(pool))).map(str::to_owned),
                    ..RawClaim::default()
                });
            }
            Ok(())
        })?;
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read};
    use super::*;
    use crate::Place;

    const POOLS: &str = r#"[
        {"id": 1, "name": "Example Pool", "addresses": ["18hyLqUGZZyr1D6kPnTU329zdJHzXF8HfG", "bc1ql7gcshjghzzq79xn234q6zq80my2jktd7z6n2e"], "tags": ["/ExamplePool/", "Mined by "], "link": "https://pool.example"},
        {"id": 2, "name": "示例池", "addresses": [], "tags": ["🐟", ""], "link": ""},
        {"id": 3, "name": "Twin Pool", "addresses": ["18hyLqUGZZyr1D6kPnTU329zdJHzXF8HfG"], "tags": [], "link": "https://twin.example"}
    ]"#;

    #[test]
    fn payout_addresses_are_claims() {
        let labels = read(&FORMAT, &[("pools-v2.json", POOLS)]);
        assert_eq!(
            all_shown(&labels),
            [
                "18hyLqUGZZyr1D6kPnTU329zdJHzXF8HfG | on bitcoin | mining_pool | of Example Pool",
                "bc1ql7gcshjghzzq79xn234q6zq80my2jktd7z6n2e | on bitcoin | mining_pool | of Example Pool",
                "18hyLqUGZZyr1D6kPnTU329zdJHzXF8HfG | on bitcoin | mining_pool | of Twin Pool",
            ]
        );
        assert_eq!(labels.claims[2].place, Some(Place::Row(3)));
    }

    #[test]
    fn tags_keep_their_blanks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pools-v2.json");
        std::fs::write(&path, POOLS).unwrap();
        let tags = read_pool_tags(&path).unwrap();
        let tags: Vec<_> = tags.iter().map(|tag| (tag.pool.as_str(), tag.tag.as_str())).collect();
        assert_eq!(tags, [("Example Pool", "/ExamplePool/"), ("Example Pool", "Mined by "), ("示例池", "🐟")]);
    }

    #[test]
    fn a_pool_may_have_a_file_of_its_own() {
        let pool = r#"{"id": 44, "name": "Example Pool", "addresses": ["18hyLqUGZZyr1D6kPnTU329zdJHzXF8HfG"], "tags": ["/Example/"], "link": "https://pool.example"}"#;
        let expected = ["18hyLqUGZZyr1D6kPnTU329zdJHzXF8HfG | on bitcoin | mining_pool | of Example Pool"];
        for text in [pool.to_owned(), pool.replace(", ", ",\n  ")] {
            assert_eq!(all_shown(&read(&FORMAT, &[("example.json", &text)])), expected);
        }
    }

    #[test]
    fn known_pools_stand_under_their_addresses() {
        let list = r#"{
            "coinbase_tags": {"/Example/": {"name": "Example Pool", "link": "https://pool.example"}},
            "payout_addresses": {
                "18hyLqUGZZyr1D6kPnTU329zdJHzXF8HfG": {"name": "Example Pool", "link": "https://pool.example"},
                "bc1ql7gcshjghzzq79xn234q6zq80my2jktd7z6n2e": {"name": "示例池", "link": ""}
            }
        }"#;
        assert_eq!(
            all_shown(&read(&FORMAT, &[("pools.json", list)])),
            [
                "18hyLqUGZZyr1D6kPnTU329zdJHzXF8HfG | on bitcoin | mining_pool | of Example Pool",
                "bc1ql7gcshjghzzq79xn234q6zq80my2jktd7z6n2e | on bitcoin | mining_pool | of 示例池",
            ]
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pools.json");
        std::fs::write(&path, list).unwrap();
        assert_eq!(
            read_pool_tags(&path).unwrap(),
            [PoolTag { pool: "Example Pool".to_owned(), tag: "/Example/".to_owned() }]
        );
    }
}
