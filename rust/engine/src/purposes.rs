//! What queries take memory for, as a refusal tells it.

use headwater_ledger::memory::Purpose;

/// Everybody whom an address dealt with, where all of them are looked at.
pub(crate) const COUNTERPARTIES: Purpose = Purpose {
    what: "the counterparties of the address",
    narrower: "ask for fewer days, for one symbol, or for the movements with one counterparty",
};

/// Movements that are put in an order that is not that of the chain, or are on one page.
pub(crate) const MOVEMENTS: Purpose = Purpose {
    what: "the movements of the address",
    narrower: "ask for fewer days or fewer symbols, for a smaller `limit`, or in order of `timestamp`",
};

/// What is known of each asset that moved.
pub(crate) const ASSETS: Purpose = Purpose {
    what: "the assets of the address",
    narrower: "name the symbols or contracts that matter, or ask for fewer days",
};

/// Balances at the ends of days.
pub(crate) const BALANCES: Purpose = Purpose {
    what: "the balances of all these days",
    narrower: "ask for fewer days, or name the symbols or contracts that matter",
};

/// Rows of a ranking of holders.
pub(crate) const HOLDERS: Purpose =
    Purpose { what: "the holders of one page", narrower: "ask for a smaller `limit`, page by page" };

/// The text of an answer.
pub(crate) const TEXT: Purpose = Purpose {
    what: "the bytes of the answer",
    narrower: "ask for a smaller `limit`, for fewer days or fewer symbols, or for a table, which is sent row by row",
};
