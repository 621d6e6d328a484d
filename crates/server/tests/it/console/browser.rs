//! Somebody who has logged in, with what their browser would send.

use std::net::SocketAddr;

use crate::it::http::client::{Client, Live, Reply};

/// Somebody who has logged in.
pub(crate) struct Browser {
    pub(crate) address: SocketAddr,
    pub(crate) cookie: String,
    /// What the forms of the session bring along.
    pub(crate) form: String,
}

impl Browser {
    /// Logs somebody in by their token.
    pub(crate) async fn enter(address: SocketAddr, token: &str) -> Self {
        let sending = client(address).header("origin", &format!("http://{address}"));
        let sending = sending.header("content-type", "application/x-www-form-urlencoded");
        let reply = sending.send("POST", "/login", &format!("token={token}")).await;
        assert_eq!(reply.status, 303, "{}", reply.body);
        let cookie = reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let mut browser = Self { address, cookie, form: String::new() };
        let page = browser.get("/approvals").await;
        let (_, rest) = page.body.split_once("name=\"_form\" value=\"").expect("a form");
        browser.form = rest.split('"').next().unwrap().to_owned();
        browser
    }

    /// Returns a client that sends what the browser would.
    pub(crate) fn client(&self) -> Client {
        client(self.address)
            .header("cookie", &self.cookie)
            .header("origin", &format!("http://{}", self.address))
    }

    /// Opens a page, whatever its status.
    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.client().send("GET", path, "").await
    }

    /// Opens a page that must be there, and returns its text.
    #[track_caller]
    pub(crate) fn page(&self, path: &str) -> impl Future<Output = String> {
        let (client, path) = (self.client(), path.to_owned());
        async move {
            let reply = client.send("GET", &path, "").await;
            assert_eq!(reply.status, 200, "{path}: {}", reply.body);
            reply.body
        }
    }

    /// Asks the API, as a script of a page would.
    pub(crate) async fn json(&self, path: &str) -> serde_json::Value {
        let reply = self.get(path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        serde_json::from_str(&reply.body).unwrap()
    }

    /// Sends a form of this session.
    pub(crate) async fn post_form(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let mut all = vec![("_form", self.form.as_str())];
        all.extend_from_slice(fields);
        self.post_bare(path, &all).await
    }

    /// Sends a form without what the session's forms bring along.
    pub(crate) async fn post_bare(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let body: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        let client = self.client().header("content-type", "application/x-www-form-urlencoded");
        client.send("POST", path, &body.join("&")).await
    }

    /// Sends JSON to the API, as a script of a page would.
    pub(crate) async fn post_json(&self, path: &str, body: &serde_json::Value) -> Reply {
        let client = self.client().header("x-ringfence-form", &self.form);
        client.header("content-type", "application/json").send("POST", path, &body.to_string()).await
    }

    /// Follows what happens.
    pub(crate) async fn follow(&self, path: &str) -> Live {
        self.client().open("GET", path, "").await
    }
}

/// Somebody who is not logged in.
pub(crate) fn client(address: SocketAddr) -> Client {
    Client::new(address, "").headers("-authorization | -content-type | accept: text/html")
}

/// Writes a value as a form does.
pub(crate) fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut all, byte| {
        if byte.is_ascii_alphanumeric() {
            all.push(char::from(byte));
        } else {
            all.push_str(&format!("%{byte:02X}"));
        }
        all
    })
}
