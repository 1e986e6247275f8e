//! A step of an agent's chain, cleaned again: it came through the API.

use findings::{Link, Thing, clean};

use crate::graph::Step;

/// The step.
pub fn step(link: &Link) -> Step {
    Step::named(&link.subject, &link.state).what(link.what.as_ref().map(cleaned))
}

fn cleaned(thing: &Thing) -> Thing {
    match thing {
        Thing::Process { pid, thread, comm, state } => {
            let state = if state.is_ascii_alphabetic() { *state } else { '?' };
            Thing::thread(*pid, thread.unwrap_or(*pid), comm, state)
        }
        Thing::Mount { path, device, fs_type } => Thing::mount(path, clean(device, 40), fs_type),
        Thing::Volume { name } => Thing::volume(name),
        Thing::Container { id, name } => Thing::container(id, name),
        Thing::Sandbox { id } => Thing::sandbox(id),
        Thing::Cgroup { path } => Thing::cgroup(path),
        Thing::Path { path } => Thing::path(path),
        Thing::Device { path } => Thing::device(path),
        Thing::Object { kind, namespace, name } => Thing::object(kind, namespace.as_deref().unwrap_or_default(), name),
        Thing::CsiDriver { name } => Thing::csi_driver(name),
    }
}
