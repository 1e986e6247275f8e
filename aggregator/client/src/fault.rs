//! What an error or a refusal says.

use std::error::Error;

use findings::FaultKind;

/// The server's own words: the message of a `Status`, or plain text.
pub(super) fn said(body: &[u8]) -> String {
    match serde_json::from_slice::<serde_json::Value>(body) {
        Ok(value) => value.get("message").and_then(|message| message.as_str()).unwrap_or_default().to_owned(),
        Err(_) => String::from_utf8_lossy(body).trim().chars().take(300).collect(),
    }
}

/// How the way to the server failed.
pub(super) fn kind(error: &(dyn Error + 'static)) -> FaultKind {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.filter_map(|error| error.downcast_ref()).last().map(FaultKind::of_io).unwrap_or_default()
}

/// An error with its causes, each said once: many of them repeat what is below.
pub fn words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_words = inner.to_string();
        if !words.contains(&inner_words) {
            words.push_str(&format!(": {inner_words}"));
        }
        source = inner.source();
    }
    words
}
