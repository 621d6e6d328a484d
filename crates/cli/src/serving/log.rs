//! What is worth telling whoever runs us, on the error stream: clients keep it as the log of the server.

use std::fmt::{self, Write as _};
use std::io::Write as _;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Writes warnings to the error stream from now on, each on a line.
pub(crate) fn log_to_error_stream() {
    // Somebody else may have begun before.
    let _set = tracing::subscriber::set_global_default(ErrorStream);
}

struct ErrorStream;

impl Subscriber for ErrorStream {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("ringfence")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        tell(&line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Tells whoever runs us something, on one line. Nothing in it may reach a terminal as more than text.
pub(crate) fn tell(text: &str) {
    let line = crate::print::line(text);
    let _told = writeln!(crate::print::errors(), "ringfence: {line}");
}

#[derive(Default)]
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _written = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " [{name} {value:?}]"),
        };
    }
}
