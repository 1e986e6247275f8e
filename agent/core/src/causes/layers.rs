//! Mounts that a task works on without seeing them: those that the layers of its overlays lie on.

use super::blocked_task::BlockedTask;
use super::prelude::*;
use crate::kernel;

/// A layer of an overlay.
struct Layer<'a> {
    overlay: &'a Mount,
    path: &'a HostPath,
    /// What it lies on.
    mount: &'a Mount,
}

/// The mounts that a task sees, and the file systems with a server below its overlays.
pub fn with_served<'a>(view: &PodView<'a>, process: &Process, thread: &Thread) -> Vec<&'a Mount> {
    let mounts = table(view, process, thread);
    let layers = served(view, &mounts);
    mounts.into_iter().chain(layers.into_iter().map(|layer| layer.mount)).collect()
}

/// The file systems that a task in this subsystem may wait for below these overlays.
pub fn below<'a>(view: &PodView<'a>, mounts: &[&'a Mount]) -> Vec<&'a Mount> {
    served(view, mounts).into_iter().chain(on_devices(view, mounts)).map(|layer| layer.mount).collect()
}

/// The chain of a task down to the one mount that it waits for, through the overlay that this is a layer of.
pub fn down_to(view: &PodView, waiting: &BlockedTask, waited: &[&Mount]) -> Vec<Link> {
    let mounts = table(view, waiting.process, waiting.thread);
    let mut head = waiting.head.to_vec();
    let [waited] = waited else { return head };
    if mounts.iter().all(|mount| mount.dev != waited.dev) {
        let mut layers = served(view, &mounts).into_iter().chain(on_devices(view, &mounts));
        let layer = layers.find(|layer| layer.mount.dev == waited.dev);
        let link = |layer: Layer| {
            Link::new(describe::mount(layer.overlay), format!("waits for its layer {}", layer.path.show()))
        };
        head.extend(layer.map(link));
    }
    head
}

fn table<'a>(view: &PodView<'a>, process: &Process, thread: &Thread) -> Vec<&'a Mount> {
    view.mounts_of(process, thread).unwrap_or_default()
}

/// Layers in a place where the kubelet's namespace has a file system with a server.
fn served<'a>(view: &PodView<'a>, mounts: &[&'a Mount]) -> Vec<Layer<'a>> {
    let is_near = |path: &HostPath| {
        view.kubelet_mounts().iter().any(|mount| mount.needs_server() && path.is_within(&mount.mount_point))
    };
    let all = mounts.iter().flat_map(|overlay| overlay.layers.all().map(|path| (*overlay, path)));
    let near = all.filter(|(_, path)| is_near(path));
    let found = near.filter_map(|(overlay, path)| Some(Layer { overlay, path, mount: view.mount_of(path)? }));
    found.filter(|layer| layer.mount.needs_server()).collect()
}

/// Of the layers that an overlay writes to: the others lie, nearly always, beside them.
fn on_devices<'a>(view: &PodView<'a>, mounts: &[&'a Mount]) -> Vec<Layer<'a>> {
    let all = mounts.iter().flat_map(|overlay| overlay.layers.upper.iter().map(|path| (*overlay, path)));
    let absolute = all.filter(|(_, path)| path.as_bytes().starts_with(b"/"));
    let found = absolute.filter_map(|(overlay, path)| Some(Layer { overlay, path, mount: view.mount_of(path)? }));
    found.filter(|layer| kernel::is_on_device(layer.mount)).collect()
}

#[cfg(test)]
mod tests {
    use crate::test_prelude::*;

    const LAYER: &str = "/srv/media/1/fs";

    /// Init reads a file of its image.
    fn reading(wchan: &str, lower: &str, below: Mount) -> Observation {
        let mut seen = sample::running();
        block(&mut seen, INIT, wchan);
        let paths = |path: &str| vec![HostPath::from(path)];
        let layers = Layers { upper: paths("/var/lib/containerd/2/fs"), lower: paths(lower) };
        container_table(&mut seen, vec![Mount { layers, ..mount(9, "0:70", "/", "overlay") }]);
        sample::table(&mut seen).push(below.clone());
        let disk = mount(51, "254:0", "/", "ext4");
        seen.path_mounts = [(LAYER, below), ("/var/lib/containerd/2/fs", disk)]
            .map(|(path, mount)| PathMount { path: HostPath::from(path), mount: Some(mount) })
            .to_vec();
        seen.fuse = vec![fuse_connection(40, 1, vec![fuse_server(4111, 'S')])];
        seen
    }

    #[test]
    fn the_server_below_a_layer_is_named() {
        let fuse = || mount(50, "0:40", "/srv/media", "fuse.s3fs");
        let mut seen = reading("request_wait_answer", LAYER, fuse());
        for file in [None, Some(OpenFile { fd: 5, path: HostPath::from("/bin/x"), mount_id: Some(9) })] {
            seen.processes[0].threads[0].works_on = file;
            assert_eq!(causes(&seen), ["FuseServerNotResponding"]);
            let finding = judge(&seen).pods[0].findings[0].clone();
            assert_eq!((finding.confidence, finding.root.as_str()), (Confidence::Proven, "FuseServerNotResponding:40"));
            let chain: Vec<String> = finding.chain.iter().map(|l| format!("{}: {}", l.subject, l.state)).collect();
            assert_eq!(chain[2], "mount / (0:70, overlay): waits for its layer /srv/media/1/fs");
            assert!(chain[3].starts_with("fuse mount /srv/media"), "{chain:?}");
        }
        seen.fuse[0].waiting = Seen::Seen(0);
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("FuseServerNotResponding", Confidence::Probable));
        // A file system of another kind over the server's.
        let covered = reading("request_wait_answer", LAYER, mount(52, "0:71", "/srv/media/1", "tmpfs"));
        assert_eq!(judge(&covered).pods[0].findings[0].confidence, Confidence::Probable);
    }

    #[test]
    fn a_relative_layer_is_said_to_be_unresolved() {
        let seen = reading("request_wait_answer", "1/fs", mount(50, "0:40", "/srv/media", "fuse.s3fs"));
        let finding = judge(&seen).pods[0].findings[0].clone();
        assert_eq!(finding.confidence, Confidence::Probable);
        let root = finding.roots().next().unwrap();
        assert!(root.state.contains("layers of the overlay / have relative names"), "{root:?}");
    }

    #[test]
    fn an_export_below_a_layer_and_a_disk() {
        let nfs = reading("rpc_wait_bit_killable", LAYER, mount(50, "0:55", "/srv/media", "nfs4"));
        assert_eq!(causes(&nfs), ["NfsServerNotResponding"]);
        let mut disk = reading("jbd2_log_wait_commit", "1/fs", mount(50, "0:55", "/srv/media", "nfs4"));
        disk.processes[0].threads[0].works_on = Some(OpenFile { fd: 5, path: HostPath::from("/x"), mount_id: Some(9) });
        let finding = judge(&disk).pods[0].findings[0].clone();
        assert_eq!((finding.cause.id, finding.confidence), ("BlockDeviceNotResponding", Confidence::Probable));
        assert!(finding.chain.iter().any(|link| link.state == "waits for its layer /var/lib/containerd/2/fs"));
    }
}
