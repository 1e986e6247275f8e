//! A task that waits, and how people reach what it waits on.

use super::prelude::*;
use crate::kernel;

/// A task that waits, where it was found, and what is known of its place in the kernel.
#[derive(Clone, Copy)]
pub struct BlockedTask<'a> {
    pub process: &'a Process,
    /// The task itself.
    pub thread: &'a Thread,
    /// The chain above the task, and the task.
    pub head: &'a [Link],
    /// The gate that waits for it.
    pub gate: Option<Gate>,
}

impl<'a> BlockedTask<'a> {
    /// The kernel function, in words.
    pub fn function(&self) -> &'a str {
        let known = kernel::wait_site(self.thread).map(|known| known.function);
        known.or(self.thread.wchan.get().map(String::as_str)).unwrap_or_default()
    }

    /// Begins a finding about it, with where it waits.
    pub fn finding(&self, view: &PodView, cause: &'static Cause) -> FindingBuilder {
        pod_finding(view, cause, self.gate, self.head)
            .evidence(self.wchan(), self.function())
            .evidence(self.syscall(), self.call())
            .name(Placeholder::Pid, self.process.id())
            .name(Placeholder::Tid, self.thread.tid)
    }

    /// `write on /data/x (descriptor 5)`, of a call that is known.
    pub fn call(&self) -> String {
        describe::system_call(self.thread).unwrap_or_else(|| "its system call".to_owned())
    }

    /// The file that shows the function.
    pub fn wchan(&self) -> String {
        format!("/proc/{}/task/{}/{{wchan,stack}}", self.process.pid, self.thread.tid)
    }

    /// The file that shows the call.
    pub fn syscall(&self) -> String {
        format!("/proc/{}/task/{}/syscall", self.process.pid, self.thread.tid)
    }
}

/// How it is known which mount a task waits on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sure {
    /// Its descriptor, or its function and its mounts, leave no other.
    Yes,
    /// It is one of the mounts that the task can see.
    Perhaps,
}

/// The mount that the descriptor of its system call is on, where the function it sleeps in does not point to another: a
/// `write` may wait for the memory that it copies from.
pub fn file_system<'a>(view: &PodView<'a>, process: &Process, thread: &Thread) -> Option<&'a Mount> {
    // What a task closes on its way out is another file.
    let file = thread.works_on.as_ref().filter(|_| !process.exits(thread))?;
    let mount = view.table(process, thread)?.mounts.iter().find(|mount| Some(mount.id) == file.mount_id)?;
    kernel::wait_site(thread).is_none_or(|known| known.subsystem.may_be(mount)).then_some(mount)
}

/// The different file systems among these mounts, in one order: one that is mounted twice is one.
pub fn distinct<'a>(mounts: &[&'a Mount]) -> Vec<&'a Mount> {
    let mut mounts = mounts.to_vec();
    mounts.sort_by_key(|mount| mount.dev);
    mounts.dedup_by_key(|mount| mount.dev);
    mounts
}

/// One of these, and it is unknown which: tasks that see the same ones may wait for the same.
pub fn root_of(distinct: &[&Mount]) -> String {
    format!("one-of:{}", distinct.iter().map(|mount| mount.dev.to_string()).collect::<Vec<_>>().join(","))
}

/// Where the kubelet has all of this file system mounted: the place people know, where it can be unmounted.
pub fn host_mount<'a>(view: &PodView<'a>, mount: &Mount) -> Option<&'a Mount> {
    let mounts = view.kubelet_mounts();
    let itself = mounts.iter().find(|other| std::ptr::eq(*other, mount));
    let same = |other: &&Mount| other.dev == mount.dev && other.root.as_bytes() == b"/";
    itself.or_else(|| mounts.iter().find(same))
}

/// A path to this file system, through the task itself where the kubelet has none.
pub fn path_to(view: &PodView, waiting: &BlockedTask, mount: &Mount) -> Option<String> {
    let there = host_mount(view, mount).and_then(|there| there.mount_point.as_str());
    let seen_from_host = |there: &str| match view.seen.node.kubelet_in_own_mount_namespace() {
        Some(kubelet) => format!("/proc/{kubelet}/root{there}"),
        None => there.to_owned(),
    };
    there.map(seen_from_host).or_else(|| {
        let inside = mount.mount_point.as_str()?.trim_end_matches('/');
        Some(format!("/proc/{}/root{inside}", waiting.process.pid))
    })
}

/// Begins a finding about the server that a task waits for.
pub fn server_finding(view: &PodView, cause: &'static Cause, waiting: &BlockedTask) -> FindingBuilder {
    let BlockedTask { process, thread, head, gate } = *waiting;
    pod_finding(view, cause, gate, head)
        .evidence(waiting.wchan(), thread.wchan.get().map_or("", String::as_str))
        .name_if(Placeholder::Pid, process.responsive_id())
        .name(Placeholder::Tid, thread.tid)
}
