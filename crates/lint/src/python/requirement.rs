//! What a distribution says it needs: `Requires-Dist` lines and the conditions on them.
//!
//! INVARIANT: a condition that cannot be judged counts as met, so that nothing that may be needed is left out.

/// One requirement: a name and the extras that are asked of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Requirement {
    pub(super) name: String,
    pub(super) extras: Vec<String>,
}

/// Reads a requirement; `None` when its condition is surely not met with these extras, or when it names nothing.
pub(super) fn needed(line: &str, extras: &[String]) -> Option<Requirement> {
    let (wanted, marker) = line.split_once(';').map_or((line, ""), |(wanted, marker)| (wanted, marker));
    if !marker.trim().is_empty() && judge(marker, extras) == Some(false) {
        return None;
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let wanted = wanted.trim();
    let name: String = wanted.chars().take_while(|c| is_name(*c)).collect();
    if name.is_empty() {
        return None;
    }
    let rest = wanted.strip_prefix(name.as_str()).unwrap_or("").trim_start();
    let list = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or("", |(list, _)| list);
    let extras = list.split(',').map(str::trim).filter(|extra| !extra.is_empty()).map(normal).collect();
    Some(Requirement { name: normal(&name), extras })
}

/// Returns a name in the one spelling that names are compared by.
pub(super) fn normal(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            c => normal.push(c.to_ascii_lowercase()),
        }
    }
    normal
}

/// Judges a condition; `None` is unclear.
fn judge(marker: &str, extras: &[String]) -> Option<bool> {
    let tokens = tokens(marker);
    let mut rest = tokens.as_slice();
    let result = either(&mut rest, extras, 0);
    if rest.is_empty() { result } else { None }
}

fn either(rest: &mut &[String], extras: &[String], depth: usize) -> Option<bool> {
    let mut result = both(rest, extras, depth);
    while next_is(rest, "or") {
        let other = both(rest, extras, depth);
        result = match (result, other) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        };
    }
    result
}

fn both(rest: &mut &[String], extras: &[String], depth: usize) -> Option<bool> {
    let mut result = one(rest, extras, depth);
    while next_is(rest, "and") {
        let other = one(rest, extras, depth);
        result = match (result, other) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
    }
    result
}

fn one(rest: &mut &[String], extras: &[String], depth: usize) -> Option<bool> {
    if depth < 20 && next_is(rest, "(") {
        let result = either(rest, extras, depth + 1);
        next_is(rest, ")");
        return result;
    }
    let [left, operator, right, tail @ ..] = *rest else { return None };
    *rest = tail;
    let (name, value) = if left.starts_with(['"', '\'']) { (right, left) } else { (left, right) };
    let value = value.trim_matches(['"', '\'']);
    let equal = match name.as_str() {
        "extra" => extras.contains(&normal(value)),
        "sys_platform" => value == if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS },
        "platform_system" => value.eq_ignore_ascii_case(if cfg!(target_os = "macos") {
            "darwin"
        } else {
            std::env::consts::OS
        }),
        "os_name" => value == "posix",
        "platform_python_implementation" | "implementation_name" => value.eq_ignore_ascii_case("cpython"),
        _ => return None,
    };
    match operator.as_str() {
        "==" => Some(equal),
        "!=" => Some(!equal),
        _ => None,
    }
}

fn next_is(rest: &mut &[String], word: &str) -> bool {
    match *rest {
        [first, tail @ ..] if first == word => {
            *rest = tail;
            true
        }
        _ => false,
    }
}

fn tokens(marker: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut chars = marker.chars().peekable();
    while let Some(c) = chars.next() {
        let mut token = String::from(c);
        match c {
            c if c.is_whitespace() => continue,
            '(' | ')' => {}
            '"' | '\'' => {
                for inner in chars.by_ref() {
                    token.push(inner);
                    if inner == c {
                        break;
                    }
                }
            }
            '=' | '!' | '<' | '>' | '~' => {
                while let Some(next) = chars.next_if(|next| matches!(next, '=' | '<' | '>')) {
                    token.push(next);
                }
            }
            _ => {
                while let Some(next) =
                    chars.next_if(|next| next.is_alphanumeric() || matches!(next, '_' | '.'))
                {
                    token.push(next);
                }
            }
        }
        tokens.push(token);
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_is_left_out_only_when_it_surely_does_not_apply() {
        let extras = ["cli".to_owned()];
        #[rustfmt::skip]
        let cases = [
            // line                                                        name
            ("httpx>=0.27",                                                Some("httpx")),
            ("Typing_Extensions (>=4)",                                    Some("typing-extensions")),
            ("rich; extra == 'rich'",                                      None),
            ("typer; extra == \"cli\"",                                    Some("typer")),
            ("pywin32>=310; sys_platform == 'win32'",                      None),
            ("colorama; platform_system == 'Windows'",                     None),
            ("exceptiongroup; python_version < '3.11'",                    Some("exceptiongroup")),
            ("a; python_version < '3.11' and extra == 'x'",                None),
            ("b; (extra == 'x' or extra == 'cli') and os_name != 'nt'",    Some("b")),
            ("c; something unclear here",                                  Some("c")),
            ("",                                                           None),
        ];
        for (line, name) in cases {
            assert_eq!(needed(line, &extras).map(|found| found.name).as_deref(), name, "{line}");
        }
        let found = needed("uvicorn[standard, x]>=0.3", &[]).unwrap();
        assert_eq!(found.extras, ["standard", "x"]);
    }
}
