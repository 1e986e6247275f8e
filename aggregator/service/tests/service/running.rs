//! A service beside a fake API server, in this process.

use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use ::client::Connection;
use apiserver::Store;

use crate::api::{Api, until};
use crate::client::{Client, Pair};

/// No request takes longer.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Both, until it is dropped.
pub struct Running {
    pub api: Api,
    client: Client,
}

impl Deref for Running {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Running {
    /// Starts both, and waits until the service is ready.
    pub fn start(name: &str) -> Running {
        Running::start_with(name, |_| {})
    }

    /// The same, with what `prepare` adds to the cluster.
    pub fn start_with(name: &str, prepare: impl FnOnce(&Store)) -> Running {
        let running = Running::beside(Api::start(name, prepare));
        running.until_ready();
        running
    }

    /// The service alone.
    pub fn beside(api: Api) -> Running {
        let pair = Pair::new();
        pair.put(api.dir.path());
        let settings = service::Settings {
            connection: Connection {
                kubeconfig: Some(api.kubeconfig()),
                request_timeout: REQUEST_TIMEOUT,
                ..Connection::default()
            },
            listen: "127.0.0.1:0".parse().unwrap(),
            certificate: service::Certificate::Files {
                chain: api.dir.path().join("tls/tls.crt"),
                key: api.dir.path().join("tls/tls.key"),
            },
            incidents: Some(api.dir.path().join("incidents")),
            lease: None,
            events: true,
            names_in_metrics: false,
            cluster_name: "prod-1".to_owned(),
            accepts_api_tokens: false,
        };
        let (sender, address) = std::sync::mpsc::channel();
        api.runtime.spawn(async move {
            let ended = service::serve(settings, move |address| sender.send(address).unwrap()).await;
            eprintln!("the service has ended: {ended:?}");
        });
        let address = address.recv_timeout(Duration::from_secs(10)).unwrap();
        let client = Client { runtime: api.clients.clone(), address, believes: pair.certificate };
        Running { api, client }
    }

    pub fn until_ready(&self) {
        until(Duration::from_secs(30), || self.get("/readyz", "").0 == 200);
    }

    pub fn dir(&self) -> PathBuf {
        self.api.dir.path().to_owned()
    }
}
