//! Wallets of exchanges in the adapters of `DefiLlama`.

use headwater_ledger::labels::Level;

use super::script::texts;
use super::{Files, Format, Given};
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::Probe;
use crate::{IngestError, Place};

/// Source: `DefiLlama/DefiLlama-Adapters`: `projects/helper/bitcoin-book/<name>.js`, and `projects/<name>/index.js` with
/// `{chain: {owners: []}}`.
pub(super) const FORMAT: Format = Format {
    name: "defillama",
    source: "defillama",
    group: "defillama",
    level: Level::ServiceData,
    vocabulary: Vocabulary::OWN,
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

/// The key of the wallets of a chain.
const OWNERS: &str = "owners";
/// The folder of lists of bitcoin addresses.
const BOOK: &str = "bitcoin-book";

/// The content and the owner of a file.
struct Adapter {
    name: String,
    is_book: bool,
}

impl Adapter {
    fn of(probe: &Probe) -> Option<Self> {
        let file = probe.input().name();
        let stem = file.strip_suffix(".js").or_else(|| file.strip_suffix(".ts"))?;
        let folder = probe.path().parent().and_then(|folder| folder.file_name()).map(|name| name.to_string_lossy());
        let folder = folder.unwrap_or_default();
        let head = String::from_utf8_lossy(probe.head());
        if folder == BOOK && stem != "index" && head.contains("module.exports") {
            return Some(Self { name: stem.to_owned(), is_book: true });
        }
        let is_exchange = head.contains("cexExports") && head.contains(OWNERS);
        let name = if stem == "index" { &folder } else { stem };
        is_exchange.then(|| Self { name: name.to_owned(), is_book: false })
    }

    /// The name without the part that only distinguishes files of one exchange.
    fn entity(&self) -> &str {
        let endings = ["-cex", "-btc", "-exchange"];
        endings.iter().find_map(|ending| self.name.strip_suffix(ending)).unwrap_or(&self.name)
    }
}

fn reads(probe: &Probe) -> bool {
    Adapter::of(probe).is_some()
}

fn read(probes: &[Probe], given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        let Some(adapter) = Adapter::of(probe) else {
            return Err(probe.input().damaged(None, "neither its name nor its content is that of an exchange adapter"));
        };
        if adapter.is_book && given.code.is_none() {
            let what = "bridges and funds have such lists too, and are taken as exchanges unless --code says otherwise";
            labels.warnings.push(format!("{}: {what}", adapter.name));
        }
        for text in texts(&probe.input().document_text()?) {
            let chain = match &text.keys[..] {
                [_, item] if adapter.is_book && item.is_empty() => "bitcoin",
                [.., chain, owners, item] if owners == OWNERS && item.is_empty() => chain,
                _ => continue,
            };
            // A path to another script is not an address.
            if text.value.contains('/') {
                continue;
            }
            labels.claims.push(RawClaim {
                place: Some(Place::Line(text.line)),
                chain: ChainHint::Chain(chain.to_owned()),
                address: text.value,
                concepts: vec![given.code.clone().unwrap_or_else(|| "exchange".to_owned())],
                entity: given.entity.is_none().then(|| adapter.entity().to_owned()),
                ..RawClaim::default()
            });
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::all_shown;
    use super::*;
    use crate::source::{Bounds, Input};

    fn read_at(place: &str, script: &str) -> RawLabels {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, script).unwrap();
        let probes = [Probe::new(Input::new(&path, &Bounds::default()).unwrap()).unwrap()];
        assert!(reads(&probes[0]), "{place}");
        (FORMAT.read)(&probes, &Given::default()).unwrap()
    }

    #[test]
    fn book_lists_addresses_of_one_entity() {
        let labels = read_at(
            "bitcoin-book/example-cex.js",
            "const x = require(\"../other\")\nmodule.exports = [\n  '35hK24tcLEWcgNA4JxpvbkNkoAcDGqQPsP', // cold\n  // 'old',\n]",
        );
        assert_eq!(all_shown(&labels), ["35hK24tcLEWcgNA4JxpvbkNkoAcDGqQPsP | on bitcoin | exchange | of example"]);
        assert_eq!(labels.warnings.len(), 1);
    }

    #[test]
    fn adapter_lists_owners_by_chain() {
        let labels = read_at(
            "example/index.js",
            "const { cexExports } = require(\"../helper/cex\");\nconst config = {\n  bsc: {\n    owners: [\n      \"0x0639556F03714A74a5fEEaF5736a4A64fF70D206\",\n    ],\n    tokens: ['0x149ded7438caf5e5bfdc507a6c25436214d445e1'],\n  },\n  bitcoin: { owners: bitcoinAddressBook.example },\n};\nmodule.exports = cexExports(config);\n",
        );
        assert_eq!(all_shown(&labels), ["0x0639556F03714A74a5fEEaF5736a4A64fF70D206 | on bsc | exchange | of example"]);
        assert_eq!(labels.claims[0].place, Some(Place::Line(5)));
    }
}
