//! Chunks as what a source of token transfers states: one transfer per transaction, as the tables of public exports
//! give them, without the transactions' own value.

use headwater_ledger::facts::{Batch, Claim, Movement, MovementFact, TokenFacts, TransactionFacts};
use headwater_ledger::market::TokenListing;
use headwater_ledger::read::{CoverageTable, Ordinal};
use headwater_types::{Address, Asset, Chain, Timestamp};

use super::chunk::{Chunk, Generator};
use super::names::{address_of, token_decimals, token_of, token_symbol, transaction_hash};
use super::preset::TOKENS;

/// The block that [`Chunk::block`] counts from.
pub const FIRST_BLOCK: u64 = 16_308_190;

impl Generator {
    /// A chunk as a batch of facts for a store, with the claim that its blocks are complete but the last, which may
    /// continue in the next chunk.
    #[must_use]
    pub fn batch(&self, chunk: &Chunk) -> Batch {
        let tokens: Vec<Address> = (0..TOKENS).map(token_of).collect();
        let mut batch = Batch::new(Chain::ETHEREUM);
        batch.transactions = (0..chunk.len()).map(|place| transaction(chunk, place, &tokens)).collect();
        if chunk.first_row == 0 {
            batch.tokens = (0..TOKENS).map(facts_of).collect();
        }
        if let (Some(&first), Some(&last)) = (chunk.block.first(), chunk.block.last()) {
            // A block that continues in the next chunk is complete with that one, which cannot be seen from here.
            let first = (FIRST_BLOCK + u64::from(first)).saturating_sub(u64::from(chunk.index[0] == 0));
            let ends = chunk.first_row + chunk.len() as u64 == self.preset().transfers();
            let last = FIRST_BLOCK + u64::from(last) - u64::from(!ends && last > 0);
            batch.claims =
                vec![Claim::Blocks { first: first.max(FIRST_BLOCK), last, table: CoverageTable::TokenTransfers }];
        }
        batch
    }
}

fn transaction(chunk: &Chunk, place: usize, tokens: &[Address]) -> TransactionFacts {
    let row = chunk.first_row + place as u64;
    let block = FIRST_BLOCK + u64::from(chunk.block[place]);
    TransactionFacts {
        time: Some(Timestamp::new(i64::from(chunk.time[place]))),
        index: Some(u32::from(chunk.index[place])),
        movements: vec![Movement {
            kind: MovementFact::Token,
            ordinal: Ordinal::Indexed(u64::from(chunk.log[place])),
            from: Some(address_of(chunk.from[place])),
            to: Some(address_of(chunk.to[place])),
            asset: Asset::Token(tokens[usize::from(chunk.token[place])]),
            amount: chunk.amount_at(place),
        }],
        ..TransactionFacts::new(transaction_hash(row), block)
    }
}

fn facts_of(token: u32) -> TokenFacts {
    TokenFacts {
        contract: token_of(token),
        symbol: Some(token_symbol(token)),
        name: Some(format!("Token {token}")),
        decimals: Some(token_decimals(token)),
        is_non_fungible: false,
    }
}

/// A registry that vouches for every token, so that all of them are in the scope that answers have by default.
#[must_use]
pub fn listings() -> Vec<TokenListing> {
    let listing = |token| TokenListing {
        chain: Chain::ETHEREUM,
        contract: token_of(token),
        symbol: token_symbol(token),
        name: format!("Token {token}"),
        decimals: token_decimals(token),
        verified: true,
        coingecko_id: None,
    };
    (0..TOKENS).map(listing).collect()
}
