//! Chromium, driven through WebDriver: a tab, what is in it, and what a person does there.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::console::scene::root;
use crate::console::wire::send;

/// How long something may take to appear.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser of its own, with its own cookies. It ends with the test.
pub(crate) struct Browser {
    driver: Child,
    address: String,
    session: String,
    /// What a page gets to fill.
    size: (u32, u32),
    _profile: TempDir,
}

impl Browser {
    /// Starts a driver and a browser. `size` is what a page gets to fill; a window is never narrower than 500 pixels, a page is.
    pub(crate) fn start(size: (u32, u32), dark: bool) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let profile = tempfile::tempdir().unwrap();
        let driver = Command::new("/usr/bin/chromedriver")
            .arg(format!("--port={port}"))
            .env("HOME", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("`chromedriver` of Debian's package `chromium-driver`");
        let mut browser = Self {
            driver,
            address: format!("127.0.0.1:{port}"),
            session: String::new(),
            size,
            _profile: profile,
        };
        browser.wait_for_driver();
        let mut arguments = vec![
            "--headless=new".to_owned(),
            // The tests run as root, where Chromium's own sandbox does not work; it visits only us.
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            format!("--user-data-dir={}", browser._profile.path().join("profile").display()),
            format!("--window-size={},{}", size.0, size.1),
            // A name of somebody else that leads here, as after a rebinding.
            "--host-resolver-rules=MAP evil.example 127.0.0.1".to_owned(),
        ];
        if dark {
            arguments.push("--force-dark-mode".to_owned());
            arguments.push("--blink-settings=preferredColorScheme=0".to_owned());
        }
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "binary": "/usr/bin/chromium", "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
            "unhandledPromptBehavior": "ignore",
        }}});
        let made = browser.raw("POST", "/session", &wanted);
        browser.session = made["value"]["sessionId"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        browser.set_height(size.1);
        browser
    }

    /// Gives the page its width and another height; a narrow one is that of a phone.
    fn set_height(&self, height: u32) {
        let (width, is_phone) = (self.size.0, self.size.0 < 500);
        let params = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone });
        self.command("Emulation.setDeviceMetricsOverride", &params);
    }

    /// Sends a command of the DevTools protocol.
    fn command(&self, name: &str, params: &Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": name, "params": params })).unwrap()
    }

    /// What reaches beyond the page, its card or its region, with everything unfolded. A chart may be wider than a phone.
    pub(crate) fn overflow(&self) -> Value {
        self.run(&OVERFLOW.replace("WIDTH", &self.size.0.to_string()))
    }

    fn wait_for_driver(&mut self) {
        let begun = Instant::now();
        while std::net::TcpStream::connect(&self.address).is_err() {
            assert!(begun.elapsed() < PATIENCE, "the driver does not answer");
            assert!(self.driver.try_wait().unwrap().is_none(), "the driver has ended");
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn raw(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let answer = send(&self.address, method, path, &[("Content-Type", "application/json")], &body);
        serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        let mut answer = self.raw("POST", &format!("/session/{}{path}", self.session), body);
        match answer["value"]["error"].as_str() {
            Some(error) => Err(format!("{error}: {}", answer["value"]["message"])),
            None => Ok(answer["value"].take()),
        }
    }

    fn get(&self, path: &str) -> Value {
        self.raw("GET", &format!("/session/{}{path}", self.session), &Value::Null)["value"].take()
    }

    /// Goes to an address.
    pub(crate) fn go(&self, url: &str) {
        self.post("/url", &json!({ "url": url })).unwrap();
    }

    /// The address that is shown.
    pub(crate) fn url(&self) -> String {
        self.get("/url").as_str().unwrap().to_owned()
    }

    /// The title of the tab.
    pub(crate) fn title(&self) -> String {
        self.get("/title").as_str().unwrap().to_owned()
    }

    /// Runs a script in the page and returns what it returns.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] })).unwrap()
    }

    /// Runs a script that calls its last argument with the result.
    pub(crate) fn run_until(&self, script: &str) -> Value {
        self.post("/execute/async", &json!({ "script": script, "args": [] })).unwrap()
    }

    /// The text that a person sees.
    pub(crate) fn text(&self) -> String {
        self.run("return document.body ? document.body.innerText : ''")
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// The cookies, as the browser keeps them.
    pub(crate) fn cookies(&self) -> Vec<Value> {
        self.get("/cookie").as_array().unwrap().clone()
    }

    /// Sets a cookie of the page's host.
    pub(crate) fn set_cookie(&self, name: &str, value: &str) {
        self.post("/cookie", &json!({ "cookie": { "name": name, "value": value } })).unwrap();
    }

    /// Waits until the page shows a text.
    pub(crate) fn sees(&self, wanted: &str) {
        let begun = Instant::now();
        loop {
            let text = self.text();
            if text.contains(wanted) {
                return;
            }
            let url = self.url();
            assert!(begun.elapsed() < PATIENCE, "`{wanted}` does not appear on {url}:\n{text}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until a script returns true.
    pub(crate) fn until(&self, script: &str) {
        let begun = Instant::now();
        while self.run(&format!("return Boolean({script})")) != json!(true) {
            assert!(begun.elapsed() < PATIENCE, "never true on {}: {script}\n{}", self.url(), self.text());
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn element(&self, selector: &str) -> String {
        let begun = Instant::now();
        loop {
            let found = self.post("/element", &json!({ "using": "css selector", "value": selector }));
            match found {
                Ok(found) => {
                    let id = found.as_object().unwrap().values().next().unwrap();
                    return id.as_str().unwrap().to_owned();
                }
                Err(error) => {
                    let url = self.url();
                    assert!(begun.elapsed() < PATIENCE, "{selector} on {url}: {error}\n{}", self.text());
                    thread::sleep(Duration::from_millis(50));
                }
            }
        }
    }

    /// Says whether there is such an element now.
    pub(crate) fn has(&self, selector: &str) -> bool {
        self.post("/element", &json!({ "using": "css selector", "value": selector })).is_ok()
    }

    /// Presses something.
    pub(crate) fn click(&self, selector: &str) {
        let begun = Instant::now();
        loop {
            let element = self.element(selector);
            match self.post(&format!("/element/{element}/click"), &json!({})) {
                Ok(_) => return,
                // The list was just drawn anew, or something still moves.
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{selector}: {error}"),
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Writes into a field in place of what is there.
    pub(crate) fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/clear"), &json!({})).unwrap();
        self.post(&format!("/element/{element}/value"), &json!({ "text": text })).unwrap();
    }

    /// Presses a key where the focus is.
    pub(crate) fn press(&self, key: &str) {
        let keys = json!({ "actions": [{ "type": "key", "id": "keys", "actions": [
            { "type": "keyDown", "value": key }, { "type": "keyUp", "value": key },
        ]}]});
        self.post("/actions", &keys).unwrap();
    }

    /// Says yes to a question of the browser.
    pub(crate) fn accept(&self) {
        let begun = Instant::now();
        while let Err(error) = self.post("/alert/accept", &json!({})) {
            assert!(begun.elapsed() < PATIENCE, "no question: {error}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// What the browser complained about since it was last asked.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({ "type": "browser" })).unwrap();
        let all = log.as_array().unwrap().iter();
        // What Chromium only recommends is no complaint.
        let all = all.filter(|one| one["level"] != "DEBUG");
        all.map(|one| one["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Makes a picture of the whole page.
    pub(crate) fn picture(&self, name: &str) {
        use std::process::Stdio;
        let height = self.run("return document.documentElement.scrollHeight").as_u64().unwrap();
        self.set_height(u32::try_from(height.clamp(600, 2400)).unwrap());
        let taken = self.command("Page.captureScreenshot", &json!({ "format": "png" }));
        self.set_height(self.size.1);
        let folder = pictures();
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("{name}.png"));
        let mut decoder = Command::new("base64")
            .arg("-d")
            .stdin(Stdio::piped())
            .stdout(fs::File::create(&path).unwrap())
            .spawn()
            .unwrap();
        {
            use std::io::Write as _;
            let mut input = decoder.stdin.take().unwrap();
            input.write_all(taken["data"].as_str().unwrap().as_bytes()).unwrap();
        }
        assert!(decoder.wait().unwrap().success());
        assert!(fs::metadata(&path).unwrap().len() > 1000, "{}", path.display());
    }
}

/// Lists what is too wide.
const OVERFLOW: &str = r"
const found = [], width = WIDTH, root = document.documentElement;
if (window.innerWidth !== width) found.push(`the window is ${window.innerWidth} wide`);
document.querySelectorAll('details').forEach(own => own.open = true);
if (root.scrollWidth > width) found.push(`the page is ${root.scrollWidth} wide`);
const name = own => own.outerHTML.slice(0, 90);
for (const own of document.querySelectorAll('body *')) {
  const box = own.getBoundingClientRect();
  if (!box.width || own.closest('.unseen, .skip, pre, dialog:not([open]), .wide > svg')) continue;
  if (box.right > width + 1 || box.left < -1) found.push(`beyond the page: ${name(own)}`);
  const card = own.closest('.card');
  if (card && box.right > card.getBoundingClientRect().right + 1) found.push(`beyond its card: ${name(own)}`);
}
for (const own of document.querySelectorAll('.wide, .top nav ul')) {
  if (own.scrollWidth > own.clientWidth + 1 && !(width < 500 && own.querySelector(':scope > svg'))) found.push(`scrolls: ${name(own)}`);
}
return found.slice(0, 8);
";

/// Where pictures go.
fn pictures() -> PathBuf {
    let target =
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().map_or_else(|| root().join("target"), Path::to_owned);
    target.join("console/pictures")
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                self.raw("DELETE", &format!("/session/{}", self.session), &Value::Null)
            }));
        }
        let _gone = self.driver.kill();
        let _reaped = self.driver.wait();
    }
}
