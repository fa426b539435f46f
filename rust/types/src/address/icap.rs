//! ICAP: EVM addresses in the coat of an IBAN (`XE`, two check digits, the number in base 36).
//!
//! The direct form has 30 digits and holds addresses that begin with a zero byte; the basic form has 31, which is
//! one more than an IBAN may have, and holds every address. The indirect form (`XE..ETH...`, 20 characters) names an
//! entry of a registry, not an address.

use ruint::aliases::U256;

use super::Reason;

/// The characters of an ICAP text.
pub(super) const ALPHABET: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

const DIRECT: usize = 34;
const BASIC: usize = 35;
const HEAD: usize = 4;

/// Returns whether a text was probably meant as ICAP.
pub(super) fn looks_like(text: &str) -> bool {
    let bytes = text.as_bytes();
    (30..=40).contains(&bytes.len())
        && bytes[..2].eq_ignore_ascii_case(b"XE")
        && bytes[2..HEAD].iter().all(u8::is_ascii_digit)
}

/// The address of an ICAP text in either case.
pub(super) fn parse(text: &str) -> Result<[u8; 20], Reason> {
    if !matches!(text.chars().count(), DIRECT | BASIC) {
        return Err(Reason::Length);
    }
    let digits: Vec<u32> =
        text.chars().map(|character| character.to_digit(36)).collect::<Option<_>>().ok_or(Reason::Alphabet)?;
    if !check_holds(&digits) {
        return Err(Reason::Checksum);
    }
    let number = digits[HEAD..]
        .iter()
        .try_fold(U256::ZERO, |number, digit| number.checked_mul(U256::from(36))?.checked_add(U256::from(*digit)))
        .ok_or(Reason::Length)?;
    let bytes: [u8; 32] = number.to_be_bytes();
    match bytes.split_first_chunk::<12>() {
        Some(([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], address)) => Ok(address.try_into().expect("32 less 12 are 20")),
        _ => Err(Reason::Length),
    }
}

/// The check of ISO 13616: the digits with the first four behind the rest, read as one decimal number, leave 1 modulo 97.
fn check_holds(digits: &[u32]) -> bool {
    let (head, number) = digits.split_at(HEAD);
    let remainder = number.iter().chain(head).fold(0, |remainder, digit| {
        let shift = if *digit < 10 { 10 } else { 100 };
        (remainder * shift + digit) % 97
    });
    remainder == 1
}
