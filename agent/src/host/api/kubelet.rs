//! The kubelet's own counters, of its `/metrics`, with the credentials that the API server is asked with.
//!
//! A token is sent only to the kubelet: its server must have the key to the very certificate in the kubelet's directory,
//! otherwise there is no connection.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use client::{Config, Limits, read_pinned};
use futures::{AsyncBufReadExt as _, AsyncReadExt as _};
use serde::Deserialize;

use super::{Conversation, types::reduced};
use crate::host::kubelet::KubeletListener;
use crate::observation::{CounterRead, Fault, FaultKind, KubeletCounters, Seen};
use crate::{parse, sys};

/// The metrics of a node with hundreds of pods; more is not read.
const LONGEST: u64 = 16 << 20;
/// Drivers, methods and codes; more are not kept.
const MOST_COUNTERS: usize = 1000;

reduced! {
    /// The addresses of the node, of which the first internal one is the kubelet's.
    pub(super) NodeAddresses { status: Addresses }
    Addresses { addresses: Vec<Address> }
    Address { r#type: String, address: String }
}

impl NodeAddresses {
    /// Where its kubelet is reached.
    pub fn internal(&self) -> Option<IpAddr> {
        let internal = self.status.addresses.iter().filter(|address| address.r#type == "InternalIP");
        internal.filter_map(|address| address.address.parse().ok()).next()
    }
}

pub(super) async fn counters(
    config: &Config,
    address: IpAddr,
    listener: &KubeletListener,
    limits: Limits,
) -> Result<CounterRead, Fault> {
    match tokio::time::timeout(limits.request_timeout, read(config, address, listener)).await {
        Ok(read) => read.map_err(|error| Fault { source: SOURCE.into(), ..super::fault(error) }),
        Err(_) => Err(fault((FaultKind::TimedOut, format!("did not answer within {:?}", limits.request_timeout)))),
    }
}

const SOURCE: &str = "/metrics of the kubelet";

fn fault(reason: impl Into<crate::observation::Reason>) -> Fault {
    Fault::new(SOURCE, reason)
}

async fn read(config: &Config, address: IpAddr, listener: &KubeletListener) -> anyhow::Result<CounterRead> {
    let address = SocketAddr::new(address, listener.port);
    let body = pin!(read_pinned(config, address, &listener.certificates, "/metrics").await?);
    let mut lines = body.take(LONGEST);
    let (mut line, mut counters, mut is_whole) = (Vec::new(), Vec::new(), true);
    while counters.len() < MOST_COUNTERS {
        line.clear();
        let mut rest = (&mut lines).take(parse::MAX_LINE_BYTES as u64);
        if rest.read_until(b'\n', &mut line).await? == 0 {
            break;
        }
        // A longer line comes in parts, and no part of one is a counter.
        let ends = line.ends_with(b"\n");
        if is_whole && ends {
            counters.extend(parse::counter(&line));
        }
        is_whole = ends;
    }
    Ok(CounterRead { at_ms: sys::now_ms(), counters })
}

/// Earlier readings, to see which counters grow. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct CounterHistory(Arc<Mutex<Readings>>);

#[derive(Debug, Default)]
struct Readings {
    /// Of which kubelet, and while which volumes were to be unmounted.
    of: Option<((u32, u64), Vec<String>)>,
    reads: VecDeque<CounterRead>,
    /// When it was last refused, in milliseconds since the epoch.
    denied_ms: Option<u64>,
}

/// So many looks are kept.
const MOST_READS: usize = 16;
/// Looks that are closer together than this are one.
const LEAST_APART_MS: u64 = 10_000;
/// Who was refused does not ask again for so long: each question is one to the API server too.
const REFUSED_MS: u64 = 600_000;

impl CounterHistory {
    /// Reads them once more, while these volumes are to be unmounted.
    pub async fn read(
        &self,
        api: &Conversation,
        node: &str,
        listener: KubeletListener,
        volumes: Vec<String>,
    ) -> Seen<KubeletCounters> {
        let readings = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let refused = readings().refused(sys::now_ms());
        if let Some(refused) = refused {
            return Seen::Failed(refused);
        }
        let kubelet = listener.kubelet;
        let read = api.kubelet_counters(node, listener).await;
        readings().add(kubelet, volumes, read)
    }
}

impl Readings {
    /// Whether it was refused a moment ago, and as what.
    fn refused(&self, now_ms: u64) -> Option<Fault> {
        let is_recent = |denied: &u64| now_ms.saturating_sub(*denied) < REFUSED_MS;
        self.denied_ms.as_ref().filter(|denied| is_recent(denied))?;
        Some(fault((FaultKind::Denied, "was refused some minutes ago")))
    }

    /// Adds a look at the kubelet `of`, while these volumes were to be unmounted.
    fn add(&mut self, of: (u32, u64), volumes: Vec<String>, read: Result<CounterRead, Fault>) -> Seen<KubeletCounters> {
        let last = match read {
            Ok(read) => read,
            Err(fault) => {
                self.denied_ms = (fault.kind == FaultKind::Denied).then(sys::now_ms);
                return Seen::Failed(fault);
            }
        };
        let of = Some((of, volumes));
        if self.of != of {
            (self.of, self.reads) = (of, VecDeque::new());
        }
        // The youngest that is old enough, else the oldest.
        let is_old = |read: &CounterRead| {
            last.at_ms.saturating_sub(read.at_ms) >= agent_core::causes::kubelet_operations::WINDOW_MS
        };
        while self.reads.len() > MOST_READS || self.reads.get(1).is_some_and(is_old) {
            self.reads.pop_front();
        }
        let earlier = self.reads.front().cloned();
        if self.reads.back().is_none_or(|read| last.at_ms.saturating_sub(read.at_ms) >= LEAST_APART_MS) {
            self.reads.push_back(last.clone());
        }
        Seen::Seen(KubeletCounters { last, earlier })
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine, prelude::BASE64_STANDARD};
    use rcgen::{CertificateParams, KeyPair};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
    use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
    use tokio_rustls::rustls::sign::CertifiedKey;

    use super::*;
    use crate::host::api::CHECK;

    const METRICS: &str = "# HELP csi_operations_seconds x\n\
        csi_operations_seconds_count{driver_name=\"exam.csi\",grpc_status_code=\"Internal\",\
        method_name=\"/csi.v1.Node/NodeUnpublishVolume\",migrated=\"false\"} 14\nother 1\n";
    const TOKEN: &str = "a-token-of-the-talker";

    fn certificate() -> (CertificateDer<'static>, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let made = CertificateParams::new(vec!["node-a".to_owned()]).unwrap().self_signed(&key).unwrap();
        (made.der().clone(), key)
    }

    /// Shows this certificate with this key, whether they belong together or not.
    #[derive(Debug)]
    struct Shows(Arc<CertifiedKey>);

    impl ResolvesServerCert for Shows {
        fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
            Some(self.0.clone())
        }
    }

    /// What a listener with this certificate and key is sent, and what comes of the question.
    async fn asked(
        shown: &CertificateDer<'static>,
        key: &KeyPair,
        pinned: &CertificateDer<'static>,
    ) -> (String, Result<CounterRead, Fault>) {
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let key = ring::sign::any_supported_type(&key).unwrap();
        let provider = Arc::new(ring::default_provider());
        let server = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let resolver = Shows(Arc::new(CertifiedKey::new(vec![shown.clone()], key)));
        let acceptor = TlsAcceptor::from(Arc::new(server.with_no_client_auth().with_cert_resolver(Arc::new(resolver))));
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = tcp.local_addr().unwrap().port();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let record = sent.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = tcp.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut bytes = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut bytes).await {
                    record.lock().unwrap().extend_from_slice(&bytes[..length]);
                    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", METRICS.len());
                    let _ = stream.write_all(format!("{head}{METRICS}").as_bytes()).await;
                }
            }
        });
        let mut config = Config::new("https://10.0.0.1".parse().unwrap());
        config.auth_info.token = Some(TOKEN.to_owned().into());
        let certificates = vec![BASE64_STANDARD.encode(pinned)];
        let listener = KubeletListener { kubelet: (7, 1), port, certificates };
        let read = counters(&config, IpAddr::from([127, 0, 0, 1]), &listener, CHECK).await;
        let sent = String::from_utf8_lossy(&sent.lock().unwrap()).into_owned();
        (sent, read)
    }

    #[tokio::test]
    async fn the_kubelet_is_asked_with_the_token() {
        let (own, key) = certificate();
        let (sent, read) = asked(&own, &key, &own).await;
        assert!(sent.contains("GET /metrics ") && sent.contains(&format!("Bearer {TOKEN}")), "{sent}");
        let read = read.unwrap();
        assert_eq!((read.counters.len(), read.counters[0].count), (1, 14));
    }

    /// Another process takes the port while the kubelet is down.
    #[tokio::test]
    async fn a_false_listener_is_told_nothing() {
        let (own, key) = certificate();
        let (other, others_key) = certificate();
        let (sent, read) = asked(&other, &others_key, &own).await;
        assert!(sent.is_empty() && read.is_err(), "{sent}");
        // The certificate is no secret: every client gets it.
        let (sent, read) = asked(&own, &others_key, &own).await;
        assert!(sent.is_empty() && read.is_err(), "{sent}");
        drop(key);
    }

    /// One that speaks no TLS hears the client's greeting, and no more.
    #[tokio::test]
    async fn a_listener_without_tls_hears_no_token() {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = tcp.local_addr().unwrap().port();
        let hears = tokio::spawn(async move {
            let (mut stream, _) = tcp.accept().await.unwrap();
            let mut bytes = vec![0; 4096];
            let length = stream.read(&mut bytes).await.unwrap();
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            let mut more = Vec::new();
            let _ = stream.read_to_end(&mut more).await;
            [&bytes[..length], &more].concat()
        });
        let mut config = Config::new("https://10.0.0.1".parse().unwrap());
        config.auth_info.token = Some(TOKEN.to_owned().into());
        let certificates = vec![BASE64_STANDARD.encode(certificate().0)];
        let listener = KubeletListener { kubelet: (7, 1), port, certificates };
        let read = counters(&config, IpAddr::from([127, 0, 0, 1]), &listener, CHECK).await;
        assert!(read.is_err());
        let heard = String::from_utf8_lossy(&hears.await.unwrap()).into_owned();
        assert!(!heard.is_empty() && !heard.contains(TOKEN) && !heard.contains("GET "), "{heard}");
    }

    #[test]
    fn what_grows_is_told_by_looks_far_enough_apart() {
        let mut history = Readings::default();
        let mut look = |at_s: u64, start: u64, volumes: &[&str]| {
            let volumes = volumes.iter().map(|name| (*name).to_owned()).collect();
            let read = CounterRead { at_ms: at_s * 1000, counters: Vec::new() };
            let Seen::Seen(told) = history.add((7, start), volumes, Ok(read)) else { unreachable!() };
            told.earlier.map(|earlier| earlier.at_ms / 1000)
        };
        assert_eq!(look(1000, 1, &["a"]), None);
        assert_eq!(look(1030, 1, &["a"]), Some(1000));
        assert_eq!(look(1100, 1, &["a"]), Some(1000));
        assert_eq!(look(1185, 1, &["a"]), Some(1030), "the youngest that is older than the longest pause");
        assert_eq!(look(1215, 1, &["a", "b"]), None, "another volume");
        assert_eq!(look(1245, 2, &["a", "b"]), None, "another kubelet");
        let denied = Err(Fault::new("x", (FaultKind::Denied, "no")));
        assert!(history.add((7, 2), Vec::new(), denied).fault().is_some());
        let now_ms = sys::now_ms();
        assert!(history.refused(now_ms).is_some() && history.refused(now_ms + REFUSED_MS).is_none());
    }

    #[test]
    fn the_kubelet_is_at_the_nodes_internal_address() {
        let json = serde_json::json!({"status": {"addresses": [
            {"type": "Hostname", "address": "node-a"}, {"type": "ExternalIP", "address": "198.51.100.1"},
            {"type": "InternalIP", "address": "fd00::1"}, {"type": "InternalIP", "address": "10.0.0.7"}
        ]}});
        let node: NodeAddresses = serde_json::from_value(json).unwrap();
        assert_eq!(node.internal(), Some("fd00::1".parse().unwrap()));
    }
}
