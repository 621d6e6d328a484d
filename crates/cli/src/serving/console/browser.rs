//! Opening the console in a browser.
//!
//! INVARIANT: the link is in no command line, where others on the machine could read it: it is in a page that only this user can
//! read, which leads there.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::book::{private_folder, state_folder};

/// The programs that open a page, by their whole paths.
const OPENERS: [&str; 3] = ["/usr/bin/xdg-open", "/usr/bin/sensible-browser", "/usr/bin/open"];

/// Opens a link.
pub(super) fn open(link: &str) -> Result<(), String> {
    let opener = OPENERS.iter().find(|path| Path::new(path).exists());
    let opener = opener.ok_or("there is neither `xdg-open` nor `sensible-browser`")?;
    let folder = state_folder().map_err(|error| error.to_string())?.join("console");
    private_folder(&folder).map_err(|error| error.to_string())?;
    let page = folder.join("open.html");
    write(&page, link).map_err(|error| format!("`{}`: {error}", page.display()))?;
    let started = opening(opener, &page).spawn();
    let mut child = started.map_err(|error| format!("`{opener}`: {error}"))?;
    std::thread::spawn(move || child.wait());
    Ok(())
}

fn write(page: &Path, link: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    match std::fs::remove_file(page) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(page)?;
    // A link is an address and base64: nothing in it has a meaning in HTML.
    write!(
        file,
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url={link}\">"
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "somebody asked for their own browser, which is not to be fenced"
)]
fn opening(opener: &str, page: &Path) -> Command {
    let mut command = Command::new(opener);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
