//! An answer for a ticket, as Markdown.

use aggregator_core::report::ClusterReport;

/// The answer between fences, below what made it: this program, when, and on which Kubernetes.
pub fn share(report: &ClusterReport, kubernetes: Option<&str>, answer: &str) -> String {
    // Only what a version may hold: anything else could be markup.
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || ".+-".contains(*c);
    let kubernetes = kubernetes.map_or(String::new(), |version| {
        format!(", Kubernetes {}", version.chars().filter(is_plain).take(64).collect::<String>())
    });
    // Longer than any that stands in the answer, which could close it.
    let longest = answer.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let version = env!("CARGO_PKG_VERSION");
    format!("kubectl why-terminating {version}, {}{kubernetes}\n\n{fence}text\n{answer}{fence}\n", report.at)
}
