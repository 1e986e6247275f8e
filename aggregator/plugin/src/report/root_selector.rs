//! Which root cause somebody asks for.

use std::str::FromStr;

use findings::RootId;

/// One root cause.
#[derive(Clone, Copy, Debug)]
pub enum RootSelector {
    /// Of the first screen.
    Number(usize),
    /// Of the alert `TerminatingStuck`.
    Id(RootId),
}

impl FromStr for RootSelector {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map_or_else(|_| text.parse().map(RootSelector::Number), |id| Ok(RootSelector::Id(id)))
    }
}
