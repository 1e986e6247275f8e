//! `why-terminating-aggregator`.

mod heap;

use std::io::IsTerminal as _;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use client::Connection;
use service::{Certificate, LeaseName};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Shows continuously what holds whatever is stuck in Terminating in a cluster.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watch the cluster, and serve metrics and an API
    Serve(Serve),
    /// What `helm test` runs: hold a pod of the chart by a finalizer, delete it, ask the service what holds it, let it go
    HelmTest(HelmTest),
}

#[derive(Debug, clap::Args)]
struct Serve {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:8443")]
    listen: SocketAddr,
    /// The certificate to serve with, in PEM, with those of its issuers; read again when it is replaced. Without one it
    /// is made at the start and its fingerprint logged
    #[arg(long, requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its key, in PEM
    #[arg(long, requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// The kubeconfig; in a pod its service account is used
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// A file that keeps what was stuck over restarts
    #[arg(long)]
    incidents: Option<PathBuf>,
    /// The Lease that decides which of several replicas writes Events; without one this is the only replica
    #[arg(long, value_name = "NAMESPACE/NAME")]
    lease: Option<LeaseName>,
    /// Write no Events that regard a stuck Namespace
    #[arg(long)]
    no_events: bool,
    /// Name namespaces in metrics; every reader of the metrics then sees these names
    #[arg(long)]
    names_in_metrics: bool,
    /// The cluster's name, which the page shows
    #[arg(long, default_value = "")]
    cluster_name: String,
    /// Accept tokens that are made for the API server too, not only those with the audience why-terminating
    #[arg(long)]
    accept_api_tokens: bool,
    /// Seconds that one request to the API server may take
    #[arg(long, default_value_t = 10)]
    request_timeout: u64,
}

#[derive(Debug, clap::Args)]
struct HelmTest {
    /// The pod, which no finalizer but why-terminating/helm-test may hold
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pod: String,
    /// The service's address
    #[arg(long, env = "WHY_TERMINATING_AGGREGATOR_SERVICE_HOST")]
    host: IpAddr,
    /// Its port
    #[arg(long, env = "WHY_TERMINATING_AGGREGATOR_SERVICE_PORT", default_value_t = 443)]
    port: u16,
    /// The token with which it is asked
    #[arg(long, default_value = "/var/run/secrets/kubernetes.io/serviceaccount/token")]
    token_file: PathBuf,
    /// The kubeconfig; in a pod its service account is used
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Seconds that the service may take until it says what holds the pod
    #[arg(long, default_value_t = 90)]
    patience: u64,
}

fn main() -> ExitCode {
    heap::share_and_give_back();
    let Args { command } = Args::parse();
    // By target and level alone: filters on the fields of spans would bring an engine for regular expressions along.
    let asked = std::env::var("RUST_LOG").ok().and_then(|asked| asked.parse().ok());
    let filter: Targets = asked.unwrap_or_else(|| Targets::from_iter([("service", LevelFilter::INFO)]));
    let lines = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
    let lines = lines.with_writer(std::io::stderr).with_target(false);
    // By default there are colour codes in a file too.
    let lines = if std::io::stderr().is_terminal() { lines } else { lines.with_ansi(false) };
    lines.finish().with(filter).init();
    let ended = match command {
        Command::Serve(args) => serve(args),
        Command::HelmTest(args) => helm_test(args),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn helm_test(args: HelmTest) -> anyhow::Result<()> {
    let (namespace, pod) = args.pod.split_once('/').context("a pod is named NAMESPACE/NAME")?;
    let test = service::HelmTest {
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
        service: SocketAddr::new(args.host, args.port),
        token_file: args.token_file,
        kubeconfig: args.kubeconfig,
        patience: Duration::from_secs(args.patience),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let seen = runtime.block_on(service::helm_test(&test))?;
    println!("{seen}");
    Ok(())
}

fn serve(args: Serve) -> anyhow::Result<()> {
    let connection = Connection {
        kubeconfig: args.kubeconfig,
        request_timeout: Duration::from_secs(args.request_timeout),
        ..Connection::default()
    };
    let certificate = match args.tls_cert.zip(args.tls_key) {
        Some((chain, key)) => Certificate::Files { chain, key },
        None => Certificate::SelfSigned,
    };
    let settings = service::Settings {
        connection,
        listen: args.listen,
        certificate,
        incidents: args.incidents,
        lease: args.lease,
        events: !args.no_events,
        names_in_metrics: args.names_in_metrics,
        cluster_name: args.cluster_name,
        accepts_api_tokens: args.accept_api_tokens,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(service::serve(settings, |_| {}))
}
