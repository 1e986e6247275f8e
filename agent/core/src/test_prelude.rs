//! What the tests of causes and gates use.

pub(crate) use findings::{Confidence, Verdict};

pub(crate) use crate::{
    gates::judge,
    observation::{
        sample::{self, *},
        *,
    },
    view::candidates,
};
