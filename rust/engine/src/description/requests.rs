//! What the fields of requests may hold: the bounds that are checked, and what holds where nothing is said.

use headwater_types::TimeWindow;
use serde_json::{Value, json};

use super::{chain, one_of, pattern};
use crate::calendar::{HOURS, MAX_ZONE};
use crate::endpoints::{addresses_autocomplete as autocomplete, token_holders};
use crate::events::{MOST_ADDRESSES, MOST_CONFIRMATIONS};
use crate::request::{DEFAULT_LIMIT, MAX_CURSOR, MAX_ITEMS, MAX_LIMIT, MAX_QUERY, MAX_SYMBOL, PAGE_WINDOW, is_time};
use crate::scope::MAX_CRITERIA;

/// The forms of an address: hex on EVM chains, hex or Base58Check on TRON, Base58Check or segwit on Bitcoin. Checksums
/// and what belongs to which chain no pattern can say.
pub(super) const ADDRESS: &str = "0x[0-9a-fA-F]{40}|(0x)?41[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{25,35}|\
                                  (bc|tb|bcrt|BC|TB|BCRT)1[0-9a-zA-Z]{8,87}";
/// 32 bytes in hex, or the id of a movement that no transaction of the chain made.
pub(super) const HASH: &str = "(0x)?[0-9a-fA-F]{64}|GENESIS_[0-9a-zA-Z]{25,90}|\
                               (REWARD|WITHDRAWAL|FORK|OPENING)_[0-9]{1,10}_[0-9a-zA-Z]{25,90}";

/// What is said of a field; `None` where its type says all there is.
pub(super) fn keywords(record: &str, field: &str) -> Option<Value> {
    Some(match (record, field) {
        ("CounterpartyListRequest", "blockchain") => with(chain(), "default", "bitcoin"),
        (_, "blockchain" | "chain") => chain(),
        (_, "address" | "address_a" | "address_b" | "target" | "counterparty") => address(),
        ("EventFilters", "addresses") => json!({"maxItems": MOST_ADDRESSES, "items": address()}),
        (_, "addresses") => json!({"minItems": 1, "maxItems": MAX_ITEMS, "items": address()}),
        (_, "contract") => contract(),
        (_, "contracts") => json!({"maxItems": MAX_ITEMS, "items": contract()}),
        (_, "hash") => pattern(&whole(HASH)),
        (_, "symbol") => symbol(),
        ("RatesRequest", "symbols") => {
            json!({"minItems": 1, "maxItems": MAX_ITEMS, "items": with(symbol(), "pattern", "\\S")})
        }
        (_, "symbols") => json!({"maxItems": MAX_ITEMS, "items": symbol()}),
        (_, "labels") => json!({"maxItems": MAX_ITEMS}),
        (_, "output_asset") => json!({"maxLength": MAX_SYMBOL}),
        (_, "quote") => with(pattern("^[A-Za-z]{3}$"), "default", "USD"),
        (_, "filter_criterias") => json!({"maxItems": MAX_CRITERIA}),
        (_, "min_value" | "max_value" | "amount" | "min_amount_usd") => decimal(),
        (_, "min_confirmations") => json!({"minimum": 0, "maximum": MOST_CONFIRMATIONS, "default": 1}),
        (_, field) if is_time(field) => time(),
        (_, "timezone") => json!({"minimum": HOURS.start(), "maximum": HOURS.end(), "default": 0}),
        (_, "tz") => with(pattern("^[A-Za-z0-9+_/-]*$"), "maxLength", MAX_ZONE),
        ("TokenHoldersRequest", "limit") => rows(token_holders::MAX_LIMIT, token_holders::DEFAULT_LIMIT),
        ("AddressAutocompleteRequest", "limit") => rows(autocomplete::MAX_LIMIT, autocomplete::DEFAULT_LIMIT),
        (_, "limit") => rows(MAX_LIMIT, DEFAULT_LIMIT),
        (_, "page") => json!({"format": "int32", "minimum": 0, "maximum": PAGE_WINDOW, "default": 1}),
        ("CounterpartyListRequest", "offset") => rows(PAGE_WINDOW - 1, 0),
        (_, "offset" | "min_interactions") => json!({"minimum": 0, "maximum": i32::MAX, "default": 0}),
        (_, "cursor") => with(pattern("^[A-Za-z0-9_-]*$"), "maxLength", MAX_CURSOR),
        ("ChainsRequest", "include") => json!({"items": one_of(&["tokens", "none"]), "default": ["tokens"]}),
        (_, "include") => json!({"items": one_of(&["logs", "input", "labels"])}),
        ("AddressAutocompleteRequest", "q") => json!({
            "minLength": autocomplete::MIN_PREFIX, "maxLength": MAX_QUERY,
            // Blanks around it do not count.
            "pattern": format!("^\\s*\\S[\\s\\S]{{{},}}\\S\\s*$", autocomplete::MIN_PREFIX - 2)
        }),
        (_, "q") => json!({"minLength": 1, "maxLength": MAX_QUERY}),
        (_, "direction") => json!({"default": "all"}),
        (_, "crossing") => json!({"default": "both"}),
        (_, "order") => json!({"default": "desc"}),
        ("CounterpartyRequest" | "CounterpartyListRequest", "sort") => json!({"default": "total_amount"}),
        (_, "sort") => json!({"default": "timestamp"}),
        (_, "unit") => json!({"default": "daily"}),
        (_, "group_by") => json!({"default": "address"}),
        (_, "detail" | "include_change" | "include_unverified" | "include_zero_value" | "include_failed") => {
            json!({"default": false})
        }
        _ => return None,
    })
}

/// What holds between the fields of a record.
pub(super) fn conditions(record: &str) -> Option<Value> {
    let either = |names: [&str; 2]| {
        let given = names.map(|name| json!({"required": [name], "properties": {name: {"type": "string"}}}));
        json!({ "anyOf": given })
    };
    match record {
        "TransferBetweenRequest" | "CounterpartyOverviewRequest" => {
            Some(json!([either(["target", "address_a"]), either(["counterparty", "address_b"])]))
        }
        "BalanceThreshold" => Some(json!([either(["symbol", "contract"])])),
        _ => None,
    }
}

fn with(mut keywords: Value, keyword: &str, value: impl Into<Value>) -> Value {
    keywords[keyword] = value.into();
    keywords
}

pub(super) fn whole(form: &str) -> String {
    format!("^({form})$")
}

fn address() -> Value {
    with(pattern(&whole(ADDRESS)), "example", "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")
}

fn contract() -> Value {
    pattern(&whole(&format!("native|{ADDRESS}")))
}

fn symbol() -> Value {
    json!({"minLength": 1, "maxLength": MAX_SYMBOL})
}

/// Decimal text, or a number; neither has a sign.
fn decimal() -> Value {
    json!({"minimum": 0, "pattern": "^[0-9]+(\\.[0-9]+)?$"})
}

fn time() -> Value {
    json!({"minimum": -TimeWindow::LAST_SECS, "maximum": TimeWindow::LAST_SECS})
}

fn rows(most: impl Into<Value>, default: impl Into<Value>) -> Value {
    json!({"format": "int32", "minimum": 0, "maximum": most.into(), "default": default.into()})
}
