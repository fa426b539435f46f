//! String switches: a closed set of values, maybe with a default, with aliases, read in any case.

/// Declares a switch: an enum that decodes from text (or a number such as `-1`) and knows its schema.
macro_rules! switch {
    (
        $(#[$meta:meta])*
        $name:ident $(or $default:ident)? { $( $(#[$variant_meta:meta])* $variant:ident = $value:literal $(| $alias:literal)* ),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )+
        }

        impl $name {
            /// The values.
            pub const VALUES: &'static [&'static str] = &[$($value),+];

            /// The value that stands for this choice.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $value, )+ }
            }

            fn from_text(text: &str) -> Option<Self> {
                match text.to_ascii_lowercase().as_str() {
                    $( $value $(| $alias)* => Some(Self::$variant), )+
                    _ => None,
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Reader;
                impl serde::de::Visitor<'_> for Reader {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(f, "one of {}", $name::VALUES.join(", "))
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        $name::from_text(text).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
                    }

                    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$name, E> {
                        $name::from_text(&number.to_string())
                            .ok_or_else(|| E::invalid_type(serde::de::Unexpected::Signed(number), &self))
                    }

                    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$name, E> {
                        $name::from_text(&number.to_string())
                            .ok_or_else(|| E::invalid_type(serde::de::Unexpected::Unsigned(number), &self))
                    }
                }
                deserializer.deserialize_any(Reader)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .enum_values(Some(Self::VALUES.iter().copied()))
                    $( .default(Some(Self::$default.name().into())) )?
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {}
    };
}

switch! {
    /// Which movements count, relative to the address asked about.
    DirectionFilter or All {
        /// Either way.
        All = "all" | "both" | "any",
        /// Towards the address.
        In = "in" | "from" | "receive" | "received",
        /// Away from the address.
        Out = "out" | "to" | "send" | "sent",
    }
}

switch! {
    /// Sort direction.
    SortOrder or Desc {
        /// Largest or newest first.
        Desc = "desc" | "-1",
        /// Smallest or oldest first.
        Asc = "asc" | "1",
    }
}

switch! {
    /// What a list of transfers is sorted by; ties by block, position, hash, kind and ordinal.
    TransferSort or Timestamp {
        /// Place in the chain.
        Timestamp = "timestamp" | "time",
        /// Whole units, whatever the asset.
        Amount = "amount",
        /// US dollars at transfer time, unpriced last.
        AmountUsd = "amount_usd",
    }
}

switch! {
    /// What a transaction list is sorted by; ties by block, position, hash, kind and ordinal.
    TransactionSort or Timestamp {
        /// Place in the chain.
        Timestamp = "timestamp" | "time",
        /// US dollars at transfer time, unpriced last.
        AmountUsd = "amount_usd",
    }
}

switch! {
    /// What a counterparty ranking is sorted by; ties by address ascending.
    RankingSort or TotalAmount {
        /// Both directions together; where several symbols are summed this is their US dollar value.
        TotalAmount = "total_amount" | "amount",
        /// Received.
        ReceivedAmount = "received_amount",
        /// Sent.
        SentAmount = "sent_amount",
        /// Both directions in US dollars.
        TotalAmountUsd = "total_amount_usd",
        /// Received in US dollars.
        ReceivedAmountUsd = "received_amount_usd",
        /// Sent in US dollars.
        SentAmountUsd = "sent_amount_usd",
        /// Distinct transactions either way.
        TotalCount = "total_count" | "count",
        /// Distinct transactions that came in.
        ReceivedCount = "received_count",
        /// Distinct transactions that went out.
        SentCount = "sent_count",
        /// Movements.
        TotalTransfers = "total_transfers",
        /// Time of the first movement.
        FirstActivity = "first_activity",
        /// Time of the last movement.
        LastActivity = "last_activity",
    }
}

switch! {
    /// What the rows of a counterparty list stand for.
    GroupBy or Address {
        /// Addresses.
        Address = "address",
        /// Clusters of addresses with one owner.
        Cluster = "cluster",
    }
}

switch! {
    /// The steps of a balance history.
    HistoryUnit or Daily {
        /// Days.
        Daily = "daily",
    }
}

switch! {
    /// Which way a balance passes a threshold.
    Crossing or Both {
        /// Either way.
        Both = "both" | "all" | "any",
        /// From below it to it or above.
        Above = "above" | "up",
        /// From it or above to below it.
        Below = "below" | "down",
    }
}

switch! {
    /// Whether somebody outside may be asked for further claims.
    ThirdParty or Auto {
        /// Where they could change the verdict.
        Auto = "auto",
        /// Always.
        Force = "force",
        /// Never.
        Off = "off",
    }
}

switch! {
    /// How traced money mixes with other money of an account.
    TraceMethod or Haircut {
        /// Whole amounts are followed, and the parts of the money are not told apart.
        None = "none",
        /// Every payment carries its share.
        Haircut = "haircut",
        /// What came first leaves first.
        Fifo = "fifo",
        /// Every payment is traced while anything of the balance is.
        Poison = "poison",
    }
}

switch! {
    /// The flow that an amount range applies to.
    Sign {
        /// Incoming movements.
        Positive = "+" | "positive" | "in",
        /// Outgoing movements.
        Negative = "-" | "negative" | "out",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_read_in_any_case() {
        for (text, expected) in [
            ("ANY", DirectionFilter::All),
            ("Receive", DirectionFilter::In),
            ("sent", DirectionFilter::Out),
            ("to", DirectionFilter::Out),
        ] {
            assert_eq!(DirectionFilter::from_text(text), Some(expected));
        }
        assert_eq!(SortOrder::from_text("-1"), Some(SortOrder::Desc));
        assert_eq!(serde_json::from_str::<SortOrder>("1").unwrap(), SortOrder::Asc);
        assert_eq!(RankingSort::from_text("AMOUNT"), Some(RankingSort::TotalAmount));
        let refused = serde_json::from_str::<SortOrder>("\"up\"").unwrap_err().to_string();
        assert!(refused.contains("one of desc, asc"), "{refused}");
    }
}
