//! The binary: exit codes, forms, and words for a mistake.

use std::process::{Command, Output};

use crate::support::*;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubectl-why_terminating"))
        .args(arguments)
        .env_remove("KUBECONFIG")
        .output()
        .unwrap()
}

/// Judges a recording with the binary.
fn judge(name: &str, form: &str) -> Output {
    let file = tempfile::NamedTempFile::new().unwrap();
    let state = look(recording(name), everything()).state;
    std::fs::write(file.path(), serde_json::to_string(&state).unwrap()).unwrap();
    run(&["judge", file.path().to_str().unwrap(), "-o", form])
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn exit_codes_and_forms() {
    // Secrets were not scanned.
    assert_eq!(judge("baseline", "tree").status.code(), Some(4));
    let stuck = judge("discovery-failure", "name");
    assert_eq!((stuck.status.code(), text(&stuck).as_str()), (Some(2), "namespace/ack-system-e2e-test-0\n"));
    let yaml = judge("csi-unmount", "yaml");
    assert!(text(&yaml).contains("cause: CsiDriverNotOnNode"), "{}", text(&yaml));
    let refused = run(&["judge", "/nonexistent"]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(run(&["--no-such-flag"]).status.code(), Some(1), "2 would say that something is stuck");
    assert_eq!(run(&["--version"]).status.code(), Some(0));
}

#[test]
fn it_says_how_it_is_called() {
    let help = text(&run(&["--help"]));
    assert!(help.contains("Usage: kubectl why-terminating"), "{help}");
    let causes = text(&run(&["causes"]));
    assert!(causes.contains("NodeUnreachable") && causes.contains("FuseServerGone"), "{causes}");
    let page = text(&run(&["causes", "nodeunreachable"]));
    assert!(page.starts_with("NodeUnreachable: The node is silent"), "{page}");
    assert!(text(&run(&["completion", "bash"])).contains("kubectl-why_terminating"));
}

#[test]
fn its_help_fits_the_terminal() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-why_terminating"));
    let help = text(&command.arg("--help").env("COLUMNS", "60").output().unwrap());
    let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 60).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn by_another_name_it_offers_words() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["kubectl_complete-why_terminating", "kubectl_complete-why_terminating.exe"] {
        let other = dir.path().join(name);
        std::fs::hard_link(env!("CARGO_BIN_EXE_kubectl-why_terminating"), &other)
            .or_else(|_| std::fs::copy(env!("CARGO_BIN_EXE_kubectl-why_terminating"), &other).map(drop))
            .unwrap();
        let offered = Command::new(&other).args(["causes", "NodeUnreach"]).output().unwrap();
        assert_eq!(text(&offered), "NodeUnreachable\tThe node is silent\n:4\n", "{name}");
    }
}

#[test]
fn a_mistake_is_told_in_words() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{server: \"http://{server}\"}}}}]\n\
         users: [{{name: u, user: {{}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
    );
    std::fs::write(file.path(), config).unwrap();
    let said = |arguments: &[&str]| {
        let wrong = run(&[&["--kubeconfig", file.path().to_str().unwrap()], arguments].concat());
        assert_eq!(wrong.status.code(), Some(1));
        String::from_utf8(wrong.stderr).unwrap()
    };
    assert!(said(&["crd/"]).contains("for example pod/db-0"));
    for several in [&["pod/a", "pod"][..], &["pod", "a", "svc/b"], &["pod/a/b"], &["pods,pvc", "a"]] {
        let told = said(several);
        assert!(
            told.contains("give objects as TYPE/NAME") && told.contains("for example pod/db-0 pvc/data -n shop"),
            "{several:?}: {told}"
        );
    }
    let wait = run(&["wait", "--kubeconfig", file.path().to_str().unwrap(), "pod/a", "pod/b"]);
    assert!(String::from_utf8(wait.stderr).unwrap().contains("give one object to wait for"));
    for one in [&["--before"][..], &["--before", "ns/a", "ns/b"]] {
        assert!(said(one).contains("for example ns/shop"), "{one:?}");
    }
    // The server has stopped.
    let away = said(&[]);
    assert_eq!(
        away,
        format!(
            "error: http://{server}: the API server cannot be reached: Connection refused (os error 111); see whether \
             `kubectl version` gets an answer\n"
        )
    );
    let missing = run(&["--kubeconfig", "/nope"]);
    assert_eq!(
        String::from_utf8(missing.stderr).unwrap(),
        "error: cannot read the kubeconfig /nope: No such file or directory (os error 2)\n"
    );
}
