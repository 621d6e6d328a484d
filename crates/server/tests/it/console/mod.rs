//! A console with a store in memory, and people who look at it.

mod browser;
mod damaged;
mod desk;
mod log;
mod scene;

pub(crate) use browser::{Browser, client, encode};
pub(crate) use damaged::DamagedApprovals;
pub(crate) use desk::TestDesk;
pub(crate) use log::TestLog;
pub(crate) use scene::{AGENT, Scene, request, token};

/// What foreign text must never become: markup, an attribute, or something that cannot be seen.
pub(crate) const FOUL: &str =
    "<script>alert(1)</script>\"><img src=x onerror=alert(1)>'\u{202e}\u{200b}{{7*7}}";

/// Asserts that nothing of [`FOUL`] is anything but text in a page, and that it is there at all.
#[track_caller]
pub(crate) fn assert_is_text(page: &str) {
    let at = |needle: &str| page.find(needle).map(|at| page.get(at.saturating_sub(200)..at + 40));
    assert_eq!(at("<script>"), None, "a script");
    assert_eq!(at("<img src=x"), None, "a picture");
    assert!(!page.contains('\u{202e}') && !page.contains('\u{200b}'), "something hidden");
    assert!(page.contains("&lt;script&gt;alert(1)"), "it is shown: {page}");
    let quoted = page.split("onerror=").skip(1).count();
    let escaped = page.matches("&lt;img src=x onerror=").count();
    assert_eq!(quoted, escaped, "an attribute");
}
