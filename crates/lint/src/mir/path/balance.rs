//! Where a part of a printed text ends, with regard to its brackets and quotes.

/// Finds where what is being read ends: at a closing bracket that was not opened, or outside all brackets at a character that `stops`.
pub(in crate::mir) fn balanced_end(text: &str, stops: impl Fn(char) -> bool) -> usize {
    let mut open = 0_u32;
    let mut quoted = false;
    let mut before = ' ';
    let mut skipped = 0;
    for (at, c) in text.char_indices() {
        if at < skipped {
            continue;
        }
        if quoted {
            quoted = c != '"' || before == '\\';
            before = if before == '\\' && c == '\\' { ' ' } else { c };
            continue;
        }
        match c {
            _ if open == 0 && stops(c) => return at,
            '"' => quoted = true,
            // A character is no bracket.
            '\'' if text.get(at + 1..).is_some_and(|rest| {
                rest.starts_with(['<', '>', '(', ')', '[', ']', '{', '}', '"'])
                    && rest.get(1..).is_some_and(|rest| rest.starts_with('\''))
            }) =>
            {
                skipped = at + 3;
            }
            '<' | '(' | '[' | '{' => open += 1,
            '>' if before == '-' || before == '=' => {}
            '>' | ')' | ']' | '}' => {
                if open == 0 {
                    return at;
                }
                open -= 1;
            }
            _ => {}
        }
        before = c;
    }
    text.len()
}
