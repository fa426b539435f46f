//! Inputs that are nearly right, since what is wrong at once reaches nothing.

use bolero::{Driver, ValueGenerator};

/// No input is longer.
const LONGEST: usize = 1 << 18;
/// Numbers at which arithmetic goes wrong.
const EDGES: [u64; 16] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    i64::MAX.cast_unsigned(),
    1 << 63,
    u64::MAX,
];
/// The same and worse as text.
const NUMBERS: [&str; 16] = [
    "0",
    "-1",
    "1.5",
    "1e400",
    "-0",
    "NaN",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "115792089237316195423570985008687907853269984665640564039457584007913129639935",
    "115792089237316195423570985008687907853269984665640564039457584007913129639936",
    "0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
];
/// Bytes that mean something to most readers.
const MARKS: &[u8] = b"\0\xff\x80\"'{}[],:;\n\r\t\\/-+.eE0x %&=#@_";

/// Makes damaged inputs.
pub(super) struct InputMutator {
    samples: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl InputMutator {
    pub fn new(samples: Vec<Vec<u8>>, words: Vec<Vec<u8>>) -> Self {
        Self { samples, words }
    }

    fn sample(&self, draw: &mut impl Driver) -> Option<&[u8]> {
        match self.samples.len() {
            0 => Some(&[]),
            samples => Some(&self.samples[below(draw, samples)?]),
        }
    }

    /// Damages an input in one way.
    fn damage(&self, input: &mut Vec<u8>, draw: &mut impl Driver) -> Option<()> {
        let at = below(draw, input.len() + 1)?;
        let near = (at + 1 + below(draw, 24)?).min(input.len());
        match draw.produce::<u8>()? % 16 {
            0 | 1 if at < input.len() => input[at] ^= 1 << (draw.produce::<u8>()? % 8),
            2 if at < input.len() => input[at] = draw.produce()?,
            3 if at < input.len() => input[at] = MARKS[below(draw, MARKS.len())?],
            4 => input.truncate(at),
            5 => drop(input.drain(at.min(near)..near)),
            6 => drop(input.drain(at.min(near)..(near + below(draw, input.len() + 1)?).min(input.len()))),
            7 => {
                let other = self.sample(draw)?;
                let from = below(draw, other.len() + 1)?;
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            8 => {
                let piece = input[at.min(near)..near].repeat([1, 1, 2, 7, 300][below(draw, 5)?]);
                drop(input.splice(at..at, piece));
            }
            9 | 10 if !self.words.is_empty() => {
                let word = self.words[below(draw, self.words.len())?].clone();
                let (start, end) = if draw.produce()? { token(input, at) } else { (at, at) };
                drop(input.splice(start..end, word));
            }
            11 | 12 => {
                let width = 1 << (draw.produce::<u8>()? % 4);
                let little = EDGES[below(draw, EDGES.len())?].to_le_bytes();
                let mut number = little[..width].to_vec();
                if draw.produce()? {
                    number.reverse();
                }
                for (place, byte) in input.iter_mut().skip(at).zip(number) {
                    *place = byte;
                }
            }
            13 | 14 => {
                let number = NUMBERS[below(draw, NUMBERS.len())?];
                let (start, end) = token(input, at);
                drop(input.splice(start..end, number.bytes()));
            }
            15 => {
                let mark = MARKS[below(draw, MARKS.len())?];
                let many = [1, 2, 40, 200, 5000][below(draw, 5)?];
                drop(input.splice(at..at, std::iter::repeat_n(mark, many)));
            }
            _ => input.push(draw.produce()?),
        }
        input.truncate(LONGEST);
        Some(())
    }
}

impl ValueGenerator for InputMutator {
    type Output = Vec<u8>;

    fn generate<D: Driver>(&self, draw: &mut D) -> Option<Vec<u8>> {
        if self.samples.is_empty() || draw.produce::<u8>()? % 32 == 0 {
            let length = below(draw, 256)?;
            return (0..length).map(|_| draw.produce()).collect();
        }
        let mut input = self.sample(draw)?.to_vec();
        let times = [1, 1, 1, 2, 2, 3, 6, 16][below(draw, 8)?];
        for _ in 0..times {
            self.damage(&mut input, draw)?;
        }
        Some(input)
    }
}

/// A number below a bound above zero.
fn below(draw: &mut impl Driver, bound: usize) -> Option<usize> {
    Some(usize::try_from(draw.produce::<u32>()?).expect("32 bits fit") % bound)
}

/// The run of letters and digits about a place.
fn token(input: &[u8], at: usize) -> (usize, usize) {
    let part = |byte: &u8| byte.is_ascii_alphanumeric();
    let start = at - input[..at].iter().rev().take_while(|byte| part(byte)).count();
    (start, at + input[at..].iter().take_while(|byte| part(byte)).count())
}
