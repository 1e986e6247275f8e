//! A cluster in which nothing happens.

use crate::running::Running;

/// A server says nothing for a minute then, which is longer than a request may take.
#[test]
fn a_watch_that_hears_nothing_is_not_begun_again() {
    let running = Running::start_with("finalizer-and-webhook", crate::cluster::still_alive);
    let watches = || {
        let requests = running.api.store.requests().unwrap();
        requests.iter().filter(|request| request.verb == "watch").count()
    };
    let before = watches();
    assert!(before >= 5, "{before}");
    std::thread::sleep(crate::running::REQUEST_TIMEOUT * 3);
    assert_eq!(watches(), before);
}
