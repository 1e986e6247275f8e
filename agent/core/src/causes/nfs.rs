//! NFS servers that do not answer.

use findings::{Finding, Gate, Link, Placeholder, cause};

use super::{Found, runtime, words};
use crate::{
    observation::{Mount, Process, Question, Thread},
    view::PodView,
};

/// Functions of the kernel's NFS and RPC clients in which a task waits for the server.
pub fn is_nfs_function(function: &str) -> bool {
    function.starts_with("nfs") || function.starts_with("rpc_") || function.starts_with("__rpc_")
}

/// A task waits for an answer of one of these mounts' servers.
pub fn not_responding(
    view: &PodView,
    mounts: &[&Mount],
    thread: &Thread,
    process: &Process,
    head: &[Link],
    gate: Option<Gate>,
) -> Finding {
    let cause = &cause::NFS_SERVER_NOT_RESPONDING;
    let wchan = thread.wchan.get().map_or("", String::as_str);
    let mut found = runtime::named(view, Found::new(cause, gate).after(head))
        .evidence(format!("/proc/{}/task/{}/{{wchan,stack}}", process.pid, thread.tid), wchan)
        .name(Placeholder::Pid, process.id())
        .name(Placeholder::Tid, thread.tid);
    match mounts {
        [mount] => {
            found = found
                .blame(words::mount(mount), format!("{} does not answer", mount.source.show()))
                .name_if(Placeholder::Mount, mount.mount_point.as_str())
                .name_if(Placeholder::Path, mount.mount_point.as_str())
                .root(mount.source.show());
        }
        several => {
            found = found.probable();
            for mount in several {
                found = found.link(
                    words::mount(mount),
                    format!("one of these servers does not answer: {}", mount.source.show()),
                );
            }
            found = found.blame("an NFS server", "which of these does not answer cannot be told").root(wchan);
        }
    }
    found.finish()
}

/// A volume on NFS whose `umount`, a child of the kubelet, waits for the server in D.
pub fn of_volume(view: &PodView, mount: &Mount, head: &[Link], gate: Option<Gate>) -> Option<Finding> {
    if !mount.is_nfs() {
        return None;
    }
    let kubelet = view.seen.node.kubelet.get()?.pid;
    view.seen.is_settled(Question::Children(kubelet));
    let umounts = view.seen.processes.iter().filter(|p| p.parent == kubelet && p.comm.starts_with("umount"));
    let waits = |process: &Process, thread: &Thread| {
        thread.state == 'D' && view.is_steady(process, thread) && thread.wchan.get().is_some_and(|w| is_nfs_function(w))
    };
    let threads = umounts.flat_map(|process| process.threads.iter().map(move |thread| (process, thread)));
    let (process, thread) = threads.into_iter().find(|(process, thread)| waits(process, thread))?;
    let mut head = head.to_vec();
    head.push(Link::new(words::task(process, thread), words::waiting(thread)));
    // Which mount it unmounts stands in its command line, which is not read: with several on NFS
    // it may be another.
    let nfs: Vec<&Mount> = view.kubelet_mounts().iter().filter(|mount| mount.is_nfs()).collect();
    Some(not_responding(
        view,
        if nfs.len() == 1 { std::slice::from_ref(&nfs[0]) } else { &nfs },
        thread,
        process,
        &head,
        gate,
    ))
}
