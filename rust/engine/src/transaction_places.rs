//! Where a transaction is looked for when its hash is given, with its chain or without.

use headwater_ledger::Ledger;
use headwater_ledger::read::TransactionRef;
use headwater_types::{Chain, Family, TxHash};

use crate::fields::ChainText;
use crate::request::{Checks, refused};
use crate::{Error, ErrorKind, Reason};

/// The chains that may have a transaction.
#[derive(Debug)]
pub(crate) struct Places {
    text: String,
    /// Where to look, with the hash as that chain reads it; behind them where to look after that.
    asked: [Vec<(Chain, TxHash)>; 2],
    /// The fields of the request: hash and chain.
    fields: (&'static str, &'static str),
}

impl Places {
    /// Checks a hash, and a chain where one is named.
    ///
    /// # Errors
    /// `invalid_hash`, or a chain that is none.
    pub fn new(
        checks: &mut Checks<'_>,
        fields: (&'static str, &'static str),
        hash: &str,
        chain: Option<&ChainText>,
    ) -> Result<Self, Error> {
        let text = hash.trim().to_owned();
        // EVM chains write `0x` (and their allocations by name), the others do not.
        let is_prefixed = text.starts_with("0x") || text.starts_with("0X") || text.contains('_');
        let (first, then): (Vec<Chain>, Vec<Chain>) = match chain {
            Some(name) => (vec![checks.chain(fields.1, name)?], Vec::new()),
            None => Chain::all().partition(|chain| (chain.family() == Family::Evm) == is_prefixed),
        };
        let read = |chain: Chain| match TxHash::parse(chain.family(), &text) {
            Ok(hash) => Ok((chain, hash)),
            Err(error) => Err(refused(Reason::InvalidHash, fields.0, &text, &error)),
        };
        let first = first.into_iter().map(read).collect::<Result<_, _>>()?;
        // An id of a movement without a transaction may be of one family only.
        let asked = [first, then.into_iter().filter_map(|chain| read(chain).ok()).collect()];
        Ok(Self { text, asked, fields })
    }

    /// The transaction.
    ///
    /// # Errors
    /// Not found, or `ambiguous_chain` where several chains have the hash.
    pub fn find(&self, ledger: &dyn Ledger) -> Result<TransactionRef, Error> {
        let mut found = Vec::new();
        for places in &self.asked {
            for (chain, hash) in places {
                if let Some(transaction) = ledger.find_transaction(*chain, hash)? {
                    found.push((*chain, transaction));
                }
            }
            if !found.is_empty() {
                break;
            }
        }
        match found[..] {
            [(_, transaction)] => Ok(transaction),
            [] => {
                let chains: Vec<_> = self.asked.iter().flatten().map(|(chain, _)| chain.name()).collect();
                let message = format!("no transaction {} is held of {}", self.text, chains.join(" or "));
                Err(Error {
                    field: Some(self.fields.0.to_owned()),
                    value: Some(self.text.clone()),
                    ..Error::new(ErrorKind::NotFound, message)
                })
            }
            _ => {
                let chains: Vec<_> = found.iter().map(|(chain, _)| chain.name()).collect();
                let why = format!("the hash is on {}: name one in `{}`", chains.join(" and "), self.fields.1);
                Err(refused(Reason::AmbiguousChain, self.fields.1, &self.text, &why))
            }
        }
    }
}
