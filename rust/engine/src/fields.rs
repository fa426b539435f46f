//! The fields of requests and answers: closed sets of values, and texts and numbers with a form. A type carries its own
//! schema, so what the documentation says of a field is said by its type. [`crate::description`] writes forms out where
//! they stand; sets of values are components of the document.

use headwater_types::{Address, Amount, Chain, Family, TimeWindow, Timestamp, TxHash};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use crate::limits::{DEFAULT_LIMIT, HOURS, MAX_CURSOR, MAX_ITEMS, MAX_LIMIT, MAX_SYMBOL, MAX_ZONE, PAGE_WINDOW};

/// The forms of an address: hex on EVM chains, hex or Base58Check on TRON, Base58Check or segwit on Bitcoin. No pattern can
/// tell checksums, and what belongs to which chain.
const ADDRESS: &str = "0x[0-9a-fA-F]{40}|(0x)?41[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{25,35}|\
                       (bc|tb|bcrt|BC|TB|BCRT)1[0-9a-zA-Z]{8,87}";
/// 32 bytes in hex, or the id of a movement that no transaction of the chain made.
const HASH: &str = "(0x)?[0-9a-fA-F]{64}|GENESIS_[0-9a-zA-Z]{25,90}|\
                    (REWARD|WITHDRAWAL|FORK|OPENING)_[0-9]{1,10}_[0-9a-zA-Z]{25,90}";

/// Declares forms: types around a text, a number or a list, each with its JSON schema.
macro_rules! form {
    ($( $(#[$meta:meta])* $name:ident($inner:ty => $target:ty $(, $derive:ident)*): $schema:expr; )+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize, ::serde::Deserialize)]
        $( #[derive($derive)] )*
        #[serde(transparent)]
        pub struct $name(pub(crate) $inner);

        impl $name {
            /// Its JSON schema.
            #[must_use]
            pub fn json() -> ::serde_json::Value {
                $schema
            }
        }

        impl ::std::ops::Deref for $name {
            type Target = $target;

            fn deref(&self) -> &$target {
                &self.0
            }
        }

        impl From<$name> for $inner {
            fn from(form: $name) -> $inner {
                form.0
            }
        }

        impl ::utoipa::PartialSchema for $name {
            fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::schema::Schema> {
                $crate::fields::schema(&Self::json())
            }
        }

        impl ::utoipa::ToSchema for $name {}
    )+};
}
pub(crate) use form;

/// Declares sets of values of answers, written as these texts.
macro_rules! values {
    ($( $(#[$meta:meta])* $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $value:literal ),+ $(,)? } )+) => {$(
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize, ::serde::Deserialize,
        )]
        #[allow(missing_docs, reason = "a value whose text says all has no documentation besides")]
        pub enum $name {
            $( $(#[$variant_meta])* #[serde(rename = $value)] $variant, )+
        }

        impl $name {
            /// Returns the text of the value in answers.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$variant => $value, )+
                }
            }
        }

        impl ::utoipa::PartialSchema for $name {
            fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::schema::Schema> {
                $crate::fields::schema(&::serde_json::json!({"type": "string", "enum": [$($value),+]}))
            }
        }

        impl ::utoipa::ToSchema for $name {}
    )+};
}
pub(crate) use values;

/// A schema from its JSON.
pub(crate) fn schema(json: &serde_json::Value) -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
    serde_json::from_value(json.clone()).expect("the schemas in this crate are valid")
}

fn whole(form: &str) -> String {
    format!("^({form})$")
}

form! {
    /// A chain, by its name or an alias.
    ChainText(String => str): json!({"$ref": "#/components/schemas/Chain"});
    /// An address in a form of its chain; in answers the canonical one.
    AddressText(String => str): json!({
        "type": "string", "pattern": whole(ADDRESS), "example": "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
    });
    /// 1 to 100 addresses.
    AddressList(Vec<String> => [String], Default): json!({"type": "array", "minItems": 1, "maxItems": MAX_ITEMS, "items": AddressText::json()});
    /// The contract of a token, or `native` for the coin of the chain.
    ContractText(String => str): json!({"type": "string", "pattern": whole(&format!("native|{ADDRESS}"))});
    /// At most 100 contracts, null or `native` for the coin of the chain.
    ContractList(Vec<Option<String>> => [Option<String>], Default): json!({"type": "array", "maxItems": MAX_ITEMS, "items": {
        "type": ["string", "null"], "pattern": whole(&format!("native|{ADDRESS}"))
    }});
    /// The hash of a transaction, or the id of a movement without one.
    HashText(String => str): json!({"type": "string", "pattern": whole(HASH)});
    /// The hash of a block.
    BlockHashText(String => str): json!({"type": "string", "pattern": "^(0x)?[0-9a-f]{64}$"});
    /// A symbol, in any case.
    SymbolText(String => str): json!({"type": "string", "minLength": 1, "maxLength": MAX_SYMBOL});
    /// At most 100 symbols, in any case.
    SymbolList(Vec<String> => [String], Default): json!({"type": "array", "maxItems": MAX_ITEMS, "items": SymbolText::json()});
    /// The unit of amounts: a symbol, `usd` or `per_symbol`.
    OutputAsset(String => str): json!({"type": "string", "maxLength": MAX_SYMBOL});
    /// A choice that is on unless it is declined.
    OptOut(bool => bool, Copy): json!({"type": "boolean", "default": true});
    /// A time in a request, epoch seconds.
    TimeBound(i64 => i64, Copy): json!({
        "type": "integer", "format": "int64", "minimum": -TimeWindow::LAST_SECS, "maximum": TimeWindow::LAST_SECS
    });
    /// A time in an answer, epoch seconds.
    Time(i64 => i64, Copy): json!({"type": "integer", "format": "int64"});
    /// A day, `YYYY-MM-DD`.
    DateText(String => str): json!({"type": "string", "format": "date"});
    /// Hours east of UTC.
    ZoneHours(i64 => i64, Copy): json!({
        "type": "integer", "format": "int64", "minimum": HOURS.start(), "maximum": HOURS.end(), "default": 0
    });
    /// The name of a time zone (IANA).
    ZoneName(String => str): json!({"type": "string", "pattern": "^[A-Za-z0-9+_/-]*$", "maxLength": MAX_ZONE});
    /// Rows per page.
    PageLimit(i64 => i64, Copy): json!({
        "type": "integer", "format": "int32", "minimum": 0, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT
    });
    /// A page, from 1; 0 is page 1 too.
    PageNumber(i64 => i64, Copy): json!({
        "type": "integer", "format": "int32", "minimum": 0, "maximum": PAGE_WINDOW, "default": 1
    });
    /// Rows left out before a page.
    PageOffset(i64 => i64, Copy): json!({"type": "integer", "format": "int64", "minimum": 0, "maximum": i32::MAX, "default": 0});
    /// A lower bound of a count.
    MinCount(i64 => i64, Copy): json!({"type": "integer", "format": "int64", "minimum": 0, "maximum": i32::MAX, "default": 0});
    /// `next_cursor` of an answer.
    CursorText(String => str): json!({"type": "string", "pattern": "^[A-Za-z0-9_-]*$", "maxLength": MAX_CURSOR});
    /// A cursor for the next page.
    NextCursor(String => str): json!({"type": "string", "pattern": "^[A-Za-z0-9_-]+$"});
    /// A choice that is off unless it is taken.
    OptIn(bool => bool, Copy): json!({"type": "boolean", "default": false});
    /// An amount in whole units: exact, without exponent and trailing zeros.
    DecimalText(String => str): json!({
        "type": "string", "format": "decimal", "pattern": "^(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?$"
    });
    /// The same with a sign.
    SignedDecimalText(String => str): json!({
        "type": "string", "format": "decimal", "pattern": "^-?(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?$"
    });
    /// An amount in the smallest unit.
    RawAmountText(String => str): json!({"type": "string", "pattern": "^[0-9]+$"});
    /// An amount in the unit that a request asked for; null where there is no price.
    OutputAmount(Option<DecimalText> => Option<DecimalText>): json!({
        "type": ["string", "null"], "format": "decimal", "pattern": "^(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?$"
    });
    /// Bytes in hex.
    HexText(String => str): json!({"type": "string", "pattern": "^(0x)?[0-9a-f]*$"});
    /// Bytes in hex without a prefix.
    BareHexText(String => str): json!({"type": "string", "pattern": "^[0-9a-f]*$"});
    /// A topic of a log.
    TopicText(String => str): json!({"type": "string", "pattern": "^0x[0-9a-f]{64}$"});
    /// The first four bytes of call data.
    MethodId(String => str): json!({"type": "string", "pattern": "^0x[0-9a-f]{8}$"});
    /// `{blockchain}:{tx_hash}:{kind}:{n}`.
    TransferId(String => str): json!({"type": "string", "pattern": "^[a-z]+:[0-9A-Za-z_]+:[a-z]+:[0-9A-Za-z:]+$"});
    /// A currency (ISO 4217).
    CurrencyText(String => str): json!({"type": "string", "pattern": "^[A-Z]{3}$"});
    /// A word of lowercase letters, digits and `_`.
    CodeText(String => str): json!({"type": "string", "pattern": "^[a-z0-9_]+$"});
}

/// The name of a chain in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ChainName(&'static str);

impl std::ops::Deref for ChainName {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

impl<'de> Deserialize<'de> for ChainName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Chain::deserialize(deserializer).map(Self::from)
    }
}

impl From<Chain> for ChainName {
    fn from(chain: Chain) -> Self {
        Self(chain.name())
    }
}

impl utoipa::PartialSchema for ChainName {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        ChainText::schema()
    }
}

impl utoipa::ToSchema for ChainName {}

impl From<Address> for AddressText {
    fn from(address: Address) -> Self {
        Self(address.to_string())
    }
}

impl From<&Address> for AddressText {
    fn from(address: &Address) -> Self {
        Self(address.to_string())
    }
}

impl OptIn {
    /// Returns whether it is taken.
    #[must_use]
    pub fn is_taken(choice: Option<Self>) -> bool {
        choice.is_some_and(bool::from)
    }
}

impl HashText {
    /// A hash as its chain writes it.
    #[must_use]
    pub fn new(hash: &TxHash, family: Family) -> Self {
        Self(hash.display(family))
    }
}

impl From<Amount> for RawAmountText {
    fn from(amount: Amount) -> Self {
        Self(amount.to_string())
    }
}

impl DecimalText {
    /// An amount in whole units.
    #[must_use]
    pub fn new(amount: Amount, decimals: u8) -> Self {
        Self(amount.to_decimal(decimals))
    }
}

impl From<Timestamp> for Time {
    fn from(time: Timestamp) -> Self {
        Self(time.secs())
    }
}

values! {
    /// What an address did with a movement.
    Action { Send = "send", Receive = "receive", Own = "self" }
    /// The way of a movement.
    FlowDirection { To = "To", From = "From", Own = "Self" }
    /// The kind of a movement.
    TransferType {
        Native = "native", Internal = "internal", Token = "token", Utxo = "utxo", Coinbase = "coinbase", Fee = "fee",
        Mint = "mint", Burn = "burn",
    }
    /// Whether a transaction succeeded.
    TransactionStatus { Success = "success", Failed = "failed", Unknown = "unknown" }
    /// A sign to look at.
    TransferFlag {
        ZeroValue = "zero_value", UnverifiedToken = "unverified_token", SpoofedSymbol = "spoofed_symbol", Dust = "dust",
        ContractCreation = "contract_creation", Rebasing = "rebasing", Approximate = "approximate",
        StatusUnknown = "status_unknown",
    }
    /// How transactions of a chain are built.
    ChainFamily { Evm = "evm", Tron = "tron", Utxo = "utxo" }
    /// How much of a chain an endpoint answers.
    Support { Full = "full", Partial = "partial", None = "none" }
    /// How values in US dollars are found.
    UsdMode { Rate = "rate", None = "none" }
    /// What a balance was made from.
    BalanceBasis { Transfers = "transfers", Snapshot = "snapshot" }
    /// The kind of an address.
    AddressType { Eoa = "eoa", Contract = "contract", Multisig = "multisig", Utxo = "utxo", Unknown = "unknown" }
    /// How amounts are attributed to counterparties.
    Attribution { Proportional = "proportional", Direct = "direct" }
}

impl From<Family> for ChainFamily {
    fn from(family: Family) -> Self {
        match family {
            Family::Evm => Self::Evm,
            Family::Tron => Self::Tron,
            Family::Utxo => Self::Utxo,
        }
    }
}
