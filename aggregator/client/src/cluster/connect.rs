//! A client with the caller's own credentials, found as kubectl finds them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Uri;
use kube::config::{AuthInfo, InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use serde_json::json;

use super::credential_plugin::{self, ExecError, with};
use super::proxy::{self, Environment, ProxyError};
use crate::config::{TokenError, prepare};

/// How to reach the cluster, in kubectl's flags.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Connection {
    /// The kubeconfig's context to use
    #[arg(long)]
    pub context: Option<String>,
    /// The kubeconfig to use
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The kubeconfig's cluster to use
    #[arg(long)]
    pub cluster: Option<String>,
    /// The kubeconfig's user to use
    #[arg(long)]
    pub user: Option<String>,
    /// The API server's address
    #[arg(short, long, value_name = "URL", value_parser = server)]
    pub server: Option<String>,
    /// CA file for the API server's certificate
    #[arg(long, value_name = "FILE", conflicts_with = "insecure_skip_tls_verify")]
    pub certificate_authority: Option<PathBuf>,
    /// Client certificate file
    #[arg(long, value_name = "FILE")]
    pub client_certificate: Option<PathBuf>,
    /// Key file of the client certificate
    #[arg(long, value_name = "FILE")]
    pub client_key: Option<PathBuf>,
    /// Server name to check in the API server's certificate, instead of the host in its address
    #[arg(long, value_name = "NAME")]
    pub tls_server_name: Option<String>,
    /// Do not check the API server's certificate (insecure: another server can answer)
    #[arg(long)]
    pub insecure_skip_tls_verify: bool,
    /// The bearer token to use
    #[arg(long)]
    pub token: Option<String>,
    /// The user to act as
    #[arg(long = "as", value_name = "USER")]
    pub impersonate: Option<String>,
    /// A group to act as a member of; repeatable
    #[arg(long = "as-group", value_name = "GROUP", requires = "impersonate")]
    pub impersonate_groups: Vec<String>,
    /// The uid to act as
    #[arg(long = "as-uid", value_name = "UID", requires = "impersonate")]
    pub impersonate_uid: Option<String>,
    /// Request uncompressed answers from the API server
    #[arg(long)]
    pub disable_compression: bool,
    /// Time limit of one request: 10s, 1m30s; 0 for none
    #[arg(long, default_value = "10s", value_parser = seconds)]
    pub request_timeout: Duration,
    /// Identifies this program in the API server's audit log and to its priority and fairness.
    #[arg(skip)]
    pub user_agent: &'static str,
}

/// There is no way to the cluster.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be read.
    #[error("cannot read the kubeconfig {}", .0.display())]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// The kubeconfig cannot be used.
    #[error("cannot use the kubeconfig (another one can be named with --kubeconfig or --context)")]
    Kubeconfig(#[source] KubeconfigError),
    /// The kubeconfig is no YAML, or has another structure. What the parser says quotes the file, which may hold a token.
    #[error("cannot parse the kubeconfig{0} (another one can be named with --kubeconfig)")]
    Malformed(String),
    /// There is neither a kubeconfig nor a service account.
    #[error("no kubeconfig in $KUBECONFIG or ~/.kube/config, and no service account of a pod: give --kubeconfig FILE")]
    Nowhere,
    /// The service account of this pod cannot be used.
    #[error("cannot use the service account of this pod")]
    ServiceAccount(#[source] InClusterError),
    /// A proxy's address cannot be read.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// kube takes a user that is not there for one without credentials.
    #[error("the kubeconfig has no user {0}: `kubectl config get-users` lists those it has")]
    NoUser(String),
    /// The user's credential plugin gave nothing.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// No header can hold the token.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The client cannot be made.
    #[error("cannot make a client for this cluster")]
    Client(#[from] kube::Error),
}

impl From<KubeconfigError> for ConnectError {
    fn from(error: KubeconfigError) -> Self {
        match error {
            KubeconfigError::ReadConfig(error, path) => ConnectError::Unreadable(path, error),
            KubeconfigError::Parse(error) => {
                let at = error.location();
                let place = at.map(|at| format!(" at line {} column {}", at.line(), at.column()));
                ConnectError::Malformed(place.unwrap_or_default())
            }
            error => ConnectError::Kubeconfig(error),
        }
    }
}

impl From<InClusterError> for ConnectError {
    fn from(error: InClusterError) -> Self {
        match error {
            InClusterError::ReadEnvironmentVariable(_) => ConnectError::Nowhere,
            error => ConnectError::ServiceAccount(error),
        }
    }
}

/// What kubectl would use.
pub struct Defaults {
    pub namespace: String,
    /// The API server: `https://10.0.0.1:6443`, without what else its address may hold.
    pub server: String,
}

/// A client, and what kubectl would use besides.
pub async fn connect(connection: &Connection) -> Result<(Client, Defaults), ConnectError> {
    let mut config = found(connection).await?;
    flags(&mut config, connection);
    // kube runs the plugin once for each part of the client.
    credential_plugin::run(&mut config.auth_info)?;
    prepare(&mut config, connection.user_agent, connection.request_timeout)?;
    config.disable_compression = connection.disable_compression;
    if config.cluster_url.scheme_str() == Some("http") {
        // As kubectl: who listens on the way would read them.
        config.auth_info = without_credentials(config.auth_info);
    }
    let defaults = Defaults { namespace: config.default_namespace.clone(), server: address(&config.cluster_url) };
    Ok((Client::try_from(config)?, defaults))
}

fn address(url: &Uri) -> String {
    let port = url.port().map_or(String::new(), |port| format!(":{port}"));
    format!("{}://{}{port}", url.scheme_str().unwrap_or("https"), url.host().unwrap_or_default())
}

/// What the kubeconfig says, else the service account, else the address that was given.
async fn found(connection: &Connection) -> Result<Config, ConnectError> {
    let Connection { context, cluster, user, .. } = connection;
    let options = KubeConfigOptions { context: context.clone(), cluster: cluster.clone(), user: user.clone() };
    let mut named = None;
    let found = match (read(connection.kubeconfig.as_deref())?, &connection.server) {
        (None, Some(_)) => Some(of_flags_alone()?),
        // One that names no cluster is as good as none.
        (Some(file), Some(_)) if file.contexts.is_empty() && file.clusters.is_empty() => Some(of_flags_alone()?),
        (found, _) => found,
    };
    let mut config = match found {
        Some(mut file) => {
            named = proxy_of(&file, &options);
            into_file(&mut file, &options, connection);
            if let Some(user) = user.as_ref().filter(|user| !file.auth_infos.iter().any(|one| one.name == **user)) {
                return Err(ConnectError::NoUser(findings::clean(user, 100)));
            }
            Config::from_custom_kubeconfig(file, &options).await?
        }
        None => Config::incluster()?,
    };
    config.proxy_url = proxy::of(&config.cluster_url, named.as_deref(), &Environment::of_process())?;
    Ok(config)
}

/// A kubeconfig that says nothing, for the flags to say it.
fn of_flags_alone() -> Result<Kubeconfig, KubeconfigError> {
    Kubeconfig::from_yaml(
        "{current-context: f, contexts: [{name: f, context: {cluster: f, user: f}}], \
         clusters: [{name: f, cluster: {server: 'https://localhost'}}], users: [{name: f, user: {}}]}",
    )
}

/// Puts address and certificates into the kubeconfig, where kube reads the files.
fn into_file(file: &mut Kubeconfig, options: &KubeConfigOptions, connection: &Connection) {
    let Connection { server, certificate_authority, client_certificate, client_key, .. } = connection;
    let named = options.context.as_ref().or(file.current_context.as_ref());
    let context = file.contexts.iter().find(|one| Some(&one.name) == named).and_then(|one| one.context.clone());
    let cluster = options.cluster.clone().or(context.as_ref().map(|context| context.cluster.clone()));
    let user = options.user.clone().or(context.and_then(|context| context.user));
    let cluster = file.clusters.iter_mut().find(|one| Some(&one.name) == cluster.as_ref());
    let auth = file.auth_infos.iter_mut().find(|one| Some(&one.name) == user.as_ref());
    let path = |path: &PathBuf| Some(path.display().to_string());
    let mut is_tls = connection.insecure_skip_tls_verify;
    if let Some(auth) = auth.and_then(|one| one.auth_info.as_mut()) {
        if let Some(given) = client_certificate {
            (auth.client_certificate, auth.client_certificate_data) = (path(given), None);
        }
        if let Some(given) = client_key {
            (auth.client_key, auth.client_key_data) = (path(given), None);
        }
        is_tls |= auth.client_certificate.is_some() || auth.client_certificate_data.is_some();
    }
    let Some(cluster) = cluster.and_then(|one| one.cluster.as_mut()) else { return };
    if let Some(given) = certificate_authority {
        (cluster.certificate_authority, cluster.certificate_authority_data) = (path(given), None);
        cluster.insecure_skip_tls_verify = None;
    }
    is_tls |= cluster.certificate_authority.is_some() || cluster.certificate_authority_data.is_some();
    is_tls |= cluster.insecure_skip_tls_verify == Some(true);
    if let Some(uri) = server.as_ref().and_then(|server| with_scheme(server, is_tls)) {
        cluster.server = Some(uri.to_string());
        // That name was for the other address.
        cluster.tls_server_name = None;
    }
}

/// An address with its scheme: without one it is https only where something else means that, as for kubectl.
pub fn with_scheme(server: &str, is_tls: bool) -> Option<Uri> {
    let scheme = if is_tls { "https" } else { "http" };
    let whole = if server.contains("://") { server.to_owned() } else { format!("{scheme}://{server}") };
    whole.parse().ok()
}

/// No request takes longer.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

/// `10s`, `1m30s`, or plain seconds, as kubectl has it; 0 is no limit.
fn seconds(text: &str) -> Result<Duration, String> {
    let whole = if text.bytes().all(|byte| byte.is_ascii_digit()) { format!("{text}s") } else { text.to_owned() };
    let parsed = whole.parse::<jiff::SignedDuration>().ok().and_then(|duration| Duration::try_from(duration).ok());
    match parsed {
        Some(Duration::ZERO) => Ok(MAX_TIMEOUT),
        Some(duration) if duration <= MAX_TIMEOUT => Ok(duration),
        _ => Err("give up to an hour, for example 10s, 1m30s, or 0 for no limit".to_owned()),
    }
}

/// `https://host:6443`, or without the scheme.
fn server(text: &str) -> Result<String, String> {
    let is_one = |uri: http::Uri| uri.host().is_some() && matches!(uri.scheme_str(), Some("http" | "https"));
    match with_scheme(text, true).is_some_and(is_one) {
        true => Ok(text.to_owned()),
        false => Err("give an address, for example https://10.0.0.1:6443".to_owned()),
    }
}

/// The kubeconfig, merged from all files of `$KUBECONFIG` that are there: as for kubectl, the others are none.
fn read(named: Option<&Path>) -> Result<Option<Kubeconfig>, KubeconfigError> {
    if let Some(path) = named {
        return Kubeconfig::read_from(path).map(Some);
    }
    let paths: Vec<PathBuf> = match std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
        Some(list) => std::env::split_paths(&list).collect(),
        None => std::env::home_dir().map(|home| home.join(".kube/config")).into_iter().collect(),
    };
    let mut merged: Option<Kubeconfig> = None;
    for path in paths.iter().filter(|path| path.is_file()) {
        let next = Kubeconfig::read_from(path)?;
        merged = Some(match merged {
            Some(before) => before.merge(next)?,
            None => next,
        });
    }
    Ok(merged)
}

/// The `proxy-url` of the cluster.
fn proxy_of(file: &Kubeconfig, options: &KubeConfigOptions) -> Option<String> {
    let context = options.context.as_ref().or(file.current_context.as_ref())?;
    let context = file.contexts.iter().find(|one| one.name == *context)?.context.as_ref()?;
    let cluster = options.cluster.as_ref().unwrap_or(&context.cluster);
    let cluster = file.clusters.iter().find(|one| one.name == *cluster)?.cluster.as_ref()?;
    cluster.proxy_url.clone().filter(|url| !url.is_empty())
}

/// What was given takes the place of what was found.
fn flags(config: &mut Config, connection: &Connection) {
    if connection.tls_server_name.is_some() {
        config.tls_server_name.clone_from(&connection.tls_server_name);
    }
    if connection.insecure_skip_tls_verify {
        config.accept_invalid_certs = true;
        // None is asked, and where none is installed (an image that holds one program) kube would fail for that.
        config.root_cert = Some(Vec::new());
        config.root_cert_file = None;
    }
    let auth = &mut config.auth_info;
    if let Some(token) = &connection.token {
        auth.token = with(json!({"token": token})).token;
        auth.token_file = None;
        auth.exec = None;
        auth.auth_provider = None;
    }
    if connection.impersonate.is_some() {
        auth.impersonate.clone_from(&connection.impersonate);
        auth.impersonate_groups = Some(connection.impersonate_groups.clone()).filter(|groups| !groups.is_empty());
        auth.impersonate_uid.clone_from(&connection.impersonate_uid);
    }
}

/// As whom to ask, and no more.
fn without_credentials(auth: AuthInfo) -> AuthInfo {
    AuthInfo {
        impersonate: auth.impersonate,
        impersonate_groups: auth.impersonate_groups,
        impersonate_uid: auth.impersonate_uid,
        ..AuthInfo::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kubeconfig(user: serde_json::Value) -> (tempfile::NamedTempFile, Connection) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let kubeconfig = json!({
            "current-context": "c",
            "clusters": [
                {"name": "c", "cluster": {"server": "http://127.0.0.1:1", "tls-server-name": "a"}},
                {"name": "d", "cluster": {"server": "https://127.0.0.1:2", "proxy-url": "socks5://127.0.0.1:1080"}}
            ],
            "users": [{"name": "u", "user": user}, {"name": "v", "user": {"token": "of-v"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}]
        });
        std::fs::write(file.path(), kubeconfig.to_string()).unwrap();
        let connection = Connection { kubeconfig: Some(file.path().to_owned()), ..Connection::default() };
        (file, connection)
    }

    #[tokio::test]
    async fn a_kubeconfig_that_cannot_be_parsed_is_not_quoted() {
        let user = "users:\n- name: a\n  user:\n    token: of-token\n";
        for (rest, place) in [("   bad: x\n", "line 5 column 4"), ("    exec: of-exec\n", "line 5 column 11")] {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), format!("{user}{rest}")).unwrap();
            let connection = Connection { kubeconfig: Some(file.path().to_owned()), ..Connection::default() };
            let error = crate::words(&found(&connection).await.err().unwrap());
            assert!(error.contains(place) && !error.contains("of-"), "{error}");
        }
    }

    #[tokio::test]
    async fn what_is_given_takes_the_place_of_what_the_kubeconfig_says() {
        let (_file, plain) = kubeconfig(json!({"exec": {"command": "never-run", "apiVersion": "v1"}}));
        let config = async |connection: Connection| {
            let mut config = found(&connection).await.unwrap();
            flags(&mut config, &connection);
            config
        };
        let given = Connection {
            server: Some("https://10.0.0.1:6443".to_owned()),
            token: Some("t".to_owned()),
            insecure_skip_tls_verify: true,
            impersonate: Some("alice".to_owned()),
            impersonate_groups: vec!["devs".to_owned(), "ops".to_owned()],
            impersonate_uid: Some("7".to_owned()),
            ..plain.clone()
        };
        let found = config(given).await;
        assert_eq!(found.cluster_url, "https://10.0.0.1:6443/");
        assert_eq!((found.tls_server_name.as_deref(), found.accept_invalid_certs), (None, true));
        assert_eq!(found.root_cert.as_deref(), Some(&[][..]), "no certificate of the machine is looked for");
        assert_eq!(found.default_namespace, "shop");
        let auth = serde_json::to_value(&found.auth_info).unwrap();
        assert_eq!((&auth["token"], auth.get("exec")), (&json!("t"), None), "{auth}");
        assert_eq!(auth["as"], "alice");
        assert_eq!((&auth["as-groups"], &auth["as-uid"]), (&json!(["devs", "ops"]), &json!("7")));
        let other = Connection {
            cluster: Some("d".to_owned()),
            user: Some("v".to_owned()),
            tls_server_name: Some("b".to_owned()),
            ..plain.clone()
        };
        let found = config(other).await;
        assert_eq!(found.cluster_url, "https://127.0.0.1:2");
        assert_eq!(found.tls_server_name.as_deref(), Some("b"));
        assert_eq!(found.proxy_url.unwrap(), "socks5://127.0.0.1:1080");
        assert_eq!(serde_json::to_value(&found.auth_info).unwrap()["token"], "of-v");
        // Without a scheme it is https where a certificate says so.
        let files = tempfile::tempdir().unwrap();
        let authority = files.path().join("ca.pem");
        std::fs::write(&authority, include_bytes!("../../../plugin/tests/cluster/certificates/valid.pem")).unwrap();
        let bare = Connection { server: Some("10.0.0.1:6443".to_owned()), ..plain.clone() };
        assert_eq!(config(bare.clone()).await.cluster_url, "http://10.0.0.1:6443/");
        let given = Connection {
            certificate_authority: Some(authority),
            client_certificate: Some("/c.pem".into()),
            client_key: Some("/k.pem".into()),
            ..bare
        };
        let found = config(given).await;
        assert_eq!(found.cluster_url, "https://10.0.0.1:6443/");
        assert_eq!(found.root_cert.map(|all| all.len()), Some(1));
        let auth = serde_json::to_value(&found.auth_info).unwrap();
        assert_eq!((&auth["client-certificate"], &auth["client-key"]), (&json!("/c.pem"), &json!("/k.pem")));
        let missing = Connection { user: Some("nobody".to_owned()), ..plain };
        assert!(matches!(connect(&missing).await, Err(ConnectError::NoUser(_))));
    }
}
