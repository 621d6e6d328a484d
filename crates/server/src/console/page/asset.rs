//! The style, the script and the picture, which are part of the program.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse as _;
use sha2::{Digest, Sha256};

use super::super::enter::Reply;
use super::super::fault::Fault;

const STYLE_TEXT: &str = include_str!("../../../assets/console.css");
const SCRIPT_TEXT: &str = include_str!("../../../assets/console.js");
const ICON_TEXT: &str = include_str!("../../../assets/icon.svg");

/// Where the style is; another one has another name.
pub(crate) static STYLE: LazyLock<String> = LazyLock::new(|| name(STYLE_TEXT, "css"));
/// Where the script is.
pub(crate) static SCRIPT: LazyLock<String> = LazyLock::new(|| name(SCRIPT_TEXT, "js"));

fn name(text: &str, extension: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    let start = hash.iter().take(8).fold(String::new(), |mut all, byte| {
        let _written = write!(all, "{byte:02x}");
        all
    });
    format!("/assets/{start}.{extension}")
}

/// Sends a file that the pages name.
pub(crate) async fn file(Path(file): Path<String>) -> Result<Reply, Fault> {
    let is = |own: &str| own.strip_prefix("/assets/").is_some_and(|own| own == file);
    match () {
        () if is(&STYLE) => Ok(sent("text/css; charset=utf-8", STYLE_TEXT)),
        () if is(&SCRIPT) => Ok(sent("text/javascript; charset=utf-8", SCRIPT_TEXT)),
        () if file == "icon.svg" => Ok(sent("image/svg+xml", ICON_TEXT)),
        () => Err(Fault::missing("there is no such file")),
    }
}

/// Sends the picture.
pub(crate) async fn icon() -> Reply {
    sent("image/svg+xml", ICON_TEXT)
}

fn sent(kind: &'static str, text: &'static str) -> Reply {
    let mut reply = text.into_response();
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    reply
}
