//! `ui`: the service's page, with the permissions of a ServiceAccount. A local proxy adds the account's token to each request,
//! so that the token is in no address, no file and not in the browser.

mod account_token;
mod local_proxy;
mod own_connections;
mod upstream;

use std::process::{Command, ExitCode, Stdio};
use std::rc::Rc;

use anyhow::{Context as _, Result};
use findings::render::Style;
use tokio::net::TcpListener;

use super::answer::print;
use super::args::{self, UiFlags};
use account_token::AccountToken;
use client::{ApiClient, Limits, connect};
use local_proxy::LocalProxy;
use upstream::Upstream;

/// No answer is longer.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// Serves the page until Ctrl-C.
pub async fn ui(flags: &UiFlags) -> Result<ExitCode> {
    let (client, _) = connect(&args::connection(&flags.connection)).await?;
    let api = ApiClient::new(client.clone(), Limits::new(flags.connection.request_timeout, MAX_ANSWER_BYTES));
    let upstream = Upstream { client, api: api.clone(), namespace: flags.namespace.clone() };
    upstream.pod().await?;
    let token = AccountToken::request(api, flags.serviceaccount.clone()).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await.context("listen on 127.0.0.1")?;
    let address = format!("http://{}/", listener.local_addr()?);
    let (namespace, name) = &flags.serviceaccount;
    let reachable = if own_connections::ARE_KNOWN { "" } else { " Other users of this machine can open it too." };
    print(
        &format!(
            "{address}\nThe page shows what ServiceAccount {namespace}/{name} can see, not what you can see.{reachable}\n\
             Ctrl-C ends it.\n"
        ),
        Style::Plain,
    )?;
    if !flags.no_browser && !open(&address) {
        eprintln!("note: no browser could be started; open the address yourself");
    }
    let proxy = Rc::new(LocalProxy::new(upstream, token, listener.local_addr()?));
    let local = tokio::task::LocalSet::new();
    tokio::select! {
        () = local.run_until(proxy.serve(listener)) => {}
        ended = tokio::signal::ctrl_c() => ended.context("wait for Ctrl-C")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Starts the browser; the address holds no secret.
fn open(address: &str) -> bool {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        Command::new("explorer")
    } else {
        Command::new("xdg-open")
    };
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}
