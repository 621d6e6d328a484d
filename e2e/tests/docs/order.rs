//! What a page tells these tests, in comments that its readers do not see.
//!
//! `<!-- docs-test: WORD… -->` stands on a line of its own, before the block it is about; each word is one order. A value with
//! spaces stands in double quotes.
//!
//! | order | what it means |
//! |---|---|
//! | `fixture=NAME` | the function `fixture_NAME` of `fixture.sh` runs, here |
//! | `file=PATH`, `append=PATH` | the block is written to that file, or added to it |
//! | `check` | the block is a toolbox that `ringfence check` accepts |
//! | `exit=N`, `exit.K=N` | the last command, or the one with that number, exits with N |
//! | `background=TEXT`, `background.K=TEXT` | that command goes on to the end of the page; it has begun when it has printed TEXT |
//! | `capture=WORD` | what stands in place of WORD in what is printed is put in its place in later commands |
//! | `output` | the block is what the block before prints; `…` stands for anything |
//! | `within`, `within=COMMAND` | the same, or what that command prints, with anything before and behind it |
//! | `lines=COMMAND` | the lines of the block are printed in this order by that command, with others between them |
//! | `picture` | the block is not what a command prints |
//! | `excerpt=FILE` | the block is a piece of that file, which is compiled, or is an example |

/// One order.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Order {
    Append(String),
    Background { which: Option<usize>, until: String },
    Capture(String),
    Check,
    Excerpt(String),
    Exit { which: Option<usize>, code: i32 },
    File(String),
    Fixture(String),
    Lines(String),
    Output,
    Picture,
    Within(Option<String>),
}

/// Reads a line; `None` where it is no comment of ours.
pub(crate) fn read(line: &str) -> Option<Result<Vec<Order>, String>> {
    let inner = line.trim().strip_prefix("<!-- docs-test:")?;
    let Some(inner) = inner.strip_suffix("-->") else {
        return Some(Err("the comment does not end on its line".to_owned()));
    };
    Some(words(inner).iter().map(|word| one(word)).collect())
}

fn one(word: &str) -> Result<Order, String> {
    let unknown = || format!("`{word}` is no order");
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    let number = |text: &str| text.parse::<i32>().map_err(|_| unknown());
    Ok(match (key, value.to_owned()) {
        ("check", _) => Order::Check,
        ("output", _) => Order::Output,
        ("picture", _) => Order::Picture,
        ("within", command) => Order::Within(Some(command).filter(|command| !command.is_empty())),
        (_, value) if value.is_empty() => return Err(unknown()),
        ("append", value) => Order::Append(value),
        ("background", until) => Order::Background { which: None, until },
        ("capture", value) => Order::Capture(value),
        ("excerpt", value) => Order::Excerpt(value),
        ("exit", value) => Order::Exit { which: None, code: number(&value)? },
        ("file", value) => Order::File(value),
        ("fixture", value) => Order::Fixture(value),
        ("lines", value) => Order::Lines(value),
        (key, value) => {
            let (key, which) = key.split_once('.').ok_or_else(unknown)?;
            let which = Some(which.parse().map_err(|_| unknown())?);
            match key {
                "background" => Order::Background { which, until: value },
                "exit" => Order::Exit { which, code: number(&value)? },
                _ => return Err(unknown()),
            }
        }
    })
}

/// Splits at spaces outside of double quotes, and takes the quotes away.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for letter in text.chars() {
        match letter {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            letter => word.push(letter),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

#[test]
fn orders_are_read() {
    let read = |line: &str| read(line).unwrap();
    assert_eq!(
        read("<!-- docs-test: exit.2=3 background=\"listening on\" -->"),
        Ok(vec![
            Order::Exit { which: Some(2), code: 3 },
            Order::Background { which: None, until: "listening on".to_owned() }
        ])
    );
    assert_eq!(
        read("<!-- docs-test: fixture=clerk check -->"),
        Ok(vec![Order::Fixture("clerk".to_owned()), Order::Check])
    );
    for wrong in ["fixture", "exit=x", "exit.x=1", "skip", "file="] {
        assert!(read(&format!("<!-- docs-test: {wrong} -->")).is_err(), "{wrong}");
    }
    assert!(read("<!-- docs-test: check").is_err());
    assert_eq!(super::order::read("<!-- another comment -->"), None);
}
