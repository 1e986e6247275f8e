//! The page with few and many root causes, narrow and wide, light and dark: what is chosen is in view, and everyone can use it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use apiserver::Prepared;
use browser::{Browser, Format};
use serde_json::{Value, json};

use crate::api::{Api, until};
use crate::cluster::stuck_pod_of;
use crate::page::{sign_in, start};
use crate::running::Running;

const WIDTHS: [u32; 2] = [400, 1280];
const HEIGHT: u32 = 800;
const LIGHTS: [&str; 2] = ["light", "dark"];

/// A cluster with so many root causes: finalizers that no controller removes, each of three pods.
fn with_roots(roots: usize) -> Running {
    let pod = |n: usize| {
        // A finalizer of which no controller is known may have one in each namespace: all pods of a root are in one.
        let (namespace, name) = (format!("team-{:02}", n % roots % 7), format!("worker-{n:03}"));
        let mut pod = stuck_pod_of(&namespace, &name);
        pod["metadata"]["finalizers"] = json!([format!("account-{:02}.example.com/billing", n % roots)]);
        Prepared::new(
            "pods",
            Some(&namespace),
            &name,
            &pod["metadata"].to_string(),
            r#""spec":{"containers":[]},"status":{"phase":"Succeeded"}"#,
        )
    };
    let mut api = Api::away_with("baseline", (0..3 * roots).map(pod).collect());
    api.serve();
    let running = Running::beside(api);
    until(Duration::from_secs(90), || running.get("/readyz", "").0 == 200);
    running
}

/// Clicks as a mouse does, where the element is.
fn click(browser: &mut Browser, element: &str) -> anyhow::Result<()> {
    browser.eval(&format!("{element}.scrollIntoView({{block: 'center'}})"))?;
    let at = browser.eval(&format!(
        "(() => {{ const box = {element}.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
    ))?;
    for kind in ["mousePressed", "mouseReleased"] {
        let event = json!({"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1});
        browser.call("Input.dispatchMouseEvent", event)?;
    }
    Ok(())
}

/// All of it lies within the window, give or take the fraction of a pixel.
fn is_in_view(element: &str) -> String {
    format!(
        "(() => {{ const box = {element}?.getBoundingClientRect();
            return Boolean(box) && box.height > 0 && box.top > -1 && box.bottom < innerHeight + 1 && box.left > -1 && box.right < innerWidth + 1; }})()"
    )
}

#[test]
fn the_31st_root_of_40_is_in_view_after_a_click() -> anyhow::Result<()> {
    let running = with_roots(40);
    let mut browser = start(&running)?;
    for width in WIDTHS {
        browser.screen(width, HEIGHT, "light")?;
        sign_in(&mut browser, &running, "")?;
        browser.until("document.querySelectorAll('.roots li').length === 40")?;
        browser.until("document.getElementById('status').textContent === 'Live'")?;
        let is_wide = width > 800;
        // Beside the list there is room for the first one.
        if is_wide {
            browser.until("document.querySelector('.roots a[aria-current]') === document.querySelector('.roots a')")?;
            browser.until(&is_in_view("document.querySelector('#one h2')"))?;
        } else {
            assert_eq!(browser.eval(&is_in_view("document.getElementById('detail')"))?, false);
        }
        let link = "document.querySelectorAll('.roots a')[30]";
        let name = browser.eval(&format!("{link}.querySelector('.name').textContent"))?;
        click(&mut browser, link)?;
        let is_shown = format!("document.querySelector('.title + p')?.textContent.includes({name})");
        browser.until(&is_shown)?;
        for element in ["#one h2", "#one .steps li"] {
            let element = format!("document.querySelector('{element}')");
            assert_eq!(browser.eval(&is_in_view(&element))?, true, "{element} at {width}");
        }
        let tops = "['.steps', '.dont', '.picture', '.evidence', '.timeline'].map((part) => document.querySelector(`#one ${part}`).getBoundingClientRect().top)";
        assert_eq!(browser.eval(&format!("{tops}.every((top, n, all) => n === 0 || all[n - 1] < top)"))?, true);
        let place =
            browser.eval(&format!("JSON.stringify([{link}.getBoundingClientRect(), list.scrollTop, innerHeight])"))?;
        assert_eq!(browser.eval(&is_in_view(link))?, is_wide, "the list stays where it is: {place}");
        assert_eq!(browser.eval("document.activeElement.id")?, "detail");
        assert_eq!(
            browser.eval("document.documentElement.scrollHeight <= innerHeight")?,
            true,
            "each part scrolls apart"
        );
        assert_eq!(browser.eval("document.documentElement.scrollWidth <= innerWidth")?, true);
        if !is_wide {
            click(&mut browser, "document.getElementById('back')")?;
            browser.until(&is_in_view(link))?;
            assert_eq!(browser.eval(&format!("document.activeElement === {link}"))?, true);
            // The browser's own way back, too.
            browser.enter()?;
            browser.until("document.activeElement.id === 'detail'")?;
            browser.eval("history.back()")?;
            browser.until(&is_in_view("document.getElementById('list')"))?;
        }
    }
    Ok(())
}

#[test]
fn what_is_chosen_and_what_is_counted_follow_the_filter() -> anyhow::Result<()> {
    let running = with_roots(40);
    let mut browser = start(&running)?;
    browser.screen(1280, HEIGHT, "light")?;
    sign_in(&mut browser, &running, "")?;
    let roots = |number: usize| format!("document.querySelectorAll('.roots li').length === {number}");
    browser.until(&roots(40))?;
    click(&mut browser, "document.querySelectorAll('.roots a')[30]")?;
    let is_shown =
        |number: &str| format!("document.querySelector('.title + p')?.textContent.includes('account-{number}.')");
    let name = browser.eval("document.querySelectorAll('.roots a')[30].querySelector('.name').textContent")?;
    let other = if name.as_str().unwrap().contains("account-17.") { "18" } else { "17" };
    browser.until("location.hash.startsWith('#root=') && document.querySelector('.title + p') !== null")?;
    let filter = |browser: &mut Browser, words: &str| {
        browser.eval("document.getElementById('filter').focus(); document.getElementById('filter').select()")?;
        browser.types(words)
    };
    let scanned = browser.eval("document.querySelector('.scanned summary').textContent")?;
    assert!(scanned.as_str().is_some_and(|text| text.starts_with("Scanned ") && text.ends_with(" kinds")), "{scanned}");
    // Roots that tie may change places while keys are pressed.
    anyhow::ensure!(
        (0..5).any(|_| arrows_lead_on_and_back(&mut browser).unwrap_or(false)),
        "the arrow keys do not lead on"
    );
    // The finalizer stands on the card.
    filter(&mut browser, &format!("account-{other}"))?;
    browser.until(&roots(1))?;
    browser.until(&is_shown(other))?;
    filter(&mut browser, "no-such-name")?;
    browser.until("document.querySelector('.nothing')?.textContent === 'Nothing matches. 40 without the filter.'")?;
    browser.until("document.getElementById('one').childNodes.length === 0")
}

/// Whether arrow keys lead from the filter to the first root, to the next, and back.
fn arrows_lead_on_and_back(browser: &mut Browser) -> anyhow::Result<bool> {
    browser.eval("document.getElementById('filter').focus()")?;
    let focused = |n: usize| format!("document.activeElement === document.querySelectorAll('.roots a')[{n}]");
    let mut all = true;
    for (key, code, n) in [("ArrowDown", 40, 0), ("ArrowDown", 40, 1), ("ArrowUp", 38, 0)] {
        browser.press(key, code, 0)?;
        all &= browser.eval(&focused(n))? == true;
    }
    browser.press("ArrowUp", 38, 0)?;
    Ok(all && browser.eval("document.activeElement.id")? == "filter")
}

#[test]
fn the_page_names_the_account_and_signs_out() -> anyhow::Result<()> {
    let running = Running::start("baseline");
    let mut browser = start(&running)?;
    browser.screen(1280, HEIGHT, "light")?;
    browser.open(&format!("https://localhost:{}/", running.address.port()))?;
    browser.until("document.activeElement?.id === 'token'")?;
    browser.types("forged")?;
    browser.enter()?;
    let status = "document.getElementById('status').textContent";
    browser.until(&format!("{status} === 'Token invalid or expired. Paste another.'"))?;
    browser.until("document.activeElement?.id === 'token'")?;
    browser.types("admin")?;
    browser.enter()?;
    browser.until(&format!("{status} === 'Live'"))?;
    assert_eq!(
        browser.eval("document.getElementById('session').innerText")?,
        "Cluster prod-1 · rights of admin\nSign out"
    );
    let text = browser.eval("document.getElementById('list').innerText")?;
    let text = text.as_str().unwrap();
    assert!(text.starts_with("Nothing is stuck in what was scanned and you can see.\n"), "{text}");
    assert!(text.contains("Last checked") && text.contains(" s ago"), "{text}");
    assert!(text.contains(" s ago. Oldest scan of a kind: "), "{text}");
    assert!(text.contains("No stuck object was resolved in the last 24 hours."), "{text}");
    click(&mut browser, "document.getElementById('sign-out')")?;
    browser.until(&format!("{status} === 'Signed out.'"))?;
    assert_eq!(
        browser.eval("document.getElementById('list').innerText + document.getElementById('one').innerText")?,
        ""
    );
    Ok(())
}

#[test]
fn what_was_resolved_is_listed() -> anyhow::Result<()> {
    let running = with_roots(1);
    let mut browser = start(&running)?;
    browser.screen(1280, HEIGHT, "light")?;
    sign_in(&mut browser, &running, "")?;
    browser.until("document.getElementById('status').textContent === 'Live'")?;
    for n in 0..3 {
        running.api.remove_pod("team-00", &format!("worker-{n:03}"));
    }
    browser.until(
        "document.querySelector('.nothing') !== null && document.querySelectorAll('.resolved li').length === 3",
    )?;
    assert_eq!(browser.eval("document.querySelector('.resolved').open")?, true);
    let text = browser.eval("document.querySelector('.resolved').innerText")?;
    assert!(text.as_str().unwrap().contains("Pod team-00/worker-000, 1h"), "{text}");
    Ok(())
}

/// What axe-core finds, which knows the rules of WCAG 2.2.
fn violations(browser: &mut Browser, axe: &str) -> anyhow::Result<Value> {
    browser.eval(&format!("{axe}; 0"))?;
    let found = browser.eval(
        "axe.run().then(({violations, passes}) => ({passes: passes.length,
            violations: violations.map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 200))])}))",
    )?;
    ensure!(found["passes"].as_u64().is_some_and(|passes| passes > 10), "axe-core has checked little: {found}");
    Ok(found["violations"].clone())
}

fn axe_core() -> anyhow::Result<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/axe.sh");
    let done = Command::new("sh").arg(script).output().context("run tests/axe.sh")?;
    ensure!(done.status.success(), "tests/axe.sh: {}", String::from_utf8_lossy(&done.stderr));
    let path = String::from_utf8(done.stdout)?;
    std::fs::read_to_string(path.trim()).with_context(|| format!("read {path}"))
}

/// The pictures are in the target directory's `tmp`, for people to look at.
#[test]
fn everyone_can_use_it_with_few_roots_and_many() -> anyhow::Result<()> {
    let axe = axe_core()?;
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut amiss = Vec::new();
    for roots in [0, 1, 5, 40] {
        let running = if roots == 0 { Running::start("baseline") } else { with_roots(roots) };
        let mut browser = start(&running)?;
        for width in WIDTHS {
            for light in LIGHTS {
                browser.screen(width, HEIGHT, light)?;
                sign_in(&mut browser, &running, "")?;
                browser.until(&format!("document.querySelectorAll('.roots li').length === {roots}"))?;
                browser.until("document.getElementById('status').textContent === 'Live'")?;
                let mut look = |browser: &mut Browser, screen: &str| -> anyhow::Result<()> {
                    let name = format!("page-{roots}-{width}-{light}-{screen}.png");
                    std::fs::write(dir.join(&name), browser.picture(Format::Png)?)?;
                    let found = violations(browser, &axe)?;
                    if found != json!([]) {
                        amiss.push(format!("{name}: {found:#}"));
                    }
                    Ok(())
                };
                look(&mut browser, "list")?;
                if roots > 0 {
                    browser.eval("document.querySelector('.roots a').click()")?;
                    browser.until(
                        "document.querySelector('.picture') !== null && document.activeElement.id === 'detail'",
                    )?;
                    look(&mut browser, "detail")?;
                }
            }
        }
    }
    ensure!(amiss.is_empty(), "{}", amiss.join("\n"));
    Ok(())
}
