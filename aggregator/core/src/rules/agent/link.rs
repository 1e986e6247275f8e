//! A step of an agent's chain, cleaned again: it came through the API.

use findings::{Entity, Link};

use crate::diagnosis::Step;

pub fn step(link: &Link) -> Step {
    Step::named(&link.subject, &link.state).with_thing(link.what.as_ref().map(Entity::cleaned))
}
