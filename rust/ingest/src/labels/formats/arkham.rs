//! Answers of the interface of Arkham: who is behind an address.

use headwater_ledger::labels::Level;

use super::name_tag::names_hot_wallet;
use super::reading::filled;
use super::{Files, Format, Given};
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::json::Value;
use crate::source::{Probe, each_json_value};
use crate::{IngestError, Place};

/// Source: answers of `api.arkm.com`: `/intelligence/address/{address}`, its `/all` and `/batch`, `/intelligence/entity/{id}`,
/// and others that contain such addresses.
pub(super) const FORMAT: Format = Format {
    name: "arkham",
    source: "arkham",
    group: "arkham",
    level: Level::TrustedProvider,
    vocabulary: Vocabulary("arkham"),
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

/// The members of an address that the site made: who it belongs to, and what it is called. Guesses of the site
/// (`predictedEntity`) and the notes of its users (`userEntity`, `userLabel`) are not read.
const ENTITY: &str = "arkhamEntity";
const LABEL: &str = "arkhamLabel";
/// Tags of an address beside its entity.
const TAGS: &str = "populatedTags";
/// The type of centralised exchanges, and the concepts of their wallets that a label names.
const EXCHANGE: &str = "cex";
const DEPOSIT: &str = "deposit";
const HOT_WALLET: &str = "hot-wallet";

fn reads(probe: &Probe) -> bool {
    probe.document().is_some_and(|document| contains_address(&document))
}

fn is_address(value: &Value<'_>) -> bool {
    value.get("address").and_then(Value::text).is_some()
        && value.members().iter().any(|(name, _)| name == ENTITY || name == LABEL)
}

/// Returns whether an object is an entity with its addresses by chain.
fn is_entity(value: &Value<'_>) -> bool {
    let lists = value.get("addresses").map_or(&[][..], Value::members);
    ["id", "name", "type"].iter().all(|name| value.get(name).and_then(Value::text).is_some())
        && lists.iter().any(|(_, list)| list.items().iter().any(|address| address.text().is_some()))
}

fn contains_address(value: &Value<'_>) -> bool {
    is_address(value)
        || is_entity(value)
        || value.items().iter().any(contains_address)
        || value.members().iter().any(|(_, member)| contains_address(member))
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for input in probes.iter().map(Probe::input) {
        each_json_value(input, |place, value| {
            let wrong = |error: crate::FieldError| input.damaged(Some(place), error.to_string());
            add(value.map_err(wrong)?, place, &mut labels);
            Ok(())
        })?;
    }
    Ok(labels)
}

/// Adds the addresses of a document, wherever they are.
fn add(value: &Value<'_>, place: Place, labels: &mut RawLabels) {
    if is_address(value) {
        labels.claims.extend(address(value, place));
    } else if is_entity(value) {
        let claim = entity(Some(value), place);
        for (chain, list) in value.get("addresses").map_or(&[][..], Value::members) {
            for address in list.items().iter().filter_map(Value::text) {
                let chain = ChainHint::Chain(chain.clone().into_owned());
                labels.claims.push(RawClaim { address: address.to_owned(), chain, ..claim.clone() });
            }
        }
    } else {
        let members = value.members().iter().map(|(_, member)| member);
        for inner in value.items().iter().chain(members) {
            add(inner, place, labels);
        }
    }
}

fn text<'v>(value: &'v Value<'_>, name: &str) -> Option<&'v str> {
    filled(value.get(name).and_then(Value::text))
}

/// Returns what all addresses of an entity share.
fn entity(entity: Option<&Value<'_>>, place: Place) -> RawClaim {
    let of = |name| entity.and_then(|entity| text(entity, name));
    RawClaim {
        place: Some(place),
        concepts: of("type").into_iter().map(str::to_owned).collect(),
        entity: of("name").map(str::to_owned),
        ..RawClaim::default()
    }
}

/// Returns the claim of an address; `None` where the site has neither an entity nor a label for it.
fn address(value: &Value<'_>, place: Place) -> Option<RawClaim> {
    let claim = entity(value.get(ENTITY), place);
    let name = value.get(LABEL).and_then(|label| text(label, "name"));
    let tags = value.get(TAGS).map_or(&[][..], Value::items).iter().filter_map(|tag| text(tag, "id"));
    let mut concepts = claim.concepts;
    // Most tags repeat what the entity is.
    for tag in tags {
        if !concepts.iter().any(|concept| concept == tag) {
            concepts.push(tag.to_owned());
        }
    }
    if claim.entity.is_none() && name.is_none() && concepts.is_empty() {
        return None;
    }
    for concept in concepts.iter_mut().filter(|concept| *concept == EXCHANGE) {
        let lower = name.unwrap_or_default().to_ascii_lowercase();
        if lower.contains(DEPOSIT) {
            DEPOSIT.clone_into(concept);
        } else if names_hot_wallet(&lower) {
            HOT_WALLET.clone_into(concept);
        }
    }
    Some(RawClaim {
        address: text(value, "address").unwrap_or_default().to_owned(),
        chain: text(value, "chain").map_or(ChainHint::None, |chain| ChainHint::Chain(chain.to_owned())),
        concepts,
        name: name.map(str::to_owned),
        ..claim
    })
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read};
    use super::*;

    const HOT: &str = r#"{"address": "0xD86E1EA9AB69ACF2ABC60CB07A2D2D46F369B50B", "chain": "bsc", "arkhamEntity": {"id": "example", "name": "Example Exchange", "type": "cex"}, "arkhamLabel": {"name": "Hot Wallet", "chainType": "evm"}, "isUserAddress": false, "contract": false}"#;
    const HOT_SHOWN: &str =
        "0xD86E1EA9AB69ACF2ABC60CB07A2D2D46F369B50B | on bsc | hot-wallet | named Hot Wallet | of Example Exchange";

    #[test]
    fn addresses_are_found_wherever_they_are() {
        let nobody = r#"{"address": "0x0494c0950a34a7f024c18ad5dca185f4aa01d307", "chain": "bsc", "arkhamEntity": null, "arkhamLabel": null}"#;
        for text in [
            HOT.to_owned(),
            format!("[{HOT}, {nobody}]"),
            format!("{HOT}\n{nobody}\n"),
            format!(r#"{{"bsc": {HOT}, "ethereum": {nobody}}}"#),
            format!(r#"{{"addresses": {{"0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b": {{"bsc": {HOT}}}}}}}"#),
            format!(r#"{{"transfers": [{{"id": "x", "fromAddress": {HOT}, "toAddress": {nobody}}}], "count": 1}}"#),
            HOT.replace(", ", ",\n "),
        ] {
            assert_eq!(all_shown(&read(&FORMAT, &[("answer.json", &text)])), [HOT_SHOWN], "{text}");
        }
    }

    #[test]
    fn tags_and_labels_say_more_than_the_entity() {
        let address =
            |rest: &str| format!(r#"{{"address": "TH5qganFSHrSMRJWL2wfXfy4uwyWJe8rHV", "chain": "tron", {rest}}}"#);
        let shown = |rest: &str| all_shown(&read(&FORMAT, &[("answer.json", &address(rest))]))[0].clone();
        let deposit =
            shown(r#""arkhamEntity": {"name": "Example", "type": "cex"}, "arkhamLabel": {"name": "Example Deposit"}"#);
        assert!(deposit.ends_with("| deposit | named Example Deposit | of Example"), "{deposit}");
        let tagged = shown(
            r#""arkhamLabel": {"name": "x"}, "populatedTags": [{"id": "ofac-sanctioned", "label": "OFAC Sanctioned"}]"#,
        );
        assert!(tagged.ends_with("| ofac-sanctioned | named x"), "{tagged}");
    }

    #[test]
    fn an_entity_lists_its_addresses_by_chain() {
        let answer = r#"{"id": "example", "name": "Example Pool", "type": "miner", "addresses": {"bitcoin": ["1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV"], "solana": ["4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T"]}}"#;
        assert_eq!(
            all_shown(&read(&FORMAT, &[("entity.json", answer)])),
            [
                "1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV | on bitcoin | miner | of Example Pool",
                "4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T | on solana | miner | of Example Pool",
            ]
        );
    }
}
