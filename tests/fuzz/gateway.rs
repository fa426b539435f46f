//! Inputs of the gateway besides requests: addresses of webhooks, keys, secrets, its configuration.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use headwater_server::config::Config;
use headwater_server::events::webhook::egress::{Host, LONGEST, Policy, Reach, Scheme, Scope, Target, reach};
use headwater_server::events::webhook::sign::{Secret, signatures};
use headwater_state::{Environment, KeyText};
use headwater_testkit::fuzz::FuzzOutcome;

use crate::fuzz::{put, reader, text};

/// Returns whether an address is one of the public internet, by the properties that the standard library and the
/// registries of the IANA name, worked out otherwise than by the table under test.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            let set_aside = matches!(
                (a, b, c),
                (0 | 240..=255, _, _)
                    | (100, 64..=127, _)
                    | (192, 0, 0)
                    | (192, 31, 196)
                    | (192, 52, 193)
                    | (192, 88, 99)
                    | (192, 175, 48)
                    | (198, 18..=19, _)
            );
            !(set_aside
                || address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_documentation()
                || address.is_multicast())
        }
        IpAddr::V6(address) => {
            let parts = address.segments();
            let holds_four = parts[0] == 0x2002 || (matches!(parts[4], 0 | 0x200) && parts[5] == 0x5efe);
            let set_aside = (parts[0] == 0x2001 && (parts[1] < 0x200 || parts[1] == 0xdb8))
                || (parts[..3] == [0x2620, 0x4f, 0x8000])
                || (parts[0] == 0x3fff && parts[1] < 0x1000);
            (0x2000..0x4000).contains(&parts[0]) && !holds_four && !set_aside
        }
    }
}

const URLS: [&str; 8] = [
    "https://hooks.example.com/in?a=%20b",
    "https://8.8.8.8:443/x",
    "https://134744072/",
    "https://[2606:4700:4700::1111]/",
    "https://0x8.0x8.2056/",
    "HTTPS://Example.com.:80",
    "https://a_b.xn--exmple-cua.com/?q",
    "https://[2001:4860:4860::8888]:80/?x=/@",
];

#[test]
fn webhook_urls_reach_the_public_internet_only() {
    let words = [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "0x7f.1",
        "2130706433",
        "017700000001",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1%25eth0]",
        "localhost",
        "a.localhost.",
        "@",
        "#",
        "\\",
        "%00",
        "。",
        "..",
        ":65536",
        "http://",
        "100.64.0.1",
        "0",
        "192.0.0.192",
    ];
    reader("webhook_urls").samples(URLS).words(words).check(|input| {
        let Some(url) = text(input) else { return FuzzOutcome::Refused };
        let Ok(target) = Target::parse(url, Policy::PUBLIC) else { return FuzzOutcome::Refused };
        assert!(url.len() <= LONGEST && url.is_ascii());
        assert_eq!(target.scheme, Scheme::Https, "{url}");
        assert!([443, 80].contains(&target.port), "{url}");
        match &target.host {
            Host::Address(address) => assert!(is_public(*address), "{url} leads to {address}"),
            Host::Name(name) => {
                // What a resolver would take for an address must have been taken for one here.
                assert!(
                    name.parse::<IpAddr>().is_err() && name.contains('.') && !name.ends_with(".localhost"),
                    "{url}"
                );
                let last = name.rsplit('.').next().unwrap();
                assert!(!last.starts_with(|first: char| first.is_ascii_digit()), "{url}");
                assert_eq!(*name, name.to_ascii_lowercase());
            }
        }
        let whole = format!("https://{}{}", target.authority, target.path);
        // A URL without a path gets one, which may be a character too much.
        if whole.len() <= LONGEST {
            assert_eq!(Target::parse(&whole, Policy::PUBLIC).as_ref(), Ok(&target), "{url}");
        }
        // What is public is open for local use as well.
        assert!(Target::parse(url, Policy { scope: Scope::Local, ports: None }).is_ok());
        FuzzOutcome::Taken
    });
}

#[test]
fn an_address_is_dialled_only_where_it_is_public() {
    let samples: [&[u8]; 4] = [
        &[8, 8, 8, 8],
        &[100, 63, 255, 255],
        &Ipv6Addr::new(0x2606, 0x4700, 0x4700, 0, 0, 0, 0, 0x1111).octets(),
        &Ipv6Addr::new(0x2a00, 0x1450, 0x4001, 0, 0, 0x5efd, 0, 0x200e).octets(),
    ];
    let words: [&[u8]; 8] =
        [&[0x20, 1], &[0x20, 2], &[0x3f, 0xff], &[0x5e, 0xfe], &[0xff, 0xff], &[192, 168], &[198, 18], &[169, 254]];
    reader("dialled_addresses").samples(samples).words(words).check(|input| {
        let address = if let Some(bytes) = input.first_chunk::<16>() {
            IpAddr::V6(Ipv6Addr::from(*bytes))
        } else if let Some(bytes) = input.first_chunk::<4>() {
            IpAddr::V4(Ipv4Addr::from(*bytes))
        } else {
            return FuzzOutcome::Refused;
        };
        let global = reach(address) == Reach::Global;
        assert_eq!(global, is_public(address), "{address}");
        assert_eq!(Policy::PUBLIC.admits(address), global, "{address}");
        if global { FuzzOutcome::Taken } else { FuzzOutcome::Refused }
    });
}

#[test]
fn a_key_is_taken_only_as_it_was_made() {
    let samples: Vec<String> = [Environment::Live, Environment::Test, Environment::Admin]
        .map(|environment| KeyText::generate(environment).unwrap().expose().to_owned())
        .to_vec();
    let made = samples.clone();
    reader("keys").samples(samples).words(["hw_", "_", "live", "admin", "hw_live_", "ä"]).check(|input| {
        let Some(text) = text(input) else { return FuzzOutcome::Refused };
        let Some(key) = KeyText::parse(text) else { return FuzzOutcome::Refused };
        assert_eq!(key.expose(), text);
        assert!(key.id().len() == 8 && text.contains(&format!("hw_{}_{}_", key.environment().name(), key.id())));
        // 32 bits of checksum: that a damaged one is taken happens once in four thousand million inputs.
        assert!(made.iter().any(|made| made == text), "{text}");
        FuzzOutcome::Taken
    });
}

#[test]
fn a_signature_changes_with_everything_that_is_signed() {
    let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let samples = ["msg_1\n1614265330\nwhsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n{\"test\": 2432232314}"];
    reader("signatures").samples(samples).words(["whsec_", "=", ".", "1", "-1", "\n", "whsec_AAAA"]).check(|input| {
        let mut parts = input.splitn(4, |byte| *byte == b'\n');
        let mut next = || parts.next().unwrap_or_default();
        let (id, time, given, body) = (next(), next(), next(), next());
        let (Some(id), Some(time), Some(given)) = (text(id), text(time), text(given)) else {
            return FuzzOutcome::Refused;
        };
        let Ok(time) = time.parse::<i64>() else { return FuzzOutcome::Refused };
        let Some(other) = Secret::parse(given) else { return FuzzOutcome::Refused };
        assert!((24..=64).contains(&other.bytes().len()));
        assert_eq!(Secret::parse(&other.expose()).as_ref(), Some(&other));
        let header = signatures(&[other.clone(), secret.clone()], id, time, body);
        let both: Vec<&str> = header.split(' ').collect();
        assert_eq!(both, [other.sign(id, time, body), secret.sign(id, time, body)]);
        assert!(both.iter().all(|one| one.len() == 47 && one.starts_with("v1,") && one.is_ascii()));
        assert_eq!(both[0] == both[1], other == secret);
        for changed in [
            other.sign(&format!("{id}x"), time, body),
            other.sign(id, time.wrapping_add(1), body),
            other.sign(id, time, &[body, b" "].concat()),
        ] {
            assert_ne!(both[0], changed);
        }
        FuzzOutcome::Taken
    });
}

#[test]
fn shown_configuration_can_be_set_again() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("headwater.toml");
    let delivered = include_str!("../../deploy/headwater.toml");
    let samples = [
        delivered,
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain_secs = 5\n[auth]\nrequired = false\n",
        "[limits]\nlight = \"50/100\"\nconcurrency = 7\n[log]\nformat = \"json\"\n[stream]\norigins = \"https://a.example\"\n",
    ];
    let words = [
        "[server]\n",
        "[[x]]",
        "= true\n",
        "\"none\"",
        "\"\"\"",
        "{",
        "-1",
        "1e3",
        "1979-05-27",
        "postgres://me:secret@[",
    ];
    let ever = Config::default().to_string().lines().count();
    reader("configuration").samples(samples).words(words).check(|input| {
        put(&file, input);
        let mut config = Config::default();
        if let Err(error) = config.read_file(&file) {
            let message = error.to_string();
            assert!(message.contains("headwater.toml"), "{message}");
            return FuzzOutcome::Refused;
        }
        let shown = config.to_string();
        assert!(shown.lines().count() >= ever);
        FuzzOutcome::Taken
    });
    reader("settings")
        .samples(["server.listen=127.0.0.1:1", "limits.light=50/100", "log.format=json"])
        .words(["="])
        .check(|input| {
            let Some(assignment) = text(input) else { return FuzzOutcome::Refused };
            let mut config = Config::default();
            let met = FuzzOutcome::from(&config.assign(assignment));
            let _ = config.read_environment([("HEADWATER_SERVER_LISTEN".to_owned(), assignment.to_owned())]);
            met
        });
}
