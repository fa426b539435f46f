//! The name of a history file: network, number of the era, and the beginning of a hash.

/// Blocks of an era.
pub(super) const ERA_BLOCKS: u64 = 8_192;

/// The network of Ethereum in names.
pub(super) const MAINNET: &str = "mainnet";

/// The parts of a name such as `mainnet-00000-5ec1ffb8.era1` or `mainnet-01900-0a1b2c3d-noproofs.ere`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StatedName<'a> {
    pub(super) network: &'a str,
    /// The number of the era: its first block is 8,192 times this.
    pub(super) era: u64,
    /// The first bytes of the accumulator (era1), or of the hash of the last block (ere).
    pub(super) hash: [u8; 4],
}

impl<'a> StatedName<'a> {
    /// Reads a name; `None` where it has another form.
    pub(super) fn of(name: &'a str) -> Option<Self> {
        let mut parts = stem(name)?.split('-');
        let (network, era, hash) = (parts.next()?, parts.next()?, parts.next()?);
        let is_number = era.len() >= 5 && era.bytes().all(|byte| byte.is_ascii_digit());
        let mut bytes = [0; 4];
        hex::decode_to_slice(hash, &mut bytes).ok()?;
        let era = era.parse().ok().filter(|_| is_number)?;
        Some(Self { network, era, hash: bytes })
    }
}

/// Returns the network that a name states before the number of an era, in a published name or in a part of one, such as
/// `sepolia-00000.era1`.
pub(super) fn network(name: &str) -> Option<&str> {
    let mut parts = stem(name)?.split('-');
    let (network, era) = (parts.next()?, parts.next()?);
    let is_number = !era.is_empty() && era.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !network.is_empty()).then_some(network)
}

fn stem(name: &str) -> Option<&str> {
    [".era1", ".ere", ".erae"].iter().find_map(|ending| name.strip_suffix(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_is_read_of_names_without_a_hash_too() {
        for name in ["sepolia-00050-00000000.era1", "sepolia-00050.ere", "sepolia-50-x.erae"] {
            assert_eq!(network(name), Some("sepolia"), "{name}");
        }
        for name in ["blocks.era1", "my-blocks.era1", "-5.era1", "sepolia-.era1", "sepolia-00050.bin"] {
            assert_eq!(network(name), None, "{name}");
        }
    }

    #[test]
    fn name_of_each_form_is_read() {
        let hash = [0x5e, 0xc1, 0xff, 0xb8];
        for name in [
            "mainnet-00007-5ec1ffb8.era1",
            "mainnet-00007-5ec1ffb8-noproofs-noreceipts.ere",
            "mainnet-00007-5ec1ffb8.erae",
        ] {
            assert_eq!(StatedName::of(name), Some(StatedName { network: "mainnet", era: 7, hash }), "{name}");
        }
        for name in
            ["blocks.era1", "mainnet-7-5ec1ffb8.era1", "mainnet-00007-5ec1ffb.era1", "mainnet-00007-5ec1ffb8.era"]
        {
            assert_eq!(StatedName::of(name), None, "{name}");
        }
    }
}
