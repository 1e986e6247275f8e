//! What the tests of causes and gates use.

pub(crate) use findings::{Confidence, Verdict};

pub(crate) use crate::gates::judge;
pub(crate) use crate::observation::sample::{self, *};
pub(crate) use crate::observation::*;
pub(crate) use crate::view::candidates;
