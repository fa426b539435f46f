//! Token registries.

use std::collections::HashMap;

use headwater_ledger::market::TokenListing;
use headwater_types::text::{SHOWN, shortened};
use headwater_types::{Address, Chain};

use super::Listed;
use crate::error::FieldError;
use crate::source::json::{self, Value};
use crate::source::{Content, Input, Probe, Row, each_row};
use crate::{IngestError, Place};

/// A registry is read whole up to this size.
const MAX_BYTES: u64 = 256 << 20;

/// EIP-155 numbers of the chains that are held.
const CHAIN_IDS: &[(&str, Chain)] = &[("1", Chain::ETHEREUM), ("56", Chain::BSC), ("728126428", Chain::TRON)];

/// The names of the chains in files and folders.
const CHAIN_WORDS: &[(&str, Chain)] = &[
    ("eth", Chain::ETHEREUM),
    ("ethereum", Chain::ETHEREUM),
    ("mainnet", Chain::ETHEREUM),
    ("bsc", Chain::BSC),
    ("bnb", Chain::BSC),
    ("tron", Chain::TRON),
    ("trx", Chain::TRON),
];

pub(super) fn list(probe: &Probe, chain: Option<Chain>) -> Result<Listed<TokenListing>, IngestError> {
    let assumed = chain.or_else(|| named_chain(probe.input())).unwrap_or(Chain::ETHEREUM);
    let mut listed = match probe.content() {
        Content::Json => list_json(probe.input(), chain, assumed)?,
        Content::Csv | Content::Tsv | Content::Parquet => list_rows(probe, chain, assumed)?,
        Content::Empty | Content::Binary => return Err(unknown(probe.input(), probe.seen())),
    };
    // Real lists name a token twice; the last entry counts, as of a name in a JSON object.
    let last: HashMap<(Chain, Address), usize> =
        listed.entries.iter().enumerate().map(|(place, entry)| ((entry.chain, entry.contract), place)).collect();
    let mut place = 0..;
    listed.entries.retain(|entry| place.next() == last.get(&(entry.chain, entry.contract)).copied());
    Ok(listed)
}

fn unknown(input: &Input, seen: String) -> IngestError {
    let hint =
        "What is read: token lists of ethereum-lists, MetaMask and Uniswap (JSON), CSV or Parquet with address, \
                symbol and decimals"
            .to_owned();
    IngestError::Unrecognised { path: input.path().to_owned(), seen, hint }
}

/// The chain that the name of the file, or of its folder, says.
fn named_chain(input: &Input) -> Option<Chain> {
    let folder =
        input.path().parent().and_then(|folder| folder.file_name()).map(|name| name.to_string_lossy().into_owned());
    [Some(input.name()), folder].into_iter().flatten().find_map(|name| {
        let name = name.to_lowercase();
        // The last word that names a chain: "ethereum-lists-tokens-bsc.json" is of BSC.
        let mut words = name.split(|character: char| !character.is_ascii_alphanumeric()).rev();
        words.find_map(|word| CHAIN_WORDS.iter().find(|(known, _)| *known == word)).map(|(_, chain)| *chain)
    })
}

fn list_json(input: &Input, chain: Option<Chain>, assumed: Chain) -> Result<Listed<TokenListing>, IngestError> {
    let bytes = input.read_whole(MAX_BYTES)?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let place = u64::try_from(error.valid_up_to()).ok().map(Place::Byte);
        input.damaged(place, "it is no text in UTF-8")
    })?;
    let document = json::parse(text.trim_start_matches('\u{feff}'), input.bounds()).map_err(|error| {
        let place = u64::try_from(error.at).ok().map(Place::Byte);
        input.damaged(place, format!("it is not {error}"))
    })?;
    let is_token = |value: &Value<'_>| value.get("address").is_some() && value.get("symbol").is_some();
    let named: Vec<(Option<&str>, &Value<'_>)>;
    let format;
    if let Some(tokens) = document.get("tokens") {
        format = "uniswap-token-list";
        named = tokens.items().iter().map(|token| (None, token)).collect();
    } else if is_token(&document) {
        format = "ethereum-lists";
        named = vec![(None, &document)];
    } else if document.items().iter().any(is_token) {
        format = "ethereum-lists";
        named = document.items().iter().map(|token| (None, token)).collect();
    } else if document.members().iter().any(|(name, value)| name.starts_with("0x") && value.get("symbol").is_some()) {
        format = "metamask-contract-map";
        named = document.members().iter().map(|(name, token)| (Some(&**name), token)).collect();
    } else {
        return Err(unknown(input, "holds no token with an address and a symbol".to_owned()));
    }
    let mut listed = Listed::new(format);
    for (number, (address, token)) in named.into_iter().enumerate() {
        match json_listing(address, token, chain, assumed) {
            Ok(listing) => listed.entries.push(listing),
            Err(error) => listed.skip(|| format!("entry {}: {error}", number + 1)),
        }
    }
    Ok(listed)
}

fn json_listing(
    address: Option<&str>,
    token: &Value<'_>,
    chain: Option<Chain>,
    assumed: Chain,
) -> Result<TokenListing, FieldError> {
    let text = |name: &str| token.get(name).and_then(Value::text);
    if token.get("erc20") == Some(&Value::Bool(false)) || token.get("erc721") == Some(&Value::Bool(true)) {
        return Err(FieldError::new("erc20", Some("false"), "a fungible token"));
    }
    if let Some(kind @ ("ERC721" | "ERC1155")) = text("type") {
        return Err(FieldError::new("type", Some(kind), "a fungible token"));
    }
    listing(&Entry {
        chain: text("chainId"),
        address: address.or_else(|| text("address")),
        symbol: text("symbol"),
        name: text("name"),
        decimals: text("decimals"),
        verified: true,
        coingecko_id: text("coingeckoId").or_else(|| text("coingecko_id")),
        wanted: chain,
        assumed,
    })
}

const COLUMNS: &[&str] = &[
    "address",
    "contract",
    "symbol",
    "name",
    "decimals",
    "chainId",
    "chain",
    "blockchain",
    "verified",
    "coingecko_id",
    "cg_id",
];

fn list_rows(probe: &Probe, chain: Option<Chain>, assumed: Chain) -> Result<Listed<TokenListing>, IngestError> {
    if !probe.has(&["symbol", "decimals"]) || !(probe.has(&["address"]) || probe.has(&["contract"])) {
        return Err(unknown(probe.input(), probe.seen()));
    }
    let mut listed = Listed::new("token-table");
    let handle = |row: &Row<'_>, listed: &mut Listed<TokenListing>| {
        match listing_of(row, chain, assumed) {
            Ok(listing) => listed.entries.push(listing),
            Err(error) => listed.skip(|| format!("{}: {error}", row.place())),
        }
        Ok(())
    };
    each_row(probe.input(), probe.content(), COLUMNS, &mut listed, handle)?;
    Ok(listed)
}

/// The listing of one row of a table.
pub(crate) fn listing_of(row: &Row<'_>, chain: Option<Chain>, assumed: Chain) -> Result<TokenListing, FieldError> {
    let first = |names: &[&str]| {
        names.iter().map(|name| row.text(name)).find(|text| !matches!(text, Ok(None))).unwrap_or(Ok(None))
    };
    let verified = match row.text("verified")?.as_deref() {
        None | Some("true" | "True" | "1") => true,
        Some("false" | "False" | "0") => false,
        Some(other) => return Err(FieldError::new("verified", Some(other), "true or false")),
    };
    let symbol = row.text("symbol")?;
    let name = row.text("name")?;
    listing(&Entry {
        chain: first(&["chainId", "blockchain", "chain"])?.as_deref(),
        address: first(&["address", "contract"])?.as_deref(),
        symbol: symbol.as_deref(),
        name: name.as_deref(),
        decimals: row.text("decimals")?.as_deref(),
        verified,
        coingecko_id: first(&["coingecko_id", "cg_id"])?.as_deref(),
        wanted: chain,
        assumed,
    })
}

struct Entry<'a> {
    chain: Option<&'a str>,
    address: Option<&'a str>,
    symbol: Option<&'a str>,
    name: Option<&'a str>,
    decimals: Option<&'a str>,
    verified: bool,
    coingecko_id: Option<&'a str>,
    wanted: Option<Chain>,
    assumed: Chain,
}

fn listing(entry: &Entry<'_>) -> Result<TokenListing, FieldError> {
    let chain = match entry.chain {
        Some(text) => {
            let by_id = CHAIN_IDS.iter().find(|(id, _)| *id == text).map(|(_, chain)| *chain);
            let chain = by_id.or_else(|| text.parse().ok());
            chain
                .filter(|chain| entry.wanted.is_none_or(|wanted| wanted == *chain))
                .ok_or_else(|| FieldError::new("chain", Some(text), "a chain that is imported"))?
        }
        None => entry.assumed,
    };
    let address = entry.address.ok_or_else(|| FieldError::new("address", None, "an address"))?;
    let contract = Address::parse(chain, address)
        .map_err(|_| FieldError::new("address", Some(address), format!("an address of {chain}")))?;
    let symbol = entry.symbol.map(str::trim).filter(|symbol| !symbol.is_empty());
    let symbol = symbol.ok_or_else(|| FieldError::new("symbol", entry.symbol, "a symbol"))?;
    let decimals = entry.decimals.and_then(|text| text.parse().ok());
    Ok(TokenListing {
        chain,
        contract,
        symbol: symbol.to_owned(),
        name: entry.name.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(symbol).to_owned(),
        decimals: decimals.ok_or_else(|| FieldError::new("decimals", entry.decimals, "a number from 0 to 255"))?,
        verified: entry.verified,
        coingecko_id: entry.coingecko_id.map(|id| shortened(id, SHOWN)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{list_tokens, read_token_registry};
    use super::*;

    const TOKEN: &str = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";

    fn list(name: &str, content: &str, chain: Option<Chain>) -> Result<Listed<TokenListing>, IngestError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        list_tokens(&path, chain)
    }

    #[test]
    fn each_form_of_registry_gives_the_same_listing() {
        let fields = r#""symbol": "WETH", "name": "Wrapped Ether", "decimals": 18"#;
        let forms = [
            ("tokens.json", format!("[{{\"address\": \"{TOKEN}\", {fields}}}, {{\"address\": \"0x\", {fields}}}]"), 1),
            ("one.json", format!("{{\"address\": \"{TOKEN}\", {fields}}}"), 0),
            (
                "map.json",
                format!(
                    "{{\"{TOKEN}\": {{\"erc20\": true, {fields}}}, \"0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c\": {{\"erc721\": true, {fields}}}}}"
                ),
                1,
            ),
            (
                "list.json",
                format!(
                    "{{\"name\": \"x\", \"tokens\": [{{\"chainId\": 1, \"address\": \"{TOKEN}\", {fields}}}, {{\"chainId\": 10, \"address\": \"{TOKEN}\", {fields}}}]}}"
                ),
                1,
            ),
            ("table.csv", format!("address,symbol,name,decimals\n{TOKEN},WETH,Wrapped Ether,18\n{TOKEN},,x,18\n"), 1),
        ];
        for (name, content, skipped) in forms {
            let listed = list(name, &content, None).unwrap();
            assert_eq!((listed.entries.len(), listed.skipped), (1, skipped), "{name}");
            let listing = &listed.entries[0];
            assert_eq!((listing.chain, listing.contract.to_string().as_str()), (Chain::ETHEREUM, TOKEN), "{name}");
            assert_eq!(
                (listing.symbol.as_str(), listing.name.as_str(), listing.decimals),
                ("WETH", "Wrapped Ether", 18)
            );
            assert!(listing.verified);
        }
    }

    #[test]
    fn chain_follows_entry_then_caller_then_file_name() {
        let entry = format!("[{{\"address\": \"{TOKEN}\", \"symbol\": \"A\", \"decimals\": 1}}]");
        let chain = |name, chain| list(name, &entry, chain).unwrap().entries[0].chain;
        assert_eq!(chain("ethereum-lists-tokens-bsc.json", None), Chain::BSC);
        assert_eq!(chain("tokens-bsc.json", Some(Chain::ETHEREUM)), Chain::ETHEREUM);
        assert_eq!(chain("tokens.json", None), Chain::ETHEREUM);
        let own = entry.replace("\"symbol\"", "\"chainId\": 56, \"symbol\"");
        assert_eq!(list("eth.json", &own, None).unwrap().entries[0].chain, Chain::BSC);
        let error = list("eth.json", &own, Some(Chain::ETHEREUM)).unwrap_err().to_string();
        assert!(error.contains("eth.json gives no token: all 1 rows are left out (entry 1"), "{error}");
    }

    #[test]
    fn registry_without_a_token_is_refused() {
        let error = list("t.csv", "address,symbol,decimals\n", None).unwrap_err().to_string();
        assert!(error.contains("t.csv gives no token: it has no row of data"), "{error}");
    }

    #[test]
    fn what_is_no_registry_is_refused() {
        for (name, content) in [
            ("a.json", "{}"),
            ("b.json", "[1, 2]"),
            ("c.csv", "a,b\n1,2\n"),
            ("d.json", "{\"tokens"),
            ("e.bin", "\u{1}"),
        ] {
            assert!(list(name, content, None).is_err(), "{name}");
        }
        assert!(read_token_registry(std::path::Path::new("/nonexistent"), None).is_err());
    }
}
