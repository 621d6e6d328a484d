//! What a server asks a person, and the pictures it shows: labelled with its name, and without addresses that a client must not open.
//!
//! INVARIANT: a question of a server begins with the server's name, whatever it holds; no address in it is other than `http` or
//! `https`, and no icon is other than a picture from the web or of the message itself.

use serde_json::{Map, Value, json};

use crate::raw::{Raw, RawObject, raw};

/// The error of a server that needs a person to open an address first, and lists the questions in its data.
const URL_NEEDED: i64 = -32042;
/// Members of a question that are texts for a reader, where the word before a colon need not be a scheme.
const TEXTS: [&str; 3] = ["message", "title", "description"];
/// Schemes that run code or read what is local, in whichever program opens them.
const LOCAL: [&str; 9] =
    ["blob", "chrome", "data", "file", "filesystem", "javascript", "vbscript", "view-source", "about"];
/// Members whose content is a tool's own data or a schema: an `icons` in there is not one of the protocol.
const DATA: [&str; 4] = ["arguments", "inputSchema", "outputSchema", "structuredContent"];

/// Makes a question of a server fit to be shown: with the server's name first. Says why not, where it is not to be asked.
pub(crate) fn label_question(server: &str, method: &str, params: Raw) -> Result<Raw, &'static str> {
    if method != "elicitation/create" {
        return Ok(params);
    }
    let Ok(mut value) = serde_json::from_str::<Value>(params.get()) else { return Ok(params) };
    let Some(members) = value.as_object_mut() else { return Err("the parameters are no object") };
    label(server, members)?;
    // As it was written, but for the message.
    let mut object = RawObject::parse(&params).unwrap_or_default();
    object.set("message", raw(members.get("message").unwrap_or(&Value::Null)));
    Ok(object.to_raw())
}

/// Makes an error that lists questions fit to be shown. Questions that are not to be asked are left out.
pub(crate) fn label_error(server: &str, asks_people: bool, error: Raw) -> Raw {
    let Ok(mut value) = serde_json::from_str::<Value>(error.get()) else { return error };
    if value.get("code").and_then(Value::as_i64) != Some(URL_NEEDED) {
        return error;
    }
    let Some(data) = value.get_mut("data").and_then(Value::as_object_mut) else { return error };
    let listed = data.remove("elicitations");
    let listed = listed.as_ref().and_then(Value::as_array).filter(|_| asks_people);
    let asked: Vec<Value> = listed
        .into_iter()
        .flatten()
        .filter_map(|one| {
            let mut members = one.as_object()?.clone();
            label(server, &mut members).ok()?;
            Some(Value::Object(members))
        })
        .collect();
    data.insert("elicitations".to_owned(), Value::Array(asked));
    raw(&value)
}

fn label(server: &str, members: &mut Map<String, Value>) -> Result<(), &'static str> {
    const REFUSED: &str = "the address in a question must be `http` or `https`";
    let url = members.get("url");
    if url.is_some_and(|url| !url.as_str().is_some_and(is_web_address)) {
        return Err(REFUSED);
    }
    if url.is_none() && members.get("mode").and_then(Value::as_str) == Some("url") {
        return Err("the question names no address");
    }
    if members.iter().any(|(name, value)| holds_local_address(name, value)) {
        return Err(REFUSED);
    }
    let said = members.get("message").and_then(Value::as_str).unwrap_or_default();
    let message = format!("Server `{server}` asks: {said}");
    members.insert("message".to_owned(), json!(message.trim_end()));
    Ok(())
}

fn holds_local_address(name: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => !TEXTS.contains(&name) && is_local_address(text),
        Value::Array(items) => items.iter().any(|item| holds_local_address(name, item)),
        Value::Object(members) => members.iter().any(|(name, value)| holds_local_address(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns the scheme and the rest of an address, as a browser reads it: blanks before it do not count, nor do line ends in it.
fn scheme_of(address: &str) -> Option<(String, String)> {
    let read: String = address.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    let read = read.trim_start_matches(|c: char| c <= ' ');
    let (scheme, rest) = read.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme.then(|| (scheme.to_ascii_lowercase(), rest.to_owned()))
}

fn is_local_address(text: &str) -> bool {
    scheme_of(text).is_some_and(|(scheme, rest)| {
        // A word before a colon and a blank is a text.
        LOCAL.contains(&scheme.as_str()) && !rest.starts_with(' ') && !rest.is_empty()
    })
}

/// Says whether an address is one of the web, with a host, and without anything that is not seen.
fn is_web_address(address: &str) -> bool {
    let is_plain = !address.chars().any(|c| c.is_control() || c.is_whitespace());
    is_plain
        && ringfence::text::clean(address).text == address
        && scheme_of(address).is_some_and(|(scheme, rest)| {
            let host = rest.strip_prefix("//").unwrap_or_default();
            matches!(scheme.as_str(), "http" | "https") && !host.is_empty() && !host.starts_with(['/', '\\'])
        })
}

fn is_picture(address: &str) -> bool {
    is_web_address(address)
        || scheme_of(address).is_some_and(|(scheme, rest)| {
            scheme == "data" && rest.get(..6).is_some_and(|kind| kind.eq_ignore_ascii_case("image/"))
        })
}

/// Takes out icons whose address is not that of a picture, and addresses of a server's page that are not of the web. Returns
/// whether there were any.
pub(crate) fn take_off_addresses(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => {
            let mut taken = false;
            if let Some(Value::Array(icons)) = members.get_mut("icons") {
                let before = icons.len();
                icons.retain(|icon| icon.get("src").is_none_or(|src| src.as_str().is_some_and(is_picture)));
                taken = icons.len() != before;
            }
            if members.get("websiteUrl").is_some_and(|url| !url.as_str().is_some_and(is_web_address)) {
                members.remove("websiteUrl");
                taken = true;
            }
            for (name, member) in members.iter_mut() {
                if !DATA.contains(&name.as_str()) {
                    taken |= take_off_addresses(member);
                }
            }
            taken
        }
        Value::Array(items) => {
            let mut taken = false;
            for item in items {
                taken |= take_off_addresses(item);
            }
            taken
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_names_its_server() {
        #[rustfmt::skip]
        let cases = [
            (json!({ "message": "Who?" }),           "Server `s` asks: Who?"),
            (json!({}),                              "Server `s` asks:"),
            (json!({ "message": null }),             "Server `s` asks:"),
            (json!({ "message": ["Approve?"] }),     "Server `s` asks:"),
            (json!({ "message": "file: which?" }),   "Server `s` asks: file: which?"),
            (json!({ "mode": "url", "url": "https://a.test/x?y=javascript:1", "message": "Open" }), "Server `s` asks: Open"),
        ];
        for (params, wanted) in cases {
            let labelled = label_question("s", "elicitation/create", raw(&params)).unwrap();
            let labelled: Value = serde_json::from_str(labelled.get()).unwrap();
            assert_eq!(labelled["message"], json!(wanted), "{params}");
        }
        let other = raw(&json!({ "messages": [] }));
        assert_eq!(label_question("s", "sampling/createMessage", other.clone()).unwrap().get(), other.get());
    }

    #[test]
    fn only_addresses_of_the_web_are_asked_for() {
        for url in [
            json!("javascript:alert(1)"),
            json!("JavaScript:alert(1)"),
            json!(" \u{1}javascript:alert(1)"),
            json!("java\nscript:alert(1)"),
            json!("file:///etc/passwd"),
            json!("FILE:/etc/passwd"),
            json!("data:text/html,x"),
            json!("ftp://a.test/"),
            json!("https:a.test"),
            json!("https:///"),
            json!("https://a.test/\u{200b}"),
            json!("//a.test"),
            json!(7),
            json!(null),
        ] {
            let params = raw(&json!({ "mode": "url", "url": url, "message": "Open" }));
            assert!(label_question("s", "elicitation/create", params).is_err(), "{url}");
        }
        let without = raw(&json!({ "mode": "url", "message": "Open" }));
        assert!(label_question("s", "elicitation/create", without).is_err());
        let hidden = json!({ "message": "Open", "requestedSchema": { "type": "object", "properties": {
            "u": { "type": "string", "format": "uri", "default": "javascript:alert(1)" } } } });
        assert!(label_question("s", "elicitation/create", raw(&hidden)).is_err());
    }

    #[test]
    fn an_error_that_lists_questions_is_labelled() {
        let error = json!({ "code": -32042, "message": "open", "data": { "elicitations": [
            { "mode": "url", "url": "https://a.test/", "message": "Log in" },
            { "mode": "url", "url": "file:///etc/passwd", "message": "Log in" },
        ] } });
        let labelled: Value = serde_json::from_str(label_error("s", true, raw(&error)).get()).unwrap();
        let asked = labelled["data"]["elicitations"].as_array().unwrap();
        assert_eq!(asked.len(), 1, "{labelled}");
        assert_eq!(asked[0]["message"], json!("Server `s` asks: Log in"));
        let refused: Value = serde_json::from_str(label_error("s", false, raw(&error)).get()).unwrap();
        assert_eq!(refused["data"]["elicitations"], json!([]));
        let other = raw(&json!({ "code": -32000, "message": "x", "data": { "elicitations": [] } }));
        assert_eq!(label_error("s", true, other.clone()).get(), other.get());
    }

    #[test]
    fn icons_are_pictures() {
        let mut value = json!({
            "icons": [{ "src": "https://a.test/i.png" }, { "src": "javascript:x" }, { "src": "file:///i.png" },
                { "src": "data:image/png;base64,AA==" }, { "src": "data:text/html,x" }, { "src": " JAVASCRIPT:x" }],
            "content": [{ "type": "resource_link", "icons": [{ "src": "file:///x" }] }],
            "structuredContent": { "icons": [{ "src": "file:///kept" }] },
            "serverInfo": { "websiteUrl": "javascript:x" },
        });
        assert!(take_off_addresses(&mut value));
        assert_eq!(
            value,
            json!({
                "icons": [{ "src": "https://a.test/i.png" }, { "src": "data:image/png;base64,AA==" }],
                "content": [{ "type": "resource_link", "icons": [] }],
                "structuredContent": { "icons": [{ "src": "file:///kept" }] },
                "serverInfo": {},
            })
        );
        assert!(!take_off_addresses(&mut value));
    }
}
