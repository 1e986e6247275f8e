//! Why the API server does not reach an aggregated API.

use super::Message;

/// What `Available` says of a backend that has a ready endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// TLS: its certificate does not hold.
    Certificate,
    /// It answers, and rejects the API server's credentials.
    Unauthorized,
    /// No process listens; a host was reached that refuses the connection.
    ConnectionRefused,
    /// No answer: no connection was made.
    Unreachable,
    /// No answer came in time. Whether a host was reached is unknown.
    TimedOut,
    Other,
}

/// Errors of Go's network library where no connection was made.
const NO_CONNECTION: &[&str] = &["dial tcp", "no route to host"];
/// And where none may have been made, or who was reached is too slow.
const NO_ANSWER: &[&str] = &["i/o timeout", "context deadline exceeded", "timed out"];

/// Reads the message of `Available`.
pub fn failure(message: &Message) -> Failure {
    if message.has("x509:") {
        Failure::Certificate
    } else if message.has("bad status from") && (message.has(": 401") || message.has(": 403")) {
        Failure::Unauthorized
    } else if message.has("connection refused") {
        Failure::ConnectionRefused
    } else if NO_CONNECTION.iter().any(|mark| message.has(mark)) {
        Failure::Unreachable
    } else if NO_ANSWER.iter().any(|mark| message.has(mark)) {
        Failure::TimedOut
    } else {
        Failure::Other
    }
}

/// The address that was called: `10.1.0.7:443`.
pub fn address(message: &Message) -> Option<&str> {
    let (_, rest) = message.0.split_once("dial tcp ")?;
    let end = rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len());
    let address = rest.get(..end)?.trim_end_matches(':');
    address.parse::<std::net::SocketAddr>().is_ok().then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_that_nobody_answered() {
        let recorded = super::super::recording::messages("objects/apiservices.json", "Available");
        let failures: Vec<Failure> = recorded.iter().filter(|it| it.has("hole.example.com")).map(failure).collect();
        assert_eq!(failures, [Failure::Unreachable]);
    }

    /// kube-aggregator: pkg/controllers/status/remote/remote_available_controller.go prints what Go's net, net/http and
    /// crypto/x509 return.
    #[test]
    fn tells_who_was_reached() {
        let get = r#"failing or missing response from https://10.1.0.7:443/apis/m/v1: Get "https://10.1.0.7:443/apis/m/v1": "#;
        for (error, expected) in [
            ("dial tcp 10.1.0.7:443: connect: connection refused", Failure::ConnectionRefused),
            ("dial tcp 10.1.0.7:443: connect: no route to host", Failure::Unreachable),
            ("dial tcp 10.1.0.7:443: i/o timeout", Failure::Unreachable),
            ("read tcp 10.0.0.1:40000->10.1.0.7:443: i/o timeout", Failure::TimedOut),
            ("context deadline exceeded", Failure::TimedOut),
            ("context deadline exceeded (Client.Timeout exceeded while awaiting headers)", Failure::TimedOut),
            ("tls: failed to verify certificate: x509: certificate has expired", Failure::Certificate),
            ("EOF", Failure::Other),
        ] {
            assert_eq!(failure(&format!("{get}{error}").into()), expected, "{error}");
        }
        assert_eq!(address(&format!("{get}dial tcp 10.1.0.7:6443: i/o timeout").into()), Some("10.1.0.7:6443"));
        assert_eq!(address(&format!("{get}dial tcp [fd00::7]:443: i/o timeout").into()), Some("[fd00::7]:443"));
        assert_eq!(address(&format!("{get}context deadline exceeded").into()), None);
        let bad = |code: u16| {
            failure(&format!("failing or missing response from https://10.1.0.7:443/apis/m/v1: bad status from https://10.1.0.7:443/apis/m/v1: {code}").into())
        };
        assert_eq!([bad(401), bad(403), bad(500)], [Failure::Unauthorized, Failure::Unauthorized, Failure::Other]);
    }
}
