//! Parts that the readers of OFAC files share.

use headwater_ledger::labels::{Code, Level};

use super::super::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use super::official::{claim, ticker};
use super::{Files, Format, Given};
use crate::source::Probe;
use crate::{IngestError, Place};

/// OFAC's term for the address of a wallet; ` - XBT` follows.
pub(super) const WALLET: &str = "Digital Currency Address";

/// The name of the list whose dates are those of a listing.
pub(super) const SDN_LIST: &str = "SDN List";

/// One of the formats in which OFAC publishes its lists.
pub(super) const fn format(
    name: &'static str,
    reads: fn(&Probe) -> bool,
    read: fn(&[Probe], &Given) -> Result<RawLabels, IngestError>,
) -> Format {
    Format {
        name,
        source: "ofac",
        group: "ofac",
        level: Level::SanctionsList,
        vocabulary: Vocabulary::OWN,
        chain: None,
        refuses_empty: true,
        files: Files::Apart,
        reads,
        read,
    }
}

/// The coin of a type such as `Digital Currency Address - XBT`; `None` when it is the type of something else.
pub(super) fn coin_of(kind: &str) -> Option<ChainHint> {
    let coin = kind.trim().strip_prefix(WALLET)?;
    Some(ticker(Some(coin.trim_start_matches([' ', '-']))))
}

/// A wallet of a listed party.
pub(super) fn listed(place: Place, address: &str, coin: ChainHint, party: Option<&str>) -> RawClaim {
    let entity = party.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
    RawClaim { entity, ..claim(Code::Sanction, place, address, coin) }
}
