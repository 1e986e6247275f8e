use std::{fs, os::unix::net::UnixListener};

use super::*;
use crate::observation::{Mount, VolData};
use crate::parse::mountinfo::mounts;

const DEADLINE: Duration = Duration::from_millis(300);

/// Two volumes as recorded on a node, the second staged below its `globalmount`.
const TABLE: &str = "27 1 254:0 / / rw - ext4 /dev/vda rw
43 27 254:0 /var/lib/kubelet ROOT rw,relatime shared:1 - ext4 /dev/vda rw
45 43 0:41 / ROOT/plugins/kubernetes.io/csi/exam.csi.example.com/d2e8/globalmount rw shared:2 - tmpfs exam-vol-1 rw
46 43 0:41 / ROOT/pods/96fb425e-919e-44f9-8b42-b1254a602ba1/volumes/kubernetes.io~csi/pv-csi-1/mount rw - tmpfs exam-vol-1 rw
62 43 0:52 / ROOT/plugins/kubernetes.io/csi/exam.csi.example.com/100d/globalmount/vol-2 rw shared:3 - tmpfs exam-vol-2 rw
63 43 0:60 / ROOT/plugins/kubernetes.io/csi/volumeDevices/pv/dev/x rw - tmpfs other rw
";

fn table(root: &HostPath) -> MountTable {
    let text = TABLE.replace("ROOT", root.as_str().unwrap());
    let mounts = mounts(text.as_bytes(), |_| true).mounts;
    MountTable { ns: 1, through_pid: 1, total: mounts.len(), mounts }
}

fn root() -> (tempfile::TempDir, HostPath) {
    let dir = tempfile::tempdir().unwrap();
    let root = HostPath::from(dir.path().to_owned());
    (dir, root)
}

fn own(root: &HostPath) -> Root<'_> {
    Root { configured: root, real: root }
}

#[test]
fn finds_what_is_staged_and_who_uses_it() {
    let (_dir, root) = root();
    let beside = root.join("plugins/kubernetes.io/csi/exam.csi.example.com/d2e8");
    fs::create_dir_all(beside.as_path()).unwrap();
    fs::write(
        beside.join("vol_data.json").as_path(),
        br#"{"driverName":"exam.csi.example.com","volumeHandle":"vol-1"}"#,
    )
    .unwrap();
    let staged = staging(&HostRoot::default(), &root, &table(&root));
    assert_eq!(staged.len(), 2);
    assert_eq!(
        (staged[0].driver.as_str(), staged[0].path.clone()),
        ("exam.csi.example.com", beside.join("globalmount"))
    );
    assert!(matches!(&staged[0].vol_data, VolData::Read(volume) if volume.handle == "vol-1"));
    assert!(staged[0].staged_ms.is_some_and(|staged| staged > 0) && staged[1].staged_ms.is_none());
    assert_eq!(staged[0].used_by.len(), 1);
    assert!(staged[0].used_by[0].as_str().unwrap().ends_with("pv-csi-1/mount"));
    assert_eq!((&staged[1].vol_data, staged[1].used_by.len()), (&VolData::Missing, 0));
}

/// Where the kubelet's directory was bound over itself.
#[test]
fn what_is_in_the_table_twice_is_staged_once() {
    let (_dir, root) = root();
    let mut table = table(&root);
    let once = staging(&HostRoot::default(), &root, &table);
    let copies: Vec<_> = table.mounts.iter().map(|mount| Mount { id: mount.id + 100, ..mount.clone() }).collect();
    table.mounts.extend(copies);
    assert_eq!(staging(&HostRoot::default(), &root, &table), once);
}

#[test]
fn a_staging_directory_without_a_mount() {
    let (_dir, root) = root();
    let plugins = root.join("plugins/kubernetes.io/csi");
    for volume in ["exam.csi.example.com/d2e8", "exam.csi.example.com/100d", "exam.csi.example.com/77aa", "pv/pv-1"] {
        fs::create_dir_all(plugins.join(volume).join("globalmount").as_path()).unwrap();
    }
    fs::create_dir_all(plugins.join("exam.csi.example.com/no-globalmount").as_path()).unwrap();
    let volumes = unstaged(&HostRoot::default(), &root, &table(&root));
    let paths: Vec<&HostPath> = volumes.iter().map(|volume| &volume.path).collect();
    assert_eq!(paths, [&plugins.join("exam.csi.example.com/77aa/globalmount")]);
    assert_eq!(volumes[0].driver, "exam.csi.example.com");
}

/// A driver's registration service, as gRPC over HTTP/2 without any help from `tonic`'s server,
/// which is not built in: one answer in fixed frames.
fn serve(path: &HostPath, info: registration::PluginInfo) {
    let listener = UnixListener::bind(path.as_path()).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        h2::answer(&mut stream, &prost::Message::encode_to_vec(&info));
    });
}

mod h2 {
    //! Just enough of HTTP/2 (RFC 9113) to answer one request on stream 1.

    use std::io::{Read, Write};

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        [head.as_slice(), payload].concat()
    }

    /// A header without compression (RFC 7541, 6.2.2).
    fn header(name: &str, value: &str) -> Vec<u8> {
        let mut bytes = vec![0];
        for text in [name, value] {
            bytes.push(u8::try_from(text.len()).unwrap());
            bytes.extend(text.as_bytes());
        }
        bytes
    }

    pub(super) fn answer(stream: &mut (impl Read + Write), message: &[u8]) {
        stream.read_exact(&mut [0; 24]).unwrap();
        stream.write_all(&frame(4, 0, 0, &[])).unwrap();
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).unwrap();
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let mut payload = vec![0; length];
            stream.read_exact(&mut payload).unwrap();
            let (kind, flags) = (head[3], head[4]);
            if kind == 4 && flags & 1 == 0 {
                stream.write_all(&frame(4, 1, 0, &[])).unwrap();
            }
            // The end of the request's data.
            if kind == 0 && flags & 1 == 1 {
                break;
            }
        }
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        let data = [&[0], length.as_slice(), message].concat();
        // `:status: 200` is entry 8 of the static table.
        let headers = [vec![0x88], header("content-type", "application/grpc")].concat();
        stream.write_all(&frame(1, 4, 1, &headers)).unwrap();
        // Who is asked for less hangs up.
        let sent = data.chunks(16 << 10).try_for_each(|piece| stream.write_all(&frame(0, 0, 1, piece)));
        let _ = sent.and_then(|()| stream.write_all(&frame(1, 5, 1, &header("grpc-status", "0"))));
        let _ = stream.read(&mut [0; 64]);
    }
}

fn info(kind: &str, name: &str, endpoint: &HostPath) -> registration::PluginInfo {
    registration::PluginInfo {
        r#type: kind.to_owned(),
        name: name.to_owned(),
        endpoint: endpoint.as_str().unwrap().to_owned(),
    }
}

#[tokio::test]
async fn asks_all_registration_sockets_at_once() {
    let (_dir, root) = root();
    let registry = root.join("plugins_registry");
    fs::create_dir_all(registry.join("folder").as_path()).unwrap();
    let endpoint = root.join("csi.sock");
    let _driver = UnixListener::bind(endpoint.as_path()).unwrap();
    serve(&registry.join("a.sock"), info("CSIPlugin", "a.example.com", &endpoint));
    serve(&registry.join("folder/b.sock"), info("CSIPlugin", "b.example.com", &root.join("gone.sock")));
    serve(&registry.join("c.sock"), info("DevicePlugin", "gpu", &root.join("x")));
    serve(&registry.join("f.sock"), info("DRAPlugin", "gpu.example.com", &endpoint));
    let _silent = UnixListener::bind(registry.join("d.sock").as_path()).unwrap();
    drop(UnixListener::bind(registry.join("e.sock").as_path()).unwrap());
    fs::write(registry.join("readme").as_path(), "").unwrap();

    let began = std::time::Instant::now();
    let seen = drivers(&HostRoot::default(), &Sockets::Own, own(&root), &table(&root), DEADLINE).await;
    assert!(began.elapsed() < DEADLINE * 3, "{:?}", began.elapsed());
    let seen = seen.get().cloned().unwrap();
    let at = |name: &str| seen.iter().find(|driver| driver.socket == registry.join(name)).cloned().unwrap().info;
    assert_eq!(seen.len(), 6);
    let is_dra = |name: &str| at(name).get().is_some_and(|info| info.is_dra && info.listens == Seen::Seen(true));
    assert!(is_dra("f.sock") && !is_dra("a.sock"));
    let made = |socket: &HostPath| crate::sys::file_facts(socket.as_path()).unwrap().changed_ms;
    let since_ms = Seen::Seen(made(&endpoint).max(made(&registry.join("a.sock"))));
    let listening = CsiDriverInfo {
        name: "a.example.com".to_owned(),
        endpoint,
        listens: Seen::Seen(true),
        since_ms,
        is_dra: false,
    };
    assert_eq!(at("a.sock"), Seen::Seen(listening));
    assert_eq!(at("folder/b.sock").get().unwrap().listens, Seen::Missing);
    assert_eq!(at("folder/b.sock").get().unwrap().since_ms, Seen::Seen(made(&registry.join("folder/b.sock"))));
    assert_eq!(at("c.sock"), Seen::Missing);
    assert!(at("d.sock").fault().unwrap().says.contains("did not answer within"));
    assert!(at("e.sock").fault().unwrap().says.contains("cannot be reached"));
}

/// Like the kubelet, which checks for a socket, whatever its name, in every folder.
#[tokio::test]
async fn a_driver_is_found_where_the_kubelet_finds_it() {
    let (_dir, root) = root();
    let registry = root.join("plugins_registry");
    fs::create_dir_all(registry.join("vendor/driver").as_path()).unwrap();
    for (at, name) in [("reg", "a.example.com"), ("vendor/driver/c.sock", "c.example.com"), (".hidden.sock", "h")] {
        serve(&registry.join(at), info("CSIPlugin", name, &root.join("csi.sock")));
    }
    let seen = drivers(&HostRoot::default(), &Sockets::Own, own(&root), &table(&root), DEADLINE).await;
    let names: Vec<String> = seen.get().unwrap().iter().map(|driver| driver.info.get().unwrap().name.clone()).collect();
    assert_eq!(names, ["a.example.com", "c.example.com"]);
}

/// Of these any may be the driver that is looked for.
#[tokio::test]
async fn what_is_not_looked_at_is_no_absence() {
    let (_dir, root) = root();
    let registry = root.join("plugins_registry");
    fs::create_dir_all(registry.as_path()).unwrap();
    for socket in 0..=MAX_SOCKETS {
        drop(UnixListener::bind(registry.join(format!("{socket:03}.sock")).as_path()).unwrap());
    }
    let seen = drivers(&HostRoot::default(), &Sockets::Own, own(&root), &table(&root), DEADLINE).await;
    let seen = seen.get().unwrap();
    assert_eq!(seen.len(), MAX_SOCKETS + 1);
    assert_eq!(seen[MAX_SOCKETS].info.fault().unwrap().kind, FaultKind::NotAsked);
}

#[tokio::test]
async fn an_answer_has_a_bound() {
    let (_dir, root) = root();
    let registry = root.join("plugins_registry");
    fs::create_dir_all(registry.as_path()).unwrap();
    serve(&registry.join("a.sock"), info("CSIPlugin", &"a".repeat(200 << 10), &root.join("csi.sock")));
    let seen = drivers(&HostRoot::default(), &Sockets::Own, own(&root), &table(&root), DEADLINE).await;
    assert!(seen.get().unwrap()[0].info.fault().is_some(), "{seen:?}");
}

#[tokio::test]
async fn keeps_off_endpoints_on_file_systems_that_need_a_server() {
    let (_dir, root) = root();
    let mut table = table(&root);
    table.mounts[1].fs_type = "nfs4".to_owned();
    fs::create_dir(root.join("plugins_registry").as_path()).unwrap();
    assert!(drivers(&HostRoot::default(), &Sockets::Own, own(&root), &table, DEADLINE).await.fault().is_some());
    let nowhere = listens(&HostRoot::default(), &Sockets::Own, &table.mounts, &root.join("csi.sock")).await;
    assert!(nowhere.fault().unwrap().says.contains("nfs4"));
    assert!(listens(&HostRoot::default(), &Sockets::Own, &table.mounts, &"relative".into()).await.fault().is_some());
}

/// The endpoint is a string that a driver chooses.
#[tokio::test]
async fn an_endpoint_is_reached_by_no_link_and_no_way_up() {
    let (_dir, root) = root();
    let real = root.join("plugins/d");
    fs::create_dir_all(real.as_path()).unwrap();
    let _driver = UnixListener::bind(real.join("csi.sock").as_path()).unwrap();
    std::os::unix::fs::symlink("d", root.join("plugins/alias").as_path()).unwrap();
    std::os::unix::fs::symlink("csi.sock", real.join("link.sock").as_path()).unwrap();
    let mounts = table(&root).mounts;
    let ask = async |below: &str| {
        listens(&HostRoot::default(), &Sockets::Own, &mounts, &root.join("plugins").join(below)).await
    };
    assert_eq!(ask("d/csi.sock").await, Seen::Seen(true));
    assert_eq!(ask("d/gone.sock").await, Seen::Missing);
    for (way, why) in [("alias/csi.sock", "link"), ("d/link.sock", "link"), ("d/../d/csi.sock", "..")] {
        let fault = ask(way).await.fault().cloned().unwrap();
        assert!(fault.kind == FaultKind::NotAsked && fault.says.contains(why), "{way}: {fault}");
    }
}

/// `/var/lib/kubelet` leads to `/data/kubelet`, and a driver knows it by the first name.
#[tokio::test]
async fn an_endpoint_in_a_linked_directory_of_the_kubelet() {
    let (dir, base) = root();
    let (configured, real) = (HostPath::from("/var/lib/kubelet"), HostPath::from("/data/kubelet"));
    let at = |below: &str| base.join("data/kubelet").join(below);
    fs::create_dir_all(at("plugins_registry").as_path()).unwrap();
    fs::create_dir_all(at("plugins/d").as_path()).unwrap();
    fs::create_dir_all(base.join("var/lib").as_path()).unwrap();
    std::os::unix::fs::symlink("/data/kubelet", base.join("var/lib/kubelet").as_path()).unwrap();
    let _driver = UnixListener::bind(at("plugins/d/csi.sock").as_path()).unwrap();
    serve(&at("plugins_registry/a.sock"), info("CSIPlugin", "a", &configured.join("plugins/d/csi.sock")));
    serve(&at("plugins_registry/b.sock"), info("CSIPlugin", "b", &configured.join("plugins/gone/csi.sock")));
    let of = Root { configured: &configured, real: &real };
    let seen = drivers(&HostRoot::new(dir.path()), &Sockets::Own, of, &table(&real), DEADLINE).await;
    let seen: Vec<CsiDriverInfo> =
        seen.get().unwrap().iter().map(|driver| driver.info.get().unwrap().clone()).collect();
    assert_eq!((&seen[0].listens, &seen[1].listens), (&Seen::Seen(true), &Seen::Missing));
    assert!(seen.iter().all(|driver| driver.since_ms.get().is_some()), "{seen:?}");
}

#[tokio::test]
async fn a_node_without_a_registry_is_missing() {
    let (_dir, root) = root();
    assert_eq!(drivers(&HostRoot::default(), &Sockets::Own, own(&root), &table(&root), DEADLINE).await, Seen::Missing);
}
