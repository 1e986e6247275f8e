//! A headless Chromium, driven through two pipes: a driver crate would bring a WebSocket and an HTTP client for this.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use nix::sys::stat::Mode;
use serde_json::{Value, json};

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

impl Browser {
    /// Needs Debian's package `chromium`.
    pub fn start() -> Browser {
        let dir = tempfile::tempdir().unwrap();
        let [commands, answers] = ["commands", "answers"].map(|name| dir.path().join(name));
        for pipe in [&commands, &answers] {
            nix::unistd::mkfifo(pipe, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        }
        let flags = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run \
            --disable-background-networking --disable-component-update --disable-sync --disable-default-apps \
            --ignore-certificate-errors --remote-debugging-pipe";
        let child = Command::new("sh")
            .arg("-c")
            .arg(format!(
                "exec chromium {flags} --user-data-dir=\"$1/profile\" about:blank 3<\"$1/commands\" 4>\"$1/answers\""
            ))
            .arg("sh")
            .arg(dir.path())
            .env("HOME", dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = OpenOptions::new().write(true).open(commands).unwrap();
        let answers = File::open(answers).unwrap();
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
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility", "DOM"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Asks, and waits for the answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut command = json!({"id": self.last, "method": method, "params": parameters});
        if !self.session.is_empty() {
            command["sessionId"] = json!(self.session);
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).unwrap_or_else(|_| {
                panic!("chromium does not answer {method}; is Debian's package chromium installed?")
            });
            if message["id"] == self.last {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// Goes to an address, and waits until all of it is there.
    pub fn open(&mut self, url: &str) {
        let went = self.call("Page.navigate", json!({"url": url}));
        assert!(went["errorText"].is_null(), "{went}");
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'");
    }

    /// The value of an expression.
    pub fn eval(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression holds; other tests may keep the machine busy meanwhile.
    pub fn until(&mut self, expression: &str) {
        let begin = Instant::now();
        while self.eval(expression) != true {
            if begin.elapsed() > Duration::from_secs(150) {
                panic!("not so: {expression}\n{}", self.eval("document.body.innerText"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Types into whatever has the focus.
    pub fn types(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Presses a key.
    pub fn press(&mut self, key: &str, code: u32, modifiers: u32) {
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let mut parameters = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers
            });
            if kind == "keyDown" && !text.is_empty() {
                parameters["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", parameters);
        }
    }

    pub fn tab(&mut self) {
        self.press("Tab", 9, 0);
    }

    pub fn enter(&mut self) {
        self.press("Enter", 13, 0);
    }

    /// As wide as this, and light or dark.
    pub fn screen(&mut self, width: u32, height: u32, scheme: &str) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
        );
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// A picture of the whole page, as WebP.
    pub fn picture(&mut self) -> Vec<u8> {
        let parameters = json!({"format": "webp", "quality": 80, "captureBeyondViewport": true});
        let picture = self.call("Page.captureScreenshot", parameters);
        base64::engine::general_purpose::STANDARD.decode(picture["data"].as_str().unwrap()).unwrap()
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
