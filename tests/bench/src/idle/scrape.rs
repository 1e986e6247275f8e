//! Asking for metrics, as Prometheus does.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Context as _;

/// As Prometheus gives up.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Gets `path` from `port` of this machine.
pub fn get(port: u16, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    // Before version 1.1 of HTTP an answer is not cut into chunks.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\nAccept: text/plain;version=0.0.4\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer of HTTP")?;
    let status = head.lines().next().unwrap_or_default();
    anyhow::ensure!(status.split(' ').nth(1) == Some("200"), "{status}: {}", body.trim());
    Ok(body.to_owned())
}

/// The sum of all values of a metric, whatever its labels; nothing when it is not there.
pub fn value(metrics: &str, name: &str) -> Option<f64> {
    let values = metrics.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        rest.starts_with(['{', ' ']).then(|| rest.rsplit(' ').next()?.parse::<f64>().ok()).flatten()
    });
    values.reduce(|one, other| one + other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_one_metric_are_summed() {
        let text = "# TYPE a counter\na_total{x=\"1 2\"} 2\na_total{x=\"3\"} 1.5\na_total_more 9\nb 4\n";
        assert_eq!(value(text, "a_total"), Some(3.5));
        assert_eq!(value(text, "b"), Some(4.0));
        assert_eq!(value(text, "c"), None);
    }
}
