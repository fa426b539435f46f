//! The true roles and owners of addresses.

use headwater_types::{Address, Chain};

use super::table::{Cell, Cells, Kind, Row};

macro_rules! roles {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The role of an address.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Role { $($(#[$doc])* $variant,)* }

        impl Role {
            /// All roles.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in truth tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

roles! {
    /// The zero address: mints and burns.
    Zero = "zero",
    /// A private person.
    Person = "person",
    /// A shop that many people pay.
    Merchant = "merchant",
    /// From where a payment service pays.
    PaymentHot = "payment_hot",
    /// An address where one customer pays one invoice.
    PaymentInvoice = "payment_invoice",
    /// From where an exchange pays.
    ExchangeHot = "exchange_hot",
    /// The address where an exchange keeps most of its funds.
    ExchangeCold = "exchange_cold",
    /// An address where one customer pays an exchange.
    ExchangeDeposit = "exchange_deposit",
    /// From where an exchange pays the fees of its deposit addresses.
    ExchangeGas = "exchange_gas",
    /// A token that people mean.
    Token = "token",
    /// A token that nobody vouches for.
    UnverifiedToken = "unverified_token",
    /// A token that carries the symbol of another.
    SpoofedToken = "spoofed_token",
    /// A token whose events state movements that never were.
    CounterfeitToken = "counterfeit_token",
    /// A token that takes a fee on the way: its events state more than arrives.
    FeeToken = "fee_token",
    /// A token whose balances change without transfers.
    RebasingToken = "rebasing_token",
    /// A collection of non-fungible tokens.
    NftCollection = "nft_collection",
    /// The issuer of a token.
    Issuer = "issuer",
    /// The maker of an unverified or spoofed token.
    TokenDeployer = "token_deployer",
    /// A mixer pool of one denomination.
    MixerPool = "mixer_pool",
    /// The sender of the withdrawals of a mixer.
    MixerRelayer = "mixer_relayer",
    /// The vault of a bridge.
    BridgeVault = "bridge_vault",
    /// The payer of a bridge.
    BridgeRelayer = "bridge_relayer",
    /// The receiver of block rewards on an account chain.
    Validator = "validator",
    /// A mining pool.
    MiningPool = "mining_pool",
    /// Somebody a pool pays.
    Miner = "miner",
    /// The coordinator of joint transactions.
    CoinjoinCoordinator = "coinjoin_coordinator",
    /// A sender of next to nothing to very many.
    Duster = "duster",
    /// A pool of a decentralised exchange, which is also the token of its shares.
    DexPool = "dex_pool",
    /// Router or factory of a decentralised exchange.
    DexRouter = "dex_router",
    /// The provider of a pool.
    LiquidityProvider = "liquidity_provider",
    /// A trader who brings pools back to the price of the world.
    MarketMaker = "market_maker",
    /// A searcher: its key, and the contract that it trades through.
    MevBot = "mev_bot",
    /// A person who moves money so that its way is hard to follow.
    Launderer = "launderer",
    /// An honest business, some of whose activity looks odd.
    Business = "business",
    /// The operator of a scam.
    ScamOperator = "scam_operator",
    /// The contract of a scam.
    ScamContract = "scam_contract",
    /// A market of forbidden goods.
    DarknetMarket = "darknet_market",
    /// A vendor on one.
    DarknetVendor = "darknet_vendor",
    /// The address where a scam collects.
    ScamCollector = "scam_collector",
    /// A stop on the way of the loot.
    ScamLayer = "scam_layer",
}

/// The truth about an address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddressTruth {
    /// The chain it occurs on.
    pub chain: Chain,
    /// The address.
    pub address: Address,
    /// The role.
    pub role: Role,
    /// The owner of its key. One owner may hold many addresses on several chains.
    pub owner: String,
}

impl Row for AddressTruth {
    const NAME: &'static str = "addresses";
    const COLUMNS: &'static [(&'static str, Kind)] =
        &[("blockchain", Kind::Text), ("address", Kind::Text), ("role", Kind::Text), ("owner", Kind::Text)];

    fn cells(&self) -> Vec<Cell> {
        vec![Cell::text(&self.chain), Cell::text(&self.address), Cell::text(self.role.name()), Cell::text(&self.owner)]
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        let chain = cells.chain()?;
        Some(Self {
            chain,
            address: cells.address(chain)?,
            role: cells.parse(|text| Role::ALL.iter().copied().find(|role| role.name() == text))?,
            owner: cells.text()?,
        })
    }
}
