//! HTTP on 127.0.0.1, passed on to the service with the account's token. Only a page that this address itself has served gets an
//! answer: a request names exactly this address as its Host, and no other site as its origin. Otherwise any web page could read
//! with the account's permissions, also by a DNS name that it lets point here.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use client::words;
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

use super::account_token::AccountToken;
use super::own_connections;
use super::upstream::Upstream;

type Body = BoxBody<Bytes, hyper::Error>;
type Sender = Option<SendRequest<Empty<Bytes>>>;

/// What of a request is passed on.
const PASSED: [HeaderName; 4] = [header::ACCEPT, header::ACCEPT_ENCODING, header::IF_NONE_MATCH, header::AUTHORIZATION];
/// A request's head must be there by then.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

pub struct LocalProxy {
    upstream: Upstream,
    token: AccountToken,
    /// `127.0.0.1:41234`
    host: String,
}

impl LocalProxy {
    pub fn new(upstream: Upstream, token: AccountToken, address: SocketAddr) -> Self {
        LocalProxy { upstream, token, host: address.to_string() }
    }

    /// Serves within a `LocalSet`, until it is dropped.
    pub async fn serve(self: Rc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) if own_connections::is_own(peer) => {
                    tokio::task::spawn_local(Rc::clone(&self).connection(stream));
                }
                Ok(_) => {}
                // Out of descriptors, for a moment.
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }

    /// Each connection of the browser has one of its own to the service.
    async fn connection(self: Rc<Self>, stream: TcpStream) {
        let upstream: Rc<Mutex<Sender>> = Rc::default();
        let service = service_fn(move |request| {
            let (proxy, upstream) = (Rc::clone(&self), Rc::clone(&upstream));
            async move { Ok::<_, std::convert::Infallible>(proxy.answer(request, &upstream).await) }
        });
        let mut server = hyper::server::conn::http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
        // A browser that hangs up is no failure.
        let _ = server.serve_connection(TokioIo::new(stream), service).await;
    }

    async fn answer(&self, request: Request<Incoming>, upstream: &Mutex<Sender>) -> Response<Body> {
        if let Err(refused) = admit(request.method(), request.headers(), &self.host) {
            return plain(refused, "This address serves its own page only.\n");
        }
        match self.passed_on(&request, upstream).await {
            Ok(answer) => answer.map(BodyExt::boxed),
            Err(error) => {
                eprintln!("note: {}", findings::clean(&words(error.as_ref()), 300));
                plain(StatusCode::BAD_GATEWAY, "The service cannot be reached; the terminal shows why.\n")
            }
        }
    }

    async fn passed_on(
        &self,
        request: &Request<Incoming>,
        upstream: &Mutex<Sender>,
    ) -> anyhow::Result<Response<Incoming>> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let mut passed = Request::builder().method(request.method()).uri(path).body(Empty::new())?;
        let headers = passed.headers_mut();
        headers.insert(header::HOST, HeaderValue::from_static("localhost"));
        for name in PASSED {
            if let Some(value) = request.headers().get(&name) {
                headers.insert(name, value.clone());
            }
        }
        // A token that was pasted into the page stays.
        if !headers.contains_key(header::AUTHORIZATION) {
            let mut value = HeaderValue::try_from(format!("Bearer {}", self.token.current().await?))?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        let mut sender = upstream.lock().await;
        if sender.as_mut().is_none_or(|sender| sender.is_closed()) {
            *sender = Some(self.upstream.connect().await?);
        }
        let Some(open) = sender.as_mut() else { anyhow::bail!("no connection") };
        open.ready().await?;
        let answer = open.send_request(passed).await;
        if answer.is_err() {
            *sender = None;
        }
        Ok(answer?)
    }
}

/// Whether a request comes from a page of this address, or from its user.
fn admit(method: &Method, headers: &HeaderMap, host: &str) -> Result<(), StatusCode> {
    if method != Method::GET {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    let only = |name: HeaderName| {
        let mut values = headers.get_all(name).iter();
        (values.next().map(|value| value.as_bytes().to_vec()), values.next().is_some())
    };
    let is_own_host = only(header::HOST) == (Some(host.as_bytes().to_vec()), false);
    let is_own_origin = match only(header::ORIGIN) {
        (None, _) => true,
        (Some(origin), more) => !more && origin == format!("http://{host}").into_bytes(),
    };
    let is_own_site = match only(HeaderName::from_static("sec-fetch-site")) {
        (None, _) => true,
        (Some(site), more) => !more && [&b"same-origin"[..], b"none"].contains(&site.as_slice()),
    };
    if is_own_host && is_own_origin && is_own_site { Ok(()) } else { Err(StatusCode::FORBIDDEN) }
}

fn plain(status: StatusCode, words: &'static str) -> Response<Body> {
    let body = Full::new(Bytes::from_static(words.as_bytes())).map_err(|never| match never {}).boxed();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(headers: &[(&'static str, &str)]) -> bool {
        let pairs = headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let headers = pairs.fold(HeaderMap::new(), |mut all, (name, value)| {
            all.append(name, value);
            all
        });
        admit(&Method::GET, &headers, "127.0.0.1:4711").is_ok()
    }

    #[test]
    fn other_sites_get_nothing() {
        let own = ("host", "127.0.0.1:4711");
        assert!(admitted(&[own]));
        assert!(admitted(&[own, ("sec-fetch-site", "none")]));
        assert!(admitted(&[own, ("origin", "http://127.0.0.1:4711"), ("sec-fetch-site", "same-origin")]));
        let others: [&[(&'static str, &str)]; 9] = [
            &[],
            &[own, own],
            &[("host", "evil.example:4711")],
            &[("host", "localhost:4711")],
            &[("host", "127.0.0.1")],
            &[own, ("origin", "https://evil.example")],
            &[own, ("origin", "null")],
            &[own, ("sec-fetch-site", "cross-site")],
            &[own, ("sec-fetch-site", "same-site")],
        ];
        for headers in others {
            assert!(!admitted(headers), "{headers:?}");
        }
        let own = HeaderMap::from_iter([(header::HOST, "127.0.0.1:4711".parse().unwrap())]);
        assert!(admit(&Method::POST, &own, "127.0.0.1:4711").is_err());
    }
}
