//! Every link of the pages leads somewhere, and every command that a sentence names exists.
//!
//! Commands in blocks are run by `e2e/tests/docs`; those in the middle of a sentence are held against the command's own reference.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folders that hold no pages of ours.
const OTHERS: &[&str] = &[".git", "corpus", "node_modules", "target"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every page of the repository.
fn pages() -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap_or_default().to_owned();
            if path.is_symlink() || OTHERS.contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    let pages = pages();
    assert!(pages.len() > 30, "only {} pages were found", pages.len());
    for page in &pages {
        let text = std::fs::read_to_string(page).unwrap();
        for link in links(&text) {
            wrong.extend(fault(page, &link).map(|fault| format!("{}: `{link}` {fault}", shown(page))));
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere:\n{}", wrong.join("\n"));
}

#[test]
fn every_page_of_the_docs_is_reached() {
    let docs = root().join("docs");
    let (mut seen, mut open) = (BTreeSet::new(), vec![docs.join("README.md")]);
    while let Some(page) = open.pop() {
        if !seen.insert(page.clone()) {
            continue;
        }
        // A page that is not there is told of by the other test.
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        let targets = links(&text).into_iter().filter_map(|link| target(&page, &link)).map(|(path, _)| path);
        open.extend(
            targets.filter(|path| path.starts_with(&docs) && path.extension().is_some_and(|end| end == "md")),
        );
    }
    let lost: Vec<_> =
        pages().into_iter().filter(|page| page.starts_with(&docs) && !seen.contains(page)).collect();
    assert!(lost.is_empty(), "nothing leads from docs/README.md to {lost:?}");
}

#[test]
fn every_command_in_a_sentence_exists() {
    let reference = std::fs::read_to_string(root().join("docs/reference/cli.md")).unwrap();
    let lint = std::fs::read_to_string(root().join("docs/reference/lint.md")).unwrap();
    let mut wrong = Vec::new();
    let named = ["README.md", "SECURITY.md", "docs", "examples", "guest"].map(|name| root().join(name));
    let ours = |page: &PathBuf| {
        named.iter().any(|name| page.starts_with(name)) && !page.starts_with(root().join("docs/reference"))
    };
    for page in pages().into_iter().filter(ours) {
        let text = std::fs::read_to_string(&page).unwrap();
        for code in inline(&text) {
            let words: Vec<&str> = code.split_whitespace().collect();
            if let ["ringfence", rest @ ..] = words.as_slice() {
                wrong.extend(
                    unknown(rest, &reference, &lint)
                        .map(|what| format!("{}: `{code}`: {what}", shown(&page))),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "commands that do not exist:\n{}", wrong.join("\n"));
}

/// What of a command line the reference does not know.
fn unknown(words: &[&str], reference: &str, lint: &str) -> Option<String> {
    let global = section(reference, "## ringfence").unwrap_or_default();
    let mut title = "## ringfence".to_owned();
    let mut help = global.clone();
    let mut is_open = true;
    let mut is_value = false;
    for word in words {
        if *word == "--" {
            break;
        }
        if std::mem::take(&mut is_value) {
            continue;
        }
        if let Some(flag) = word.strip_prefix("--") {
            let flag =
                format!("--{}", flag.split('=').next().unwrap_or_default().trim_end_matches([',', '.', ')']));
            let knows = |text: &str| {
                text.split(|letter: char| !letter.is_alphanumeric() && letter != '-').any(|one| one == flag)
            };
            if !knows(&help) && !knows(&global) {
                return Some(format!("`{title}` has no `{flag}`"));
            }
            let takes = format!("{flag} <");
            is_value = !word.contains('=') && (help.contains(&takes) || global.contains(&takes));
        } else if is_open && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-') {
            if *word == "lint" {
                (title, help) = ("## ringfence lint".to_owned(), lint.to_owned());
                is_open = false;
                continue;
            }
            match section(reference, &format!("{title} {word}")) {
                Some(found) => (title, help) = (format!("{title} {word}"), found),
                None if title == "## ringfence" => return Some(format!("there is no command `{word}`")),
                None => is_open = false,
            }
        } else {
            is_open = false;
        }
    }
    None
}

fn section(page: &str, title: &str) -> Option<String> {
    let mut lines = page.lines().skip_while(|line| *line != title);
    lines.next()?;
    Some(lines.take_while(|line| !line.starts_with("## ")).collect::<Vec<_>>().join("\n"))
}

/// What is wrong with a link.
fn fault(page: &Path, link: &str) -> Option<String> {
    let (path, anchor) = target(page, link)?;
    if !path.exists() {
        return Some("is not there".to_owned());
    }
    if !path.starts_with(root()) {
        return Some("leads out of the repository".to_owned());
    }
    let anchor = anchor?;
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    (!anchors(&text).contains(&anchor)).then(|| format!("has no heading `#{anchor}`"))
}

/// Where a relative link leads: a path without `..`, and an anchor.
fn target(page: &Path, link: &str) -> Option<(PathBuf, Option<String>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_owned())),
        None => (link, None),
    };
    let whole = if path.is_empty() { page.to_owned() } else { page.parent().unwrap().join(path) };
    Some((whole.canonicalize().unwrap_or(whole), anchor))
}

/// The anchors that forges make of headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in prose(text).lines().filter(|line| line.starts_with('#')) {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept =
            title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        let anchor: String = kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect();
        let mut unique = anchor.clone();
        let mut count = 0;
        while !anchors.insert(unique.clone()) {
            count += 1;
            unique = format!("{anchor}-{count}");
        }
    }
    anchors
}

/// The targets of `[text](target)` and of `![text](target)`.
fn links(text: &str) -> Vec<String> {
    let text = prose(text);
    let without_code: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let parts = without_code.split("](").skip(1);
    parts.filter_map(|part| part.split(')').next()).map(|link| link.trim().to_owned()).collect()
}

/// Code in the middle of a sentence, with its ends of lines as spaces.
fn inline(text: &str) -> Vec<String> {
    prose(text).replace('\n', " ").split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A page without its blocks.
fn prose(text: &str) -> String {
    let mut is_block = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
        } else if !is_block {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn shown(page: &Path) -> String {
    page.strip_prefix(root()).unwrap().display().to_string()
}

#[test]
fn what_leads_nowhere_is_noticed() {
    let page = root().join("docs/guides/ask-people.md");
    #[rustfmt::skip]
    let cases = [
        // link                             right
        ("keep-an-audit.md",                true),
        ("../../README.md#the-two-commands", true),
        ("#have-somebody-told",             true),
        ("https://example.com/gone",        true),
        ("gone.md",                         false),
        ("keep-an-audit.md#gone",           false),
        ("#gone",                           false),
        ("../../../outside.md",             false),
    ];
    for (link, right) in cases {
        assert_eq!(fault(&page, link).is_none(), right, "{link}");
    }
    assert_eq!(links("[a](b.md) `[c](d.md)` ![e](f.png)\n```\n[g](h)\n```\n"), ["b.md", "f.png"]);
    let reference = std::fs::read_to_string(root().join("docs/reference/cli.md")).unwrap();
    let known = |line: &str| unknown(&line.split(' ').collect::<Vec<_>>(), &reference, "--draft").is_none();
    for line in [
        "audit verify --trust KEY",
        "--policy x audit replay RUN",
        "lint --draft",
        "wrap --name x -- node --gone",
    ] {
        assert!(known(line), "{line}");
    }
    for line in ["gone", "audit verify --gone", "lint --gone"] {
        assert!(!known(line), "{line}");
    }
}
