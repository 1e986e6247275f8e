//! `docs/dependencies.md`: every direct dependency, which packages use it, and why it is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::trust::{TRUST, Trust};

pub const PAGE: &str = "docs/dependencies.md";

const INTRODUCTION: &str = "\
<!-- Written by `cargo run -p xtask -- docs` from the manifests and xtask/src/docs/dependencies.rs. Do not edit. -->

# What it depends on

Every crate that a manifest names, who uses it, and what it spares. What these depend on in turn stands in `Cargo.lock`, and
`make deny` checks all of it by `deny.toml`: licences, sources, second versions, advisories. A crate that is added without
its reason, or one of a program without why it is trusted, or one that stays here when nothing names it any more, fails
`cargo run -p xtask -- docs --check`.

No crate is vendored or changed, none comes from anywhere but crates.io, and `Cargo.lock` pins each by its checksum.

A crate of a program runs with all that the process may do; what that is, and what keeps the agent's halves from the rest, stands
in [security.md](security.md). So the tables say who keeps it and who else relies on it, what `unsafe` its own sources have (of
the versions in `Cargo.lock` on 2026-11-24, by reading and counting; what it rests on in turn has its own), and what its code
touches beside the values that it is given.

";

/// Why each is there.
const REASONS: &[(&str, &str)] = &[
    ("anstream", "whether a terminal is there to show colours"),
    ("anstyle", "the codes of the terminal's colours"),
    ("anyhow", "errors at the edge, each with what was tried"),
    ("axum", "routes and typed requests for the metrics port and the service"),
    ("base64", "certificates in kubeconfigs and webhooks, bytes in messages between the agent's processes"),
    ("cel", "tests that the policies for Events say what they should, with the language that they are written in"),
    (
        "cgroups-rs",
        "reads the freezer of cgroup v1; what else it reads is read by our own code, agent/src/host/cgroups.rs says why",
    ),
    ("clap", "flags, help and exit on wrong ones"),
    ("clap_complete", "completion scripts from the same flags"),
    ("clap_mangen", "manual pages from the same flags"),
    ("fastrand", "jitter; nothing that must not be guessed"),
    ("flate2", "packed answers of the service"),
    (
        "foldhash",
        "tables of tens of thousands of objects that are filled anew with each judgement; seeded anew in each process",
    ),
    ("futures", "many questions at a time, with a bound"),
    ("http", "the types that kube, hyper and axum share"),
    ("http-body-util", "bodies of answers with a bound on their size"),
    ("hyper", "serves with our own limits on connections, heads and time"),
    ("hyper-rustls", "asks the kubelet's own port, with a check of its exact certificate before anything is sent"),
    ("hyper-util", "the same with timers, and proxies to the API server"),
    ("jiff", "times as RFC 3339, durations as people write them"),
    ("jsonschema", "tests that what is written keeps to the published schema"),
    ("k8s-openapi", "chooses the version of Kubernetes' types, without which kube does not build"),
    (
        "kube",
        "kubeconfig, credentials, TLS and watches of the API server; its Recorder drops a second note and is not used",
    ),
    ("landlock", "takes the file system from the agent's halves, as far as they need none of it"),
    ("libc", "numbers of system calls, and what nix and rustix have not"),
    ("libfuzzer-sys", "runs the fuzz targets"),
    ("libtest-mimic", "scenarios as tests that say their names and can be chosen"),
    ("maud", "the service's page: text that is escaped unless somebody says otherwise"),
    ("memchr", "searches in large files and answers without taking them for text first"),
    ("nix", "system calls with types: signals, mounts, namespaces, sockets"),
    ("percent-encoding", "names in paths of the API"),
    (
        "procfs",
        "the stat and syscall files of processes into values; the rest of /proc is read by our own code, within bounds",
    ),
    ("prometheus-client", "metrics as OpenMetrics"),
    ("proptest", "tests with input that nobody thought of"),
    ("prost", "messages of the CRI"),
    ("rcgen", "a certificate at the start, where none is given"),
    ("regex", "messages of Kubernetes itself, each beside its recording; linear in time whatever is put in"),
    ("rustix", "statx and reading of directories with the flags that keep them from hanging"),
    ("schemars", "the published schemas, from the types themselves"),
    ("seccompiler", "the agent's list of system calls"),
    ("serde", "saved observations, reports, everything that travels"),
    ("serde-saphyr", "YAML, without unbounded aliases: kubeconfigs, the kubelet's configuration, -o yaml"),
    ("serde_json", "JSON"),
    (
        "sha2",
        "names that must be the same each time: a CSI attachment's, an Event's, an incident's, a certificate's, an image's",
    ),
    ("sysinfo", "the machine's name and its kernel's version"),
    ("tar", "the layers of images, and archives of releases"),
    ("tempfile", "directories of tests that go when the test does"),
    ("terminal_size", "how wide an answer may be"),
    ("textwrap", "lines that end where the terminal does"),
    ("thiserror", "errors as types, in libraries"),
    ("tokio", "many sources at a time, each with its deadline"),
    ("tokio-rustls", "TLS of the service"),
    ("tokio-tungstenite", "the frames of an exec into the agent's pod (`--live`); the version that kube would take"),
    ("tokio-stream", "the CRI's server in the lab, which answers on a socket"),
    ("tonic", "asks the container runtime (CRI) over its socket"),
    ("tonic-prost", "the same: its messages by prost"),
    ("tower", "layers around kube's client, and its fakes in tests"),
    ("tracing", "log lines with fields"),
    ("tracing-subscriber", "the same as text or JSON"),
    ("ureq", "asks the fake API server from tests that have no runtime"),
    ("x509-cert", "why a certificate is not accepted"),
];

/// Who names a dependency.
#[derive(Default)]
struct Users {
    programs: BTreeSet<String>,
    tests: BTreeSet<String>,
}

pub fn page(root: &Path) -> Result<String> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).with_context(|| format!("reading {path}"));
    let workspace = read("Cargo.toml")?;
    let mut manifests = vec!["tests/fuzz".to_owned()];
    manifests.extend(members(&workspace)?);
    let mut users: BTreeMap<String, Users> = BTreeMap::new();
    for member in manifests {
        let manifest = read(&format!("{member}/Cargo.toml"))?;
        let is_test = member.starts_with("tests/") || member == "xtask";
        for (section, name) in named(&manifest) {
            let users = users.entry(name).or_default();
            let of = if is_test || section != "dependencies" { &mut users.tests } else { &mut users.programs };
            of.insert(member.clone());
        }
    }
    let own = own(&workspace);
    users.retain(|name, _| !own.contains(name) && !is_ours(name));
    let reasons: BTreeMap<&str, &str> = REASONS.iter().copied().collect();
    written(&users, &reasons, TRUST)
}

fn written(users: &BTreeMap<String, Users>, reasons: &BTreeMap<&str, &str>, trust: &[Trust]) -> Result<String> {
    let unknown: Vec<&str> = users.keys().map(String::as_str).filter(|name| !reasons.contains_key(name)).collect();
    ensure!(unknown.is_empty(), "no reason is given for {}: see REASONS in {}", unknown.join(", "), file!());
    let gone: Vec<&str> = reasons.keys().copied().filter(|name| !users.contains_key(*name)).collect();
    ensure!(gone.is_empty(), "a reason is given for what nothing depends on: {} in {}", gone.join(", "), file!());
    let shipped = || users.iter().filter(|(_, users)| !users.programs.is_empty());
    let is_trusted = |name: &str| trust.iter().any(|(trusted, ..)| *trusted == name);
    let untold: Vec<&str> = shipped().map(|(name, _)| name.as_str()).filter(|name| !is_trusted(name)).collect();
    ensure!(untold.is_empty(), "why is {} trusted? see TRUST in xtask/src/docs/trust.rs", untold.join(", "));
    let mut page = String::from(INTRODUCTION);
    writeln!(page, "## In the programs\n\n| crate | what for | named by |\n|---|---|---|")?;
    for (name, users) in shipped() {
        writeln!(page, "{}", line(name, reasons, &users.programs))?;
    }
    writeln!(
        page,
        "\n## Why these are trusted\n\n| crate | kept by, and used by | its own `unsafe` | touches |\n|---|---|---|---|"
    )?;
    for (name, keeper, own, touches) in trust {
        ensure!(shipped().any(|(other, _)| other == name), "{name} is in no program any more: xtask/src/docs/trust.rs");
        writeln!(page, "| {name} | {keeper} | {own} | {touches} |")?;
    }
    writeln!(page, "\n## Only to build and to test\n\n| crate | what for | named by |\n|---|---|---|")?;
    for (name, users) in users.iter().filter(|(_, users)| users.programs.is_empty()) {
        writeln!(page, "{}", line(name, reasons, &users.tests))?;
    }
    Ok(page)
}

fn line(name: &str, reasons: &BTreeMap<&str, &str>, by: &BTreeSet<String>) -> String {
    let by: Vec<String> = by.iter().map(|member| format!("`{member}`")).collect();
    format!("| {name} | {} | {} |", reasons.get(name).copied().unwrap_or_default(), by.join(", "))
}

/// The packages of the workspace.
fn members(workspace: &str) -> Result<Vec<String>> {
    let line =
        workspace.lines().find_map(|line| line.strip_prefix("members = [")).context("Cargo.toml has no members")?;
    let names = line.trim_end_matches(']').split(',');
    Ok(names.map(|name| name.trim().trim_matches('"').to_owned()).collect())
}

/// The names by which packages of the workspace call each other.
fn own(workspace: &str) -> BTreeSet<String> {
    let ours = workspace.lines().filter(|line| line.contains("{ path = "));
    ours.filter_map(|line| Some(line.split_once(" = ")?.0.to_owned())).collect()
}

/// Packages that are named by their path alone.
fn is_ours(name: &str) -> bool {
    name == "apiserver" || name.starts_with("why-terminating")
}

/// Each dependency of a manifest, with its section.
pub fn named(manifest: &str) -> Vec<(&str, String)> {
    let mut section = "";
    let mut named = Vec::new();
    for line in manifest.lines() {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            // [target.'cfg(unix)'.dependencies] is one too.
            section = ["dev-dependencies", "build-dependencies", "dependencies"]
                .into_iter()
                .find(|known| header == *known || header.ends_with(&format!(".{known}")))
                .unwrap_or_default();
        } else if let Some((name, _)) = line.split_once(['.', ' ', '=']).filter(|_| !section.is_empty())
            && !name.is_empty()
            && !name.starts_with('#')
        {
            named.push((section, name.to_owned()));
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(names: &[&str]) -> BTreeMap<String, Users> {
        let one =
            |name: &&str| ((*name).to_owned(), Users { programs: ["agent".to_owned()].into(), ..Users::default() });
        names.iter().map(one).collect()
    }

    #[test]
    fn a_dependency_without_a_reason_and_a_reason_without_one_are_refused() {
        let reasons = BTreeMap::from([("a", "for this")]);
        let trust = [("a", "somebody", "none", "values")];
        let page = written(&users(&["a"]), &reasons, &trust).unwrap();
        assert!(
            page.contains("| a | for this | `agent` |") && page.contains("| a | somebody | none | values |"),
            "{page}"
        );
        let refused = |names: &[&str], trust| written(&users(names), &reasons, trust).unwrap_err().to_string();
        assert!(refused(&["a", "b"], &trust).starts_with("no reason is given for b"));
        assert!(refused(&[], &trust).contains("depends on: a"));
        assert!(refused(&["a"], &[]).starts_with("why is a trusted?"));
        assert!(refused(&["a"], &[trust[0], ("c", "", "", "")]).starts_with("c is in no program"));
    }

    #[test]
    fn manifests_are_read_as_they_are_written() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\n# why\na.workspace = true\nb = { path = \"b\" }\n\
            [target.'cfg(unix)'.dependencies]\nc = \"1\"\n[dev-dependencies]\nd.workspace = true\n[lints]\nworkspace = true\n";
        let named: Vec<String> =
            named(manifest).into_iter().map(|(section, name)| format!("{section} {name}")).collect();
        assert_eq!(named, ["dependencies a", "dependencies b", "dependencies c", "dev-dependencies d"]);
    }
}
