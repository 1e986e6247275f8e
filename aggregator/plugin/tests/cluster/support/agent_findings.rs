//! Findings as an agent makes them.

use findings::{
    Cause, CauseRef, Confidence, Entity, Evidence, Finding, Gate, Link, Placeholder, ProcessId, Remedy, Subject,
    Values, cause,
};

fn finding(cause: &'static Cause, gate: Gate, mut chain: Vec<Link>, values: &Values, seen: (&str, &str)) -> Finding {
    chain.last_mut().unwrap().root = true;
    Finding {
        cause: CauseRef(cause),
        gate: Some(gate),
        confidence: Confidence::Proven,
        missing: None,
        root: format!("{}:{}", cause.id, chain.last().unwrap().subject),
        chain,
        evidence: vec![Evidence { source: seen.0.to_owned(), says: seen.1.to_owned() }],
        remedy: Remedy::fill(cause, values),
        values: values.clone(),
        must_end_too: None,
    }
}

/// A container's process waits for a FUSE server.
pub fn fuse_server_not_responding() -> Finding {
    let id = "31426e3c56e0";
    let chain = vec![
        Link::new(
            Subject::new(format!("container c (containerd://{id})"), Entity::container(id, "c")),
            "RUNNING in the CRI",
        ),
        Link::new(
            Subject::new("pid 15731 ls", Entity::process(15731, "ls", 'D')),
            "D (uninterruptible) in request_wait_answer, SIGKILL pending",
        ),
        Link::new(
            Subject::new("fuse mount /mnt/media (0:41, fuse)", Entity::mount("/mnt/media", "0:41", "fuse")),
            "1 request waiting",
        ),
        Link::new(
            Subject::new("pid 22655 s3fs", Entity::process(22655, "s3fs", 'S')),
            "S (sleeping) in fuse_dev_do_read, of unit s3fs.service",
        ),
    ];
    let values = Values::new().with(Placeholder::Connection, 41);
    let seen = ("/proc/15731/wchan", "request_wait_answer");
    finding(&cause::FUSE_SERVER_NOT_RESPONDING, Gate::ContainersStopped, chain, &values, seen)
}

/// A process of the host stands in a volume.
pub fn volume_held_by_process() -> Finding {
    let chain = vec![
        Link::new(Subject::new("volume scratch (kubernetes.io/empty-dir)", Entity::volume("scratch")), "mounted"),
        Link::new(
            Subject::new("pid 22817 backup", Entity::process(22817, "backup", 'S')),
            "its working directory is in it; S (sleeping), of unit backup.service",
        ),
    ];
    let values = Values::new()
        .with(Placeholder::Comm, "backup")
        .with(Placeholder::Pid, ProcessId { pid: 22817, start_ticks: 98_310 })
        .with(Placeholder::Owner, "unit backup.service");
    let seen = ("/proc/22817/cwd", "/var/lib/kubelet/pods/a710cd16/volumes/kubernetes.io~empty-dir/scratch");
    finding(&cause::VOLUME_HELD_BY_PROCESS, Gate::VolumesUnmounted, chain, &values, seen)
}
