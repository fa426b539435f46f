//! Many addresses in batches of a call, each with its answer or its own error.

use std::collections::BTreeMap;

use headwater_types::{Address, Chain, UnknownChain};

use super::address_list::GivenAddress;
use super::error::Failure;
use super::output::Output;
use super::progress::{Bar, Unit};
use super::session::{Session, several};

/// The name of the account on every EVM chain.
pub(super) const EVM: &str = "evm";

/// The answers about addresses, in their order: each one, or why it is missing.
pub(super) type Answers<T> = Vec<Result<T, String>>;

/// Asks about addresses in batches of one chain. `ask` returns one answer for each address, in their order.
pub(super) fn ask_each<T>(
    session: &Session,
    given: &[GivenAddress],
    (chain, size): (Option<&str>, usize),
    mut ask: impl FnMut(&str, &[String]) -> Result<Vec<Result<T, String>>, Failure>,
) -> Result<Answers<T>, Failure> {
    let bar = Bar::new(Unit::Steps);
    let mut answers: Answers<T> = Vec::with_capacity(given.len());
    for part in given.chunks(size) {
        let mut found: Vec<Option<Result<T, String>>> = part.iter().map(|_| None).collect();
        let mut by_chain: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, one) in part.iter().enumerate() {
            match chain_of(session, chain, &one.text) {
                Ok(chain) => by_chain.entry(chain).or_default().push(place),
                Err(why) => found[place] = Some(Err(one.refused(&why))),
            }
        }
        for (chain, places) in by_chain {
            let texts: Vec<String> = places.iter().map(|place| part[*place].text.clone()).collect();
            match ask(&chain, &texts) {
                Ok(batch) => {
                    for (place, answer) in places.iter().zip(batch) {
                        found[*place] = Some(answer.map_err(|why| part[*place].refused(&why)));
                    }
                }
                Err(failure) if is_about_chain(&failure) => {
                    for place in places {
                        found[place] = Some(Err(part[place].refused(&failure.message)));
                    }
                }
                Err(failure) => return Err(failure),
            }
        }
        let missing = || Err("the batch has no answer for this address".to_owned());
        answers.extend(found.into_iter().map(|answer| answer.unwrap_or_else(missing)));
        bar.update(answers.len() as u64, given.len() as u64, "addresses");
    }
    Ok(answers)
}

/// Returns the chain of an address, checked for that chain.
fn chain_of(session: &Session, named: Option<&str>, text: &str) -> Result<String, String> {
    let Some(named) = named else {
        let chains = session.engine.chains_of(text).map_err(|error| error.message)?;
        return match chains[..] {
            [chain] => Ok(chain.name().to_owned()),
            _ => Err(several(text, &chains)),
        };
    };
    let form = if named == EVM { Ok(Chain::ETHEREUM) } else { named.parse() };
    let chain = form.map_err(|error: UnknownChain| error.to_string())?;
    Address::parse(chain, text).map(|_| named.to_owned()).map_err(|error| error.to_string())
}

/// Returns whether a refusal is about the chain of a batch, so that other chains can still be asked about.
fn is_about_chain(failure: &Failure) -> bool {
    let details = failure.refusal.as_ref().and_then(|refusal| refusal.details.as_ref());
    details.is_some_and(|details| details.reason == "chain_not_held")
}

/// Fails where addresses have no answer, once all answers are printed.
pub(super) fn check<T>(answers: &Answers<T>, output: Output) -> Result<(), Failure> {
    let failed = answers.iter().filter(|answer| answer.is_err()).count();
    if failed == 0 {
        return Ok(());
    }
    let remedy = if output.is_json() { "see their `error`" } else { "their rows say why" };
    Err(Failure::failed(format!("{failed} of {} addresses have no answer: {remedy}", answers.len())))
}
