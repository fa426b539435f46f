//! How heavy a call is.

/// How heavy a call is: rate limits and deadlines go by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CostClass {
    /// 5 s: tables in memory.
    Free,
    /// 10 s: one look-up.
    Light,
    /// 30 s: the movements of an account.
    Medium,
    /// 60 s: the movements of many accounts.
    Heavy,
}

impl CostClass {
    /// Every class, the lightest first.
    pub const ALL: [Self; 4] = [Self::Free, Self::Light, Self::Medium, Self::Heavy];

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
