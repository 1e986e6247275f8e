//! Real mounts and a real `umount`: each case asks the kernel whether the mount is busy and
//! compares that with what the search says.

mod copies;

use std::sync::{Mutex, PoisonError};

use super::*;
use crate::host::mounts::living;
use crate::host::mounts::tests::namespace::{Namespace, skip};
use crate::host::prober::Prober;
use crate::observation::{HeldBy, HostPath, mounted_at};

/// A namespace that plays the kubelet's, with a shared tmpfs on which a volume is mounted.
struct Stage {
    ns: Namespace,
    _dir: tempfile::TempDir,
    base: String,
    volume: String,
}

impl Stage {
    fn new() -> Self {
        let mut ns = Namespace::new();
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().to_str().unwrap().to_owned();
        let volume = format!("{base}/pods/vol");
        ns.run(&format!(
            "mount --make-rprivate / && mount -t tmpfs base {base} && mount --make-shared {base} \
             && mkdir -p {volume} {base}/else && mount -t tmpfs vol {volume} \
             && mkdir {volume}/sub && echo x > {volume}/file && cd /"
        ));
        Stage { ns, _dir: dir, base, volume }
    }

    fn search(&self) -> HolderSearch {
        self.search_with(&Options::default())
    }

    fn search_with(&self, options: &Options<'_>) -> HolderSearch {
        let mut reader = MountReader::new(self.base.as_str().into());
        let table = reader.kubelet(self.ns.pid()).get().cloned().unwrap();
        let point = HostPath::from(self.volume.as_str());
        let target = mounted_at(&table.mounts, &point).cloned().unwrap();
        let mut outcome = search(&[target], &table, &mut reader, options);
        assert_eq!(outcome.len(), 1);
        outcome.remove(0)
    }

    /// Whether the kernel refuses; the mount is gone if it does not.
    fn umount_is_busy(&mut self) -> bool {
        let (output, status) = self.ns.attempt(&format!("umount {}", self.volume));
        assert!(status == 0 || output.contains("busy"), "{output}");
        status != 0
    }

    /// Searches, then lets the kernel say who is right.
    fn judged(&mut self) -> HolderSearch {
        let outcome = self.search();
        let blocked = outcome.holders.iter().any(|holder| blocks(holder.copy));
        assert_eq!(self.umount_is_busy(), blocked, "{:#?}", outcome.holders);
        outcome
    }

    fn await_file(&mut self, path: &str) {
        self.ns.run(&format!("timeout 10 sh -c 'until [ -e {path} ]; do sleep 0.01; done'"));
    }
}

/// Opens a file and sleeps.
fn holding(path: &str) -> String {
    format!("sleep 1000 3<{path}")
}

fn only(outcome: &HolderSearch) -> &crate::observation::Holder {
    assert_eq!(outcome.holders.len(), 1, "{:#?}", outcome.holders);
    &outcome.holders[0]
}

#[test]
fn nobody_holds_it() {
    let mut stage = Stage::new();
    let outcome = stage.judged();
    assert!(outcome.holders.is_empty(), "{:?}", outcome.holders);
    assert!(outcome.looked_at >= 1);
    assert_eq!((outcome.mappings, outcome.mount_point.as_str()), (Seen::Missing, Some(stage.volume.as_str())));
}

#[test]
fn an_open_file() {
    let mut stage = Stage::new();
    let file = format!("{}/file", stage.volume);
    let pid = stage.ns.spawn(&holding(&file));
    let outcome = stage.judged();
    let holder = only(&outcome);
    assert_eq!((holder.pid, holder.comm.as_str(), holder.copy), (pid, "sleep", CopyKind::Original));
    assert_eq!(holder.how, HeldBy::Fd { fd: 3, path: file.as_str().into() });
    assert!(holder.start_ticks > 0 && holder.state == 'S' && holder.mount_ns == stage_ns(&stage));
}

fn stage_ns(stage: &Stage) -> u64 {
    living(stage.ns.pid()).unwrap().1
}

#[test]
fn a_working_directory_and_a_program() {
    let mut stage = Stage::new();
    let volume = stage.volume.clone();
    stage.ns.run(&format!("cp $(command -v sleep) {volume}/program; ldd {volume}/program >/dev/null"));
    let cwd = stage.ns.spawn(&format!("env -C {volume}/sub sleep 1000"));
    let exe = stage.ns.spawn(&format!("{volume}/program 1000"));
    let outcome = stage.judged();
    let how =
        |pid| outcome.holders.iter().filter(|holder| holder.pid == pid).map(|h| h.how.clone()).collect::<Vec<_>>();
    assert_eq!(how(cwd), [HeldBy::Cwd(format!("{volume}/sub").as_str().into())]);
    assert_eq!(how(exe), [HeldBy::Exe(format!("{volume}/program").as_str().into())]);
}

#[test]
fn what_lies_on_a_mount_below_does_not_hold_the_one_above() {
    let mut stage = Stage::new();
    let volume = stage.volume.clone();
    stage.ns.run(&format!("mount -t tmpfs inner {volume}/sub && echo y > {volume}/sub/f"));
    stage.ns.spawn(&format!("env -C {volume}/sub {}", holding(&format!("{volume}/sub/f"))));
    assert!(stage.search().holders.is_empty(), "the mount below is in the table, not a holder");
}

#[test]
fn a_bound_socket() {
    let mut stage = Stage::new();
    let path = format!("{}/s", stage.volume);
    let pid = stage.ns.spawn(&binding(&stage.base, &path));
    stage.await_file(&format!("{}/ready", stage.base));
    let outcome = stage.judged();
    assert_eq!(only(&outcome).pid, pid);
    assert!(matches!(&only(&outcome).how, HeldBy::Fd { path: shown, .. } if shown.as_str() == Some(&path)));
}

/// `/proc/net/unix` has the name as it was given.
#[test]
fn a_socket_bound_by_a_relative_name_may_be_one() {
    let mut stage = Stage::new();
    let script = format!(
        "import os,socket,time; os.chdir(\"{0}\"); s=socket.socket(socket.AF_UNIX); s.bind(\"sub/s\"); os.chdir(\"/\"); \
         open(\"{1}/ready\",\"w\").close(); time.sleep(1000)",
        stage.volume, stage.base
    );
    let pid = stage.ns.spawn(&format!("python3 -c '{script}'"));
    stage.await_file(&format!("{}/ready", stage.base));
    let outcome = stage.search();
    assert!(outcome.holders.is_empty(), "{:?}", outcome.holders);
    let socket = outcome.socket_candidates.iter().find(|socket| socket.pid == pid);
    let name = socket.and_then(|socket| socket.name.as_ref()?.as_str());
    assert_eq!(name, Some("sub/s"), "{:?}", outcome.socket_candidates);
    assert!(stage.umount_is_busy());
}

/// Binds `name`, makes `{base}/ready`, and sleeps.
fn binding(base: &str, name: &str) -> String {
    let script = format!(
        "import socket,time; s=socket.socket(socket.AF_UNIX); s.bind(\"{name}\"); s.listen(); \
         open(\"{base}/ready\",\"w\").close(); time.sleep(1000)"
    );
    format!("python3 -c '{script}'")
}

/// `/proc/net/unix` has the name as it was given, and no other process holds the volume.
#[test]
fn a_socket_bound_through_a_link_may_be_one() {
    let mut stage = Stage::new();
    let (base, volume) = (stage.base.clone(), stage.volume.clone());
    stage.ns.run(&format!("ln -s pods {base}/all && ln -s {base}/all/vol/sub {base}/link"));
    let pid = stage.ns.spawn(&binding(&base, &format!("{base}/link/s")));
    stage.await_file(&format!("{base}/ready"));
    let candidate = |stage: &Stage| stage.search().socket_candidates.into_iter().find(|socket| socket.pid == pid);
    let socket = candidate(&stage).unwrap();
    assert_eq!(socket.name, Some(format!("{base}/link/s").as_str().into()));
    assert_eq!(socket.leads_to, Some(format!("{volume}/sub/s").as_str().into()));
    // Where it led is not known any more.
    stage.ns.run(&format!("rm {base}/link"));
    assert_eq!(candidate(&stage).map(|socket| socket.leads_to), Some(None));
    assert!(stage.umount_is_busy());
}

#[test]
fn a_socket_bound_through_a_link_elsewhere_is_none() {
    let mut stage = Stage::new();
    let base = stage.base.clone();
    stage.ns.run(&format!("ln -s {base}/else {base}/link"));
    let pid = stage.ns.spawn(&binding(&base, &format!("{base}/link/s")));
    stage.await_file(&format!("{base}/ready"));
    assert!(stage.search().socket_candidates.iter().all(|socket| socket.pid != pid));
    assert!(!stage.umount_is_busy());
}

/// As daemons of the host do: one of them is no reason to doubt each answer of the node.
#[test]
fn a_relative_socket_whose_file_lies_beside_its_process_is_none() {
    let mut stage = Stage::new();
    let script = format!(
        "import os,socket,time; os.chdir(\"{0}\"); s=socket.socket(socket.AF_UNIX); s.bind(\"else/s\"); \
         open(\"ready\",\"w\").close(); time.sleep(1000)",
        stage.base
    );
    let pid = stage.ns.spawn(&format!("python3 -c '{script}'"));
    stage.await_file(&format!("{}/ready", stage.base));
    let is_known = |stage: &mut Stage| stage.search().socket_candidates.iter().any(|socket| socket.pid == pid);
    assert!(!is_known(&mut stage));
    // Its file is gone: it may have been bound elsewhere.
    let file = format!("{}/else/s", stage.base);
    stage.ns.run(&format!("rm {file}"));
    assert!(is_known(&mut stage));
    // A file that is no socket is not its own.
    stage.ns.run(&format!("touch {file}"));
    assert!(is_known(&mut stage));
}

/// Nothing ties its copy of the volume to the kubelet's.
#[test]
fn a_relative_socket_in_a_private_namespace_keeps_no_volume() {
    let mut stage = Stage::new();
    let mut private = stage.ns.copy("private");
    let script = format!(
        "import os,socket,time; os.chdir(\"{0}\"); s=socket.socket(socket.AF_UNIX); s.bind(\"sub/s\"); os.chdir(\"/\"); \
         open(\"{1}/ready\",\"w\").close(); time.sleep(1000)",
        stage.volume, stage.base
    );
    let pid = private.spawn(&format!("python3 -c '{script}'"));
    stage.await_file(&format!("{}/ready", stage.base));
    let outcome = stage.search();
    assert!(outcome.socket_candidates.iter().all(|socket| socket.pid != pid), "{:?}", outcome.socket_candidates);
    assert!(!stage.umount_is_busy());
}

/// Binds the socket in a network namespace of its own and leaves that, perhaps with a child in it.
fn bound_in_another_network(stage: &mut Stage, with_child: bool) -> u32 {
    let script = format!(
        "import ctypes,os,socket,time; c=ctypes.CDLL(None); home=os.open(\"/proc/self/ns/net\",os.O_RDONLY); \
         c.unshare(0x40000000)\n\
         if {} and os.fork()==0: time.sleep(1000)\n\
         s=socket.socket(socket.AF_UNIX); s.bind(\"{}/s\"); s.listen(); c.setns(home,0x40000000); os.close(home); \
         open(\"{}/ready\",\"w\").close(); time.sleep(1000)",
        if with_child { "True" } else { "False" },
        stage.volume,
        stage.base
    );
    let pid = stage.ns.spawn(&format!("python3 -c '{script}'"));
    stage.await_file(&format!("{}/ready", stage.base));
    pid
}

#[test]
fn a_socket_bound_in_a_network_namespace_that_its_process_has_left() {
    let mut stage = Stage::new();
    let pid = bound_in_another_network(&mut stage, true);
    let path = format!("{}/s", stage.volume);
    let outcome = stage.judged();
    assert_eq!(only(&outcome).pid, pid);
    assert!(matches!(&only(&outcome).how, HeldBy::Fd { path: shown, .. } if shown.as_str() == Some(&path)));
}

/// No list shows it.
#[test]
fn a_socket_of_a_network_namespace_without_a_process_may_be_one() {
    let mut stage = Stage::new();
    let pid = bound_in_another_network(&mut stage, false);
    let outcome = stage.search();
    assert!(outcome.holders.is_empty(), "{:?}", outcome.holders);
    let socket = outcome.socket_candidates.iter().find(|socket| socket.pid == pid).unwrap();
    assert_eq!((&socket.name, socket.left_network), (&None, true));
    assert!(stage.umount_is_busy());
}

/// Of the host's services systemd gives many a network of their own, with sockets of the host's.
#[test]
fn a_socket_of_another_network_that_is_bound_to_nothing_is_none() {
    let mut stage = Stage::new();
    let script = format!(
        "import ctypes,os,socket,time; pair=socket.socketpair(); abstract=socket.socket(socket.AF_UNIX); \
         abstract.bind(\"\\0why-terminating-%d\" % os.getpid()); ctypes.CDLL(None).unshare(0x40000000); \
         open(\"{}/ready\",\"w\").close(); time.sleep(1000)",
        stage.base
    );
    let pid = stage.ns.spawn(&format!("python3 -c '{script}'"));
    stage.await_file(&format!("{}/ready", stage.base));
    let outcome = stage.search();
    assert!(outcome.socket_candidates.iter().all(|socket| socket.pid != pid), "{:?}", outcome.socket_candidates);
    assert!(!stage.umount_is_busy());
}

/// Each of these tests sees the namespaces that the other one keeps.
static KEPT_NAMESPACES: Mutex<()> = Mutex::new(());

/// The least of some counts: tests of other files keep namespaces for a moment.
fn unsearched_namespaces(stage: &mut Stage) -> Option<u32> {
    let count = |_| {
        std::thread::sleep(Duration::from_millis(300));
        stage.search().unsearched_namespaces
    };
    (0..8).map(count).min()
}

/// It was made by a process that has ended.
#[test]
fn a_namespace_that_a_bind_mount_keeps_is_not_searched() {
    let _alone = KEPT_NAMESPACES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut stage = Stage::new();
    let before = unsearched_namespaces(&mut stage);
    let base = stage.base.clone();
    // One is bound only in an older one, by its number, and each processor has a range of numbers of its own (Linux 6.18,
    // fs/namespace.c, `mnt_ns_loop`).
    let (output, status) = stage.ns.attempt(&format!(
        "mkdir {base}/private && mount -t tmpfs p {base}/private && mount --make-private {base}/private \
         && touch {base}/private/kept && ( for processor in $(seq 0 63); do \
         taskset -c $processor unshare --mount={base}/private/kept true && exit; done; exit 1 )"
    ));
    assert_eq!(status, 0, "{output}");
    assert_eq!(unsearched_namespaces(&mut stage), before.map(|before| before + 1));
}

/// Its maker has ended, and another process has it open.
#[test]
fn a_namespace_that_a_descriptor_keeps_is_not_searched() {
    let _alone = KEPT_NAMESPACES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut stage = Stage::new();
    let before = unsearched_namespaces(&mut stage);
    let script = format!(
        "import os,subprocess,time; p=subprocess.Popen([\"unshare\",\"--mount\",\"sleep\",\"1000\"]); \
         own=os.readlink(\"/proc/self/ns/mnt\"); other=\"/proc/%d/ns/mnt\" % p.pid\n\
         while os.readlink(other)==own: time.sleep(.01)\n\
         f=os.open(other,os.O_RDONLY); p.kill(); p.wait(); open(\"{0}/ready\",\"w\").close(); time.sleep(1000)",
        stage.base
    );
    let pid = stage.ns.spawn(&format!("python3 -c '{script}'"));
    stage.await_file(&format!("{}/ready", stage.base));
    assert_eq!(unsearched_namespaces(&mut stage), before.map(|before| before + 1), "pid {pid}");
}

/// Its descriptor is closed.
#[test]
fn a_file_registered_with_io_uring() {
    let mut stage = Stage::new();
    let file = format!("{}/file", stage.volume);
    let script = format!(
        "import ctypes,os,time; c=ctypes.CDLL(None,use_errno=True); f=os.open(\"{file}\",os.O_RDONLY); \
         r=c.syscall(425,1,(ctypes.c_char*120)()); n=ctypes.get_errno(); a=(ctypes.c_int*1)(f); \
         e=c.syscall(427,r,2,a,1) if r>=0 else 0; os.close(f); \
         open(\"{0}/\"+(\"refused\" if r<0 and n in (1,38) else \"failed\" if r<0 or e else \"some\"),\"w\").close(); \
         open(\"{0}/ready\",\"w\").close(); time.sleep(1000)",
        stage.base
    );
    let pid = stage.ns.spawn(&format!("python3 -c '{script}'"));
    stage.await_file(&format!("{}/ready", stage.base));
    // EPERM where it is switched off (`kernel.io_uring_disabled`), ENOSYS where the kernel was built without it.
    if stage.ns.attempt(&format!("test -e {}/refused", stage.base)).1 == 0 {
        return skip("the kernel refuses io_uring");
    }
    stage.ns.run(&format!("test -e {}/some", stage.base));
    let outcome = stage.judged();
    assert_eq!(only(&outcome).pid, pid);
    assert!(matches!(&only(&outcome).how, HeldBy::Ring { path: shown, .. } if shown.as_str() == Some(&file)));
}

#[test]
fn a_thread_with_a_working_directory_of_its_own() {
    let mut stage = Stage::new();
    let script = format!(
        "import os,threading,time,ctypes\n\
         def hold():\n\
         \x20 ctypes.CDLL(None).unshare(0x200); os.chdir(\"{0}\"); open(\"{1}/ready\",\"w\").close(); time.sleep(1000)\n\
         threading.Thread(target=hold).start()",
        stage.volume, stage.base
    );
    let pid = stage.ns.spawn(&format!("python3 -c '{script}'"));
    stage.await_file(&format!("{}/ready", stage.base));
    let outcome = stage.judged();
    assert_eq!((only(&outcome).pid, &only(&outcome).how), (pid, &HeldBy::Cwd(stage.volume.as_str().into())));
}

#[test]
fn a_mapped_file_is_found_by_the_child_only() {
    let mut stage = Stage::new();
    let file = format!("{}/file", stage.volume);
    let script = format!(
        "import mmap,os,time; f=os.open(\"{file}\",os.O_RDONLY); m=mmap.mmap(f,2,prot=1); os.close(f); \
         [os.close(int(n)) for n in os.listdir(\"/proc/self/fd\") if int(n)>2 and os.path.exists(\"/proc/self/fd/\"+n)]; \
         open(\"{}/ready\",\"w\").close(); time.sleep(1000)",
        stage.base
    );
    let pid = stage.ns.spawn(&format!("python3 -c '{script}'"));
    stage.await_file(&format!("{}/ready", stage.base));
    assert!(stage.search().holders.is_empty());
    let prober = Prober::default();
    let outcome = stage.search_with(&Options { prober: Some(&prober), ..Options::default() });
    assert_eq!((only(&outcome).pid, &only(&outcome).how), (pid, &HeldBy::Mapping(file.as_str().into())));
    assert!(outcome.mappings.get().is_some_and(|looked_at| *looked_at >= 1), "{:?}", outcome.mappings);
    assert!(stage.umount_is_busy());
}

#[test]
fn a_loop_device_with_a_backing_file_inside() {
    let mut stage = Stage::new();
    let file = format!("{}/image", stage.volume);
    let (made, status) = stage.ns.attempt(&format!("truncate -s 1M {file} && losetup --find --show {file}"));
    assert_eq!(status, 0, "losetup: {made}");
    let outcome = stage.search();
    let busy = stage.umount_is_busy();
    stage.ns.run(&format!("losetup -d {}", made.trim()));
    let holder = only(&outcome);
    assert_eq!((holder.pid, holder.copy, busy), (0, CopyKind::Original, true));
    assert_eq!(holder.how, HeldBy::Loop { device: made.trim().to_owned(), file: file.as_str().into() });
}

#[test]
fn a_file_that_is_swapped_to() {
    let mut stage = Stage::new();
    let at = format!("{}/else", stage.base);
    let (output, status) = stage.ns.attempt(&format!(
        "truncate -s 16M {at}.image && mkfs.ext4 -q {at}.image && mount -o loop {at}.image {at} && \
         dd if=/dev/zero of={at}/file bs=4k count=16 && chmod 600 {at}/file && mkswap {at}/file && swapon {at}/file"
    ));
    if status != 0 {
        return skip(&format!("no swap: {output}"));
    }
    let mut reader = MountReader::new(stage.base.as_str().into());
    let table = reader.kubelet(stage.ns.pid()).get().cloned().unwrap();
    let mount = table.mounts.iter().find(|mount| mount.mount_point.as_str() == Some(&at)).cloned();
    let outcome = mount.map(|mount| search(&[mount], &table, &mut reader, &Options::default()));
    let busy = stage.ns.attempt(&format!("umount {at}")).1 != 0;
    // Before anything can fail: it is the whole machine's.
    stage.ns.run(&format!("swapoff {at}/file"));
    let outcome = outcome.unwrap().remove(0);
    let holder = only(&outcome);
    assert_eq!((holder.pid, holder.copy, busy), (0, CopyKind::Original, true));
    assert_eq!(holder.how, HeldBy::Swap(format!("{at}/file").as_str().into()));
}

#[test]
fn a_detached_mount_of_the_same_file_system() {
    let mut stage = Stage::new();
    let (base, volume) = (stage.base.clone(), stage.volume.clone());
    stage.ns.run(&format!("mount --make-private {base} && mount --bind {volume} {base}/else"));
    let pid = stage.ns.spawn(&holding(&format!("{base}/else/file")));
    stage.ns.run(&format!("umount -l {base}/else"));
    let prober = Prober::default();
    let outcome = stage.search_with(&Options { prober: Some(&prober), ..Options::default() });
    assert_eq!((only(&outcome).pid, only(&outcome).copy), (pid, CopyKind::Detached));
    assert!(!stage.umount_is_busy());
}

/// One process more than is asked about would have taken 80 MB in paths.
#[test]
fn more_links_than_one_child_is_asked_about_are_not_kept_and_not_taken_for_none() {
    let mut stage = Stage::new();
    let (base, volume) = (stage.base.clone(), stage.volume.clone());
    stage.ns.run(&format!("mount --make-private {base} && mount --bind {volume} {base}/else"));
    stage.ns.spawn(&format!(
        "bash -c 'ulimit -n 4096; for ((fd = 10; fd < 2600; fd++)); do eval \"exec $fd<{base}/else/file\"; done; \
         touch {base}/opened; exec sleep 1000'"
    ));
    stage.await_file(&format!("{base}/opened"));
    stage.ns.run(&format!("umount -l {base}/else"));
    let prober = Prober::default();
    let before = stage.search().unreadable;
    let outcome = stage.search_with(&Options { prober: Some(&prober), ..Options::default() });
    assert_eq!((outcome.holders.len(), outcome.unreadable - before), (4, 1), "{:#?}", outcome.holders);
}

#[test]
fn who_was_not_looked_at_in_time_may_hold_it() {
    let mut stage = Stage::new();
    stage.ns.spawn(&holding(&format!("{}/file", stage.volume)));
    let outcome = stage.search_with(&Options { walk: Duration::ZERO, ..Options::default() });
    assert_eq!((outcome.holders.len(), outcome.looked_at), (0, 0));
    assert!(outcome.unreadable > 1, "{outcome:#?}");
}

#[test]
fn several_targets_share_one_pass_and_keep_their_order() {
    let mut stage = Stage::new();
    let base = stage.base.clone();
    stage.ns.run(&format!("mount -t tmpfs second {base}/else && echo z > {base}/else/f"));
    stage.ns.spawn(&holding(&format!("{base}/else/f")));
    let mut reader = MountReader::new(base.as_str().into());
    let table = reader.kubelet(stage.ns.pid()).get().cloned().unwrap();
    let at = |point: &str| table.mounts.iter().find(|m| m.mount_point.as_str() == Some(point)).cloned().unwrap();
    let targets = [at(&stage.volume), at(&format!("{base}/else"))];
    let outcome = search(&targets, &table, &mut reader, &Options::default());
    assert!(outcome[0].holders.is_empty());
    assert_eq!(only(&outcome[1]).copy, CopyKind::Original);
    assert!(search(&[], &table, &mut reader, &Options::default()).is_empty());
}

#[test]
fn the_bound_keeps_those_that_block() {
    let mut stage = Stage::new();
    let mut private = stage.ns.copy("private");
    for _ in 0..3 {
        private.spawn(&format!("env -C {} sleep 1000", stage.volume));
    }
    let pid = stage.ns.spawn(&format!("env -C {} sleep 1000", stage.volume));
    let outcome = stage.search_with(&Options { at_most: 2, ..Options::default() });
    assert_eq!(outcome.holders.len(), 2);
    assert_eq!((outcome.holders[0].pid, outcome.holders[0].copy), (pid, CopyKind::Original));
}
