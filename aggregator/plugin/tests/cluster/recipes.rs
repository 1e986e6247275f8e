//! The commands of docs/integrations.md and of the GitHub Action, run as they stand there.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::connecting::kubectl;
use crate::support::*;
use crate::workload::{Served, serve};

const PLUGIN: &str = env!("CARGO_BIN_EXE_kubectl-why_terminating");
const PAGE: &str = include_str!("../../../../docs/integrations.md");
const ACTION: &str = include_str!("../../../../deploy/github-action/action.yml");

/// Namespace `shop`, an Application and a Kustomization are being deleted, and are held.
fn cluster() -> Served {
    let flux = "kustomize.toolkit.fluxcd.io";
    let world = healthy()
        .going("shop", json!([]))
        .going_pod("shop", "web-0", "node-a", "Running")
        .with_custom("argoproj.io", "applications", "Application")
        .held("argoproj.io/v1", "Application", "argocd", "shop", &["resources-finalizer.argocd.argoproj.io"])
        .with_custom(flux, "kustomizations", "Kustomization")
        .held(&format!("{flux}/v1"), "Kustomization", "flux-system", "shop", &["finalizers.fluxcd.io"]);
    serve(&world)
}

/// The block of commands of the page that has these words, for `shop` and a second in place of minutes.
fn block(words: &str) -> String {
    let blocks = PAGE.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let block = blocks.into_iter().find(|block| block.contains(words)).unwrap();
    block
        .replace("NAMESPACE terraform", "shop terraform")
        .replace("NAMESPACE helm", "shop helm")
        .replace("-n NAMESPACE", "-n shop")
        .replace("RELEASE", "web")
        .replace("/NAME", "/shop")
        .replace("5m", "1s")
        .replace("or_why 600", "or_why 1")
        .replace("or_why 300", "or_why 1")
}

/// The script of the action's step with this name.
fn step(name: &str) -> String {
    let (_, rest) = ACTION.split_once(&format!("- name: {name}\n")).unwrap();
    let (_, run) = rest.split_once("      run: ").unwrap();
    let lines = run.trim_start_matches("|\n").lines().take_while(|line| !line.trim_start().starts_with("- "));
    lines.map(|line| format!("{}\n", line.trim_start())).collect()
}

fn program(dir: &Path, name: &str, script: &str) {
    let path = dir.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs it with kubectl and the plugin, and with a terraform and a helm that wait.
fn run(cluster: &Served, shell: &[&str], script: &str, environment: &[(&str, &str)]) -> (Output, String) {
    let bin = cluster.dir.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let own = [("kubectl", kubectl()), ("kubectl-why_terminating", PathBuf::from(PLUGIN))];
    for (name, path) in own {
        // The fake's objects are being deleted already, and it would delete them for good.
        let script =
            format!("[ \"$1\" != delete ] || set -- \"$@\" --dry-run=client\nexec '{}' \"$@\"", path.display());
        program(&bin, name, &script);
    }
    for name in ["terraform", "helm"] {
        program(&bin, name, &format!("echo {name} \"$@\"; exec sleep 60"));
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell[0]);
    command
        .args(&shell[1..])
        .args(["-c", script])
        .env("PATH", path)
        .env("KUBECONFIG", cluster.dir.path().join("kube config"));
    let output = command.envs(environment.iter().copied()).output().unwrap();
    let said = String::from_utf8([output.stdout.clone(), output.stderr.clone()].concat()).unwrap();
    (output, said)
}

#[test]
fn a_destroy_that_hangs_ends_and_says_why() {
    let cluster = cluster();
    let script = block("or_why()")
        .replace("terraform destroy -auto-approve", "terraform destroy -auto-approve; echo \"ended with $?\"");
    let (output, said) = run(&cluster, &["sh"], &script, &[]);
    assert_eq!(output.status.code(), Some(124), "{said}");
    for words in
        ["terraform destroy -auto-approve", "ended with 124", "helm uninstall web -n shop --wait", "Stuck", "web-0"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    // What ends by itself is left alone, also where it fails.
    let (function, _) = script.split_once("\nor_why 1").unwrap();
    let (output, said) = run(&cluster, &["sh"], &format!("{function}\nor_why 9 shop sh -c 'exit 7'"), &[]);
    assert!(output.status.code() == Some(7) && said.is_empty(), "{said}");
    let (output, said) = run(&cluster, &["sh"], &format!("{function}\nor_why 9 shop true"), &[]);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn a_wait_for_a_namespace_an_application_and_a_kustomization_fails_with_the_reason() {
    let cluster = cluster();
    for (words, held) in [
        ("delete ns/", "Namespace shop"),
        ("delete applications", "Application argocd/shop"),
        ("delete kustomizations", "Kustomization flux-system/shop"),
    ] {
        let (output, said) = run(&cluster, &["sh"], &block(words), &[]);
        assert!(output.status.code() == Some(2) && said.contains(held), "{words}: {:?} {said}", output.status);
    }
}

#[test]
fn the_action_installs_waits_and_keeps_the_evidence() {
    let cluster = cluster();
    let temp = cluster.dir.path().join("runner");
    let release = cluster.dir.path().join("release");
    for made in [&temp, &release] {
        std::fs::create_dir(made).unwrap();
    }
    let asked =
        [("OBJECT", "ns/shop"), ("NAMESPACE", "default"), ("TIMEOUT", "1s"), ("RUNNER_TEMP", temp.to_str().unwrap())];
    let bash = ["bash", "-e", "-o", "pipefail"];
    let (output, said) = run(&cluster, &bash, &step("Wait for the deletion"), &asked);
    assert!(output.status.code() == Some(2) && said.contains("web-0"), "{said}");
    let (output, said) = run(&cluster, &bash, &step("Keep what holds it"), &asked);
    assert!(output.status.success(), "{said}");
    assert!(std::fs::read_to_string(temp.join("why-terminating.json")).unwrap().contains("web-0"));
    // Where the plugin is not installed, from the release that the action is of.
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let archive = format!("kubectl-why_terminating-linux-{machine}.tar.gz");
    let made = format!(
        "cd '{}' && touch kubectl-why_terminating && tar -czf {archive} ./kubectl-why_terminating && sha256sum {archive} >SHA256SUMS",
        release.display()
    );
    assert!(run(&cluster, &["sh"], &made, &[]).0.status.success());
    let (url, paths) = (format!("file://{}", release.display()), temp.join("paths"));
    let install =
        [("RELEASE", url.as_str()), ("RUNNER_TEMP", temp.to_str().unwrap()), ("GITHUB_PATH", paths.to_str().unwrap())];
    let script = step("Install the plugin").replace("command -v kubectl-why_terminating", "false");
    let (output, said) = run(&cluster, &bash, &script, &install);
    let installed = std::fs::read_to_string(&paths).unwrap_or_default();
    assert!(output.status.success() && Path::new(installed.trim()).join("kubectl-why_terminating").exists(), "{said}");
    // Not another file than that of the release.
    std::fs::write(release.join(&archive), "other").unwrap();
    std::fs::remove_dir_all(temp.join("why-terminating")).unwrap();
    assert!(!run(&cluster, &bash, &script, &install).0.status.success());
}
