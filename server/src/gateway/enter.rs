//! The door of an endpoint: key, plan, rate, calls at a time, room for the work. In this order, before anything of the
//! request but its head is read.

use std::net::{IpAddr, SocketAddr};
use std::str::from_utf8;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName};
use headwater_engine::{ChainsRead, CostClass};
use headwater_state::{Caller, Plan, Refusal, StateError};
use headwater_types::{Chain, Timestamp, UnknownChain};
use ipnet::IpNet;
use serde_json::Value;

use super::limits::{CallSlot, Gate, LimitSubject};
use super::pool::Ticket;
use super::problem::Status;
use super::{Context, Gateway, Outcome, Problem};

/// A call that was let in.
#[derive(Debug)]
pub(crate) struct AdmittedCall {
    /// The caller; `None` where no key is needed and none was shown.
    pub caller: Option<Caller>,
    /// Its place among its caller's calls, held until the call is over.
    pub(super) slot: Arc<CallSlot>,
}

impl Gateway {
    /// Lets a call in, or says why not. Caller and rate limit are noted in the outcome.
    pub(crate) async fn enter(
        &self,
        gate: Gate,
        headers: &HeaderMap,
        context: &Context,
        outcome: &mut Outcome,
    ) -> Result<AdmittedCall, Problem> {
        let address = self.address(headers, context);
        let caller = match self.identify(headers, context) {
            Ok(caller) => caller,
            Err(refused) if refused.status == Status::Unauthorized => {
                // Only now: a valid key passes, whatever others behind the same address show.
                self.0.limits.check_address(address)?;
                self.0.limits.note_refused_key(address);
                return Err(refused);
            }
            Err(refused) => return Err(refused),
        };
        let who = match &caller {
            Some(caller) => Some(LimitSubject::Key(caller.key_id())),
            None => self.address_subject(headers, context),
        };
        self.admit(who, caller, gate, context, outcome).await
    }

    /// Admits a request for a page that needs no key, at the rate of free calls: of the key where a valid one is shown,
    /// else of the address. Plans leave out no page.
    pub(crate) async fn admit_page(
        &self,
        path: &'static str,
        request: (&HeaderMap, &Context),
        outcome: &mut Outcome,
    ) -> Result<(), Problem> {
        let (headers, context) = request;
        let is_shown = headers.contains_key(API_KEY);
        outcome.caller = if is_shown { self.identify(headers, context).ok().flatten() } else { None };
        let caller = outcome.caller.as_ref();
        let who = caller
            .map_or_else(|| self.address_subject(headers, context), |caller| Some(LimitSubject::Key(caller.key_id())));
        self.0.limits.admit_page(who, self.plan(caller), path, &mut outcome.rate).await
    }

    /// Returns the caller without a key as limits see it; `None` on this machine.
    fn address_subject(&self, headers: &HeaderMap, context: &Context) -> Option<LimitSubject> {
        let address = self.address(headers, context);
        (!is_local(address, headers)).then(|| LimitSubject::at(address))
    }

    /// The same for a caller who showed something else than a key and is known by now.
    pub(crate) async fn enter_known(
        &self,
        gate: Gate,
        caller: Caller,
        context: &Context,
        outcome: &mut Outcome,
    ) -> Result<AdmittedCall, Problem> {
        self.admit(Some(LimitSubject::Key(caller.key_id())), Some(caller), gate, context, outcome).await
    }

    async fn admit(
        &self,
        who: Option<LimitSubject>,
        caller: Option<Caller>,
        gate: Gate,
        context: &Context,
        outcome: &mut Outcome,
    ) -> Result<AdmittedCall, Problem> {
        outcome.caller.clone_from(&caller);
        let plan = self.plan(caller.as_ref());
        let slot = self.0.limits.admit(who, plan, gate, context.until_client_leaves(), &mut outcome.rate).await?;
        if self.0.pool.has_room(gate.class) {
            Ok(AdmittedCall { caller, slot: Arc::new(slot) })
        } else {
            Err(no_room())
        }
    }

    /// Returns who calls; `None` where no key is needed and none was shown.
    fn identify(&self, headers: &HeaderMap, context: &Context) -> Result<Option<Caller>, Problem> {
        let mut shown = headers.get_all(API_KEY).iter();
        let key = match (shown.next(), shown.next()) {
            (Some(key), None) => key,
            (None, _) if !self.0.settings.auth_required => return Ok(None),
            (None, _) => return Err(unauthorized("the header X-API-Key is missing")),
            (Some(_), Some(_)) => return Err(unauthorized("the header X-API-Key is there more than once")),
        };
        let refused = |refusal| {
            let message = match refusal {
                Refusal::Unverified => {
                    return Problem::new(Status::BadGateway, "keys cannot be verified now: try again");
                }
                Refusal::Malformed | Refusal::Unknown => "the API key is not valid".to_owned(),
                Refusal::Revoked => "the API key was revoked".to_owned(),
                Refusal::Expired(at) => {
                    format!("the API key expired at {}: ask the operator for another", Timestamp::new(at))
                }
            };
            unauthorized(&message)
        };
        let text = key.to_str().map_err(|_| refused(Refusal::Malformed))?;
        self.0.state.accounts().identify(text, context.began_ms() / 1000).map(Some).map_err(refused)
    }

    /// A ticket for the work, which an answer at hand does without.
    pub(super) fn ticket(&self, class: CostClass) -> Result<Ticket, Problem> {
        self.0.pool.enter(class).ok_or_else(no_room)
    }

    /// Refuses an address that brought too many wrong keys or tickets.
    pub(crate) fn check_address(&self, address: IpAddr) -> Result<(), Problem> {
        self.0.limits.check_address(address)
    }

    /// Counts a key or ticket that was refused outside of a call.
    pub(crate) fn note_refused_key(&self, address: IpAddr) {
        self.0.limits.note_refused_key(address);
    }

    /// Returns whether the plan of a caller has an endpoint, by its path.
    pub(crate) fn has_endpoint(&self, caller: &Caller, path: &str) -> bool {
        self.plan(Some(caller)).has_endpoint(path)
    }

    /// Returns whether a caller may ask about the same chains at two times.
    pub(crate) fn has_same_chains(&self, then: &Caller, now: &Caller) -> bool {
        self.plan(Some(then)).chains == self.plan(Some(now)).chains
    }

    /// Returns what a caller may do.
    fn plan<'a>(&'a self, caller: Option<&'a Caller>) -> &'a Plan {
        caller.and_then(|caller| caller.plan()).unwrap_or_else(|| self.0.limits.default_plan())
    }

    /// Refuses a call that looks at chains which the caller's plan leaves out: one that could look on any chain has to
    /// name it.
    pub(super) fn check_chains(&self, caller: Option<&Caller>, read: &ChainsRead) -> Result<(), Problem> {
        let plan = self.plan(caller);
        let Some(chains) = &plan.chains else { return Ok(()) };
        match read {
            ChainsRead::One(chain) => check_named(plan, *chain),
            ChainsRead::Several(chains) => chains.iter().try_for_each(|chain| check_named(plan, *chain)),
            ChainsRead::Any(field) => Err(unnamed(plan, chains, field)),
            ChainsRead::None | ChainsRead::Invalid => Ok(()),
        }
    }

    /// Refuses a subscription to events of chains that the caller's plan leaves out: one that names no chain covers all.
    pub(crate) fn check_watched(&self, caller: Option<&Caller>, filters: &Value) -> Result<(), Problem> {
        check_watched(self.plan(caller), filters)
    }

    /// Returns whether the plan of an account has the endpoint `path` and the chains of these filters.
    ///
    /// # Errors
    /// Those of reading the filters, which only a plan that leaves out chains asks for.
    pub(crate) fn delivers(
        &self,
        path: &str,
        account: i64,
        filters: impl FnOnce() -> Result<Value, StateError>,
    ) -> Result<bool, StateError> {
        let plan = self.state().accounts().plan_of(account);
        let plan = plan.as_deref().unwrap_or_else(|| self.0.limits.default_plan());
        Ok(plan.has_endpoint(path) && (plan.chains.is_none() || check_watched(plan, &filters()?).is_ok()))
    }

    /// Returns where a request comes from: the other end of its connection, or whom a proxy of ours names there.
    pub(crate) fn address(&self, headers: &HeaderMap, context: &Context) -> IpAddr {
        behind(context.address, &self.0.settings.trusted_proxies, headers)
    }
}

/// The refusal of a question about every chain under a plan that has some.
fn unnamed(plan: &Plan, chains: &[String], field: &str) -> Problem {
    let message = format!(
        "the plan {:?} of this key does not include every chain: name one of {} in {field}",
        plan.name,
        chains.join(", ")
    );
    Problem::new(Status::Forbidden, message)
}

fn check_chain(plan: &Plan, request: &Value) -> Result<(), Problem> {
    let mut named = ["blockchain", "chain"].into_iter().filter_map(|field| request.get(field)?.as_str());
    named.try_for_each(|name| match name.parse() {
        Ok(chain) => check_named(plan, chain),
        Err(UnknownChain(_)) => Ok(()),
    })
}

fn check_watched(plan: &Plan, filters: &Value) -> Result<(), Problem> {
    match &plan.chains {
        Some(chains) if filters.get("blockchain").is_none_or(Value::is_null) => {
            Err(unnamed(plan, chains, "filters.blockchain"))
        }
        _ => check_chain(plan, filters),
    }
}

fn check_named(plan: &Plan, chain: Chain) -> Result<(), Problem> {
    if plan.has_chain(chain.name()) {
        return Ok(());
    }
    let message = format!("the plan {:?} of this key does not include {:?}", plan.name, chain.name());
    Err(Problem::new(Status::Forbidden, message))
}

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

fn unauthorized(message: &str) -> Problem {
    Problem::new(Status::Unauthorized, message)
}

fn no_room() -> Problem {
    Problem::overloaded("the service has as much to do as it can: try again in a moment")
}

/// The header where proxies name whom they speak for.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Returns whether a caller is on this machine. A proxy on it speaks for others, whether or not it is known whom it
/// names.
fn is_local(address: IpAddr, headers: &HeaderMap) -> bool {
    address.is_loopback() && !headers.contains_key(FORWARDED_FOR)
}

/// The last address of `X-Forwarded-For` that is not a trusted proxy: what is before it anybody may have written, and in
/// any letters. Where one cannot be read, the last one before it that could.
fn behind(peer: IpAddr, trusted: &[IpNet], headers: &HeaderMap) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|network| network.contains(address));
    if !is_trusted(&peer) {
        return peer;
    }
    let lines: Vec<&[u8]> = headers.get_all(FORWARDED_FOR).iter().map(|line| line.as_bytes()).collect();
    let pieces = lines.iter().rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
    let mut last = peer;
    for piece in pieces {
        match named(piece) {
            Some(address) if is_trusted(&address) => last = address,
            Some(address) => return address,
            None => return last,
        }
    }
    last
}

/// The address that a proxy names: alone, in brackets, or with a port.
fn named(piece: &[u8]) -> Option<IpAddr> {
    let text = from_utf8(piece.trim_ascii()).ok()?;
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let address = match bare {
        Some(bare) => IpAddr::V6(bare.parse().ok()?),
        None => text.parse().or_else(|_| text.parse().map(|with_port: SocketAddr| with_port.ip())).ok()?,
    };
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn forwarded(lines: &[&str]) -> HeaderMap {
        let value = |line: &&str| HeaderValue::from_bytes(line.as_bytes()).unwrap();
        lines.iter().map(|line| (FORWARDED_FOR, value(line))).collect()
    }

    #[test]
    fn only_a_trusted_proxy_may_name_another_address() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let proxies = [address("10.0.0.1"), address("10.0.0.2")].map(IpNet::from);
        let from = |peer: &str, lines: &[&str]| behind(address(peer), &proxies, &forwarded(lines)).to_string();
        assert_eq!(from("198.51.100.7", &["203.0.113.9"]), "198.51.100.7");
        assert_eq!(from("10.0.0.1", &["203.0.113.9"]), "203.0.113.9");
        assert_eq!(from("10.0.0.1", &["192.0.2.1, 203.0.113.9, 10.0.0.2"]), "203.0.113.9");
        assert_eq!(from("10.0.0.1", &["192.0.2.1", "203.0.113.9"]), "203.0.113.9");
        assert_eq!(from("10.0.0.1", &["203.0.113.9, nonsense"]), "10.0.0.1");
        assert_eq!(from("10.0.0.1", &["nonsense, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(from("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn every_address_of_a_trusted_network_is_a_proxy() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let networks = ["10.0.0.0/8", "fd00::/8", "192.0.2.1/32"].map(|text| text.parse::<IpNet>().unwrap());
        let from = |peer: &str, line: &str| behind(address(peer), &networks, &forwarded(&[line])).to_string();
        // The first and the last address of 10.0.0.0/8, and their neighbours outside.
        assert_eq!(from("10.0.0.0", "203.0.113.9"), "203.0.113.9");
        assert_eq!(from("10.255.255.255", "203.0.113.9"), "203.0.113.9");
        assert_eq!(from("9.255.255.255", "203.0.113.9"), "9.255.255.255");
        assert_eq!(from("11.0.0.0", "203.0.113.9"), "11.0.0.0");
        assert_eq!(from("fdff::1", "2001:db8::7, 10.9.8.7, fd12::3"), "2001:db8::7");
        assert_eq!(from("fc00::1", "203.0.113.9"), "fc00::1");
        assert_eq!(from("192.0.2.1", "203.0.113.9, 192.0.2.2"), "192.0.2.2");
        // An IPv4 address in the form of IPv6 is the IPv4 address.
        assert_eq!(from("10.0.0.1", "203.0.113.9, [::ffff:10.7.7.7]:80"), "203.0.113.9");
    }

    #[test]
    fn forwarded_address_may_have_a_port_and_any_letters() {
        let proxy: IpAddr = "127.0.0.1".parse().unwrap();
        let from = |line: &str| behind(proxy, &[proxy.into()], &forwarded(&[line])).to_string();
        for (line, named) in [
            ("\u{ff}, 203.0.113.9", "203.0.113.9"),
            ("203.0.113.9:4711", "203.0.113.9"),
            ("[2001:db8::7]", "2001:db8::7"),
            ("[2001:db8::7]:4711", "2001:db8::7"),
            ("2001:db8::7", "2001:db8::7"),
            ("[::ffff:203.0.113.9]:4711", "203.0.113.9"),
            ("198.51.100.1, 203.0.113.9:4711 , 127.0.0.1:80", "203.0.113.9"),
            ("203.0.113.9, \u{ff}", "127.0.0.1"),
            ("203.0.113.9, [203.0.113.9]", "127.0.0.1"),
            ("203.0.113.9,", "127.0.0.1"),
        ] {
            assert_eq!(from(line), named, "{line:?}");
        }
    }

    #[test]
    fn nobody_whom_a_proxy_speaks_for_passes_for_local() {
        let here = "127.0.0.1".parse().unwrap();
        assert!(is_local(here, &HeaderMap::new()));
        for line in ["\u{ff}", "", "127.0.0.1", "nonsense"] {
            assert!(!is_local(here, &forwarded(&[line])), "{line:?}");
        }
        assert!(!is_local("203.0.113.9".parse().unwrap(), &HeaderMap::new()));
    }
}
