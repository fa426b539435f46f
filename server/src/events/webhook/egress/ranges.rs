//! The addresses that a delivery may go to: those of the public internet, and none that a registry of the IANA sets
//! aside.
//!
//! Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and those after it), the IPv4 multicast
//! space (RFC 5771), the IPv6 address space registry. What the registries call globally reachable but gives to protocols
//! and not to servers (anycast of AS112, AMT, 6to4 relays) is refused too: no receiver lives there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The reach of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// To the public internet.
    Global,
    /// Into a private network or to this machine: only for local use.
    Private,
    /// To nothing that could ever be a receiver.
    Never,
}

/// A set-aside range of IPv4.
struct ReservedV4(Ipv4Addr, u32, Reach);

/// A set-aside range of IPv6.
struct ReservedV6(Ipv6Addr, u32, Reach);

const fn four(a: u8, b: u8, c: u8, d: u8, prefix: u32, reach: Reach) -> ReservedV4 {
    ReservedV4(Ipv4Addr::new(a, b, c, d), prefix, reach)
}

const fn six(a: u16, b: u16, c: u16, prefix: u32, reach: Reach) -> ReservedV6 {
    ReservedV6(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix, reach)
}

#[rustfmt::skip]
const FOUR: &[ReservedV4] = &[
    four(0, 0, 0, 0, 8, Reach::Never),           // this network (RFC 791)
    four(10, 0, 0, 0, 8, Reach::Private),        // private use (RFC 1918)
    four(100, 64, 0, 0, 10, Reach::Private),     // shared by carriers (RFC 6598)
    four(127, 0, 0, 0, 8, Reach::Private),       // loopback (RFC 1122)
    four(169, 254, 0, 0, 16, Reach::Never),      // link local, where clouds keep their metadata (RFC 3927)
    four(172, 16, 0, 0, 12, Reach::Private),     // private use (RFC 1918)
    four(192, 0, 0, 0, 24, Reach::Never),        // IETF protocol assignments, DS-Lite, NAT64 discovery (RFC 6890)
    four(192, 0, 2, 0, 24, Reach::Never),        // documentation (RFC 5737)
    four(192, 31, 196, 0, 24, Reach::Never),     // AS112 (RFC 7535)
    four(192, 52, 193, 0, 24, Reach::Never),     // AMT (RFC 7450)
    four(192, 88, 99, 0, 24, Reach::Never),      // 6to4 relays (RFC 7526)
    four(192, 168, 0, 0, 16, Reach::Private),    // private use (RFC 1918)
    four(192, 175, 48, 0, 24, Reach::Never),     // AS112 (RFC 7534)
    four(198, 18, 0, 0, 15, Reach::Never),       // benchmarks (RFC 2544)
    four(198, 51, 100, 0, 24, Reach::Never),     // documentation (RFC 5737)
    four(203, 0, 113, 0, 24, Reach::Never),      // documentation (RFC 5737)
    four(224, 0, 0, 0, 4, Reach::Never),         // multicast (RFC 5771)
    four(240, 0, 0, 0, 4, Reach::Never),         // reserved (RFC 1112), and the broadcast address
];

#[rustfmt::skip]
const SIX: &[ReservedV6] = &[
    six(0x2001, 0, 0, 23, Reach::Never),         // IETF protocol assignments: Teredo, ORCHID, benchmarks, AS112 (RFC 2928)
    six(0x2001, 0xdb8, 0, 32, Reach::Never),     // documentation (RFC 3849)
    six(0x2002, 0, 0, 16, Reach::Never),         // 6to4, which holds an IPv4 address (RFC 3056)
    six(0x2620, 0x4f, 0x8000, 48, Reach::Never), // AS112 (RFC 7534)
    six(0x3fff, 0, 0, 20, Reach::Never),         // documentation (RFC 9637)
    six(0x2000, 0, 0, 3, Reach::Global),         // all other global unicast: the first match decides
    six(0xfc00, 0, 0, 7, Reach::Private),        // unique local (RFC 4193)
];

/// Returns where an address leads. An IPv6 address that holds an IPv4 address in its text is never one of a receiver:
/// the IPv4 address can be written as such.
#[must_use]
pub fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_of_four(address),
        IpAddr::V6(address) => reach_of_six(address),
    }
}

fn reach_of_four(address: Ipv4Addr) -> Reach {
    let holds = |range: &&ReservedV4| (u32::from(address) ^ u32::from(range.0)) >> (32 - range.1) == 0;
    FOUR.iter().find(holds).map_or(Reach::Global, |range| range.2)
}

fn reach_of_six(address: Ipv6Addr) -> Reach {
    if address == Ipv6Addr::LOCALHOST {
        return Reach::Private;
    }
    if is_isatap(address) {
        return Reach::Never;
    }
    let holds = |range: &&ReservedV6| (u128::from(address) ^ u128::from(range.0)) >> (128 - range.1) == 0;
    // What no range holds is not given out at all, or is mapped (`::ffff:0:0/96`), translated (`64:ff9b::/96`,
    // `64:ff9b:1::/48`), discarded (`100::/64`), of a segment (`5f00::/16`), of a link, a site or a group.
    SIX.iter().find(holds).map_or(Reach::Never, |range| range.2)
}

/// Tunnels inside a site, whose last 64 bits hold an IPv4 address (RFC 5214).
fn is_isatap(address: Ipv6Addr) -> bool {
    let [.., one, two, _, _] = address.segments();
    matches!(one, 0 | 0x200) && two == 0x5efe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(reach_expected: Reach, addresses: &[&str]) {
        for text in addresses {
            assert_eq!(reach(text.parse().unwrap()), reach_expected, "{text}");
        }
    }

    #[test]
    fn public_addresses_are_global() {
        all(
            Reach::Global,
            &[
                "1.1.1.1",
                "8.8.8.8",
                "9.255.255.255",
                "11.0.0.0",
                "100.63.255.255",
                "100.128.0.0",
                "126.255.255.255",
                "128.0.0.0",
                "169.253.255.255",
                "169.255.0.0",
                "172.15.255.255",
                "172.32.0.0",
                "192.0.1.0",
                "192.0.3.0",
                "192.167.255.255",
                "192.169.0.0",
                "198.17.255.255",
                "198.20.0.0",
                "223.255.255.255",
                "2001:200::1",
                "2001:4860:4860::8888",
                "2606:4700:4700::1111",
                "2a00:1450:4001:82a::200e",
                "3ffe:ffff::1",
            ],
        );
    }

    #[test]
    fn private_networks_are_for_local_use() {
        let addresses = [
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "::1",
            "fc00::1",
            "fd12:3456:789a::1",
        ];
        all(Reach::Private, &addresses);
    }

    #[test]
    fn what_is_set_aside_is_never_a_receiver() {
        all(
            Reach::Never,
            &[
                "0.0.0.0",
                "0.1.2.3",
                "169.254.0.1",
                "169.254.169.254",
                "192.0.0.1",
                "192.0.0.170",
                "192.0.2.1",
                "192.31.196.1",
                "192.52.193.1",
                "192.88.99.1",
                "192.175.48.1",
                "198.18.0.1",
                "198.19.255.255",
                "198.51.100.7",
                "203.0.113.7",
                "224.0.0.1",
                "239.255.255.255",
                "240.0.0.1",
                "255.255.255.255",
                "::",
                "::7f00:1",
                "::ffff:127.0.0.1",
                "::ffff:8.8.8.8",
                "::ffff:0:8.8.8.8",
                "64:ff9b::8.8.8.8",
                "64:ff9b::7f00:1",
                "64:ff9b:1::1",
                "100::1",
                "100:0:0:1::1",
                "2001::1",
                "2001:0:4136:e378:8000:63bf:3fff:fdd2",
                "2001:1::1",
                "2001:2::1",
                "2001:3::1",
                "2001:4:112::1",
                "2001:10::1",
                "2001:20::1",
                "2001:30::1",
                "2001:1ff::1",
                "2001:db8::1",
                "2002:7f00:1::",
                "2002:808:808::1",
                "2620:4f:8000::1",
                "2a00:1450::5efe:a00:1",
                "2a00:1450::200:5efe:808:808",
                "3fff::1",
                "3fff:fff::1",
                "4000::1",
                "5f00::1",
                "fe80::1",
                "fec0::1",
                "ff02::1",
                "ff0e::1",
            ],
        );
    }
}
