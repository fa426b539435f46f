//! The store of a command with the query engine over it.

use std::io;

use headwater_engine::endpoints::chains::Chains;
use headwater_engine::{self as engine, Analysis, Endpoint, Intelligence, QueryEngine, Response};
use headwater_ledger::Cancel;
use headwater_state::clock::milliseconds;
use headwater_table::{Format, TableError};
use headwater_types::Chain;
use serde_json::{Value, json};

use super::Settings;
use super::error::Failure;
use super::generation::GenerationArgument;
use super::intelligence::intelligence;
use super::interrupt::on_interrupt;
use super::output::Output;
use super::rows::ListAnswer;

/// A store that is open for queries, which an interrupt cancels.
pub(super) struct Session {
    pub engine: QueryEngine,
    pub cancel: Cancel,
}

impl Session {
    /// Opens the store with the risk parameters and classifiers that the settings name.
    pub fn open(settings: &Settings) -> Result<Self, Failure> {
        Self::with(settings, GenerationArgument::default(), intelligence(settings)?)
    }

    /// Opens the store at a generation, with these parameters and classifiers.
    pub fn with(
        settings: &Settings,
        generation: GenerationArgument,
        intelligence: Intelligence,
    ) -> Result<Self, Failure> {
        let store = generation.open(settings)?;
        let cancel = Cancel::new();
        on_interrupt(&cancel);
        Ok(Self { engine: QueryEngine::new(store).with_clock(milliseconds).with_intelligence(intelligence), cancel })
    }

    /// Asks an analysis. Arguments without a value are null.
    pub fn ask<A: Analysis>(&self, arguments: Value) -> Result<Response<A::Report>, Failure> {
        self.engine.ask::<A>(without_nulls(arguments), &self.cancel).map_err(|error| Failure::from_engine(&error))
    }

    /// Asks an endpoint for the rows of its list. Arguments without a value are null.
    pub fn list(&self, endpoint: &Endpoint, arguments: impl Into<engine::Arguments>) -> Result<ListAnswer, Failure> {
        let mut list = ListAnswer::default();
        let query = endpoint.query(arguments);
        self.engine.table(&query, &self.cancel, &mut list).map_err(|error| Failure::from_engine(&error))?;
        Ok(list)
    }

    /// Prints the rows of a list as CSV: all of them, unless the arguments have a limit.
    pub fn print_csv(
        &self,
        endpoint: &Endpoint,
        arguments: impl Into<engine::Arguments>,
        output: Output,
    ) -> Result<(), Failure> {
        if endpoint.columns().is_none() {
            let name = endpoint.name;
            return Err(Failure::usage(format!("--csv: the answer of {name} is not a list: print it with --json")));
        }
        let question = (endpoint, arguments);
        let form = (Format::Csv, io::stdout());
        match headwater_table::write(&self.engine, question, form, &|_, _| {}, &self.cancel) {
            Ok((_, written)) => output.warn(&written.warnings),
            Err(TableError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
            Err(TableError::Engine(error)) => return Err(Failure::from_engine(&error)),
            Err(error) => return Err(Failure::from_error(&error)),
        }
        Ok(())
    }

    /// Returns the chains with movements.
    pub fn held_chains(&self) -> Result<Vec<Chain>, Failure> {
        let response = self.ask::<Chains>(json!({"include": ["none"]}))?;
        let held = response.report.chains.into_iter().filter(|entry| entry.indexed_to_block.is_some());
        Ok(held.filter_map(|entry| entry.chain.parse().ok()).collect())
    }

    /// Returns the chain that is named, else the one of an address by its form and by the data that is held.
    pub fn chain(&self, named: Option<Chain>, address: &str) -> Result<Chain, Failure> {
        if let Some(chain) = named {
            return Ok(chain);
        }
        let chains = self.engine.chains_of(address).map_err(|error| Failure::from_engine(&error))?;
        match chains[..] {
            [chain] => Ok(chain),
            _ => Err(Failure::usage(several(address, &chains))),
        }
    }
}

/// Names the chains that an address can be on, and the remedy.
pub(super) fn several(address: &str, chains: &[Chain]) -> String {
    let names: Vec<_> = chains.iter().map(|chain| chain.name()).collect();
    format!(
        "the store contains several chains that {address} can be on: name one with --chain {}",
        names.join(" or --chain ")
    )
}

/// Removes the null fields of an object and of the objects in it.
pub(super) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let given = fields.into_iter().filter(|(_, value)| !value.is_null());
            given.map(|(name, value)| (name, without_nulls(value))).collect()
        }
        value => value,
    }
}
