//! Which proxy leads to the API server, as kubectl decides: the cluster's `proxy-url`, or the environment's unless
//! `NO_PROXY` or this machine itself is meant. (kube compares `NO_PROXY` with the proxy's own name.)

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;

/// A proxy's address cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{from} is no address of a proxy, for example http://proxy:3128")]
pub struct ProxyError {
    /// Where it stands. The address may hold a password and is not shown.
    from: &'static str,
}

/// What Go's programs never ask a proxy for.
const THIS_MACHINE: &str = "localhost,127.0.0.0/8,::1";

/// What the environment says of proxies.
#[derive(Debug, Default)]
pub struct Environment {
    https: Option<String>,
    http: Option<String>,
    no: Option<String>,
}

impl Environment {
    /// That of this process.
    pub fn of_process() -> Self {
        let read = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let either = |name: &str| read(name).or_else(|| read(&name.to_lowercase()));
        Environment { https: either("HTTPS_PROXY"), http: either("HTTP_PROXY"), no: either("NO_PROXY") }
    }
}

/// The proxy that leads to `server`; `named` is the kubeconfig's, which is always used.
pub fn of(server: &Uri, named: Option<&str>, environment: &Environment) -> Result<Option<Uri>, ProxyError> {
    if let Some(named) = named {
        return read(named, "the kubeconfig's proxy-url").map(Some);
    }
    let (proxy, from) = match server.scheme_str() {
        Some("http") => (&environment.http, "HTTP_PROXY"),
        _ => (&environment.https, "HTTPS_PROXY"),
    };
    let Some(proxy) = proxy else { return Ok(None) };
    let uri = read(proxy, from)?;
    let no = environment.no.as_deref().unwrap_or_default();
    if no.split(',').any(|one| one.trim() == "*") {
        return Ok(None);
    }
    // Who matches needs some proxy, not this one: what to do with it is said below.
    let matcher = Matcher::builder().all("http://proxy").no(format!("{no},{THIS_MACHINE}")).build();
    Ok(matcher.intercept(server).map(|_| uri))
}

fn read(address: &str, from: &'static str) -> Result<Uri, ProxyError> {
    let whole = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let uri: Uri = whole.parse().map_err(|_| ProxyError { from })?;
    if uri.host().is_some() { Ok(uri) } else { Err(ProxyError { from }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(no: &str) -> Environment {
        let proxy = |address: &str| Some(address.to_owned());
        Environment { https: proxy("http://proxy.corp:3128"), http: proxy("plain.corp:80"), no: proxy(no) }
    }

    #[test]
    fn a_server_that_no_proxy_covers_is_asked_directly() {
        let through = |server: &str, no: &str| {
            of(&server.parse().unwrap(), None, &environment(no)).unwrap().map(|uri| uri.to_string())
        };
        let proxy = Some("http://proxy.corp:3128/".to_owned());
        assert_eq!(through("https://10.0.0.1:6443", "127.0.0.1,localhost,.svc"), proxy);
        assert_eq!(through("https://api.corp:6443", ""), proxy);
        assert_eq!(through("http://api.corp:8080", ""), Some("http://plain.corp:80/".to_owned()));
        for (server, no) in [
            ("https://127.0.0.1:6443", ""),
            ("https://localhost:6443", "other"),
            ("https://10.0.0.1:6443", "10.0.0.0/8"),
            ("https://api.corp:6443", "a,,.corp"),
            ("https://api.corp:6443", "corp"),
            ("https://api.corp:6443", "*"),
            ("https://10.0.0.1:6443", "*"),
        ] {
            assert_eq!(through(server, no), None, "{server} with NO_PROXY={no}");
        }
    }

    #[test]
    fn the_kubeconfigs_own_proxy_is_always_used() {
        let server = "https://127.0.0.1:6443".parse().unwrap();
        let named = of(&server, Some("socks5://127.0.0.1:1080"), &environment("*")).unwrap().unwrap();
        assert_eq!((named.scheme_str(), named.port_u16()), (Some("socks5"), Some(1080)));
        assert!(of(&server, Some("http://"), &Environment::default()).is_err());
    }

    #[test]
    fn an_odd_proxy_is_told_without_its_password() {
        let odd = Environment { https: Some("http://me:secret@ x".to_owned()), ..Environment::default() };
        let error = of(&"https://api.corp".parse().unwrap(), None, &odd).unwrap_err().to_string();
        assert_eq!(error, "HTTPS_PROXY is no address of a proxy, for example http://proxy:3128");
    }
}
