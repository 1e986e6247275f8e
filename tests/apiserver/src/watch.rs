//! Watches: a stream of JSON lines.

use std::{io, sync::Arc, time::Duration};

use axum::body::Bytes;
use futures::{Stream, stream};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::catalog::Resource;
use crate::feed::{Kind, Signal};
use crate::list;
use crate::object::{Form, render};
use crate::request::{Asked, Target};
use crate::requests::OpenRequest;
use crate::server::Server;
use crate::status::Status;
use crate::world::World;

/// How often a server says how far it is; else a quiet watch is silent (`nextBookmarkTime` in
/// k8s.io/apiserver/pkg/storage/cacher/cache_watcher.go).
const BOOKMARKS: Duration = Duration::from_secs(60);
/// And so long before it ends the watch.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// How long a real server lets a watch live by default.
const LONGEST: u64 = 1800;

/// Signals that are sent in one piece.
const BATCH: usize = 256;

/// A watch that has begun.
#[derive(Debug)]
pub(crate) struct Watch {
    server: Arc<Server>,
    resource: usize,
    form: Form,
    backlog: String,
    then: Then,
}

#[derive(Debug)]
enum Then {
    Follow {
        home: usize,
        watcher: u64,
        receiver: mpsc::Receiver<Signal>,
        bookmarks: bool,
        timeout: Duration,
    },
    /// The watch could not begin: the backlog says why.
    End,
}

impl Watch {
    /// Begins: what is known already stands in the backlog, and nothing is missed after it.
    pub(crate) fn begin(
        server: &Arc<Server>,
        world: &mut World,
        asked: &Asked,
        target: &Target,
    ) -> Result<Self, Status> {
        let resource = server.catalog.get(target.resource);
        let form = asked.form()?;
        let selection = asked.selection(resource, target)?;
        let version = asked.number("resourceVersion")?.unwrap_or_default();
        let bookmarks = asked.is_set("allowWatchBookmarks");
        let streaming_list = asked.is_set("sendInitialEvents");
        check_streaming_list(asked, streaming_list)?;

        let home = server.catalog.home(target.resource);
        let mut watch = Self {
            server: Arc::clone(server),
            resource: target.resource,
            form,
            backlog: String::new(),
            then: Then::End,
        };
        if version > world.version() {
            watch.error(&list::too_large(version, world.version()));
            return Ok(watch);
        }
        let from_the_start = version == 0 && asked.query("sendInitialEvents") != "false";
        if streaming_list || from_the_start {
            for (_, object) in world.select(target.resource, &selection, None) {
                let signal = Signal { kind: Kind::Added, object: Arc::clone(object) };
                write_signal(&mut watch.backlog, resource, &signal, form);
            }
            if streaming_list {
                write_bookmark(&mut watch.backlog, resource, world.version(), form, true);
            }
        } else if version < world.feed.complete_after() && version > 0 {
            watch.error(&too_old(version, world.feed.complete_after()));
            return Ok(watch);
        } else {
            for signal in world.feed.since(version, home, &selection) {
                write_signal(&mut watch.backlog, resource, &signal, form);
            }
        }
        let timeout = Duration::from_secs(asked.number("timeoutSeconds")?.filter(|&s| s > 0).unwrap_or(LONGEST));
        let (watcher, receiver) = world.feed.watch(home, selection);
        watch.then = Then::Follow { home, watcher, receiver, bookmarks, timeout };
        Ok(watch)
    }

    /// A watch that ends at once as too old.
    pub(crate) fn expired(server: &Arc<Server>) -> Self {
        let mut watch = Self {
            server: Arc::clone(server),
            resource: 0,
            form: Form::Whole,
            backlog: String::new(),
            then: Then::End,
        };
        watch.error(&too_old(1, 2));
        watch
    }

    fn error(&mut self, status: &Status) {
        self.backlog = format!("{}\n", json!({"type": "ERROR", "object": status.object()}));
    }

    /// The answer's body; `open` records how much was sent and that it ended.
    pub(crate) fn body(self, open: OpenRequest) -> impl Stream<Item = io::Result<Bytes>> {
        let Self { server, resource, form, backlog, then } = self;
        let following = match then {
            Then::Follow { home, watcher, receiver, bookmarks, timeout } => {
                let until = Instant::now() + timeout;
                let bookmark = bookmarks.then(|| next_bookmark(until)).flatten();
                Some(Following { server, resource, form, home, watcher, receiver, bookmark, until })
            }
            Then::End => None,
        };
        stream::unfold((backlog, following, open), async |(backlog, mut following, mut open)| {
            let text = if backlog.is_empty() { following.as_mut()?.next().await? } else { backlog };
            open.answered(text.len());
            Some((Ok(Bytes::from(text)), (String::new(), following, open)))
        })
    }
}

fn check_streaming_list(asked: &Asked, streaming_list: bool) -> Result<(), Status> {
    let is_said = !asked.query("sendInitialEvents").is_empty();
    let why = if is_said && asked.query("resourceVersionMatch") != "NotOlderThan" {
        "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    } else if streaming_list && !asked.is_set("allowWatchBookmarks") {
        "allowWatchBookmarks: Forbidden: sendInitialEvents requires setting allowWatchBookmarks to true"
    } else {
        return Ok(());
    };
    Err(Status::new(422, "Invalid", format!("ListOptions.meta.k8s.io \"\" is invalid: {why}")))
}

fn too_old(version: u64, oldest: u64) -> Status {
    Status::expired(format!("too old resource version: {version} ({oldest})"))
}

/// A watch that goes on.
#[derive(Debug)]
struct Following {
    server: Arc<Server>,
    resource: usize,
    form: Form,
    home: usize,
    watcher: u64,
    receiver: mpsc::Receiver<Signal>,
    bookmark: Option<Instant>,
    until: Instant,
}

fn next_bookmark(until: Instant) -> Option<Instant> {
    let now = Instant::now();
    let next = (now + BOOKMARKS).min(until.checked_sub(LAST_BOOKMARK)?);
    (next > now).then_some(next)
}

impl Following {
    /// The next lines; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        let mut text = String::new();
        tokio::select! {
            biased;
            () = sleep_until(self.until) => return None,
            signal = self.receiver.recv() => {
                // Without a sender: it fell too far behind.
                self.write(&mut text, &signal?);
                for _ in 0..BATCH {
                    let Ok(signal) = self.receiver.try_recv() else { break };
                    self.write(&mut text, &signal);
                }
            }
            () = sleep_until(self.bookmark.unwrap_or(self.until)), if self.bookmark.is_some() => {
                self.bookmark = next_bookmark(self.until);
                // What happened up to this version is in the queue already.
                let mut version = self.server.world().version();
                while let Ok(signal) = self.receiver.try_recv() {
                    version = version.max(signal.object.version);
                    self.write(&mut text, &signal);
                }
                write_bookmark(&mut text, self.server.catalog.get(self.resource), version, self.form, false);
            }
        }
        Some(text)
    }

    fn write(&self, text: &mut String, signal: &Signal) {
        write_signal(text, self.server.catalog.get(self.resource), signal, self.form);
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.server.world().feed.forget(self.home, self.watcher);
    }
}

fn write_signal(text: &mut String, resource: &Resource, signal: &Signal, form: Form) {
    text.push_str(&format!(r#"{{"type":"{}","object":"#, signal.kind.name()));
    render(text, resource, &signal.object, form, false);
    text.push_str("}\n");
}

fn write_bookmark(text: &mut String, resource: &Resource, version: u64, form: Form, ends_the_list: bool) {
    let (kind, api_version) = match form {
        Form::Whole => (resource.kind.clone(), resource.group_version()),
        Form::Metadata | Form::Table | Form::Rows => ("PartialObjectMetadata".to_owned(), "meta.k8s.io/v1".to_owned()),
    };
    let mut metadata = json!({"resourceVersion": version.to_string(), "creationTimestamp": null});
    if ends_the_list {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    let object = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
    text.push_str(&format!("{}\n", json!({"type": "BOOKMARK", "object": object})));
}
