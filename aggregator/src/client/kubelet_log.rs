//! What a kubelet has written about a pod, through the API server (NodeLogQuery): with the caller's own right on
//! `nodes/proxy`, and only when that was asked for.

use aggregator_core::state::{Answer, Facts};

use super::paths::part;
use super::server::Server;

/// More lines are not asked for, and fewer of them kept.
const LINES: (usize, usize) = (50, 20);

/// The kubelet's routes name no type that they produce, and go-restful then answers nobody who wants a certain one.
const ANYTHING: &str = "*/*";

/// The last lines that name the pod. A kubelet without NodeLogQuery answers with a list of its files: nothing of that
/// names a pod.
pub async fn ask(server: &Server<'_>, node: &str, uid: &str) -> Answer<Facts> {
    let (node, pattern) = (part(node), part(uid));
    let path = format!("/api/v1/nodes/{node}/proxy/logs/?query=kubelet&pattern={pattern}&tailLines={}", LINES.0);
    server.get(&path, ANYTHING).await.map(|body| {
        let text = String::from_utf8_lossy(&body);
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(uid)).collect();
        let last = lines.iter().skip(lines.len().saturating_sub(LINES.1));
        Facts::KubeletLog(last.map(|line| line.chars().take(1000).collect::<String>().into()).collect())
    })
}
