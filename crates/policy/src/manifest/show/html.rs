//! The page as one HTML file that loads nothing and runs nothing.

use super::page::{Entry, Page, Section};
use crate::report::html;

/// The look of the page. It refers to nothing outside.
const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--strong:#b42318}\
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.4rem}h2{font-size:1.05rem;margin:0}\
code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}\
section{border:1px solid var(--line);border-radius:8px;margin:1rem 0;padding:.75rem 1rem}\
.facts{margin:.25rem 0 .5rem;opacity:.75}.grave{color:var(--strong);font-weight:600;opacity:1}\
table{border-collapse:collapse;width:100%}\
th,td{text-align:left;vertical-align:top;padding:.25rem .5rem;border-top:1px solid var(--line)}\
th{width:9rem;font-weight:500;background:var(--soft)}\
.from{opacity:.6;font-size:.85em}";

pub(super) fn render(page: &Page) -> String {
    let sections: String = page.sections.iter().map(section).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>What the tools may touch</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>What the tools may touch</h1>\n<p>{}</p>\n<p class=\"facts\">manifest <code>{}</code></p>\n\
         {sections}</body>\n</html>\n",
        html(&page.summary),
        html(&page.hash),
    )
}

fn section(section: &Section) -> String {
    let mut text = format!("<section>\n<h2>{} <code>{}</code></h2>\n", section.kind, html(&section.name));
    if !section.facts.is_empty() {
        let facts: Vec<String> = section.facts.iter().map(|one| fact(one)).collect();
        text.push_str(&format!("<p class=\"facts\">{}</p>\n", facts.join(" · ")));
    }
    text.push_str("<table>\n");
    for row in &section.rows {
        let entries: Vec<String> = row.entries.iter().map(entry).collect();
        text.push_str(&format!("<tr><th>{}</th><td>{}</td></tr>\n", row.label, entries.join("<br>")));
    }
    text.push_str("</table>\n</section>\n");
    text
}

/// Returns a fact; what a reviewer must not overlook stands out.
fn fact(fact: &str) -> String {
    let grave = ["class financial", "class privileged", "native-code", "risk critical", "risk high"];
    if grave.contains(&fact) { format!("<span class=\"grave\">{}</span>", html(fact)) } else { html(fact) }
}

fn entry(entry: &Entry) -> String {
    match entry.from {
        Some(from) => {
            format!("<code>{}</code> <span class=\"from\">{}</span>", html(&entry.text), from.as_str())
        }
        None => html(&entry.text),
    }
}
