//! How processes, mounts and owners are named in findings.

use findings::{Entity, Subject, clean, duration};

use super::prelude::*;
use crate::parse;

/// `pid 338 ls`, or `pid 338 (thread 341) java` for a thread that is not the leader.
pub fn task(process: &Process, thread: &Thread) -> Subject {
    let what = Entity::thread(process.pid, thread.tid, &process.comm, thread.state);
    let words = if thread.tid == process.pid {
        format!("pid {} {}", process.pid, clean(&process.comm, 32))
    } else {
        format!("pid {} {} (thread {} {})", process.pid, clean(&process.comm, 32), thread.tid, clean(&thread.comm, 32))
    };
    Subject::new(words, what)
}

/// `pid 338 ls`.
pub fn process(process: &Process) -> Subject {
    pid(process.pid, &process.comm, process.state)
}

/// The same for a process of which less is known.
pub fn pid(pid: u32, comm: &str, state: char) -> Subject {
    Subject::new(format!("pid {pid} {}", clean(comm, 32)), Entity::process(pid, comm, state))
}

/// What there is of a pid whose process is gone: nothing, or one that has it by chance.
pub fn reused_pid(view: &PodView, pid: u32) -> String {
    let other =
        |other: &Process| format!("another process, {}, which runs {}", clean(&other.comm, 32), age(other.age_ms));
    view.process(pid).map_or_else(|| "no such process".to_owned(), other)
}

/// `D (uninterruptible) in request_wait_answer, SIGKILL pending`.
pub fn task_state(process: &Process, thread: &Thread) -> String {
    let mut words = state_name(thread.state).to_owned();
    if let Some(wchan) = thread.wchan.get().filter(|wchan| !wchan.is_empty()) {
        words.push_str(&format!(" in {}", clean(wchan, 60)));
    }
    if thread.kill_pending {
        words.push_str(", SIGKILL pending");
    } else if process.exits(thread) {
        words.push_str(", exiting");
    }
    words
}

/// The system call a task is in, with the file it works on: `write on /data/x (descriptor 5)`.
pub fn system_call(thread: &Thread) -> Option<String> {
    let call = thread.syscall.get()?;
    let name = call.name.clone().unwrap_or_else(|| format!("system call {}", call.number));
    Some(match &thread.works_on {
        Some(file) => format!("{name} on {} (descriptor {})", path(&file.path), file.fd),
        None => name,
    })
}

/// Whether the system call it is in changes files.
pub fn writes(thread: &Thread) -> bool {
    thread.syscall.get().and_then(|call| call.name.as_deref()).is_some_and(parse::writes)
}

/// Whether the system call it is in may change files.
pub fn may_write(thread: &Thread) -> bool {
    thread.syscall.get().and_then(|call| call.name.as_deref()).is_some_and(parse::may_write)
}

pub fn state_name(letter: char) -> &'static str {
    match letter {
        'R' => "R (running)",
        'S' => "S (sleeping)",
        'D' => "D (uninterruptible)",
        'T' => "T (stopped)",
        't' => "t (traced)",
        'Z' => "Z (zombie)",
        'X' => "X (dead)",
        'I' => "I (idle)",
        _ => "in an unknown state",
    }
}

/// `mount /mnt/media (0:40, fuse.s3fs)`.
pub fn mount(mount: &Mount) -> Subject {
    let words = format!("mount {} ({}, {})", path(&mount.mount_point), mount.dev, clean(&mount.fs_type, 40));
    Subject::new(words, Entity::mount(&mount.mount_point.show(), mount.dev, &mount.fs_type))
}

/// What to report of a mount without a found holder, and of the search: an unreadable process may be one.
pub fn missing_holder(search: Option<&HolderSearch>) -> (&'static str, String) {
    match search {
        Some(search) if search.unreadable > 0 || search.unsearched_namespaces > 0 => {
            ("mounted, and nothing was found that holds it", searched(search))
        }
        _ => ("mounted, and nothing holds it", "no process holds the mount".to_owned()),
    }
}

/// How a search went that has found no holder.
pub fn searched(search: &HolderSearch) -> String {
    let HolderSearch { looked_at, unreadable, unsearched_namespaces: kept, .. } = search;
    let says = format!("{looked_at} processes looked at, none holds it; {unreadable} could not be looked at");
    match kept {
        0 => says,
        kept => format!(
            "{says}; not searched: {}, kept by a bind mount or a descriptor",
            count(*kept as usize, "mount namespace without a process", "mount namespaces without a process")
        ),
    }
}

/// A file or directory as the subject of a sentence.
pub fn file(at: &HostPath) -> Subject {
    Subject::new(path(at), Entity::path(&at.show()))
}

/// `cgroup …/pod96fb425e-…`.
pub fn cgroup(at: &HostPath) -> Subject {
    Subject::new(format!("cgroup {}", path(at)), Entity::cgroup(&at.show()))
}

/// `loop device /dev/loop0`.
pub fn loop_device(device: &str) -> Subject {
    Subject::new(format!("loop device {device}"), Entity::device(device))
}

/// `CSI driver ebs.csi.aws.com`.
pub fn csi_driver(name: &str) -> Subject {
    Subject::new(format!("CSI driver {}", clean(name, 80)), Entity::csi_driver(name))
}

/// A time of day: `14:03:12Z`.
pub fn time_of_day(ms: u64) -> String {
    let time = i64::try_from(ms / 1000).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.unwrap_or_default().strftime("%H:%M:%SZ").to_string()
}

/// The end of a path, whole components of it: a pod's uid and what stands before it are known.
/// The evidence and the commands have it whole.
pub fn path(path: &HostPath) -> String {
    const LIMIT: usize = 56;
    let shown = path.show();
    if shown.chars().count() <= LIMIT {
        return shown;
    }
    let mut tail = String::new();
    for component in shown.rsplit('/') {
        if !tail.is_empty() && tail.chars().count() + component.chars().count() + 2 > LIMIT {
            break;
        }
        tail.insert_str(0, &format!("/{component}"));
    }
    format!("…{}", clean(&tail, LIMIT))
}

/// Whom a process belongs to: `of pod <uid>`, `of unit s3fs.service`, `of the host`.
pub fn owner(owner: &Owner) -> String {
    match owner {
        Owner::Pod { uid, container: Some(id) } => format!("of container {} in pod {uid}", id.get(..12).unwrap_or(id)),
        Owner::Pod { uid, container: None } => format!("of pod {uid}"),
        Owner::Unit(unit) => format!("of unit {}", clean(unit, 80)),
        Owner::Host => "of the host, in no pod and no unit".to_owned(),
        Owner::Unknown => "of an unknown owner".to_owned(),
    }
}

/// The owner as a noun, if there is one that could be stopped instead of the process.
pub fn stoppable_owner(owner: &Owner) -> Option<String> {
    match owner {
        Owner::Pod { uid, container: Some(id) } => {
            Some(format!("container {} of pod {uid}", id.get(..12).unwrap_or(id)))
        }
        Owner::Pod { uid, container: None } => Some(format!("pod {uid}")),
        Owner::Unit(_) => owner.service().map(|unit| format!("unit {}", clean(unit, 80))),
        Owner::Host | Owner::Unknown => None,
    }
}

/// Whose mount namespace has a copy, and where.
pub fn copy_state(copy: &MountCopy) -> String {
    format!("its mount namespace has a copy at {}; {}", path(&copy.mount.mount_point), owner(&copy.owner))
}

/// Names the holder of a copy for the remedy.
pub fn name_copy_holder(draft: FindingBuilder, copy: &MountCopy) -> FindingBuilder {
    draft
        .name(Placeholder::Pid, copy.pid)
        .name(Placeholder::Comm, &copy.comm)
        .name_if(Placeholder::Owner, stoppable_owner(&copy.owner))
}

/// `1 mount`, `2 mounts`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// `for 2d4h`.
pub fn age(age_ms: u64) -> String {
    format!("for {}", duration(age_ms / 1000))
}

/// `container app (containerd://8cd7aa001122)`, RUNNING.
pub fn container(view: &PodView, container: &Container) -> Vec<Link> {
    let runtime = view.seen.runtime.get().map_or("cri", |runtime| runtime.name.as_str());
    let id = container.id.get(..12).unwrap_or(&container.id);
    let subject = format!("container {} ({runtime}://{id})", container.name);
    let subject = Subject::new(findings::clean(&subject, 120), Entity::container(&container.id, &container.name));
    vec![Link::new(subject, format!("{} in the CRI", container.state.as_str()))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::sample;

    #[test]
    fn a_path_is_shortened_by_whole_components_from_its_start() {
        let of = |lengths: [usize; 3]| {
            let parts = ["a", "b", "c"].iter().zip(lengths).map(|(letter, count)| format!("/{}", letter.repeat(count)));
            path(&HostPath::from(parts.collect::<String>().as_str()))
        };
        assert_eq!(of([9, 9, 9]), format!("/{}/{}/{}", "a".repeat(9), "b".repeat(9), "c".repeat(9)));
        assert_eq!(of([20, 27, 26]), format!("…/{}/{}", "b".repeat(27), "c".repeat(26)));
        assert_eq!(of([20, 28, 26]), format!("…/{}", "c".repeat(26)));
    }

    #[test]
    fn each_letter_of_a_state_has_its_name() {
        let names = "RSDTtZXI?".chars().map(state_name).collect::<Vec<_>>();
        assert_eq!(
            names,
            [
                "R (running)", "S (sleeping)", "D (uninterruptible)", "T (stopped)", "t (traced)", "Z (zombie)",
                "X (dead)", "I (idle)", "in an unknown state"
            ]
        );
    }

    #[test]
    fn an_owner_is_named_where_it_can_be_stopped() {
        let uid = sample::pod().uid;
        let container = Owner::Pod { uid: uid.clone(), container: Some("8cd7aa00112233445566".into()) };
        let named = |owner: &Owner| stoppable_owner(owner).unwrap_or_default();
        assert_eq!(named(&container), format!("container 8cd7aa001122 of pod {uid}"));
        assert_eq!(named(&Owner::Pod { uid: uid.clone(), container: None }), format!("pod {uid}"));
        assert_eq!(named(&Owner::Unit("ntpd.service".into())), "unit ntpd.service");
        for scope in ["session-4.scope", "run-r3f.scope", "user@1000.service"] {
            assert_eq!(stoppable_owner(&Owner::Unit(scope.into())), None, "it would end a login, or a mount's server");
        }
        assert_eq!((stoppable_owner(&Owner::Host), stoppable_owner(&Owner::Unknown)), (None, None));
        let copy = sample::mount_copy("8:1", "/data");
        assert_eq!(copy_state(&copy), "its mount namespace has a copy at /data; of unit ntpd.service");
    }
}
