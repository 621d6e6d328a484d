//! What a function opens, where what it does with it is said by other calls of the same function.

use super::resolve::Meaning;
use super::summary::{Item, MentionKind, Summary, Word};
use crate::{Effect, EffectSet};

/// Crates whose `OpenOptions` are those of std with another `open`.
const SAME: &[&str] = &["async_fs::", "async_std::", "fs_err::", "tokio::"];

/// Returns what `OpenOptions::open` does by the switches that the same function sets; `None` for any other call.
///
/// Options that come from elsewhere may do both.
pub(super) fn effects(item: &Item, summary: &Summary, meaning: &Meaning) -> Option<EffectSet> {
    let other = meaning.shown.ends_with("OpenOptions::open")
        && SAME.iter().any(|root| meaning.shown.starts_with(root));
    if !meaning.opens && !other {
        return None;
    }
    let mut found = EffectSet::NONE;
    for mention in item
        .mentions
        .iter()
        .filter(|mention| mention.kind == MentionKind::Function && mention.switch != Some(false))
    {
        let text = summary.text(mention.what);
        let Some((_, setter)) =
            text.rsplit_once("OpenOptions::").or_else(|| text.rsplit_once("OpenOptionsExt>::"))
        else {
            continue;
        };
        match setter.trim_end_matches('}') {
            "read" => found.insert(Effect::FsRead),
            // Flags of one's own can create and empty a file.
            "append" | "create" | "create_new" | "custom_flags" | "truncate" | "write" => {
                found.insert(Effect::FsWrite);
            }
            _ => {}
        }
    }
    match (found.is_empty(), other) {
        (true, true) => None,
        (true, false) => Some([Effect::FsRead, Effect::FsWrite].into_iter().collect()),
        (false, _) => Some(found),
    }
}

/// Returns the programs that a function names where it makes commands.
pub(super) fn program<'a>(item: &'a Item, summary: &Summary) -> &'a [Word] {
    let made = item.mentions.iter().find(|mention| {
        mention.kind == MentionKind::Function && summary.text(mention.what).contains("process::Command::new")
    });
    made.map_or(&[], |mention| &mention.literals)
}
