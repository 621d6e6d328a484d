//! What a change gives to others: two manifests, compared as `ringfence manifest diff` compares them.

use std::collections::BTreeMap;

use ringfence::policy::Toolbox;
use ringfence::policy::manifest::diff::{Drift, Subject, diff};
use ringfence::policy::manifest::{DefaultLimits, Manifest, Sources};

use super::case::{Form, Policy};

/// How many others are named.
const MOST: usize = 8;

/// Says what other tools and servers gain.
pub(super) fn others(now: &Policy<'_>, then: &Policy<'_>, tool: &str) -> Vec<String> {
    let (Some(old), Some(new)) = (manifest(now), manifest(then)) else {
        return vec!["what other tools gain could not be told: `ringfence manifest verify` does, once the change is made".to_owned()];
    };
    let own = now.subject(tool).map(|own| own.owner());
    let mut gained = Vec::new();
    for change in diff(&old, &new) {
        let is_other = match (&change.subject, &own) {
            (Subject::Tool(name), Some(super::draft::Owner::Tool(own))) => name != own,
            (Subject::Server(name), Some(super::draft::Owner::Server(own))) => {
                name.split(' ').next() != Some(own)
            }
            (Subject::Tool(_) | Subject::Server(_), _) => true,
            _ => false,
        };
        if is_other && change.direction == Drift::Widened {
            let message = change.message.replace('→', "->");
            gained.push(format!("{}: {message} ({})", change.subject, change.code));
        }
    }
    if gained.is_empty() {
        return vec!["no other tool gains anything by it".to_owned()];
    }
    let more = gained.len().saturating_sub(MOST);
    gained.truncate(MOST);
    if more > 0 {
        gained.push(format!(
            "and {more} more changes, which `ringfence manifest verify` lists once it is made"
        ));
    }
    gained
}

/// Makes the manifest of a policy, as far as it says what is reached.
fn manifest(policy: &Policy<'_>) -> Option<Manifest> {
    let text = policy.loaded.text();
    let toolbox = match policy.form {
        Form::Json(_) | Form::OtherJson => Toolbox::from_json(text),
        Form::Toml => Toolbox::from_toml(text),
    };
    let toolbox = toolbox.ok()?;
    let (tools, gaps) = toolbox.written_declarations(&policy.loaded.files);
    if !gaps.is_empty() {
        return None;
    }
    Manifest::new(&Sources {
        personality: &toolbox.personality.clone().unwrap_or_default(),
        tools: &tools,
        servers: toolbox.written_servers(),
        binaries: &BTreeMap::new(),
        definitions: &BTreeMap::new(),
        lint: &BTreeMap::new(),
        defaults: DefaultLimits::default(),
        outside: toolbox.outside(),
    })
    .ok()
}
