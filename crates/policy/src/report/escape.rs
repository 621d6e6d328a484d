//! Foreign text made harmless for each format.
//!
//! INVARIANT: [`plain`] returns one line of characters that take their place and do nothing else; the others build on it and
//! add what their format reads as markup.

/// Signs beside letters and digits that are let through: the ones our own messages are written with.
const OWN_SIGNS: [char; 4] = ['→', '…', '·', '–'];

/// Letters without a glyph: the fillers of Hangul and two hieroglyphs. A test of the command checks that these are all.
const BLANK_LETTERS: [char; 7] =
    ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}', '\u{13441}', '\u{13442}', '\u{1bc9e}'];

/// Returns a text on one line, with everything that could drive a terminal, hide or turn the direction of writing spelled out.
///
/// # Examples
///
/// ```
/// use ringfence_policy::report::plain;
///
/// assert_eq!(plain("red\u{1b}[31m\u{202e}"), r"red\u{1b}[31m\u{202e}");
/// ```
pub fn plain(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(c) { line.push(c) } else { line.extend(c.escape_unicode()) }
    }
    line
}

fn is_plain(c: char) -> bool {
    c == ' '
        || c.is_ascii_graphic()
        || (!c.is_ascii() && c.is_alphanumeric() && !BLANK_LETTERS.contains(&c))
        || OWN_SIGNS.contains(&c)
}

/// Escapes in the text of JSON what [`plain`] would spell out; it stays the same value.
pub(super) fn json(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || is_plain(c) {
            text.push(c);
        } else {
            text.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    text
}

/// Returns a text for HTML, in an element or in a quoted attribute.
pub fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Returns a text for Markdown, also within a table: what stands in backticks is code, and nothing else is markup.
///
/// # Examples
///
/// ```
/// use ringfence_policy::report::markdown;
///
/// assert_eq!(markdown("host `a|b` <b>"), r"host `a\|b` &lt;b&gt;");
/// ```
pub fn markdown(text: &str) -> String {
    let text = plain(text);
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text.as_str();
    // Pairs of backticks, from the left; a lone one at the end is a character like any other.
    while let Some((before, code, after)) = code_span(rest) {
        prose(before, &mut escaped);
        escaped.push('`');
        // Within a table a bar ends the cell even inside of code; elsewhere the backslash is shown, which harms nobody.
        escaped.push_str(&code.replace('|', "\\|"));
        escaped.push('`');
        rest = after;
    }
    prose(rest, &mut escaped);
    escaped
}

fn code_span(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, after) = rest.split_once('`')?;
    // Two backticks in a row would open another kind of span, a blank one is none, and before a bar a backslash counts.
    let is_code =
        !code.trim().is_empty() && !after.starts_with('`') && !code.ends_with('\\') && !code.contains("\\|");
    is_code.then_some((before, code, after))
}

fn prose(text: &str, escaped: &mut String) {
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        // Addresses that a forge would make into links, and names that it would tell somebody about.
        let links = (c == ':' && next == Some('/')) || (c == '.' && before.eq_ignore_ascii_case(&'w'));
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '@' | '!' | '$' => {
                escaped.push_str(&format!("&#{};", u32::from(c)));
            }
            _ if links => escaped.push_str(&format!("&#{};", u32::from(c))),
            other => escaped.push(other),
        }
        before = c;
    }
}

/// Returns the message of a workflow command.
pub(super) fn command_data(text: &str) -> String {
    // An older syntax is looked for anywhere in a line.
    plain(text).replace('%', "%25").replace("##[", "#\\u{23}[")
}

/// Returns a property of a workflow command.
pub(super) fn command_property(text: &str) -> String {
    command_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Returns the text of a message in SARIF, where brackets are links.
pub(super) fn sarif(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in plain(text).chars() {
        if matches!(c, '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Returns a path as a URI: absolute with the scheme `file`, else relative.
pub(super) fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/') {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}
