//! Parses `Name(type name, type indexed name, ...)`.

use sha3::{Digest, Keccak256};

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `uint<bits>`.
    Uint(usize),
    /// `int<bits>`.
    Int(usize),
    /// `address`.
    Address,
    /// `bool`.
    Bool,
    /// `bytes<length>`.
    FixedBytes(usize),
    /// `bytes`.
    Bytes,
    /// `string`.
    Text,
    /// `element[]`.
    Array(Box<Kind>),
    /// `(field, ...)`.
    Tuple(Vec<Field>),
}

impl Kind {
    /// Returns whether the encoding has no fixed length, so that its place holds an offset.
    pub(crate) fn is_dynamic(&self) -> bool {
        match self {
            Self::Bytes | Self::Text | Self::Array(_) => true,
            Self::Tuple(fields) => fields.iter().any(|field| field.kind.is_dynamic()),
            Self::Uint(_) | Self::Int(_) | Self::Address | Self::Bool | Self::FixedBytes(_) => false,
        }
    }

    /// Bytes that the value takes where it is: an offset if it is dynamic.
    pub(crate) fn head_length(&self) -> usize {
        match self {
            Self::Tuple(fields) if !self.is_dynamic() => fields.iter().map(|field| field.kind.head_length()).sum(),
            _ => 32,
        }
    }

    /// The canonical name, as a signature contains it.
    fn signature(&self) -> String {
        match self {
            Self::Uint(bits) => format!("uint{bits}"),
            Self::Int(bits) => format!("int{bits}"),
            Self::Address => "address".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::FixedBytes(length) => format!("bytes{length}"),
            Self::Bytes => "bytes".to_owned(),
            Self::Text => "string".to_owned(),
            Self::Array(element) => format!("{}[]", element.signature()),
            Self::Tuple(fields) => tuple_signature(fields),
        }
    }
}

fn tuple_signature(fields: &[Field]) -> String {
    let kinds: Vec<String> = fields.iter().map(|field| field.kind.signature()).collect();
    format!("({})", kinds.join(","))
}

/// A parameter of an event, or a member of a tuple.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) kind: Kind,
    pub(crate) indexed: bool,
    pub(crate) name: String,
}

/// An event with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
}

/// The reason why a text is not a declaration, or has no such field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DeclarationError {
    /// The text ends early, or continues after its end.
    #[error("expected {expected} at {rest:?}")]
    Expected { expected: &'static str, rest: String },
    /// Not a type of the ABI, or one that no bridge uses.
    #[error("unknown type {0:?}")]
    Type(String),
    /// More than three indexed parameters.
    #[error("an event has at most three indexed parameters")]
    Indexed,
    /// The path names no field.
    #[error("no field {0:?}")]
    Field(String),
}

impl Declaration {
    /// Parses the text.
    pub(crate) fn parse(text: &str) -> Result<Self, DeclarationError> {
        let mut rest = Rest(text);
        let name = rest.word().to_owned();
        if name.is_empty() {
            return Err(rest.expected("a name"));
        }
        let fields = rest.fields()?;
        if !rest.0.is_empty() {
            return Err(rest.expected("the end"));
        }
        if fields.iter().filter(|field| field.indexed).count() > 3 {
            return Err(DeclarationError::Indexed);
        }
        Ok(Self { name, fields })
    }

    /// `Name(type,...)`.
    pub(crate) fn signature(&self) -> String {
        format!("{}{}", self.name, tuple_signature(&self.fields))
    }

    /// The first topic: keccak256 of the signature.
    pub(crate) fn topic0(&self) -> [u8; 32] {
        Keccak256::digest(self.signature().as_bytes()).into()
    }

    /// Topics of a log of this event, the first included.
    pub(crate) fn topic_count(&self) -> usize {
        1 + self.fields.iter().filter(|field| field.indexed).count()
    }
}

/// The rest of the text.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn expected(&self, expected: &'static str) -> DeclarationError {
        DeclarationError::Expected { expected, rest: self.0.chars().take(40).collect() }
    }

    fn take(&mut self, token: &str) -> bool {
        match self.0.strip_prefix(token) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &'a str {
        let end = self.0.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        word
    }

    fn fields(&mut self) -> Result<Vec<Field>, DeclarationError> {
        if !self.take("(") {
            return Err(self.expected("\"(\""));
        }
        let mut fields = Vec::new();
        while !self.take(")") {
            if !fields.is_empty() && !self.take(", ") {
                return Err(self.expected("\", \" or \")\""));
            }
            fields.push(self.field()?);
        }
        Ok(fields)
    }

    fn field(&mut self) -> Result<Field, DeclarationError> {
        let mut kind = if self.0.starts_with('(') { Kind::Tuple(self.fields()?) } else { elementary(self.word())? };
        while self.take("[]") {
            kind = Kind::Array(Box::new(kind));
        }
        let indexed = self.take(" indexed ");
        if !indexed && !self.take(" ") {
            return Err(self.expected("a blank and a name"));
        }
        let name = self.word().to_owned();
        if name.is_empty() {
            return Err(self.expected("a name"));
        }
        Ok(Field { kind, indexed, name })
    }
}

fn elementary(word: &str) -> Result<Kind, DeclarationError> {
    let unknown = || DeclarationError::Type(word.to_owned());
    let number = |digits: &str, most: usize| digits.parse::<usize>().ok().filter(|&n| n >= 1 && n <= most);
    match word {
        "address" => Ok(Kind::Address),
        "bool" => Ok(Kind::Bool),
        "bytes" => Ok(Kind::Bytes),
        "string" => Ok(Kind::Text),
        _ => {
            let sized = |prefix: &str, most: usize| word.strip_prefix(prefix).and_then(|digits| number(digits, most));
            let bits = |prefix: &str| sized(prefix, 256).filter(|bits| bits.is_multiple_of(8));
            None.or_else(|| bits("uint").map(Kind::Uint))
                .or_else(|| bits("int").map(Kind::Int))
                .or_else(|| sized("bytes", 32).map(Kind::FixedBytes))
                .ok_or_else(unknown)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declaration_topic_is_the_hash_of_its_signature() {
        let transfer = Declaration::parse("Transfer(address indexed from, address indexed to, uint256 value)").unwrap();
        assert_eq!(transfer.signature(), "Transfer(address,address,uint256)");
        assert_eq!(hex::encode(transfer.topic0()), "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
        assert_eq!(transfer.topic_count(), 3);
    }

    #[test]
    fn declaration_tuples_and_arrays_have_their_canonical_names() {
        let text = "A((bytes32 id, (address token, uint256 amount)[] coins) indexed order, bytes4 source)";
        assert_eq!(Declaration::parse(text).unwrap().signature(), "A((bytes32,(address,uint256)[]),bytes4)");
    }

    #[test]
    fn declaration_errors_name_what_is_wrong() {
        for (text, message) in [
            ("", "expected a name at \"\""),
            ("A", "expected \"(\" at \"\""),
            ("A(uint257 a)", "unknown type \"uint257\""),
            ("A(uint a)", "unknown type \"uint\""),
            ("A(address)", "expected a blank and a name at \")\""),
            ("A(address a,bool b)", "expected \", \" or \")\" at \",bool b)\""),
            ("A(bool a) ", "expected the end at \" \""),
            (
                "A(bool indexed a, bool indexed b, bool indexed c, bool indexed d)",
                "an event has at most three indexed parameters",
            ),
        ] {
            assert_eq!(Declaration::parse(text).unwrap_err().to_string(), message, "{text}");
        }
    }
}
