//! bwrap: the root, the namespaces and the environment; the inner stage adds noexec, Landlock, limits and seccomp.

use std::path::Path;

use super::{INNER, text};
use crate::error::SandboxError;
use crate::host::Kind;
use crate::plan::{Entry, Plan};

/// Where writable trees are mounted once more; the scratch space covers it.
const PINS: &str = "/tmp/.pins";

/// Returns the arguments of bwrap, to be passed by `--args`, and the contents of the files it makes. The arguments end
/// before the command, which is the inner stage.
///
/// `inner` is the program that calls [`crate::inner::enter`]; the files are read from descriptors that begin at `first`.
///
/// # Errors
///
/// A path cannot be written as text.
pub fn bwrap(plan: &Plan, inner: &Path, first: usize) -> Result<(Vec<String>, Vec<String>), SandboxError> {
    let mut arguments: Vec<String> = Vec::new();
    let mut files: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    add(&[
        "--unshare-user",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-uts",
        "--unshare-cgroup",
    ]);
    add(&["--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"]);
    // The inner stage makes mounts noexec and then gives up everything.
    add(&["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP"]);
    for (place, entry) in plan.base.iter().chain(&plan.root).enumerate() {
        let path = text(entry.path())?;
        let path = path.as_str();
        if place == plan.base.len() {
            pin(&mut add, plan)?;
        }
        match entry {
            Entry::Bind { access, .. } => {
                add(&[if access.write { "--bind" } else { "--ro-bind" }, path, path]);
            }
            Entry::Device { .. } => add(&["--dev-bind", path, path]),
            Entry::Directory { .. } => add(&["--dir", path]),
            // A mount point; bwrap makes it itself.
            Entry::File { content, .. } if content.is_empty() => {}
            Entry::Cover { content, .. } | Entry::File { content, .. } => {
                add(&["--ro-bind-data", &(first + files.len()).to_string(), path]);
                files.push(content.clone());
            }
            Entry::Hidden { file: true, .. } => add(&["--ro-bind", "/dev/null", path]),
            Entry::Hidden { file: false, .. } => {
                add(&["--perms", "0000", "--tmpfs", path, "--remount-ro", path]);
            }
            Entry::Link { to, .. } => add(&["--symlink", &text(to)?, path]),
            Entry::Proc => add(&["--proc", path]),
            Entry::Scratch { bytes: u64::MAX, .. } => add(&["--perms", "1777", "--tmpfs", path]),
            Entry::Scratch { bytes, .. } => {
                add(&["--perms", "1777", "--size", &(*bytes).max(4096).to_string(), "--tmpfs", path]);
            }
        }
    }
    add(&["--ro-bind", &text(inner)?, INNER, "--remount-ro", "/", "--chdir", "/"]);
    Ok((arguments, files))
}

/// Keeps folders in their place: see [`crate::linux`]. bwrap follows links, so that they stay as they are.
fn pin(add: &mut impl FnMut(&[&str]), plan: &Plan) -> Result<(), SandboxError> {
    let mut tree: Option<&Path> = None;
    for pin in plan.pins.iter().filter(|pin| pin.kind == Kind::Directory) {
        if tree != Some(&pin.tree) {
            tree = Some(&pin.tree);
            add(&["--bind", &text(&pin.tree)?, PINS]);
        }
        let below = pin.path.strip_prefix(&pin.tree).unwrap_or(&pin.path);
        add(&["--bind", &text(&pin.path)?, &text(&Path::new(PINS).join(below))?]);
    }
    Ok(())
}
