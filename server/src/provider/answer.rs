//! The answer of a provider, and the claims that it comes to.

use std::sync::Arc;

use headwater_ledger::labels::{Action, Claim, Code, DateBasis, Link, Scope};
use headwater_types::text::shortened;
use headwater_types::{Address, TimeWindow, Timestamp};
use serde::Deserialize;

use super::ProviderSettings;

/// Most claims of an answer.
const MAX_CLAIMS: usize = 200;
/// Most characters of a name or an entity that are kept.
const MAX_NAME: usize = 200;
/// Longest address of a source; a longer one is left out.
const MAX_URL: usize = 512;

/// The question to a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ProviderQuestion {
    pub scope: Scope,
    pub address: Address,
}

#[derive(Deserialize)]
struct Answer {
    claims: Vec<ProviderClaim>,
}

/// One claim as a provider writes it. Further fields have no meaning here.
#[derive(Deserialize)]
struct ProviderClaim {
    code: Option<String>,
    entity: Option<String>,
    name: Option<String>,
    confidence: Option<f64>,
    source_url: Option<String>,
    asserted_at: Option<i64>,
    valid_until: Option<i64>,
}

/// The claims of an answer. Those with a code that is not known are left out, and those that say nothing.
pub(super) fn claims(body: &[u8], asked: ProviderQuestion, settings: &ProviderSettings) -> Result<Vec<Claim>, String> {
    let Answer { claims } = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if claims.len() > MAX_CLAIMS {
        return Err(format!("{} claims, at most {MAX_CLAIMS} are taken", claims.len()));
    }
    let read = |(index, stated): (usize, ProviderClaim)| {
        claim(stated, asked, settings).map_err(|(field, why)| format!("claims[{index}].{field}: {why}")).transpose()
    };
    claims.into_iter().enumerate().filter_map(read).collect()
}

fn claim(
    stated: ProviderClaim,
    asked: ProviderQuestion,
    settings: &ProviderSettings,
) -> Result<Option<Claim>, (&'static str, &'static str)> {
    let ProviderClaim { code, entity, name, confidence, source_url, asserted_at, valid_until } = stated;
    let most = settings.level.thousandths();
    let reliability = match confidence {
        None => most,
        Some(share) if (0.0..=1.0).contains(&share) => most.min(thousandths(share)),
        Some(_) => return Err(("confidence", "expected a number from 0 to 1")),
    };
    let asserted_at = time("asserted_at", asserted_at)?;
    let valid_until = time("valid_until", valid_until)?;
    let code = match code {
        None => None,
        Some(text) => match Code::from_name(&text) {
            None => return Ok(None),
            known => known,
        },
    };
    let (entity, name) = (text(entity.as_deref()), text(name.as_deref()));
    if code.is_none() && entity.is_none() && name.is_none() {
        return Ok(None);
    }
    Ok(Some(Claim {
        address: asked.address,
        scope: asked.scope,
        code,
        name,
        entity,
        source: Arc::clone(&settings.name),
        source_url: source_url.filter(|url| is_url(url)).map(Arc::from),
        group: Arc::clone(&settings.name),
        level: settings.level,
        reliability,
        link: Link::Exact,
        asserted_at,
        date_basis: asserted_at.map(|_| DateBasis::Address),
        last_seen: None,
        valid_until,
        action: Action::Add,
        dispute: None,
    }))
}

/// A share in thousandths.
fn thousandths(share: f64) -> u16 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 1000")]
    let rounded = (share * 1000.0).round() as u16;
    rounded
}

/// The time of a field in epoch seconds; others, such as milliseconds, are refused.
fn time(field: &'static str, secs: Option<i64>) -> Result<Option<Timestamp>, (&'static str, &'static str)> {
    match secs {
        None => Ok(None),
        Some(secs) if (0..=TimeWindow::LAST_SECS).contains(&secs) => Ok(Some(Timestamp::new(secs))),
        Some(_) => Err((field, "expected epoch seconds")),
    }
}

fn text(text: Option<&str>) -> Option<Arc<str>> {
    let text = text?.trim();
    (!text.is_empty()).then(|| Arc::from(shortened(text, MAX_NAME)))
}

fn is_url(text: &str) -> bool {
    text.len() <= MAX_URL && ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use headwater_ledger::labels::Level;
    use headwater_types::Chain;

    use super::super::ProviderUrl;
    use super::*;

    fn read(body: &str) -> Result<Vec<Claim>, String> {
        let settings = ProviderSettings {
            url: ProviderUrl::parse("http://127.0.0.1:1/").unwrap(),
            name: Arc::from("acme"),
            key: None,
            level: Level::TrustedProvider,
            timeout: Duration::from_secs(1),
            kept: Duration::ZERO,
        };
        let asked = ProviderQuestion { scope: Scope::Chain(Chain::TRON), address: Address::Tron([7; 20]) };
        claims(body.as_bytes(), asked, &settings)
    }

    #[test]
    fn claim_has_the_level_of_the_provider_and_no_more_confidence() {
        let body = r#"{"claims": [
            {"code": "mixer", "entity": " Whirl ", "name": "", "confidence": 0.9, "source_url": "https://acme.example/1",
             "asserted_at": 1600000000, "valid_until": null, "more": true},
            {"code": "scam", "confidence": 0.25, "source_url": "javascript:alert(1)"},
            {"code": "exchange"},
            {"entity": "Bank"}
        ], "more": 1}"#;
        let claims = read(body).unwrap();
        let said: Vec<_> = claims.iter().map(|claim| (claim.code, claim.reliability)).collect();
        let expected = [(Some(Code::Mixer), 500), (Some(Code::Scam), 250), (Some(Code::Exchange), 500), (None, 500)];
        assert_eq!(said, expected);
        let first = &claims[0];
        assert_eq!((first.entity.as_deref(), first.name.as_deref(), &*first.source), (Some("Whirl"), None, "acme"));
        assert_eq!((first.source_url.as_deref(), &*first.group), (Some("https://acme.example/1"), "acme"));
        assert_eq!((first.asserted_at, first.level), (Some(Timestamp::new(1_600_000_000)), Level::TrustedProvider));
        assert_eq!((first.scope, first.address), (Scope::Chain(Chain::TRON), Address::Tron([7; 20])));
        assert_eq!(claims[1].source_url, None);
    }

    #[test]
    fn unknown_codes_and_empty_claims_are_left_out() {
        assert_eq!(read(r#"{"claims": []}"#).unwrap(), []);
        let body = r#"{"claims": [{"code": "no_such_code", "entity": "x"}, {}, {"code": null, "name": "  "}]}"#;
        assert_eq!(read(body).unwrap(), []);
    }

    #[test]
    fn what_is_not_of_the_protocol_is_refused_with_its_place() {
        for (body, named) in [
            ("", "EOF"),
            ("[]", "invalid"),
            ("{}", "claims"),
            (r#"{"claims": [{"code": 1}]}"#, "invalid type"),
            (r#"{"claims": [{}, {"code": "scam", "confidence": 1.5}]}"#, "claims[1].confidence"),
            (r#"{"claims": [{"code": "scam", "asserted_at": 1600000000000}]}"#, "claims[0].asserted_at"),
            (r#"{"claims": [{"code": "scam", "valid_until": -1}]}"#, "claims[0].valid_until"),
        ] {
            let why = read(body).unwrap_err();
            assert!(why.contains(named), "{body}: {why}");
        }
        let many = format!(r#"{{"claims": [{}]}}"#, vec!["{}"; 201].join(","));
        assert!(read(&many).unwrap_err().contains("201 claims"));
    }
}
