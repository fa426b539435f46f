//! The door of an endpoint: key, plan, rate, calls at a time, room for the work. In this order, before anything of the
//! request but its head is read.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use headwater_engine::{CostClass, Endpoint};
use headwater_types::Chain;
use serde_json::Value;

use super::limits::{Gate, Plan, Who};
use super::pool::Ticket;
use super::problem::Status;
use super::{Context, Gateway, Problem};
use crate::events::webhook;
use crate::state::{Caller, StateError};

impl Gateway {
    /// Lets a call in, or says why not. What it takes is given back when the request is over.
    pub(crate) async fn enter<'a>(
        &self,
        gate: Gate,
        parts: &Parts,
        context: &'a Context,
    ) -> Result<Option<&'a Caller>, Problem> {
        let limits = &self.0.limits;
        let address = self.address(&parts.headers, context);
        limits.check_address(address)?;
        let caller = self.identify(&parts.headers, context).inspect_err(|problem| {
            if problem.status == Status::Unauthorized {
                limits.note_refused_key(address);
            }
        })?;
        let who = match caller {
            Some(caller) => Some(Who::Key(caller.key_id())),
            None => Some(address).filter(|address| !address.is_loopback()).map(Who::at),
        };
        self.admit(who, caller, gate, context).await?;
        Ok(caller)
    }

    /// The same for a caller who showed something else than a key and is known by now.
    pub(crate) async fn enter_known(&self, gate: Gate, caller: &Caller, context: &Context) -> Result<(), Problem> {
        let caller = context.identify(Arc::new(caller.clone()));
        self.admit(Some(Who::Key(caller.key_id())), Some(caller), gate, context).await
    }

    async fn admit(
        &self,
        who: Option<Who>,
        caller: Option<&Caller>,
        gate: Gate,
        context: &Context,
    ) -> Result<(), Problem> {
        let admitted = self.0.limits.admit(who, self.plan(caller), gate, context).await?;
        context.admit(admitted);
        if self.0.pool.has_room(gate.class) { Ok(()) } else { Err(no_room()) }
    }

    /// A ticket for the work, which an answer at hand does without.
    pub(super) fn ticket(&self, class: CostClass) -> Result<Ticket, Problem> {
        self.0.pool.enter(class).ok_or_else(no_room)
    }

    /// Where a request comes from, unless it brought too many wrong keys.
    pub(crate) fn known_address(&self, headers: &HeaderMap, context: &Context) -> Result<IpAddr, Problem> {
        let address = self.address(headers, context);
        self.0.limits.check_address(address).map(|()| address)
    }

    /// Counts a key or ticket that was refused outside of a call.
    pub(crate) fn note_refused_key(&self, address: IpAddr) {
        self.0.limits.note_refused_key(address);
    }

    /// Whether the plan of a caller has an endpoint, by its path.
    pub(crate) fn has_endpoint(&self, caller: &Caller, path: &str) -> bool {
        self.plan(Some(caller)).has_endpoint(path)
    }

    /// Whether a caller may ask about the same chains at two times.
    pub(crate) fn has_same_chains(&self, then: &Caller, now: &Caller) -> bool {
        self.plan(Some(then)).chains == self.plan(Some(now)).chains
    }

    /// What a caller may do.
    fn plan<'a>(&'a self, caller: Option<&'a Caller>) -> &'a Plan {
        caller.and_then(|caller| caller.plan()).unwrap_or_else(|| self.0.limits.default_plan())
    }

    /// Refuses a call that looks at chains which the caller's plan leaves out: one that could look on any chain has to
    /// name it.
    pub(super) fn check_chains(
        &self,
        endpoint: &Endpoint,
        caller: Option<&Caller>,
        request: &Value,
    ) -> Result<(), Problem> {
        let plan = self.plan(caller);
        let Some(chains) = &plan.chains else { return Ok(()) };
        let names = |field: &str| request.get(field).is_some_and(|value| !value.is_null());
        // What a call that names no chain looks at.
        let every = match endpoint.name {
            "transaction" => Some("blockchain"),
            "addresses/resolve" | "addresses/autocomplete" => Some("chain"),
            "counterparty/list" if !names("blockchain") => return check_named(plan, Chain::BITCOIN.name()),
            _ => None,
        };
        match every {
            Some(field) if !names(field) => Err(unnamed(plan, chains, field)),
            _ => self.check_chain(caller, request),
        }
    }

    /// Refuses a chain that the caller's plan leaves out. What is no chain the call itself refuses.
    pub(crate) fn check_chain(&self, caller: Option<&Caller>, request: &Value) -> Result<(), Problem> {
        check_chain(self.plan(caller), request)
    }

    /// Refuses a subscription to events of chains that the caller's plan leaves out: one that names no chain tells of all.
    pub(crate) fn check_watched(&self, caller: Option<&Caller>, filters: &Value) -> Result<(), Problem> {
        check_watched(self.plan(caller), filters)
    }

    /// Whether the plan of an account has events delivered by a webhook with these filters.
    ///
    /// # Errors
    /// Those of reading the filters, which only a plan that leaves out chains asks for.
    pub(crate) fn delivers(
        &self,
        account: i64,
        filters: impl FnOnce() -> Result<Value, StateError>,
    ) -> Result<bool, StateError> {
        let plan = self.state().book().plan_of(account);
        let plan = plan.as_deref().unwrap_or_else(|| self.0.limits.default_plan());
        Ok(plan.has_endpoint(webhook::PATH) && (plan.chains.is_none() || check_watched(plan, &filters()?).is_ok()))
    }

    /// Where a request comes from: the other end of its connection, or whom a proxy of ours names there.
    fn address(&self, headers: &HeaderMap, context: &Context) -> IpAddr {
        behind(context.peer.ip(), &self.0.settings.trusted_proxies, headers)
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
    named.try_for_each(|chain| check_named(plan, &chain.to_ascii_lowercase()))
}

fn check_watched(plan: &Plan, filters: &Value) -> Result<(), Problem> {
    match &plan.chains {
        Some(chains) if filters.get("blockchain").is_none_or(Value::is_null) => {
            Err(unnamed(plan, chains, "filters.blockchain"))
        }
        _ => check_chain(plan, filters),
    }
}

fn check_named(plan: &Plan, chain: &str) -> Result<(), Problem> {
    if plan.has_chain(chain) || chain.parse::<Chain>().is_err() {
        return Ok(());
    }
    let message = format!("the plan {:?} of this key does not include {chain:?}", plan.name);
    Err(Problem::new(Status::Forbidden, message))
}

fn no_room() -> Problem {
    Problem::overloaded("the service has as much to do as it can: try again in a moment")
}

/// The last address of `X-Forwarded-For` that is no trusted proxy: what stands before it anybody may have written.
fn behind(peer: IpAddr, trusted: &[IpAddr], headers: &HeaderMap) -> IpAddr {
    if !trusted.contains(&peer) {
        return peer;
    }
    let lines: Vec<&str> = headers.get_all("x-forwarded-for").iter().filter_map(|line| line.to_str().ok()).collect();
    let named = lines.iter().flat_map(|line| line.split(',')).map(|one| one.trim().parse::<IpAddr>().ok());
    let mut last = peer;
    for address in named.collect::<Vec<_>>().into_iter().rev() {
        match address.map(|address| address.to_canonical()) {
            Some(address) if trusted.contains(&address) => last = address,
            Some(address) => return address,
            None => return last,
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trusted_proxy_may_name_another_address() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let proxies = [address("10.0.0.1"), address("10.0.0.2")];
        let from = |peer: &str, lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("x-forwarded-for", line.parse().unwrap());
            }
            behind(address(peer), &proxies, &headers).to_string()
        };
        assert_eq!(from("198.51.100.7", &["203.0.113.9"]), "198.51.100.7");
        assert_eq!(from("10.0.0.1", &["203.0.113.9"]), "203.0.113.9");
        assert_eq!(from("10.0.0.1", &["192.0.2.1, 203.0.113.9, 10.0.0.2"]), "203.0.113.9");
        assert_eq!(from("10.0.0.1", &["192.0.2.1", "203.0.113.9"]), "203.0.113.9");
        assert_eq!(from("10.0.0.1", &["203.0.113.9, nonsense"]), "10.0.0.1");
        assert_eq!(from("10.0.0.1", &[]), "10.0.0.1");
    }
}
