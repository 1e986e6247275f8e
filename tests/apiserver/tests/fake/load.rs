//! Many writers and many watchers at once: nothing is lost.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    thread,
    time::Instant,
};

use crate::support::{APPLY, EVENTS, Server, event};

const WRITERS: usize = 4;
const EACH: usize = 500;
const WATCHERS: usize = 200;

/// Applies events over one connection that is kept open, as clients do.
fn write_many(server: &Server, writer: usize) {
    let mut stream = TcpStream::connect(server.fake.address()).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    for number in 0..EACH {
        let name = format!("e-{writer}-{number}");
        let body = event(&name).to_string();
        let head = format!(
            "PATCH {EVENTS}/{name}?fieldManager=w&force=true HTTP/1.1\r\nHost: x\r\nContent-Type: {APPLY}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut status = String::new();
        reader.read_line(&mut status).unwrap();
        assert!(status.contains(" 201 "), "{status}");
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        reader.read_exact(&mut vec![0; length]).unwrap();
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
