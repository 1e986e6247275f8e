//! A headless Chromium, driven through two pipes: a driver crate would bring a WebSocket and an HTTP client for this.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use nix::sys::stat::Mode;
use serde_json::{Value, json};

/// What it is called by Debian, by others, and where it is Google's.
const NAMES: [&str; 5] =
    ["chromium", "chromium-browser", "chromium-headless-shell", "google-chrome", "google-chrome-stable"];
const FLAGS: [&str; 12] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--ignore-certificate-errors",
    "--remote-debugging-pipe",
];
/// Others may keep the machine busy meanwhile.
const PATIENCE: Duration = Duration::from_secs(150);

/// One tab of it; it ends with this.
pub struct Browser {
    child: Child,
    commands: File,
    messages: Receiver<Value>,
    last: u64,
    session: String,
    /// What has happened: requests, errors.
    pub events: Vec<Value>,
    _dir: tempfile::TempDir,
}

/// How a picture is written.
#[derive(Clone, Copy, Debug)]
pub enum Format {
    /// Without loss.
    Png,
    /// Small.
    Webp,
}

/// The program, if one is installed.
pub fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    NAMES.iter().flat_map(|name| dirs.iter().map(move |dir| dir.join(name))).find(|program| program.is_file())
}

impl Browser {
    /// Starts `program`, which keeps its files in `dir` as long as it runs.
    pub fn start(program: &Path, dir: &Path) -> anyhow::Result<Browser> {
        let dir = tempfile::tempdir_in(dir)?;
        let [commands, answers] = ["commands", "answers"].map(|name| dir.path().join(name));
        for pipe in [&commands, &answers] {
            nix::unistd::mkfifo(pipe, Mode::S_IRUSR | Mode::S_IWUSR)?;
        }
        let child = Command::new("sh")
            .args(["-c", "dir=$1; shift; exec \"$@\" --user-data-dir=\"$dir/profile\" about:blank 3<\"$dir/commands\" 4>\"$dir/answers\"", "sh"])
            .arg(dir.path())
            .arg(program)
            .args(FLAGS)
            .env("HOME", dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("start sh")?;
        let commands = OpenOptions::new().write(true).open(commands)?;
        let answers = File::open(answers)?;
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answers).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { continue };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser =
            Browser { child, commands, messages, last: 0, session: String::new(), events: Vec::new(), _dir: dir };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))?["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}))?;
        browser.session = attached["sessionId"].as_str().context("chromium names no session")?.to_owned();
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility", "DOM"] {
            browser.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(browser)
    }

    /// Asks, and waits for the answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> anyhow::Result<Value> {
        self.last += 1;
        let mut command = json!({"id": self.last, "method": method, "params": parameters});
        if !self.session.is_empty() {
            command["sessionId"] = json!(self.session);
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).context("chromium has ended")?;
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left);
            let message = message.with_context(|| format!("chromium does not answer {method}"))?;
            if message["id"] == self.last {
                ensure!(message["error"].is_null(), "{method}: {}", message["error"]);
                return Ok(message["result"].clone());
            }
            self.events.push(message);
        }
    }

    /// Goes to an address, and waits until all of it is there.
    pub fn open(&mut self, url: &str) -> anyhow::Result<()> {
        let went = self.call("Page.navigate", json!({"url": url}))?;
        ensure!(went["errorText"].is_null(), "{went}");
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")
    }

    /// The value of an expression.
    pub fn eval(&mut self, expression: &str) -> anyhow::Result<Value> {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", parameters)?;
        ensure!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        Ok(result["result"]["value"].clone())
    }

    /// Waits until an expression holds.
    pub fn until(&mut self, expression: &str) -> anyhow::Result<()> {
        let begin = Instant::now();
        while self.eval(expression)? != true {
            if begin.elapsed() > PATIENCE {
                anyhow::bail!("not so: {expression}\n{}", self.eval("document.body.innerText")?);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Types into whatever has the focus.
    pub fn types(&mut self, text: &str) -> anyhow::Result<()> {
        self.call("Input.insertText", json!({"text": text})).map(drop)
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str, code: u32, modifiers: u32) -> anyhow::Result<()> {
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let mut parameters = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers
            });
            if kind == "keyDown" && !text.is_empty() {
                parameters["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", parameters)?;
        }
        Ok(())
    }

    /// Presses Tab.
    pub fn tab(&mut self) -> anyhow::Result<()> {
        self.press("Tab", 9, 0)
    }

    /// Presses Enter.
    pub fn enter(&mut self) -> anyhow::Result<()> {
        self.press("Enter", 13, 0)
    }

    /// As wide as this, and light or dark.
    pub fn screen(&mut self, width: u32, height: u32, scheme: &str) -> anyhow::Result<()> {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
        )?;
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features})).map(drop)
    }

    /// A picture of the whole page.
    pub fn picture(&mut self, format: Format) -> anyhow::Result<Vec<u8>> {
        let mut parameters = match format {
            Format::Png => json!({"format": "png"}),
            Format::Webp => json!({"format": "webp", "quality": 80}),
        };
        parameters["captureBeyondViewport"] = json!(true);
        let picture = self.call("Page.captureScreenshot", parameters)?;
        let data = picture["data"].as_str().context("chromium has sent no picture")?;
        Ok(base64::engine::general_purpose::STANDARD.decode(data)?)
    }

    /// Events of these names so far.
    pub fn heard<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| names.iter().any(|name| event["method"] == *name))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
