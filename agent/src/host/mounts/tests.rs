pub(crate) mod namespace;

use self::namespace::Namespace;
use super::*;

fn points(table: &MountTable) -> Vec<&str> {
    table.mounts.iter().filter_map(|mount| mount.mount_point.as_str()).collect()
}

#[test]
fn keeps_what_is_below_and_above_and_all_it_stands_on() {
    let mut ns = Namespace::new();
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().to_str().unwrap();
    ns.run(&format!(
        "cd / && mount -t tmpfs t {base} && mkdir -p {base}/k/pods '{base}/else where/x' \
         && mount -t tmpfs vol {base}/k/pods && mount -t tmpfs e '{base}/else where' && mkdir '{base}/else where/x' \
         && mount --bind {base}/k/pods '{base}/else where/x'"
    ));
    let mut reader = MountReader::new(format!("{base}/k").as_str().into());
    let table = reader.kubelet(ns.pid()).get().cloned().unwrap();
    assert!(points(&table).ends_with(&[base, &format!("{base}/k/pods")]), "{:?}", points(&table));
    assert!(table.total > table.mounts.len());
    assert_eq!(table.through_pid, ns.pid());

    let below = reader.root_mounts(ns.pid()).get().cloned().unwrap();
    assert!(points(&below).contains(&"/"), "a parent is kept: {:?}", points(&below));

    let vol = table.mounts.last().unwrap().dev;
    let other = reader.other(ns.pid(), &[vol]).get().cloned().unwrap();
    let at = |point: String| other.mounts.iter().find(|mount| mount.mount_point.as_str() == Some(&point)).cloned();
    let copy = at(format!("{base}/else where/x")).unwrap();
    assert_eq!(copy.dev, vol);
    assert_eq!(copy.parent, at(format!("{base}/else where")).unwrap().id);
    assert_eq!(reader.tables.len(), 1, "one namespace is read once");
    assert!(reader.faults().is_empty());
}

#[test]
fn a_process_that_is_gone_is_missing() {
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    assert_eq!(MountReader::new("/x".into()).kubelet(gone.id()), Seen::Missing);
}

#[test]
fn a_leader_that_is_dead_is_seen_through_a_thread_that_lives() {
    // The thread outlives its leader, which calls pthread_exit.
    let script = "import ctypes,threading,time\n\
                  threading.Thread(target=time.sleep, args=(1000,)).start()\n\
                  ctypes.CDLL(None).syscall(60, 0)";
    let mut python = std::process::Command::new("python3").args(["-c", script]).spawn().unwrap();
    let is_zombie = || {
        let stat = crate::sys::read_text(format!("/proc/{}/stat", python.id()).as_ref(), 4096);
        stat.is_ok_and(|stat| stat.contains(") Z "))
    };
    for _ in 0..500 {
        if is_zombie() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let seen = MountReader::new("/x".into()).kubelet(python.id());
    python.kill().unwrap();
    python.wait().unwrap();
    assert!(seen.get().is_some_and(|table| table.total > 0), "{seen:?}");
}

#[test]
fn a_table_in_which_mounts_stand_on_each_other_is_read() {
    let bytes = b"1 2 0:1 / /a rw - tmpfs t rw\n2 1 0:2 / /b rw - tmpfs t rw\n3 2 0:3 / /c rw - tmpfs t rw\n";
    assert_eq!(keep_with_parents(&Table::kept(bytes), |mount| mount.id == 3).mounts.len(), 3);
}

/// A namespace whose table has more than 20 MB, at this directory.
fn hostile(dir: &std::path::Path) -> Namespace {
    let mut hostile = Namespace::new();
    let dir = dir.to_str().unwrap();
    let deep = format!("{dir}{}", format!("/{}", "d".repeat(240)).repeat(14));
    // Each bind doubles what is below.
    hostile.run(&format!(
        "mount --make-rprivate / && mount -t tmpfs t {dir} && for i in 1 2 3 4 5 6 7 8 9 10 11 12; do mkdir -p {deep}/$i; \
         done && for i in 1 2 3 4 5 6 7 8 9 10 11 12; do mount --rbind {deep} {deep}/$i; done"
    ));
    hostile
}

#[test]
fn a_long_table_is_looked_through_and_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mut hostile = hostile(dir.path());
    hostile.run("mount -t tmpfs needle /mnt && mkdir /mnt/k && mount -t tmpfs needle /mnt/k");
    let mut reader = MountReader::new("/mnt/k".into());
    reader.budget.anew.store(1 << 30, std::sync::atomic::Ordering::Relaxed);
    let before = reader.budget.share(false);
    let table = reader.root_mounts(hostile.pid()).get().cloned().unwrap();
    assert!(table.total > 3000, "{}", table.total);
    assert!(points(&table).ends_with(&["/mnt", "/mnt/k"]), "{:?}", points(&table));
    let needle = table.mounts.last().unwrap().dev;
    assert_eq!(reader.other(hostile.pid(), &[needle]).get().unwrap().mounts.last(), table.mounts.last());
    assert_eq!(reader.rootfs(hostile.pid(), &["x".to_owned()]), Seen::Seen(Vec::new()));
    assert_eq!(reader.budget.share(false), before, "nothing of it is kept");
    assert_eq!(reader.faults(), []);
    // What a question would keep of it has a bound, too.
    let deep = reader.table(hostile.pid()).unwrap();
    assert!(deep.mounts(|_| true).mounts.len() < table.total);
    assert!(deep.fault().unwrap().says.contains("mounts"), "{:?}", deep.fault());
}

#[test]
fn what_exceeds_all_bounds_is_told_and_leaves_room_for_others() {
    let dir = tempfile::tempdir().unwrap();
    let hostile = hostile(dir.path());
    let mut reader = MountReader::new("/x".into());
    reader.budget.anew.store(1 << 20, std::sync::atomic::Ordering::Relaxed);
    let fault = reader.other(hostile.pid(), &[]).fault().cloned().unwrap();
    assert!(fault.kind == findings::FaultKind::TooLarge && fault.says.contains("mounts"), "{fault}");
    let ordinary = Namespace::new();
    assert!(reader.other(ordinary.pid(), &[]).get().is_some());
    assert!(reader.other(hostile.pid(), &[]).fault().is_some());
    assert_eq!(reader.faults().len(), 1, "it is reported once");
}

const TABLE: &[u8] = b"1 1 8:1 / / rw - ext4 /dev/root rw
2 1 0:21 /a /a rw - tmpfs t rw
3 2 0:22 / /a/net rw - fuse.s3fs s3 rw
";

#[test]
fn keeps_off_what_needs_a_server() {
    let all = crate::parse::mountinfo::mounts(TABLE, |_| true).mounts;
    assert!(touchable(&all, &"/a/b".into()).is_ok());
    let fault = touchable(&all, &"/a/net/x".into()).unwrap_err();
    assert!(fault.says.contains("/a/net (fuse.s3fs)"), "{fault}");
}
