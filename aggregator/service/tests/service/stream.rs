//! Who follows hears of changes for as long as they may, and the API is as it is described.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::client::Client;
use crate::running::Running;

/// Events as they come.
pub struct Follower {
    client: Client,
    body: Incoming,
    read: String,
}

impl Follower {
    pub fn new(client: &Client, token: &str) -> Follower {
        let answer = client.runtime.block_on(client.open("/api/v1/stream", token, &[]));
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["content-type"]),
            (200, &"text/event-stream".parse().unwrap())
        );
        Follower { client: client.clone(), body: answer.into_body(), read: String::new() }
    }

    /// Whether nothing at all is written for so long.
    pub fn is_silent_for(&mut self, time: Duration) -> bool {
        let body = &mut self.body;
        self.client.runtime.block_on(async { tokio::time::timeout(time, body.frame()).await.is_err() })
    }

    /// The next event's name and data; none when the stream has ended.
    pub fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.read.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.read = rest;
                if let Some((name, data)) = event.strip_prefix("event: ").and_then(|event| event.split_once("\ndata: "))
                {
                    return Some((name.to_owned(), serde_json::from_str(data).unwrap()));
                }
                assert!(event.starts_with(':'), "{event}");
                continue;
            }
            let frame = async { tokio::time::timeout(Duration::from_secs(45), self.body.frame()).await.unwrap() };
            let data = self.client.runtime.block_on(frame)?.ok()?.into_data().unwrap();
            self.read.push_str(std::str::from_utf8(&data).unwrap());
        }
    }
}

#[test]
fn who_follows_hears_of_changes_for_as_long_as_they_may() {
    let running = Running::start("volumes-busy");
    let mut admin = Follower::new(&running, "admin");
    let mut alice = Follower::new(&running, "alice");
    let (name, before) = admin.next().unwrap();
    assert_eq!(name, "roots");
    assert_eq!(before, running.json("/api/v1/roots", "admin").1);
    let seen = alice.next().unwrap().1;
    assert!(seen["roots"].as_array().unwrap().is_empty() && seen["unexplained"].as_u64().unwrap() > 0, "{seen}");
    let (_, incidents) = running.json("/api/v1/incidents", "admin");
    let pod = incidents["incidents"].as_array().unwrap().iter().find(|one| one["object"]["kind"] == "Pod").unwrap();
    let (namespace, name) = (pod["object"]["namespace"].as_str().unwrap(), pod["object"]["name"].as_str().unwrap());
    running.api.remove_pod(namespace, name);
    let (name, after) = admin.next().unwrap();
    assert_eq!(name, "roots");
    assert_ne!(after["roots"], before["roots"]);
    running.api.people.remove("alice");
    while alice.next().is_some() {}
    assert_eq!(running.status("/api/v1/stream", "alice"), 401);
}

/// Anything that is written shows when something has changed.
#[test]
fn changes_that_are_hidden_from_a_follower_write_nothing() {
    let running = Running::start("volumes-busy");
    let (mut admin, mut bob) = (Follower::new(&running, "admin"), Follower::new(&running, "bob"));
    admin.next().unwrap();
    assert_eq!(bob.next().unwrap().1["roots"], json!([]));
    let (_, incidents) = running.json("/api/v1/incidents", "admin");
    let pod = incidents["incidents"].as_array().unwrap().iter().find(|one| one["object"]["kind"] == "Pod").unwrap();
    let (namespace, name) = (pod["object"]["namespace"].as_str().unwrap(), pod["object"]["name"].as_str().unwrap());
    running.api.remove_pod(namespace, name);
    admin.next().unwrap();
    assert!(bob.is_silent_for(Duration::from_secs(4)));
}

#[test]
fn nobody_follows_without_end() {
    let running = Running::start("baseline");
    let followers: Vec<Follower> = (0..8).map(|_| Follower::new(&running, "admin")).collect();
    assert_eq!(running.status("/api/v1/stream", "admin"), 429);
    let _other = Follower::new(&running, "bob");
    drop(followers);
    crate::api::until(Duration::from_secs(20), || {
        let answer = running.runtime.block_on(running.open("/api/v1/stream", "admin", &[]));
        answer.status() == 200
    });
}

#[test]
fn the_api_is_as_it_is_described() {
    let running = Running::start("volumes-busy");
    let (status, described) = running.json("/api/v1/openapi.json", "");
    assert_eq!((status, &described["openapi"]), (200, &json!("3.1.0")));
    assert_eq!(described, service::openapi());
    let keeps = |path: &str, answer: &Value| {
        let content = described["paths"][path]["get"]["responses"]["200"]["content"].as_object().unwrap();
        let mut schema = content.values().next().unwrap()["schema"].clone();
        assert!(schema.is_object(), "{path}");
        schema["components"] = described["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(answer).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{path}: {errors:#?}");
        !validator.is_valid(&json!({"verdict": 7}))
    };
    for path in ["/api/v1/stuck", "/api/v1/roots", "/api/v1/incidents", "/api/v1/causes"] {
        let answer = running.json(path, "admin").1;
        assert!(keeps(path, &answer), "{path}: the schema refuses nothing");
    }
    let incident = &running.json("/api/v1/incidents", "admin").1["incidents"][0];
    let path = format!("/api/v1/incidents/{}", incident["id"].as_str().unwrap());
    assert!(keeps("/api/v1/incidents/{id}", &running.json(&path, "admin").1));
    let object = &incident["object"];
    let [group, kind, namespace, name] =
        [&object["resource"]["group"], &object["kind"], &object["namespace"], &object["name"]]
            .map(|part| part.as_str().filter(|part| !part.is_empty()).unwrap_or("-"));
    let (status, object) = running.json(&format!("/api/v1/objects/{group}/{kind}/{namespace}/{name}"), "admin");
    assert_eq!(status, 200, "{object}");
    assert!(keeps("/api/v1/objects/{group}/{kind}/{namespace}/{name}", &object));
    let (status, node) = running.json("/api/v1/nodes/node-a", "admin");
    assert_eq!(status, 200, "{node}");
    assert!(keeps("/api/v1/nodes/{name}", &node));
    assert!(keeps("/api/v1/stream", &Follower::new(&running, "admin").next().unwrap().1));
}
