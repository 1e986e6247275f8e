//! What a kubelet has written about a pod, through the API server (NodeLogQuery): with the caller's own right on
//! `nodes/proxy`, and only when that was asked for.

use aggregator_core::state::{Answer, Facts};
use findings::{FaultKind, clean};

use super::bounded_client::BoundedClient;
use crate::path::part;

/// More lines are not asked for, and fewer of them kept.
const LINES: (usize, usize) = (50, 20);

/// The kubelet's routes name no type that they produce, and go-restful then refuses a request that wants a certain one.
const ANYTHING: &str = "*/*";

/// The last lines that name the pod.
pub async fn ask(server: &BoundedClient<'_>, node: &str, uid: &str) -> Answer<Facts> {
    let (at, pattern) = (part(node), part(uid));
    let path = format!("/api/v1/nodes/{at}/proxy/logs/?query=kubelet&pattern={pattern}&tailLines={}", LINES.0);
    let answer = server.get(&path, ANYTHING).await;
    if answer.is_missing() {
        return Answer::failed(FaultKind::Failed, elsewhere("the kubelet serves no logs", node, uid));
    }
    answer.and_then(|body| match read(&String::from_utf8_lossy(&body), node, uid) {
        Ok(lines) => Answer::Seen(Facts::KubeletLog(lines.into_iter().map(Into::into).collect())),
        Err(why) => Answer::failed(FaultKind::Failed, why),
    })
}

/// Every failure comes with 200, as text where the log would stand (`nodeLogQuery.Copy` in
/// `pkg/kubelet/kubelet_server_journal.go`): a text that has no line about the pod says that there is none only if it is
/// journalctl's own way to say so.
fn read(text: &str, node: &str, uid: &str) -> Result<Vec<String>, String> {
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(uid)).collect();
    // `-- No entries --`, `-- Boot … --`, `-- Journal begins at … --`.
    let mut others = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("-- "));
    match others.next() {
        Some(first) if lines.is_empty() => Err(why(first, node, uid)),
        _ => {
            let last = lines.iter().skip(lines.len().saturating_sub(LINES.1));
            Ok(last.map(|line| line.chars().take(1000).collect()).collect())
        }
    }
}

/// Why there is no log, and where there may be one.
fn why(first: &str, node: &str, uid: &str) -> String {
    if first.starts_with("options present and query resolved to log files") {
        // It would send the whole file.
        let raw = format!("kubectl get --raw '/api/v1/nodes/{}/proxy/logs/?query=kubelet' | grep {uid}", part(node));
        return format!(
            "the kubelet writes to a log file and not to journald, and of a file it takes no options: {raw}"
        );
    }
    if first.starts_with('<') {
        return elsewhere("the kubelet has no NodeLogQuery: it sends a list of its files", node, uid);
    }
    elsewhere(&format!("the kubelet sends no log, but: {}", clean(first, 200)), node, uid)
}

fn elsewhere(why: &str, node: &str, uid: &str) -> String {
    format!("{why}; read its log on {}: journalctl --since -1d --grep {uid}", clean(node, 253))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "ee7644fa-c649-4025-9178-81dc31cad0c6";

    fn read_of(text: &str) -> Result<Vec<String>, String> {
        read(text, "node-a", UID)
    }

    #[test]
    fn the_last_lines_about_the_pod_are_kept() {
        let text: String = (0..40).map(|number| format!("{number} podUID=\"{UID}\"\n  goroutine\n")).collect();
        let lines = read_of(&text).unwrap();
        assert_eq!((lines.len(), lines[0].starts_with("20 ")), (20, true));
    }

    #[test]
    fn a_journal_without_such_a_line_says_nothing() {
        for text in
            ["", "-- No entries --\n", "-- Boot 7d593c17 --\n-- No entries --\n", "-- Journal begins at Fri. --\n"]
        {
            assert_eq!(read_of(text), Ok(Vec::new()), "{text}");
        }
    }

    /// Each with 200, as in pkg/kubelet/kubelet_server_journal.go; the last two are journalctl's, whose stderr is sent too.
    #[test]
    fn what_is_no_log_is_no_empty_log() {
        let files = "\noptions present and query resolved to log files for [kubelet]\ntry without specifying options\n";
        let why = read_of(files).unwrap_err();
        assert!(
            why.contains("takes no options: kubectl get --raw '/api/v1/nodes/node-a/proxy/logs/?query=kubelet'"),
            "{why}"
        );
        for text in [
            "\nfailed to get logging cmd: no\n",
            "\nerror: journal output not available\n",
            "\nlog not found for kubelet\n",
            "\nerror getting log for kubelet: permission denied\n",
            "\ncontext error: context deadline exceeded\n",
            "Compiled without pattern matching support\n",
            "No journal files were opened due to insufficient permissions.\n",
        ] {
            let why = read_of(text).unwrap_err();
            assert!(why.contains(text.trim()) && why.contains("on node-a: journalctl"), "{why}");
        }
        let why = read_of("<pre>\n<a href=\"syslog\">syslog</a>\n</pre>").unwrap_err();
        assert!(why.contains("has no NodeLogQuery"), "{why}");
    }

    #[test]
    fn what_a_node_sends_is_cleaned() {
        let why = read_of("\u{1b}[8m hidden").unwrap_err();
        assert!(!why.contains('\u{1b}'), "{why}");
    }
}
