//! Tests of the pages.

use crate::manifest::Manifest;
use crate::manifest::tests::{TOOLBOX, manifest_of};

#[test]
fn a_terminal_shows_the_gravest_first() {
    insta::assert_snapshot!(super::terminal(&manifest_of(TOOLBOX)));
}

#[test]
fn markdown_is_a_table_for_each() {
    insta::assert_snapshot!(super::markdown(&manifest_of(TOOLBOX)));
}

#[test]
fn html_is_one_file_that_loads_nothing() {
    let page = super::html(&manifest_of(TOOLBOX));
    for outside in ["<script", "src=", "href=", "url(", "@import", "http://", "https://"] {
        assert!(!page.contains(outside), "{outside}");
    }
    insta::assert_snapshot!(page);
}

#[test]
fn what_a_toolbox_says_is_never_markup() {
    let hostile = TOOLBOX
        .replace(r#"id = "researcher""#, r#"id = "<img src=x onerror=alert(1)>\u001b[31m\u202e | `x`""#)
        .replace(
            r#"command = ["rg", "#,
            r#"command = ["rg", "</td><script>1</script>", "](http://e.test)", "#,
        );
    let manifest: Manifest = manifest_of(&hostile);
    let pages = [super::terminal(&manifest), super::markdown(&manifest), super::html(&manifest)];
    for page in &pages {
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{page}");
    }
    assert!(!pages[2].contains("<img") && !pages[2].contains("<script"), "{}", pages[2]);
    let prose: String = pages[1].split('`').step_by(2).collect();
    assert!(!prose.contains("<img") && !prose.contains("<script") && !prose.contains("](http"), "{prose}");
}
