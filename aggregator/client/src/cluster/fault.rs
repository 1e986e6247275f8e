//! Faults as the judgement has them.

use aggregator_core::state;

use crate::Fault;

impl From<Fault> for state::Fault {
    fn from(Fault { kind, status, says }: Fault) -> Self {
        state::Fault { kind, status, message: says.into() }
    }
}

impl<T> From<Fault> for state::Answer<T> {
    fn from(fault: Fault) -> Self {
        state::Answer::Failed(fault.into())
    }
}
