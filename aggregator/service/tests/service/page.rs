//! The page in a real browser: by keyboard alone, with names that would rather be markup.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use apiserver::Prepared;
use browser::{Browser, Format};
use serde_json::{Value, json};

use crate::api::{Api, until};
use crate::cluster::{fuse_server, still_alive, stuck_namespace, stuck_pod, stuck_pod_of};
use crate::running::Running;

const SHIFT: u32 = 8;
/// As a name of a pod, of a process, and in a condition.
const HOSTILE: [&str; 3] =
    ["<svg onload=pwned()>", "<img src=x onerror=pwned()>", "<script>pwned()<\\script>\"' onfocus=pwned() x=\""];

fn hostile() -> Running {
    cluster(HOSTILE)
}

/// A pod that a FUSE server holds, and one in a namespace whose condition ends with some words.
fn cluster([pod, process, words]: [&str; 3]) -> Running {
    Running::start_with("dstate-fuse", |store| {
        still_alive(store);
        stuck_namespace(store, "team-a", pod, words);
        for n in 0..30 {
            stuck_pod(store, "team-a", &format!("worker-{n}"));
        }
        store.put("events", Some("default"), "node-a.1", &fuse_server(process)).unwrap();
    })
}

pub fn start(running: &Running) -> anyhow::Result<Browser> {
    let program = browser::installed().context("no browser is installed: Debian's package is chromium")?;
    Browser::start(&program, &running.dir())
}

pub fn sign_in(browser: &mut Browser, running: &Running, place: &str) -> anyhow::Result<()> {
    browser.call("Page.navigate", json!({"url": "about:blank"}))?;
    browser.open(&format!("https://localhost:{}/{place}", running.address.port()))?;
    browser.until("document.activeElement?.id === 'token'")?;
    browser.types("admin")?;
    browser.enter()?;
    browser.until("!document.getElementById('view').hidden && document.querySelector('#list .checked') !== null")
}

/// The root whose headline has these words, by Tab and Enter alone.
fn choose(browser: &mut Browser, words: &str) -> anyhow::Result<()> {
    browser.until("document.activeElement?.id === 'filter' && document.querySelector('.roots li') !== null")?;
    for _ in 0..20 {
        browser.tab()?;
        if browser.eval("document.activeElement.textContent")?.as_str().unwrap().contains(words) {
            browser.enter()?;
            browser.until("document.activeElement?.id === 'detail' && document.querySelector('.picture') !== null")?;
            return Ok(());
        }
    }
    anyhow::bail!("no link with {words}: {}", browser.eval("document.body.innerText")?);
}

/// What a screen reader gets: role and name of each node.
fn told(browser: &mut Browser) -> anyhow::Result<Vec<(String, String)>> {
    let nodes = browser.call("Accessibility.getFullAXTree", json!({}))?["nodes"].clone();
    let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
    let nodes = nodes.as_array().unwrap().iter().filter(|node| node["ignored"] != true);
    Ok(nodes.map(|node| (text(&node["role"]), text(&node["name"]))).collect())
}

#[test]
fn by_keyboard_alone_with_hostile_names() -> anyhow::Result<()> {
    let running = hostile();
    let origin = format!("https://localhost:{}/", running.address.port());
    let mut browser = start(&running)?;
    browser.screen(400, 900, "dark")?;
    sign_in(&mut browser, &running, "")?;
    browser.until("document.querySelector('.roots li') !== null")?;
    let listed = told(&mut browser)?;
    assert!(listed.iter().any(|(role, name)| role == "searchbox" && name == "Filter"), "{listed:#?}");
    // Names are words.
    choose(&mut browser, "img src=x")?;
    let text = browser.eval("document.body.innerText")?;
    assert!(text.as_str().unwrap().contains(HOSTILE[1]), "{text}");
    // Each box by Tab, and what is said of it beside it.
    let is_block = "document.activeElement.classList.contains('block')";
    for _ in 0..20 {
        browser.tab()?;
        if browser.eval(is_block)? == true {
            break;
        }
    }
    assert_eq!(browser.eval(is_block)?, true);
    let label = browser.eval("document.activeElement.getAttribute('aria-label')")?;
    let said = browser.eval("document.querySelector('[data-state]:not([hidden])').innerText")?;
    assert!(label.as_str().unwrap().starts_with("Namespace exam-dstate"), "{label}");
    assert_eq!(said, label);
    browser.press("Tab", 9, SHIFT)?;
    // Wide enough at 400 pixels, and no more than 15 boxes.
    assert_eq!(browser.eval("document.documentElement.scrollWidth <= 400")?, true);
    assert_eq!(browser.eval("document.querySelectorAll('.block').length <= 15")?, true);
    // A command is copied by Enter.
    browser
        .call("Browser.grantPermissions", json!({"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}))?;
    browser.eval("document.querySelector('.copy').focus()")?;
    let command = browser.eval("document.querySelector('.copy').previousElementSibling.innerText")?;
    browser.enter()?;
    browser.until("document.querySelector('.copy').textContent === 'Copied'")?;
    assert_eq!(browser.eval("navigator.clipboard.readText()")?, command);
    // What a screen reader gets.
    let told = told(&mut browser)?;
    let has = |role: &str, name: &str| told.iter().any(|(of, words)| of == role && words.contains(name));
    assert!(
        has("heading", "What is stuck in Terminating") && has("heading", "Do") && has("heading", "Warning"),
        "{told:#?}"
    );
    assert!(has("image", "root cause: pid 22655 <img src=x onerror=pwned()>"), "{told:#?}");
    assert!(has("button", "Copy: ") && has("button", "← All root causes"), "{told:#?}");
    // The filter, and an address that leads back to the same.
    let chosen = browser.eval("location.hash")?;
    browser.press("/", 191, 0)?;
    browser.until("document.activeElement?.id === 'filter'")?;
    browser.types("exam-dstate")?;
    browser.until("document.querySelectorAll('.roots li').length === 1")?;
    let place = browser.eval("location.hash")?;
    assert_eq!(place, "#q=exam-dstate", "what was chosen was left");
    let place = format!("{}&q=exam-dstate", chosen.as_str().unwrap());
    sign_in(&mut browser, &running, &place)?;
    browser.until("document.querySelector('.picture') !== null")?;
    assert_eq!(browser.eval("document.getElementById('filter').value")?, "exam-dstate");
    assert_eq!(browser.eval("document.querySelectorAll('.roots li').length")?, 1);
    // What matches nothing is said to.
    browser.eval("document.getElementById('back').click()")?;
    browser.eval("document.getElementById('filter').select()")?;
    browser.types("ns:team-b")?;
    browser.until(
        "/^Nothing matches\\. \\d+ without the filter\\.$/.test(document.querySelector('.nothing')?.innerText)",
    )?;
    browser.eval("document.getElementById('filter').select()")?;
    browser.types("img")?;
    browser.until("document.querySelectorAll('.roots li').length === 1")?;
    browser.eval("document.querySelector('[data-root]').click()")?;
    browser.until("document.querySelector('.picture') !== null")?;
    browser.eval("document.getElementById('filter').value = 'team-'; history.replaceState(null, '', location.hash.replace('q=img', 'q=team-b'))")?;
    // Who stands somewhere in the picture stays there when it is made anew.
    browser.eval("document.querySelectorAll('.block')[2].focus()")?;
    // Live: another namespace is held, and the list says so without a word from anybody.
    let is_told = "document.querySelectorAll('.roots li').length === 1";
    browser.until("document.querySelectorAll('.block').length > 2")?;
    stuck_namespace(&running.api.store, "team-b", "held", "");
    running.get("/readyz", "");
    browser.until(is_told)?;
    browser.until("document.activeElement?.dataset?.block === '2'")?;
    // Nothing of theirs ran, nothing went elsewhere, nothing was amiss.
    assert_eq!(browser.eval("typeof pwned")?, "undefined");
    assert_eq!(
        browser.eval("document.querySelectorAll('script, img, iframe, [onload], [onerror], [style]').length")?,
        1
    );
    let asked = browser.heard(&["Network.requestWillBeSent"]);
    let urls: Vec<&str> = asked.map(|event| event["params"]["request"]["url"].as_str().unwrap()).collect();
    assert!(urls.len() > 5 && urls.iter().all(|url| url.starts_with(&origin)), "{urls:#?}");
    let amiss: Vec<&Value> =
        browser.heard(&["Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"]).collect();
    assert!(amiss.is_empty(), "{amiss:#?}");
    Ok(())
}

#[test]
fn as_the_documents_show_it() -> anyhow::Result<()> {
    let running = cluster(["import-7x2", "s3fs", ""]);
    let mut browser = start(&running)?;
    browser.screen(1280, 1200, "light")?;
    sign_in(&mut browser, &running, "")?;
    choose(&mut browser, "pid 22655")?;
    browser.until("document.querySelectorAll('.block').length > 3")?;
    assert!(browser.eval("document.body.innerText")?.as_str().unwrap().contains("gate ContainersStopped"));
    let docs = std::env::var_os("UPDATE_GOLDEN").map(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
    let dir = PathBuf::from(docs.unwrap_or(env!("CARGO_TARGET_TMPDIR")));
    std::fs::write(dir.join("page.webp"), browser.picture(Format::Webp)?)?;
    // What has no room in a box ends before its edge.
    stuck_namespace(&running.api.store, "team-b", &"a-generated-name-".repeat(8), "");
    running.get("/readyz", "");
    browser.eval("document.getElementById('filter').focus()")?;
    browser.types("ns:team-b")?;
    browser.until("document.querySelectorAll('.roots li').length === 1")?;
    browser.eval("document.querySelector('[data-root]').click()")?;
    browser.until("[...document.querySelectorAll('.block .label')].some((text) => text.textContent.endsWith('…'))")?;
    let widest =
        "Math.max(...[...document.querySelectorAll('.block text')].map((text) => text.getComputedTextLength()))";
    let widest = browser.eval(widest)?;
    assert!(widest.as_f64().is_some_and(|widest| widest <= 310.0), "{widest}");
    Ok(())
}

/// Two thousand victims of fifty roots, and of one. Names are as long as they may be.
#[test]
fn two_thousand_victims_are_a_small_page() {
    for roots in [50, 1] {
        let mut api = Api::away_with("baseline", victims(2000, roots));
        api.serve();
        let running = Running::beside(api);
        until(Duration::from_secs(90), || running.get("/readyz", "").0 == 200);
        let of = |path: &str| {
            let begun = Instant::now();
            let answer = running.ask(path, "admin", &[]);
            println!("{path}: {} bytes, {:?} in a debug build", answer.body().len(), begun.elapsed());
            answer
        };
        let packed = |path: &str| running.ask(path, "admin", &[("accept-encoding", "gzip")]).body().len();
        let list = String::from_utf8(of("/page/roots").body().to_vec()).unwrap();
        let ids: Vec<&str> = list.split("#root=").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(ids.len(), roots, "{list}");
        let one = of(&format!("/page/roots/{}", ids[0])).body().len();
        of("/page/roots");
        of("/api/v1/stuck");
        let small = packed("/api/v1/stuck");
        println!("{roots} roots: {small} bytes of JSON, packed");
        assert!(list.len() <= 150 << 10 && one <= 150 << 10, "{} and {one} bytes", list.len());
        assert!(small <= 150 << 10, "{small} bytes");
    }
}

fn victims(count: usize, roots: usize) -> Vec<Prepared> {
    let pod = |n: usize| {
        let (root, long) = (n % roots, "x".repeat(240));
        let namespace = format!("{}-{:02}", "n".repeat(60), root % 50);
        let mut pod = stuck_pod_of(&namespace, &format!("{long}-{n:04}"));
        pod["metadata"]["finalizers"] = json!([format!("billing-{root}.example.com/account")]);
        let (metadata, name) = (pod["metadata"].to_string(), pod["metadata"]["name"].as_str().unwrap());
        let rest = r#""spec":{"containers":[]},"status":{"phase":"Succeeded"}"#;
        Prepared::new("pods", Some(&namespace), name, &metadata, rest)
    };
    (0..count).map(pod).collect()
}

#[test]
fn who_may_see_nothing_is_told_nothing() {
    let running = hostile();
    let shell = running.ask("/", "", &[]);
    assert_eq!(shell.status(), 200);
    let policy = shell.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(!String::from_utf8_lossy(shell.body()).contains("exam-dstate"));
    assert_eq!(running.status("/page/roots", ""), 401);
    let (status, list) = running.get("/page/roots", "bob");
    assert!(status == 200 && list.contains("Nothing is stuck in what was scanned and you can see."), "{list}");
    assert!(list.contains("<li>secrets: only with kubectl why-terminating --all-kinds, by metadata</li>"), "{list}");
    let (_, list) = running.get("/page/roots", "admin");
    let id = list.split("#root=").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(running.status(&format!("/page/roots/{id}"), "admin"), 200);
    assert_eq!(running.get(&format!("/page/roots/{id}"), "bob"), running.get("/page/roots/0", "eve"));
}
