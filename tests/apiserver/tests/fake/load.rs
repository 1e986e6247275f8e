//! Many writers and many watchers at once: nothing is lost.

use std::{thread, time::Instant};

use crate::support::{APPLY, EVENTS, PATIENCE, Server, client, event};

const WRITERS: usize = 4;
const EACH: usize = 500;
const WATCHERS: usize = 200;

/// Applies events over one connection that is kept open, as clients do.
fn write_many(server: &Server, writer: usize) {
    let agent = client(PATIENCE);
    for number in 0..EACH {
        let name = format!("e-{writer}-{number}");
        let path = format!("{EVENTS}/{name}?fieldManager=w&force=true");
        let request = server.request("PATCH", &path, &[("Content-Type", APPLY)]);
        let mut answer = agent.run(request.body(event(&name).to_string()).unwrap()).unwrap();
        assert_eq!(answer.status(), 201);
        // A connection is used again when its answer has been read.
        answer.body_mut().read_to_vec().unwrap();
    }
}

#[test]
fn thousands_of_writes_are_all_done_told_and_written_down() {
    let server = Server::start();
    let version = server.version("/apis/events.k8s.io/v1/events");
    let mut watch = server.watch(&format!("/apis/events.k8s.io/v1/events?watch=true&resourceVersion={version}"));
    // Agents watch their pods meanwhile, and are not disturbed by events.
    let quiet: Vec<_> = (0..WATCHERS)
        .map(|node| server.watch(&format!("/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dnode-{node}")))
        .collect();
    let begun = Instant::now();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let server = &server;
            scope.spawn(move || write_many(server, writer));
        }
    });
    let took = begun.elapsed();
    println!("{} applies in {took:?}", WRITERS * EACH);
    let mut names: Vec<String> = (0..WRITERS * EACH).map(|_| watch.next().1).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), WRITERS * EACH);
    assert_eq!(server.store().events().unwrap().len(), WRITERS * EACH);
    let requests = server.store().requests().unwrap();
    let applied = requests.iter().filter(|request| request.verb == "patch" && request.status == 201).count();
    assert_eq!(applied, WRITERS * EACH);
    let mut last = quiet.into_iter().next_back().unwrap();
    server.pod("ns", "a", &format!("node-{}", WATCHERS - 1));
    assert_eq!(last.next(), ("ADDED".to_owned(), "a".to_owned()));
}
