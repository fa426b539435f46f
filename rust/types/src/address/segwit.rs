//! Witness programs, and their text: Bech32 for version 0 (BIP 173), Bech32m for versions 1 to 16 (BIP 350).

use bech32::primitives::decode::{CharError, UncheckedHrpstring, UncheckedHrpstringError};
use bech32::primitives::decode::{CheckedHrpstring, PaddingError};
use bech32::{Bech32, Bech32m, Fe32, Hrp};

use super::Reason;

/// A witness program: version 0 to 16 and 2 to 40 bytes (BIP 141).
// Bytes are before their number: unused ones are zero, so the derived order is that of the byte strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WitnessProgram {
    version: u8,
    bytes: [u8; 40],
    length: u8,
}

impl WitnessProgram {
    /// A checked witness program; `None` when version or length are not those of BIP 141.
    #[must_use]
    pub fn new(version: u8, program: &[u8]) -> Option<Self> {
        let fits = version <= 16 && (2..=40).contains(&program.len());
        let version_0_fits = version != 0 || matches!(program.len(), 20 | 32);
        (fits && version_0_fits).then(|| {
            let mut bytes = [0; 40];
            bytes[..program.len()].copy_from_slice(program);
            Self { version, bytes, length: u8::try_from(program.len()).expect("at most 40") }
        })
    }

    /// The witness version.
    #[must_use]
    pub const fn version(&self) -> u8 {
        self.version
    }

    /// The number of program bytes.
    pub(super) const fn length(&self) -> u8 {
        self.length
    }

    /// The program bytes.
    #[must_use]
    pub fn program(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// The characters of Bech32 behind the separator.
pub(super) const ALPHABET: &str = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// BIP 173: a Bech32 string is at most 90 characters long.
const LONGEST: usize = 90;
const CHECKSUM_LENGTH: usize = 6;

/// Returns whether a text has the outer form of Bech32 with a checksum that holds, whatever it stands for.
pub(super) fn has_checksum(text: &str) -> bool {
    text.len() <= LONGEST
        && UncheckedHrpstring::new(text)
            .is_ok_and(|parts| parts.has_valid_checksum::<Bech32>() || parts.has_valid_checksum::<Bech32m>())
}

/// The witness program of a text, whatever its human-readable part.
pub(super) fn decode(text: &str) -> Result<WitnessProgram, Reason> {
    if text.len() > LONGEST {
        return Err(Reason::Length);
    }
    let parts = UncheckedHrpstring::new(text).map_err(|error| match error {
        UncheckedHrpstringError::Char(CharError::MixedCase) => Reason::MixedCase,
        UncheckedHrpstringError::Char(CharError::NothingAfterSeparator) => Reason::Length,
        _ => Reason::Alphabet,
    })?;
    let Some(symbols) = parts.data_part_ascii().len().checked_sub(CHECKSUM_LENGTH + 1) else {
        return Err(Reason::Length);
    };
    let version = Fe32::from_char(char::from(parts.data_part_ascii()[0])).map_err(|_| Reason::Alphabet)?.to_u8();
    let checked = match version {
        0 => checked::<Bech32>(parts),
        1..=16 => checked::<Bech32m>(parts),
        _ if has_checksum(text) => return Err(Reason::Version),
        _ => None,
    };
    let Some(mut checked) = checked else {
        return Err(if possible_length(version, symbols) { Reason::Checksum } else { Reason::Length });
    };
    checked.remove_witness_version();
    checked.validate_segwit_padding().map_err(|error| match error {
        PaddingError::TooMuch => Reason::Length,
        _ => Reason::Padding,
    })?;
    let program: Vec<u8> = checked.byte_iter().collect();
    WitnessProgram::new(version, &program).ok_or(Reason::Length)
}

fn checked<C: bech32::Checksum>(parts: UncheckedHrpstring<'_>) -> Option<CheckedHrpstring<'_>> {
    parts.validate_and_remove_checksum::<C>().ok()
}

/// Returns whether a program of this version can take so many symbols of five bits (20 or 32 bytes in version 0).
fn possible_length(version: u8, symbols: usize) -> bool {
    let bytes = symbols * 5 / 8;
    let spare_bits = symbols * 5 % 8;
    spare_bits < 5 && (2..=40).contains(&bytes) && (version != 0 || matches!(bytes, 20 | 32))
}

/// The canonical text of a program: lower case.
pub(super) fn encode(human_part: &str, program: &WitnessProgram) -> String {
    let human_part = Hrp::parse(human_part).expect("our own human-readable part is valid");
    let version = Fe32::try_from(program.version()).expect("a witness version is at most 16");
    bech32::segwit::encode(human_part, version, program.program()).expect("the program was checked when it was made")
}
