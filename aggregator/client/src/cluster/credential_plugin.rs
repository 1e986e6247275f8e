//! Credentials from a plugin (`aws eks get-token`, `gke-gcloud-auth-plugin`, `kubelogin`): run once, as by kubectl.

use std::io::{self, IsTerminal as _};
use std::process::{Command, ExitStatus, Stdio};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use findings::clean;
use kube::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::json;

/// The plugin gave no credentials. Its arguments and its output are left out: they may hold secrets.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The kubeconfig names no program.
    #[error("the kubeconfig's user has a credential plugin without a command")]
    NoCommand,
    /// There is no terminal on which it could ask.
    #[error("the credential plugin {0} must ask for something, and there is no terminal: log in with it first")]
    NoTerminal(String),
    /// It is not there.
    #[error("the credential plugin {plugin} of the kubeconfig is not installed, or not in PATH{hint}")]
    Missing {
        plugin: String,
        /// What the kubeconfig says of how to install it.
        hint: String,
    },
    #[error("the credential plugin {0} of the kubeconfig cannot be run")]
    Run(String, #[source] io::Error),
    #[error("the credential plugin {0} failed ({1}): log in again, as it says above, then try `kubectl auth whoami`")]
    Failed(String, ExitStatus),
    /// It printed something else.
    #[error("the credential plugin {0} printed no ExecCredential with a token or a client certificate")]
    Malformed(String),
}

#[derive(Deserialize)]
struct Credential {
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// Credentials as the kubeconfig has them.
pub(super) fn with(fields: serde_json::Value) -> AuthInfo {
    serde_json::from_value(fields).unwrap_or_default()
}

/// Puts what the plugin prints in its place.
pub fn run(auth: &mut AuthInfo) -> Result<(), ExecError> {
    let Some(exec) = auth.exec.take() else { return Ok(()) };
    let name = clean(exec.command.as_deref().unwrap_or_default(), 100);
    let printed = output(&exec, &name)?;
    let malformed = || ExecError::Malformed(name.clone());
    let credential: Credential = serde_saphyr::from_slice(&printed).map_err(|_| malformed())?;
    let Status { token, client_certificate_data, client_key_data } = credential.status.ok_or_else(malformed)?;
    if let Some(token) = token.filter(|token| !token.is_empty()) {
        auth.token = with(json!({"token": token})).token;
        auth.token_file = None;
    } else if client_certificate_data.is_none() {
        return Err(malformed());
    }
    if let (Some(certificate), Some(key)) = (client_certificate_data, client_key_data) {
        let encode = |pem: String| BASE64_STANDARD.encode(pem);
        let data = with(json!({"client-certificate-data": encode(certificate), "client-key-data": encode(key)}));
        auth.client_certificate_data = data.client_certificate_data;
        auth.client_key_data = data.client_key_data;
    }
    Ok(())
}

fn output(exec: &ExecConfig, name: &str) -> Result<Vec<u8>, ExecError> {
    let command = exec.command.as_ref().filter(|command| !command.is_empty()).ok_or(ExecError::NoCommand)?;
    let is_terminal = io::stdin().is_terminal();
    let interactive = match exec.interactive_mode {
        Some(ExecInteractiveMode::Never) => false,
        Some(ExecInteractiveMode::Always) if !is_terminal => return Err(ExecError::NoTerminal(name.to_owned())),
        _ => is_terminal,
    };
    let mut spec = json!({"interactive": interactive});
    if let Some(cluster) = exec.cluster.as_ref().filter(|_| exec.provide_cluster_info) {
        spec["cluster"] = json!(cluster);
    }
    let info = json!({"kind": "ExecCredential", "apiVersion": exec.api_version, "spec": spec});
    let pairs = exec.env.iter().flatten().filter_map(|pair| Some((pair.get("name")?, pair.get("value")?)));
    let ran = Command::new(command)
        .args(exec.args.iter().flatten())
        .envs(pairs)
        .env("KUBERNETES_EXEC_INFO", info.to_string())
        .stdin(if interactive { Stdio::inherit() } else { Stdio::null() })
        .stderr(Stdio::inherit())
        .output();
    match ran {
        Ok(ran) if ran.status.success() => Ok(ran.stdout),
        Ok(ran) => Err(ExecError::Failed(name.to_owned(), ran.status)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let hint = exec.install_hint.as_deref().map(|hint| clean(hint, 300));
            let hint = hint.map_or(String::new(), |hint| format!(": {hint}"));
            Err(ExecError::Missing { plugin: name.to_owned(), hint })
        }
        Err(error) => Err(ExecError::Run(name.to_owned(), error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(script: &str) -> AuthInfo {
        with(json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "args": ["-c", script],
            "interactiveMode": "Never", "env": [{"name": "TOKEN", "value": "t"}]
        }}))
    }

    #[test]
    fn a_plugin_is_run_once_and_told_what_it_must_know() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join("runs");
        let mut auth = plugin(&format!(
            "echo \"$KUBERNETES_EXEC_INFO\" >>{}; echo '{{\"status\": {{\"token\": \"'$TOKEN'\"}}}}'",
            runs.display()
        ));
        run(&mut auth).unwrap();
        assert_eq!(serde_json::to_value(&auth).unwrap(), json!({"token": "t"}));
        let told = std::fs::read_to_string(runs).unwrap();
        assert_eq!(told.lines().count(), 1, "{told}");
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(told["apiVersion"], "client.authentication.k8s.io/v1");
        assert_eq!(told["spec"], json!({"interactive": false}));
    }

    #[test]
    fn a_client_certificate_takes_the_place_of_the_plugin() {
        let status = r#"{"status": {"clientCertificateData": "cert", "clientKeyData": "key"}}"#;
        let mut auth = plugin(&format!("echo '{status}'"));
        run(&mut auth).unwrap();
        let auth = serde_json::to_value(&auth).unwrap();
        assert_eq!(auth, json!({"client-certificate-data": "Y2VydA==", "client-key-data": "a2V5"}));
    }

    #[test]
    fn what_a_plugin_does_wrong_is_told_in_words_and_without_its_secrets() {
        let said = |mut auth: AuthInfo| run(&mut auth).unwrap_err().to_string();
        let failed = said(plugin("echo secret; exit 255"));
        assert!(failed.starts_with("the credential plugin sh failed (exit status: 255): log in again"), "{failed}");
        for odd in ["", "echo secret", "echo '{}'", "echo '{\"status\": {}}'"] {
            assert!(said(plugin(odd)).ends_with("printed no ExecCredential with a token or a client certificate"));
        }
        let missing = json!({"exec": {"command": "aws-not-there", "installHint": "install aws cli"}});
        let missing = said(with(missing));
        assert!(missing.ends_with("aws-not-there of the kubeconfig is not installed, or not in PATH: install aws cli"));
    }
}
