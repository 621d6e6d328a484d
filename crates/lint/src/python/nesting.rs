//! Whether Python source is nested so deeply that reading it would exhaust the stack.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer};

const MAX_BRACKETS: usize = 1_000;
const MAX_INDENTS: usize = 150;
/// Each operator, dot or pair of brackets of a chain is a level of the tree.
const MAX_CHAIN: usize = 10_000;

/// Says whether a parser can read the text without going deeper than is safe.
pub(super) fn is_shallow(text: &str) -> bool {
    let mut lexer = lexer::lex(text, Mode::Module);
    let (mut indents, mut chain, mut outer) = (0_usize, 0_usize, Vec::new());
    // A token takes a byte, but for the few that mark the end of a line.
    for _ in 0..text.len().saturating_mul(3).saturating_add(100) {
        match lexer.next_token() {
            TokenKind::EndOfFile => return true,
            TokenKind::Lpar
            | TokenKind::Lsqb
            | TokenKind::Lbrace
            | TokenKind::FStringStart
            | TokenKind::TStringStart => {
                outer.push(chain);
                chain = 0;
            }
            TokenKind::Rpar
            | TokenKind::Rsqb
            | TokenKind::Rbrace
            | TokenKind::FStringEnd
            | TokenKind::TStringEnd => {
                chain = outer.pop().unwrap_or(0) + 1;
            }
            TokenKind::Indent => indents += 1,
            TokenKind::Dedent => indents = indents.saturating_sub(1),
            TokenKind::Newline | TokenKind::Comma | TokenKind::Semi => chain = 0,
            TokenKind::String
            | TokenKind::NonLogicalNewline
            | TokenKind::Comment
            | TokenKind::FStringMiddle => {}
            _ => chain += 1,
        }
        if outer.len() > MAX_BRACKETS || indents > MAX_INDENTS || chain > MAX_CHAIN {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_source_is_told_from_long_source() {
        let cases = [
            ("brackets", "(".repeat(5_000) + &")".repeat(5_000), false),
            ("sums", "1+".repeat(20_000) + "1", false),
            ("signs", "-".repeat(20_000) + "1", false),
            ("calls", "f".to_owned() + &"()".repeat(20_000), false),
            ("members", "a".to_owned() + &".a".repeat(20_000), false),
            ("a long list", "[".to_owned() + &"1, ".repeat(100_000) + "]", true),
            ("many lines", "x = f(1)\n".repeat(50_000), true),
            ("brackets in a string", format!("x = '{}'\n", "(".repeat(5_000)), true),
        ];
        for (what, text, shallow) in cases {
            assert_eq!(is_shallow(&text), shallow, "{what}");
        }
    }
}
