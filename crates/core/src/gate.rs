//! The argument gate: paths in the arguments are judged before the tool runs.
//!
//! Every string of the arguments is looked at, however deep. Absolute paths, `~`, `file:` URLs and anything with a
//! `..` component are paths wherever they stand; other strings are only where the schema says
//! `"format": "path"`. Text is judged as text here; the handle judges again on the real file system.

use std::path::{Path, PathBuf};

use ringfence_policy::{Code, Direction, FsGrant, Refusal, normalise};
use serde_json::Value;

use crate::schema::{PathMark, Schema, for_each_string};

/// What the gate does with a path that is not reachable.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum GateMode {
    /// Refuses the call.
    #[default]
    Enforce,
    /// Lets the call pass and tells observers.
    Observe,
    /// Does not look.
    Off,
}

/// Judges every path in `arguments`.
///
/// # Errors
///
/// `PATH_NOT_REACHABLE` for the first path outside the grant.
pub fn judge_arguments(
    grant: &FsGrant,
    arguments: &Value,
    schema: Option<&Schema>,
    working_dir: Option<&Path>,
) -> Result<(), Refusal> {
    judge_each(grant, arguments, schema, working_dir, &mut |_, _| ())
}

/// Judges every path in `arguments`, and hands the one that is refused to `refused`.
pub(crate) fn judge_each(
    grant: &FsGrant,
    arguments: &Value,
    schema: Option<&Schema>,
    working_dir: Option<&Path>,
    refused: &mut dyn FnMut(Direction, &str),
) -> Result<(), Refusal> {
    let gate = Gate { grant, working_dir };
    for_each_string(arguments, schema.and_then(Schema::paths), &mut |text, mark| {
        gate.judge(text, mark).inspect_err(|_| refused(gate.directions(mark)[0], text))
    })
}

struct Gate<'a> {
    grant: &'a FsGrant,
    working_dir: Option<&'a Path>,
}

impl Gate<'_> {
    /// Returns the directions a path may be meant in. A refusal names the first, which is one the tool has, if any.
    fn directions(&self, mark: Option<PathMark>) -> [Direction; 2] {
        match mark {
            Some(PathMark::One(direction)) => [direction; 2],
            Some(PathMark::Either) | None => {
                let only_writes =
                    self.grant.is_empty(Direction::Read) && !self.grant.is_empty(Direction::Write);
                let [first, second] = [Direction::Read, Direction::Write];
                if only_writes { [second, first] } else { [first, second] }
            }
        }
    }

    fn judge(&self, text: &str, mark: Option<PathMark>) -> Result<(), Refusal> {
        let directions = self.directions(mark);
        match self.candidate(text, mark.is_some()) {
            Candidate::None => Ok(()),
            Candidate::Refused(why) => Err(unreachable_path(text, directions[0], why)),
            Candidate::Path(path) => {
                let mut verdicts = directions.iter().map(|direction| self.grant.judge(&path, *direction));
                let first = verdicts.next().unwrap_or(Ok(()));
                if first.is_ok() || verdicts.any(|verdict| verdict.is_ok()) { Ok(()) } else { first }
            }
        }
    }

    fn candidate(&self, text: &str, marked: bool) -> Candidate {
        if let Some(path) = file_url(text) {
            return path;
        }
        let absolute = text.starts_with('/');
        let climbs = text.contains("..") && text.split(['/', '\\']).any(|part| part == "..");
        let home = is_home(text);
        if !absolute && !climbs && !home && !marked {
            return Candidate::None;
        }
        if text.contains('\0') {
            return Candidate::Refused("it contains a NUL character");
        }
        if home {
            return Candidate::Refused("`~` is not expanded in arguments; write the absolute path");
        }
        if let Some(jail) = self.grant.jail() {
            return match (absolute, climbs) {
                (true, _) => Candidate::Refused("the tool takes paths relative to its jail only"),
                (_, true) => Candidate::Refused("`..` may not stand in a path of a jailed tool"),
                (false, false) => normalise(&jail.join(text))
                    .map_or(Candidate::Refused("it is not a path"), Candidate::Path),
            };
        }
        let normal = match (absolute, self.working_dir) {
            (true, _) => normalise(Path::new(text)),
            (false, _) if climbs => return Candidate::Refused("a relative path may not contain `..`"),
            (false, Some(directory)) => normalise(&directory.join(text)),
            (false, None) => return Candidate::Refused("a relative path needs a working directory"),
        };
        normal.map_or(Candidate::Refused("it is not a path"), Candidate::Path)
    }
}

enum Candidate {
    None,
    Path(PathBuf),
    Refused(&'static str),
}

/// `~`, `~/…`, `~user` and `~user/…`, as a shell or a library would expand them.
fn is_home(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('~') else { return false };
    let user = rest.split('/').next().unwrap_or_default();
    let is_user = |user: &str| {
        user.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && user.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
    };
    rest.contains('/') || user.is_empty() || is_user(user)
}

/// A `file:` URL names a local path whatever its case and slashes.
fn file_url(text: &str) -> Option<Candidate> {
    // A URL parser skips control characters and spaces in front, and tabs and line ends anywhere.
    let text = text.trim_matches(|character: char| character <= ' ' || character.is_whitespace());
    let seen = text.bytes().filter(|byte| !matches!(byte, b'\t' | b'\n' | b'\r'));
    if !seen.take(5).map(|byte| byte.to_ascii_lowercase()).eq(*b"file:") {
        return None;
    }
    // "File: see below" is prose: no URL has a blank after its scheme.
    if text.split_once(':').is_some_and(|(_, rest)| rest.starts_with(' ')) {
        return None;
    }
    let path = url::Url::parse(text).ok().and_then(|url| url.to_file_path().ok());
    let path = path.and_then(|path| normalise(&path).ok());
    Some(path.map_or(Candidate::Refused("it is not a local file URL"), Candidate::Path))
}

fn unreachable_path(text: &str, direction: Direction, why: &'static str) -> Refusal {
    let shown: String = text.chars().take(200).flat_map(char::escape_debug).collect();
    Refusal::new(Code::PathNotReachable, format!("{direction} not permitted for {shown}")).hint(why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn grant(declared: &str, ceiling: &str) -> FsGrant {
        let declared = serde_json::from_str(declared).unwrap();
        FsGrant::meet(&declared, &serde_json::from_str(ceiling).unwrap()).unwrap()
    }

    #[test]
    fn finds_paths_wherever_they_hide() {
        let grant = grant(
            r#"{"read": ["/srv/in"], "write": ["/srv/out"]}"#,
            r#"{"read": ["/srv/in"], "write": ["/srv/out"]}"#,
        );
        #[rustfmt::skip]
        let cases = [
            (json!({"path": "/srv/in/a"}),                       true),
            (json!({"path": "/srv/out/a"}),                      true),
            (json!({"path": "/srv/in/../../etc/passwd"}),        false),
            (json!({"path": "/srv/in/x/../a"}),                  true),
            (json!({"path": "/etc/passwd"}),                     false),
            (json!({"a": [{"b": [["/etc/passwd"]]}]}),           false),
            (json!(["/etc/passwd"]),                             false),
            (json!("/etc/passwd"),                               false),
            (json!({"path": "../secret"}),                       false),
            (json!({"path": "a/../../secret"}),                  false),
            (json!({"path": "a\\..\\..\\secret"}),               false),
            (json!({"path": "~"}),                               false),
            (json!({"path": "~/.ssh/id_rsa"}),                   false),
            (json!({"path": "~root/x"}),                         false),
            (json!({"path": "~root"}),                           false),
            (json!({"files": {"/etc/passwd": "x"}}),             false),
            (json!({"files": {"../../x": 1}}),                   false),
            (json!({"files": {"/srv/out/a": "x"}}),              true),
            (json!({"text": "File: see the notes"}),             true),
            (json!({"text": "~3 kg"}),                           true),
            (json!({"url": "file:///etc/passwd"}),               false),
            (json!({"url": "FILE:/etc/passwd"}),                 false),
            (json!({"url": " file:///etc/passwd"}),              false),
            (json!({"url": "file:///srv/in/a%20b"}),             true),
            (json!({"url": "file:///srv/in/%2e%2e/x"}),          false),
            (json!({"url": "file://host/share"}),                false),
            (json!({"text": "see ../docs, and etc/passwd"}),     true),
            (json!({"text": "a~b ~ 3", "n": 3, "b": null}),      true),
            (json!({"text": "wait...what", "v": "1..2"}),        true),
            (json!({"text": "relative/file"}),                   true),
            (json!({"text": "/srv/in\0/x"}),                     false),
        ];
        for (arguments, reachable) in cases {
            let verdict = judge_arguments(&grant, &arguments, None, None);
            assert_eq!(verdict.is_ok(), reachable, "{arguments}: {verdict:?}");
        }
    }

    #[test]
    fn an_empty_list_refuses_every_path() {
        let grant = grant(r#"{"read": [], "write": []}"#, r#"{"read": ["/"], "write": ["/"]}"#);
        assert!(judge_arguments(&grant, &json!({"path": "/srv/x"}), None, None).is_err());
        assert!(judge_arguments(&grant, &json!({"text": "no path"}), None, None).is_ok());
    }

    #[test]
    fn a_tool_that_only_writes_is_told_of_writing() {
        let writes = grant(r#"{"write": ["/srv/out"]}"#, r#"{"read": ["/"], "write": ["/srv"]}"#);
        let reads = grant(r#"{"read": ["/srv/out"]}"#, r#"{"read": ["/"], "write": ["/srv"]}"#);
        for (grant, verb) in [(writes, "write"), (reads, "read")] {
            for path in ["/etc/passwd", "../x", "~/x"] {
                let mut seen = Vec::new();
                let refusal = judge_each(&grant, &json!({"path": path}), None, None, &mut |direction, _| {
                    seen.push(direction.as_str());
                })
                .unwrap_err();
                assert!(refusal.message.starts_with(&format!("{verb} not permitted")), "{refusal}");
                assert_eq!(seen, [verb]);
            }
        }
    }

    #[test]
    fn a_marked_field_is_a_path_in_its_direction() {
        let grant = grant(
            r#"{"read": ["/srv/in"], "write": ["/srv/out"]}"#,
            r#"{"read": ["/srv/in"], "write": ["/srv/out"]}"#,
        );
        let schema = Schema::compile(&json!({
            "properties": {
                "from": {"$ref": "#/$defs/in"},
                "to": {"type": "array", "items": {"format": "path", "direction": "write"}},
                "any": {"anyOf": [{"type": "null"}, {"format": "path"}]},
            },
            "$defs": {"in": {"format": "path", "direction": "read"}},
        }))
        .unwrap();
        #[rustfmt::skip]
        let cases = [
            (json!({"from": "/srv/in/a"}),     true),
            (json!({"from": "/srv/out/a"}),    false),
            (json!({"from": "a"}),             true),
            (json!({"to": ["/srv/out/a"]}),    true),
            (json!({"to": ["/srv/in/a"]}),     false),
            (json!({"to": ["a"]}),             false),
            (json!({"any": "/srv/out/a"}),     true),
            (json!({"any": "/srv/x"}),         false),
        ];
        for (arguments, reachable) in cases {
            let verdict = judge_arguments(&grant, &arguments, Some(&schema), Some(Path::new("/srv/in")));
            assert_eq!(verdict.is_ok(), reachable, "{arguments}: {verdict:?}");
        }
    }

    #[test]
    fn a_jail_takes_relative_paths_only() {
        let reach = r#"{"read": ["/srv/in"], "jail": true}"#;
        let grant = grant(reach, r#"{"read": ["/srv/in"]}"#);
        let schema =
            Schema::compile(&json!({"properties": {"path": {"format": "path", "direction": "read"}}}))
                .unwrap();
        for (path, reachable) in [
            ("a/b", true),
            ("./a", true),
            (".", true),
            ("sub//x/", true),
            ("/srv/in/a", false),
            ("../in/a", false),
            ("a/../b", false),
        ] {
            let verdict = judge_arguments(&grant, &json!({"path": path}), Some(&schema), None);
            assert_eq!(verdict.is_ok(), reachable, "{path}: {verdict:?}");
        }
    }
}
