//! A report for a person at a terminal.

use super::escape::plain;
use super::{Colour, FilePlace, Level, Report};

pub(super) fn render(report: &Report<'_>, colour: Colour) -> String {
    let mut text = String::new();
    for one in &report.findings {
        let head = painted(&format!("{}[{}]", one.level, plain(&one.code)), one.level, colour);
        text.push_str(&format!("{head} {}: {}\n", plain(&one.subject), plain(&one.message)));
        if let Some(place) = &one.place {
            text.push_str(&format!("  at {}\n", at(place)));
        }
        for (number, step) in one.steps.iter().enumerate() {
            let place = step.place.as_ref().map(|place| format!(" ({})", at(place))).unwrap_or_default();
            text.push_str(&format!("  {}. {}{place}\n", number + 1, plain(&step.text)));
        }
        if let Some(help) = &one.help {
            text.push_str(&format!("  help: {}\n", plain(help)));
        }
    }
    text.push_str(&format!("{}: {}\n", plain(report.title), report.counted()));
    text
}

fn at(place: &FilePlace) -> String {
    format!("{}:{}:{}", plain(&place.file), place.line, place.column)
}

fn painted(text: &str, level: Level, colour: Colour) -> String {
    let number = match level {
        Level::Error => 31,
        Level::Warning => 33,
        Level::Note => 36,
    };
    match colour {
        Colour::Ansi => format!("\u{1b}[1;{number}m{text}\u{1b}[0m"),
        Colour::Plain => text.to_owned(),
    }
}
