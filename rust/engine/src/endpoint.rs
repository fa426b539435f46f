//! The table of data endpoints. HTTP routes, the command line's `query` and Python's calls all come from it.

/// One data endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// The name of `headwater query`: the path without its version; `{hash}` and the like are parameters.
    pub name: &'static str,
    /// The HTTP path.
    pub path: &'static str,
    /// The HTTP method.
    pub method: Method,
    /// Credits per successful call.
    pub cost: u32,
    /// Limits and deadline class.
    pub class: CostClass,
}

/// HTTP method of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Parameters in the query string.
    Get,
    /// Parameters in a JSON body.
    Post,
}

/// How heavy a call is: rate limits and deadlines go by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostClass {
    /// 5 s.
    Free,
    /// 10 s.
    Light,
    /// 30 s.
    Medium,
    /// 60 s.
    Heavy,
}

impl CostClass {
    /// The name that answers carry.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Light => "light",
            Self::Medium => "medium",
            Self::Heavy => "heavy",
        }
    }

    /// Query budget in seconds; past it the answer is 504.
    #[must_use]
    pub const fn budget_secs(self) -> u64 {
        match self {
            Self::Free => 5,
            Self::Light => 10,
            Self::Medium => 30,
            Self::Heavy => 60,
        }
    }
}

/// Every data endpoint, one line each, in the order of the documentation.
#[rustfmt::skip]
pub const ENDPOINTS: &[Endpoint] = &[
    Endpoint { name: "chains", path: "/v1/chains", method: Method::Get, cost: 0, class: CostClass::Free },
    Endpoint { name: "registry", path: "/v1/registry", method: Method::Get, cost: 0, class: CostClass::Free },
    Endpoint { name: "assets", path: "/v1/assets", method: Method::Get, cost: 0, class: CostClass::Free },
    Endpoint { name: "resolve", path: "/v1/resolve", method: Method::Post, cost: 0, class: CostClass::Free },
    Endpoint { name: "rates", path: "/v1/rates", method: Method::Get, cost: 0, class: CostClass::Free },
    Endpoint { name: "rates/history", path: "/v1/rates/history", method: Method::Get, cost: 5, class: CostClass::Light },
    Endpoint { name: "rates/symbols", path: "/v1/rates/symbols", method: Method::Get, cost: 0, class: CostClass::Free },
    Endpoint { name: "transactions", path: "/v1/transactions", method: Method::Post, cost: 5, class: CostClass::Medium },
    Endpoint { name: "transaction", path: "/v1/transaction/{hash}", method: Method::Get, cost: 0, class: CostClass::Light },
    Endpoint { name: "counterparty", path: "/v1/counterparty", method: Method::Post, cost: 5, class: CostClass::Heavy },
    Endpoint { name: "counterparty/transfer-between", path: "/v1/counterparty/transfer-between", method: Method::Post, cost: 5, class: CostClass::Medium },
    Endpoint { name: "counterparty/overview", path: "/v1/counterparty/overview", method: Method::Post, cost: 5, class: CostClass::Medium },
    Endpoint { name: "counterparty/list", path: "/v2/counterparty/list", method: Method::Get, cost: 5, class: CostClass::Heavy },
    Endpoint { name: "balance-history", path: "/v1/balance-history", method: Method::Post, cost: 5, class: CostClass::Medium },
    Endpoint { name: "wallet-overview", path: "/v1/wallet-overview", method: Method::Post, cost: 5, class: CostClass::Medium },
    Endpoint { name: "token/holders", path: "/v1/token/holders", method: Method::Get, cost: 10, class: CostClass::Heavy },
    Endpoint { name: "token/concentration", path: "/v1/token/concentration", method: Method::Get, cost: 15, class: CostClass::Heavy },
    Endpoint { name: "token/addresses_flow", path: "/v1/token/addresses_flow", method: Method::Get, cost: 5, class: CostClass::Medium },
    Endpoint { name: "addresses/resolve", path: "/v1/addresses/resolve", method: Method::Get, cost: 5, class: CostClass::Light },
    Endpoint { name: "addresses/autocomplete", path: "/v1/addresses/autocomplete", method: Method::Get, cost: 0, class: CostClass::Free },
];

/// Finds an endpoint by its name.
#[must_use]
pub fn endpoint(name: &str) -> Option<&'static Endpoint> {
    ENDPOINTS.iter().find(|endpoint| endpoint.name == name)
}
