//! A real FUSE mount whose server answers the kernel's greeting and then nothing, or only `stat`.

use super::*;
use crate::host::Sockets;
use crate::host::mounts::MountReader;
use crate::host::mounts::tests::namespace::Namespace;
use crate::host::prober::Prober;
use crate::observation::FuseProbe;

const SERVER: &str = r#"
import os,struct,ctypes,sys,time
libc=ctypes.CDLL(None,use_errno=True)
fd=os.open("/dev/fuse",os.O_RDWR)
options=("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other"%fd).encode()
if libc.mount(b"wt",sys.argv[1].encode(),b"fuse.wt",0,options): sys.exit(1)
open(sys.argv[2],"w").close()
def reply(unique,data): os.write(fd,struct.pack("IiQ",16+len(data),0,unique)+data)
while True:
    request=os.read(fd,1<<20); size,op,unique=struct.unpack_from("IIQ",request,0)
    if op==26: reply(unique,struct.pack("IIIIHHIIHHI",7,31,65536,0,12,12,65536,1,0,0,0)+b"\0"*28)
    elif op==3 and sys.argv[3]=="answer":
        reply(unique,struct.pack("QII",0,0,0)+struct.pack("QQQQQQIIIIIIIIII",1,0,0,0,0,0,0,0,0,0o40755,2,0,0,0,4096,0))
"#;

struct Served {
    ns: Namespace,
    _dir: tempfile::TempDir,
    mount: Mount,
    server: u32,
}

fn serve(mode: &str) -> Served {
    let mut ns = Namespace::new();
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().to_str().unwrap().to_owned();
    std::fs::create_dir(dir.path().join("m")).unwrap();
    std::fs::write(dir.path().join("server.py"), SERVER).unwrap();
    ns.run("test -c /dev/fuse && { mountpoint -q /sys/fs/fuse/connections || mount -t fusectl ctl /sys/fs/fuse/connections; }");
    let server = ns.spawn(&format!("python3 {base}/server.py {base}/m {base}/ready {mode}"));
    for _ in 0..500 {
        if dir.path().join("ready").exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let table = MountReader::new("/nothing-here".into()).kubelet(ns.pid()).get().cloned().unwrap();
    let mount = table.mounts.into_iter().find(|mount| mount.fs_type == "fuse.wt").unwrap();
    Served { ns, _dir: dir, mount, server }
}

impl Served {
    fn host(&self) -> HostRoot {
        HostRoot::new(format!("/proc/{}/root", self.ns.pid()))
    }

    fn connection(&self) -> FuseConnection {
        let number = self.mount.fuse_connection().unwrap();
        let mut seen = connections(&[number], &Hints::default(), &self.host());
        assert_eq!((seen.len(), seen[0].number), (1, number));
        seen.remove(0)
    }

    fn kill_server(&mut self) {
        let pid = self.server;
        self.ns.run(&format!("kill -9 {pid}; wait {pid} 2>/dev/null; true"));
    }
}

#[test]
fn names_the_server_and_what_waits() {
    let mut served = serve("answer");
    let mut seen = served.connection();
    assert_eq!(seen.waiting, Seen::Seen(0));
    let server = seen.servers.iter().find(|server| server.pid == served.server).unwrap();
    assert!(server.comm.starts_with("python3") && server.state == 'S', "{server:?}");
    assert!(server.wchan.get().is_some_and(|wchan| wchan.contains("fuse")), "{server:?}");
    // Only a kernel that shows the connection can prove that it is the only server.
    assert!(!seen.exact || seen.servers.len() == 1);

    let prober = Prober::default();
    probe(&mut seen, &served.mount, &served.host(), &prober, Duration::from_secs(5));
    assert_eq!(seen.probe, Seen::Seen(FuseProbe::Answers));

    served.kill_server();
    let mut seen = served.connection();
    assert!(seen.servers.iter().all(|server| server.pid != served.server));
    probe(&mut seen, &served.mount, &served.host(), &prober, Duration::from_secs(5));
    assert_eq!(seen.probe, Seen::Seen(FuseProbe::Dead));
}

#[test]
fn a_child_that_cannot_be_killed_is_abandoned_and_reaped_later() {
    let mut served = serve("silent");
    let prober = Prober::default();
    let mut seen = served.connection();
    let began = std::time::Instant::now();
    probe(&mut seen, &served.mount, &served.host(), &prober, Duration::from_millis(500));
    assert_eq!(seen.probe, Seen::Seen(FuseProbe::Silent));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    // The server has read the request, so the child waits in D.
    assert_eq!(prober.abandoned(), 1);
    assert!(served.connection().waiting.get().is_some_and(|waiting| *waiting > 0));
    // No second child for the same file system.
    let began = std::time::Instant::now();
    probe(&mut seen, &served.mount, &served.host(), &prober, Duration::from_secs(5));
    assert_eq!(seen.probe, Seen::Seen(FuseProbe::Silent));
    assert!(began.elapsed() < Duration::from_millis(400), "{:?}", began.elapsed());

    served.kill_server();
    for _ in 0..200 {
        if prober.abandoned() == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the child is still there");
}

/// The attack: links where the kubelet has directories, into a file system that never answers. What is done on a
/// thread of the agent must come back; a thread that waited for the server would end with the server only.
#[test]
fn no_link_leads_a_thread_to_a_server_that_is_silent() {
    use crate::host::{csi, volumes};
    use std::{fs, os::unix::fs::symlink, path::Path};

    const POD: &str = "96fb425e-919e-44f9-8b42-b1254a602ba1";
    let mut served = serve("silent");
    let base = served._dir.path().to_owned();
    let dir = |below: &str| {
        fs::create_dir_all(base.join(below)).unwrap();
        base.join(below)
    };
    // Relative, so that they stay in the namespace of the mount.
    let link_to = |at: &Path, below: &str| {
        let up = at.parent().unwrap().strip_prefix(&base).unwrap().components().count();
        symlink(format!("{}m{below}", "../".repeat(up)), at).unwrap();
    };
    let link = |at: &Path| link_to(at, "");
    let volumes_of_pod = dir(&format!("pods/{POD}/volumes/kubernetes.io~csi"));
    link(&volumes_of_pod.join("pv-1"));
    let half = dir(&format!("pods/{POD}/volumes/kubernetes.io~csi/pv-2"));
    link(&half.join("mount"));
    link_to(&half.join("vol_data.json"), "/vol_data.json");
    link(&volumes_of_pod.with_file_name("kubernetes.io~empty-dir"));
    let sub_paths = dir(&format!("pods/{POD}/volume-subpaths"));
    link(&sub_paths.join("v"));
    let staged = dir("plugins/kubernetes.io/csi/driver.example.com");
    link(&staged.join("0123"));
    let registry = dir("plugins_registry");
    link(&registry.join("folder"));
    link_to(&registry.join("a.sock"), "/sock");

    let (host, pid) = (served.host(), served.ns.pid());
    let (sender, receiver) = std::sync::mpsc::channel();
    let root = HostPath::from(base);
    let looker = std::thread::spawn(move || {
        let table = MountReader::new(root.clone()).kubelet(pid).get().cloned().unwrap();
        let mut dirs = volumes::pod_dirs(&host, &root, &table, None).get().cloned().unwrap();
        volumes::read_into(&mut dirs[0], &host, &root, &table, 36);
        let staged = (csi::staging(&host, &root, &table), csi::unstaged(&host, &root, &table));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let drivers = runtime.block_on(csi::drivers(
            &host,
            &Sockets::Own,
            csi::Root { configured: &root, real: &root },
            &table,
            Duration::from_millis(300),
        ));
        sender.send((dirs.remove(0), staged, drivers)).unwrap();
    });
    let looked = receiver.recv_timeout(Duration::from_secs(20));
    served.kill_server();
    looker.join().unwrap();
    let (pod, (staging, unstaged), drivers) = looked.expect("the thread waits for a server that a tenant has chosen");
    let volumes = pod.volumes.get().cloned().unwrap();
    let names: Vec<&str> = volumes.iter().map(|volume| volume.name.as_str()).collect();
    assert_eq!(names, ["pv-1", "pv-2"]);
    for volume in &volumes {
        assert_ne!(volume.mounted, Seen::Seen(true), "{volume:?}");
        assert_eq!(volume.entries, None, "{volume:?}");
    }
    let says = |fault: Option<&Fault>| fault.is_some_and(|fault| fault.says.contains("symbolic link"));
    assert!(says(volumes[0].mounted.fault()) && says(volumes[0].target.fault()), "{:?}", volumes[0]);
    assert_eq!(pod.strays.len(), 1, "a link is no plugin's directory");
    assert!(says(pod.faults.iter().find(|fault| fault.source.to_string().ends_with("volume-subpaths/v"))), "{pod:?}");
    assert_eq!((staging, unstaged), (Vec::new(), Vec::new()));
    assert_eq!(drivers, Seen::Seen(Vec::new()), "a link is no socket");
}

#[test]
fn no_number_costs_nothing_and_an_unknown_one_is_missing() {
    assert!(connections(&[], &Hints::default(), &HostRoot::default()).is_empty());
    let mut ns = Namespace::new();
    let host = HostRoot::new(format!("/proc/{}/root", ns.pid()));
    if ns.attempt("mount -t fusectl ctl /sys/fs/fuse/connections").1 == 0 {
        assert_eq!(waiting(999_999, &host), Seen::Missing);
        ns.run("umount /sys/fs/fuse/connections");
        let fault = waiting(999_999, &host).fault().cloned().unwrap();
        assert!(fault.says.contains("not mounted"), "{fault}");
    }
}

/// By what the kernel calls the file system, which older ones show too.
#[test]
fn fusectl_is_known_by_its_magic_number() {
    assert!(!is_fusectl(Path::new("/sys")).unwrap() && is_fusectl(Path::new("/nothing-here")).is_err());
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let is_mounted =
        mounts.lines().any(|line| line.contains(" /sys/fs/fuse/connections ") && line.contains(" - fusectl "));
    let all = Path::new("/sys/fs/fuse/connections");
    assert!(!all.exists() || is_fusectl(all).unwrap() == is_mounted);
}

/// A step that mounts it follows from the first only.
#[test]
fn that_fusectl_is_not_mounted_is_said_where_that_was_read() {
    let fault = |is_mounted| without_file("waiting".to_owned(), is_mounted).fault().cloned();
    assert_eq!(fault(Ok(false)).unwrap().kind, FaultKind::Gone);
    assert_eq!(fault(Ok(true)), None);
    let failed = fault(Err(io::Error::from_raw_os_error(13))).unwrap();
    assert_eq!((failed.kind, failed.errno), (FaultKind::Denied, Some(13)));
    let gone = fault(Err(io::ErrorKind::NotFound.into())).unwrap();
    for fault in [failed, gone] {
        assert!(fault.kind != FaultKind::Gone && !fault.says.contains("is not mounted"), "{fault}");
    }
}
