//! The crates that judge cannot read or write; one crate speaks to the API server; in the agent, files are opened in
//! `sys/` and `host/` only, and by a path only where no tenant has a hand in it.

use super::Source;

/// The crates whose manifests name nothing that reads or writes.
const PURE: &[&str] =
    &["findings/Cargo.toml", "agent/core/Cargo.toml", "agent/reconcile/Cargo.toml", "aggregator/core/Cargo.toml"];

const IMPURE: &[&str] = &["tokio", "client", "kube", "nix", "rustix"];

/// Where else programs name kube, they speak to an API server without the bounds of that crate.
const CLIENT: &str = "aggregator/client/Cargo.toml";

/// How a file is opened without `sys/`.
const OPENERS: &[&str] = &["std::fs", "fs::read", "File::open", "OpenOptions"];

/// How anything is opened, walked to or connected to by a path that is followed: links, mounts and all.
const BY_PATH: &[&str] = &[
    "std::fs", "File::open", "OpenOptions", "UnixStream::connect", "Connection::", "sockets.connect(",
    "sockets.listener(", "openat(", "openat2(", " open(", "(open(", "statx(CWD", "sys::file_facts(",
    "sys::is_mount_root(", "sys::list(", "sys::list_capped(", "sys::listener(", "sys::listens(",
    "sys::may_have_subdirectories(", "sys::read_capped(", "sys::read_lines_of(", "sys::read_link(", "sys::read_text(",
    "sys::read_text_of_root(",
];

/// Who does, and whose path it is. Whatever tenants or drivers may write to is opened by `host/tree.rs` alone: it
/// follows no link and enters no mount; what may block even so is done in `host/prober`.
const THEIR_PATHS: &[(&str, &str)] = &[
    ("agent/src/host/api/kubelet_kubeconfig.rs", "files of root, as the kubelet's kubeconfig names them"),
    ("agent/src/host/block.rs", "/sys"),
    ("agent/src/host/block_stack.rs", "/sys"),
    ("agent/src/host/broker/directories.rs", "the runtime's and the kubelet's directory, below the host's root"),
    ("agent/src/host/broker/serve.rs", "as sockets.rs, for the reader; 127.0.0.1"),
    ("agent/src/host/cgroups.rs", "the cgroup tree, in which there are no links"),
    ("agent/src/host/prober/file.rs", "the disposable child"),
    ("agent/src/host/prober/probe.rs", "the disposable child"),
    ("agent/src/host/csi/mod.rs", "a descriptor of a socket that tree.rs has found"),
    ("agent/src/host/csi/registration.rs", "a descriptor of a socket that tree.rs has found"),
    ("agent/src/host/fuse/mod.rs", "/sys"),
    ("agent/src/host/holders/loops.rs", "/proc/swaps"),
    ("agent/src/host/kubelet.rs", "/proc, and the kubelet's own configuration"),
    ("agent/src/host/kubelet/embedded.rs", "directories of k3s, which are root's"),
    ("agent/src/host/kubelet/listener.rs", "/proc, and the kubelet's certificate, a file of root"),
    ("agent/src/host/kubelet/outside_pods.rs", "the cgroup tree, in which there are no links"),
    ("agent/src/host/mount_copies.rs", "/proc"),
    ("agent/src/host/mounts/first.rs", "/proc"),
    ("agent/src/host/multipath.rs", "/sys"),
    ("agent/src/host/netns.rs", "the network namespaces that the runtime has pinned"),
    ("agent/src/host/root.rs", "links on the way to the kubelet's own directory, which are read and not followed"),
    ("agent/src/host/runtime.rs", "the runtime's socket, as the kubelet's configuration names it"),
    ("agent/src/host/scan/answer.rs", "a file of the kubelet, right in its own directory"),
    ("agent/src/host/scan/lists.rs", "/proc"),
    ("agent/src/host/scan/locations.rs", "the usual places of kubelets and runtimes"),
    ("agent/src/host/scan/observation_file.rs", "the file that a person names on the command line"),
    ("agent/src/host/socket_list.rs", "/proc"),
    ("agent/src/host/sockets.rs", "sockets that its callers name, who are all named here"),
    ("agent/src/host/superblocks.rs", "/sys"),
];

pub fn check(sources: &[Source]) -> Vec<String> {
    let missing = PURE.iter().filter(|manifest| sources.iter().all(|source| source.path != **manifest));
    let missing = missing.map(|manifest| format!("{manifest}: not there; this crate is to be pure"));
    let stale =
        THEIR_PATHS.iter().filter(|(path, _)| !sources.iter().any(|source| source.path == *path && opens(source)));
    let stale = stale.map(|(path, _)| format!("{path}: opens nothing by a path any more: xtask/src/tidy/openers.rs"));
    missing.chain(stale).chain(sources.iter().flat_map(broken_in)).collect()
}

/// The numbered lines of a source outside of its tests.
fn lines_of_program(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let is_test =
        source.path.ends_with("tests.rs") || source.path.contains("/tests/") || source.path.contains("/test_");
    let lines = (1..).zip(source.text.lines()).take_while(move |(_, line)| !is_test && !line.ends_with("mod tests {"));
    lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn opens(source: &Source) -> bool {
    lines_of_program(source).any(|(_, line)| opens_by_path(line))
}

fn opens_by_path(line: &str) -> bool {
    !line.starts_with("use ") && !line.contains(" fn open(") && BY_PATH.iter().any(|opener| line.contains(opener))
}

/// Whether a line of a manifest names one of these crates.
fn is_entry(line: &str, crates: &[&str]) -> bool {
    crates.contains(&line.split(['.', '=', ' ']).next().unwrap_or_default())
}

fn broken_in(source: &Source) -> Vec<String> {
    let Source { path, text } = source;
    let lines = (1..).zip(text.lines());
    if PURE.contains(&path.as_str()) {
        return lines
            .filter(|(_, entry)| is_entry(entry, IMPURE))
            .map(|(n, e)| format!("{path}:{n}: {e}: this crate is pure"))
            .collect();
    }
    if path.ends_with("/Cargo.toml") && path != CLIENT && !source.is_in("tests") {
        let lines = lines.take_while(|(_, line)| *line != "[dev-dependencies]");
        return lines
            .filter(|(_, entry)| is_entry(entry, &["kube"]))
            .map(|(n, _)| format!("{path}:{n}: kube is used by aggregator/client only"))
            .collect();
    }
    if !source.is_in("agent/src") || source.is_in("agent/src/sys") {
        return Vec::new();
    }
    if source.is_in("agent/src/host") {
        let is_known = THEIR_PATHS.iter().any(|(known, _)| known == path);
        let unknown = lines_of_program(source).filter(|(_, line)| !is_known && opens_by_path(line));
        let why = "opens by a path: through host/tree.rs, or named in xtask/src/tidy/openers.rs with whose path it is";
        return unknown.map(|(n, _)| format!("{path}:{n}: {why}")).collect();
    }
    let opens = |line: &str| OPENERS.iter().any(|opener| line.contains(opener));
    lines
        .filter(|(_, line)| opens(line))
        .map(|(n, _)| format!("{path}:{n}: files are opened in sys/ and host/ only"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(path: &str, text: &str) -> usize {
        broken_in(&Source { path: path.to_owned(), text: text.to_owned() }).len()
    }

    #[test]
    fn pure_crates_name_nothing_that_reads_or_writes() {
        assert_eq!(broken("agent/core/Cargo.toml", "serde.workspace = true\nkube.workspace = true"), 1);
        assert_eq!(broken("findings/Cargo.toml", "kubelet-names = \"1\""), 0);
        assert_eq!(broken("agent/Cargo.toml", "kube.workspace = true"), 1);
        assert_eq!(broken("agent/Cargo.toml", "[dev-dependencies]\nkube.workspace = true"), 0);
        assert_eq!(broken(CLIENT, "kube.workspace = true"), 0);
        let known = PURE.len() + THEIR_PATHS.len();
        assert_eq!(check(&[]).len(), known, "what is named here and is not there is not skipped");
    }

    #[test]
    fn files_are_opened_in_their_places() {
        assert_eq!(broken("agent/src/report/json.rs", "use std::fs;"), 1);
        assert_eq!(broken("agent/src/main.rs", "let f = File::open(p)?;"), 1);
        assert_eq!(broken("agent/src/sys.rs", "std::fs::read(p)"), 0);
    }

    #[test]
    fn what_tenants_write_to_is_opened_in_one_place() {
        for line in ["let f = sys::read_capped(&at, 9);", "std::fs::read(p)", "UnixStream::connect(p)", "x = open(p)"] {
            assert_eq!(broken("agent/src/host/volumes/vol_data.rs", line), 1, "{line}");
            assert_eq!(broken("agent/src/host/block.rs", line), 0, "{line}");
            assert_eq!(broken("agent/src/host/volumes/tests.rs", line), 0, "{line}");
            assert_eq!(broken("agent/src/host/tree.rs", &format!("mod tests {{\n{line}")), 0, "{line}");
        }
        assert_eq!(broken("agent/src/host/volumes/mod.rs", "let found = tree.list(&pods, ENTRIES_CAP);"), 0);
    }
}
