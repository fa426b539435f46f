//! The options that commands about the movements of one address share.

use headwater_types::Chain;
use serde_json::{Value, json};

use super::chain;
use super::error::Failure;
use super::session::{Session, without_nulls};

/// An address with the movements that count.
#[derive(Debug, clap::Args)]
pub(super) struct MovementFilter {
    /// The chain [default: the chain whose addresses have this form].
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Option<Chain>,
    /// Only these symbols, separated by commas.
    #[arg(long, visible_alias = "symbol", value_delimiter = ',')]
    symbols: Option<Vec<String>>,
    /// Also count tokens that no registry vouches for.
    #[arg(long)]
    include_unverified: bool,
    /// The address.
    address: String,
}

impl MovementFilter {
    /// Returns the chain of the address, and a request about it with further fields. Fields that are null are left out.
    pub fn request(&self, session: &Session, further: Value) -> Result<(Chain, Value), Failure> {
        let chain = session.chain(self.chain, &self.address)?;
        let mut request = json!({
            "blockchain": chain.name(), "address": self.address, "symbols": self.symbols,
            "include_unverified": self.include_unverified.then_some(true),
        });
        if let (Some(fields), Value::Object(further)) = (request.as_object_mut(), further) {
            fields.extend(further);
        }
        Ok((chain, without_nulls(request)))
    }
}
