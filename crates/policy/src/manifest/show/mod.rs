//! A manifest as a page that a person reads in a minute: for a terminal, as Markdown, as HTML.
//!
//! INVARIANT: what stands in a manifest is text on every page, never markup; an HTML page loads nothing and runs nothing.

mod html;
mod markdown;
mod outside;
mod page;
mod terminal;

use super::Manifest;
use page::Page;

/// Shows a manifest at a terminal.
pub fn terminal(manifest: &Manifest) -> String {
    terminal::render(&Page::of(manifest))
}

/// Shows a manifest as Markdown.
pub fn markdown(manifest: &Manifest) -> String {
    markdown::render(&Page::of(manifest))
}

/// Shows a manifest as one HTML file.
pub fn html(manifest: &Manifest) -> String {
    html::render(&Page::of(manifest))
}

#[cfg(test)]
mod tests;
