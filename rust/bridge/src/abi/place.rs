//! The place of a field of an event in a log, and its value.

use headwater_types::Amount;

use super::declaration::{Declaration, DeclarationError, Field, Kind};

/// A value of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// An unsigned integer, or a truth value as 0 or 1.
    Number(Amount),
    /// A signed integer as its 256-bit two's complement.
    Signed(Amount),
    /// A 20-byte account.
    Account([u8; 20]),
    /// 32 bytes.
    Word([u8; 32]),
    /// Bytes of any other length.
    Bytes(&'a [u8]),
    /// Text.
    Text(&'a str),
}

/// The log is not a valid encoding of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the log is not a valid encoding of its event")]
pub(crate) struct MalformedLog;

/// A step on the way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Hop {
    /// A member of a tuple, by the length of the members before it.
    Member { head: usize, dynamic: bool },
    /// An element of an array.
    Element { index: usize, length: usize, dynamic: bool },
}

/// The place of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Spot {
    Topic(usize),
    Data(Vec<Hop>),
}

/// The place of a field, and its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldPath {
    spot: Spot,
    kind: Kind,
}

impl FieldPath {
    /// The place of `field`, `field.member` or `field[0].member`.
    pub(crate) fn of(declaration: &Declaration, path: &str) -> Result<Self, DeclarationError> {
        let unknown = || DeclarationError::Field(path.to_owned());
        let mut parts = path.split('.');
        let (name, elements) = indices(parts.next().unwrap_or_default()).ok_or_else(unknown)?;
        let field = declaration.fields.iter().find(|field| field.name == name).ok_or_else(unknown)?;
        if field.indexed {
            let before = declaration.fields.iter().take_while(|other| *other != field);
            let topic = 1 + before.filter(|other| other.indexed).count();
            // An indexed value of more than one word is its hash.
            let kind = if field.kind.is_dynamic() || matches!(field.kind, Kind::Tuple(_)) {
                Kind::FixedBytes(32)
            } else {
                field.kind.clone()
            };
            let whole = elements.is_empty() && parts.next().is_none();
            return if whole { Ok(Self { spot: Spot::Topic(topic), kind }) } else { Err(unknown()) };
        }
        let in_data: Vec<&Field> = declaration.fields.iter().filter(|other| !other.indexed).collect();
        let mut hops = vec![member(&in_data, name).ok_or_else(unknown)?];
        let mut kind = &field.kind;
        enter(&mut kind, &elements, &mut hops).ok_or_else(unknown)?;
        for part in parts {
            let (name, elements) = indices(part).ok_or_else(unknown)?;
            let Kind::Tuple(fields) = kind else { return Err(unknown()) };
            hops.push(member(&fields.iter().collect::<Vec<_>>(), name).ok_or_else(unknown)?);
            kind = &fields.iter().find(|field| field.name == name).ok_or_else(unknown)?.kind;
            enter(&mut kind, &elements, &mut hops).ok_or_else(unknown)?;
        }
        if matches!(kind, Kind::Tuple(_) | Kind::Array(_)) {
            return Err(unknown());
        }
        Ok(Self { spot: Spot::Data(hops), kind: kind.clone() })
    }

    /// The value in a log; `None` past the end of an array.
    ///
    /// # Errors
    /// [`MalformedLog`] when the value lies outside the log, or its padding is not zero.
    pub(crate) fn read<'a>(&self, topics: &'a [[u8; 32]], data: &'a [u8]) -> Result<Option<Value<'a>>, MalformedLog> {
        let base = match &self.spot {
            Spot::Topic(topic) => return self.word(topics.get(*topic).ok_or(MalformedLog)?).map(Some),
            Spot::Data(hops) => {
                let mut base = 0;
                for hop in hops {
                    match hop.follow(data, base)? {
                        Some(next) => base = next,
                        None => return Ok(None),
                    }
                }
                base
            }
        };
        match self.kind {
            Kind::Bytes => counted(data, base).map(|bytes| Some(Value::Bytes(bytes))),
            Kind::Text => {
                let text = std::str::from_utf8(counted(data, base)?).map_err(|_| MalformedLog)?;
                Ok(Some(Value::Text(text)))
            }
            _ => self.word(word_at(data, base)?).map(Some),
        }
    }

    fn word<'a>(&self, word: &'a [u8; 32]) -> Result<Value<'a>, MalformedLog> {
        let zero = |bytes: &[u8]| if bytes.iter().all(|&byte| byte == 0) { Ok(()) } else { Err(MalformedLog) };
        match self.kind {
            Kind::Uint(bits) => {
                zero(&word[..32 - bits / 8])?;
                Ok(Value::Number(Amount::from_be_bytes(*word)))
            }
            Kind::Int(_) => Ok(Value::Signed(Amount::from_be_bytes(*word))),
            Kind::Bool => {
                zero(&word[..31])?;
                if word[31] <= 1 { Ok(Value::Number(Amount::from_be_bytes(*word))) } else { Err(MalformedLog) }
            }
            Kind::Address => {
                zero(&word[..12])?;
                Ok(Value::Account(*word.last_chunk().ok_or(MalformedLog)?))
            }
            Kind::FixedBytes(32) => Ok(Value::Word(*word)),
            Kind::FixedBytes(length) => {
                zero(&word[length..])?;
                Ok(Value::Bytes(&word[..length]))
            }
            Kind::Bytes | Kind::Text | Kind::Array(_) | Kind::Tuple(_) => Err(MalformedLog),
        }
    }
}

/// `name[0][1]` as name and indices.
fn indices(part: &str) -> Option<(&str, Vec<usize>)> {
    let mut pieces = part.split('[');
    let name = pieces.next()?;
    let numbers = pieces.map(|piece| piece.strip_suffix(']')?.parse().ok());
    Some((name, numbers.collect::<Option<_>>()?))
}

fn member(fields: &[&Field], name: &str) -> Option<Hop> {
    let place = fields.iter().position(|field| field.name == name)?;
    let head = fields[..place].iter().map(|field| field.kind.head_length()).sum();
    Some(Hop::Member { head, dynamic: fields[place].kind.is_dynamic() })
}

fn enter<'k>(kind: &mut &'k Kind, elements: &[usize], hops: &mut Vec<Hop>) -> Option<()> {
    for &index in elements {
        let Kind::Array(element) = *kind else { return None };
        let element: &'k Kind = element;
        hops.push(Hop::Element { index, length: element.head_length(), dynamic: element.is_dynamic() });
        *kind = element;
    }
    Some(())
}

impl Hop {
    fn follow(&self, data: &[u8], base: usize) -> Result<Option<usize>, MalformedLog> {
        let (base, head, dynamic) = match *self {
            Self::Member { head, dynamic } => (base, head, dynamic),
            Self::Element { index, length, dynamic } => {
                if index >= number_at(data, base)? {
                    return Ok(None);
                }
                (base.checked_add(32).ok_or(MalformedLog)?, index.checked_mul(length).ok_or(MalformedLog)?, dynamic)
            }
        };
        let head = base.checked_add(head).ok_or(MalformedLog)?;
        if !dynamic {
            return Ok(Some(head));
        }
        base.checked_add(number_at(data, head)?).map(Some).ok_or(MalformedLog)
    }
}

/// The 32 bytes at a position.
pub(crate) fn word_at(data: &[u8], start: usize) -> Result<&[u8; 32], MalformedLog> {
    data.get(start..).and_then(|rest| rest.first_chunk()).ok_or(MalformedLog)
}

/// The number at a position, if it can be a length of something.
fn number_at(data: &[u8], start: usize) -> Result<usize, MalformedLog> {
    let word = Amount::from_be_bytes(*word_at(data, start)?);
    word.to_u128().and_then(|number| usize::try_from(number).ok()).ok_or(MalformedLog)
}

/// The bytes behind their length.
fn counted(data: &[u8], start: usize) -> Result<&[u8], MalformedLog> {
    let length = number_at(data, start)?;
    let rest = data.get(start..).and_then(|rest| rest.get(32..)).ok_or(MalformedLog)?;
    rest.get(..length).ok_or(MalformedLog)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(number: u64) -> [u8; 32] {
        Amount::from(number).to_be_bytes()
    }

    fn read<'a>(
        text: &str,
        path: &str,
        topics: &'a [[u8; 32]],
        data: &'a [u8],
    ) -> Result<Option<Value<'a>>, MalformedLog> {
        let declaration = Declaration::parse(text).unwrap();
        FieldPath::of(&declaration, path).unwrap().read(topics, data)
    }

    #[test]
    fn place_of_an_indexed_field_is_a_topic() {
        let text = "A(uint256 a, uint8 indexed b, bytes indexed c)";
        let topics = [word(0), word(7), word(9)];
        assert_eq!(read(text, "b", &topics, &[]), Ok(Some(Value::Number(Amount::from(7)))));
        assert_eq!(read(text, "c", &topics, &[]), Ok(Some(Value::Word(word(9)))));
        assert_eq!(read(text, "b", &topics[..1], &[]), Err(MalformedLog));
        assert_eq!(read(text, "b", &[word(0), word(256)], &[]), Err(MalformedLog));
    }

    #[test]
    fn place_in_nested_tuples_follows_offsets() {
        // (uint8 x, (bytes b, uint8 y) t), one dynamic tuple inside another.
        let text = "A((uint8 x, (bytes b, uint8 y)[] t) o, string s)";
        let words = [64, 320, 5, 64, 1, 32, 64, 6, 2, 0x0102 << 48, 2];
        let mut data: Vec<u8> = words.iter().flat_map(|&number| word(number)).collect();
        data[9 * 32..10 * 32].copy_from_slice(&{
            let mut padded = [0; 32];
            padded[..2].copy_from_slice(&[1, 2]);
            padded
        });
        data.extend(b"hi");
        data.extend([0; 30]);
        assert_eq!(read(text, "o.x", &[], &data), Ok(Some(Value::Number(Amount::from(5)))));
        assert_eq!(read(text, "o.t[0].y", &[], &data), Ok(Some(Value::Number(Amount::from(6)))));
        assert_eq!(read(text, "o.t[0].b", &[], &data), Ok(Some(Value::Bytes(&[1, 2]))));
        assert_eq!(read(text, "o.t[1].b", &[], &data), Ok(None), "past the end of an array");
        assert_eq!(read(text, "s", &[], &data), Ok(Some(Value::Text("hi"))));
        for cut in 0..data.len() {
            let _ = read(text, "o.t[0].b", &[], &data[..cut]);
        }
    }

    #[test]
    fn place_of_an_unknown_field_is_refused() {
        let declaration = Declaration::parse("A((uint8 x)[] t, uint8 indexed b)").unwrap();
        for path in ["", "c", "t", "t[0]", "t[0].y", "t.x", "b.x", "b[0]", "t[x].x"] {
            assert!(FieldPath::of(&declaration, path).is_err(), "{path}");
        }
        assert!(FieldPath::of(&declaration, "t[3].x").is_ok());
    }
}
