//! A command in a pod, over a WebSocket, of which only what it writes is read.

use aggregator_core::state::Answer;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use findings::FaultKind;
use futures::StreamExt as _;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::Fault;

/// Each message begins with the number of its channel
/// (kubernetes: staging/src/k8s.io/apimachinery/pkg/util/remotecommand/constants.go).
const PROTOCOL: &str = "v4.channel.k8s.io";
const STDOUT: u8 = 1;
/// A refusal has a few hundred bytes.
const REFUSAL: usize = 64 << 10;

/// Runs the command that `path` names; what it wrote, of which there may be `most` bytes.
pub async fn read(client: &Client, path: &str, most: usize) -> Result<Answer<Vec<u8>>, Fault> {
    let key = BASE64_STANDARD.encode(fastrand::u128(..).to_be_bytes());
    let request = Request::get(path)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL)
        .header(header::SEC_WEBSOCKET_KEY, key)
        .body(Body::empty())?;
    let response = client.send(request).await?;
    // Only who knows the channels names them.
    let protocol = response.headers().get(header::SEC_WEBSOCKET_PROTOCOL);
    match response.status() {
        StatusCode::SWITCHING_PROTOCOLS if protocol.is_some_and(|named| named == PROTOCOL) => {}
        StatusCode::SWITCHING_PROTOCOLS => return Err(malformed("it is no command's channel")),
        StatusCode::NOT_FOUND => return Ok(Answer::Missing),
        status => {
            let body = Limited::new(response.into_body(), REFUSAL).collect().await.map(|body| body.to_bytes());
            return Err(Fault::answered(status, &body.unwrap_or_default()));
        }
    }
    let upgraded = hyper::upgrade::on(response).await.map_err(malformed)?;
    let config = WebSocketConfig::default().max_message_size(Some(most)).max_frame_size(Some(most));
    let mut messages = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, Some(config)).await;
    let mut written = Vec::new();
    while let Some(message) = messages.next().await {
        match message {
            Ok(Message::Binary(bytes)) if bytes.first() == Some(&STDOUT) => written.extend_from_slice(&bytes[1..]),
            // Pings are answered below; the command's end is that of the connection.
            Ok(Message::Close(_)) => break,
            Ok(_) => {}
            // What was written stands for itself: it is an answer as a whole, or none.
            Err(_) if !written.is_empty() => break,
            Err(error) => return Err(malformed(error)),
        }
        if written.len() > most {
            return Err(Fault::new(FaultKind::TooLarge, format!("more than {most} bytes")));
        }
    }
    Ok(Answer::Seen(written))
}

fn malformed(says: impl ToString) -> Fault {
    Fault::new(FaultKind::Malformed, says)
}
