//! Mining pools: their payout addresses, and what they write into the blocks that they find.

use std::path::Path;

use headwater_ledger::labels::Level;

use super::reading::{filled, placed, with_json};
use super::{Files, Format, Given};
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::json::Value;
use crate::source::{Bounds, Content, Input, Probe};
use crate::{IngestError, Place};

/// Source: `pools-v2.json` of `mempool/mining-pools`.
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

/// Reads the texts that mining pools write into their blocks, from `pools-v2.json` of `mempool/mining-pools`.
///
/// # Errors
/// When the file cannot be read or is no JSON document.
pub fn read_pool_tags(path: &Path) -> Result<Vec<PoolTag>, IngestError> {
    with_json(&Input::new(path, &Bounds::default())?, |document| {
        let tags_of = |(_, pool): (Place, &Value<'_>)| {
            let name = name_of(pool).to_owned();
            let tags = texts(pool, "tags").filter(|tag| !tag.trim().is_empty()).map(str::to_owned);
            tags.map(|tag| PoolTag { pool: name.clone(), tag }).collect::<Vec<_>>()
        };
        Ok(placed(document.items()).flat_map(tags_of).collect())
    })
}

fn name_of<'v>(pool: &'v Value<'_>) -> &'v str {
    filled(pool.get("name").and_then(Value::text)).unwrap_or_default()
}

fn texts<'v>(pool: &'v Value<'v>, name: &str) -> impl Iterator<Item = &'v str> {
    pool.get(name).map_or(&[][..], Value::items).iter().filter_map(Value::text)
}

fn reads(probe: &Probe) -> bool {
    *probe.content() == Content::Json && probe.has(&["name", "addresses", "tags"])
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        with_json(probe.input(), |document| {
            for (place, pool) in placed(document.items()) {
                let entity = Some(name_of(pool).to_owned()).filter(|name| !name.is_empty());
                for address in texts(pool, "addresses") {
                    labels.claims.push(RawClaim {
                        place: Some(place),
                        address: address.to_owned(),
                        chain: ChainHint::Chain("bitcoin".to_owned()),
                        concepts: vec!["mining_pool".to_owned()],
                        entity: entity.clone(),
                        ..RawClaim::default()
                    });
                }
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
}
