//! The questions that the judgement asks next.
//!
//! [`plan`] gathers those of one round, the host answers them, until none comes up. So what is read and what is judged
//! cannot drift apart.

#[cfg(test)]
pub(crate) mod tests;

use crate::facts::Facts;
use crate::gates;
use crate::observation::{Observation, Question};

/// More rounds than any chain of causes is deep, for however many pods.
pub const MAX_ROUNDS: usize = 16;

/// The questions of the next round; none when everything is known that the judgement can use.
///
/// Only those of the least cost: their answers may make the dearer ones needless.
pub fn plan(seen: &Observation) -> Vec<Question> {
    let facts = Facts::recording(seen);
    gates::judge_by(&facts);
    let open = facts.into_open();
    let least = open.iter().map(Question::cost).min();
    open.into_iter().filter(|question| Some(question.cost()) == least).collect()
}
