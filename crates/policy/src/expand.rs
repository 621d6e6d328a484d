//! Replacing `${workspace}`, `${home}` and `${self}` in texts of a toolbox file.

use crate::{PathError, PathPattern, Variables};

/// Replaces variables wherever they stand; `quote` writes a value as the place needs it.
pub(crate) fn expand_text(
    text: &str,
    variables: &Variables,
    quote: impl Fn(&str) -> String,
) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) =
            after.split_once('}').ok_or_else(|| format!("`{text}` has `${{` without `}}`"))?;
        let variable: PathPattern =
            format!("${{{name}}}").parse().map_err(|error: PathError| error.to_string())?;
        let value = variable.expand(variables).map_err(|error| error.to_string())?;
        out.push_str(before);
        out.push_str(&quote(value.as_str()));
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Reads one path, which may start with a variable and holds no wildcard.
pub(crate) fn expand_path(text: &str, variables: &Variables) -> Result<String, String> {
    let pattern: PathPattern = text.parse().map_err(|error: PathError| error.to_string())?;
    let pattern = pattern.expand(variables).map_err(|error| error.to_string())?;
    if !pattern.is_literal() {
        return Err(format!("`{text}` is a pattern, and one path is expected here"));
    }
    Ok(pattern.as_str().to_owned())
}
