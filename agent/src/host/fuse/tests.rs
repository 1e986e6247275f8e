//! A real FUSE mount whose server answers the kernel's greeting and then nothing, or only `stat`.

use super::*;
use crate::{
    host::{
        child::Prober,
        mounts::{MountReader, test_mounts::Namespace},
    },
    observation::FuseProbe,
};

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
    fn view(&self) -> HostView {
        HostView::new(format!("/proc/{}/root", self.ns.pid()))
    }

    fn connection(&self) -> FuseConnection {
        let number = self.mount.fuse_connection().unwrap();
        let mut seen = connections(&[number], &Hints::default(), &self.view());
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
    // Only a kernel that tells can say that nobody else serves it.
    assert!(!seen.exact || seen.servers.len() == 1);

    let prober = Prober::new();
    probe(&mut seen, &served.mount, &served.view(), &prober, Duration::from_secs(5));
    assert_eq!(seen.probe, Seen::Seen(FuseProbe::Answers));

    served.kill_server();
    let mut seen = served.connection();
    assert!(seen.servers.iter().all(|server| server.pid != served.server));
    probe(&mut seen, &served.mount, &served.view(), &prober, Duration::from_secs(5));
    assert_eq!(seen.probe, Seen::Seen(FuseProbe::Dead));
}

#[test]
fn a_child_that_cannot_be_killed_is_abandoned_and_reaped_later() {
    let mut served = serve("silent");
    let prober = Prober::new();
    let mut seen = served.connection();
    let began = std::time::Instant::now();
    probe(&mut seen, &served.mount, &served.view(), &prober, Duration::from_millis(500));
    assert_eq!(seen.probe, Seen::Seen(FuseProbe::Silent));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    // The server has read the request, so the child waits in D.
    assert_eq!(prober.abandoned(), 1);
    assert!(served.connection().waiting.get().is_some_and(|waiting| *waiting > 0));
    // No second child for the same file system.
    let began = std::time::Instant::now();
    probe(&mut seen, &served.mount, &served.view(), &prober, Duration::from_secs(5));
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

#[test]
fn no_number_costs_nothing_and_an_unknown_one_is_missing() {
    assert!(connections(&[], &Hints::default(), &HostView::default()).is_empty());
    let mut ns = Namespace::new();
    let view = HostView::new(format!("/proc/{}/root", ns.pid()));
    if ns.attempt("mount -t fusectl ctl /sys/fs/fuse/connections").1 == 0 {
        assert_eq!(waiting(999_999, &view), Seen::Missing);
        ns.run("umount /sys/fs/fuse/connections");
        let fault = waiting(999_999, &view).fault().cloned().unwrap();
        assert!(fault.says.contains("not mounted"), "{fault}");
    }
}
