//! Asking whoever sits at the terminal, one question at a time.
//!
//! The command shares the screen: what it prints may look like a question of ours, or hide one. So a yes is not a key but the
//! name of the host itself, which answers no other question; and what was typed before a question is thrown away.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::pin::Pin;

use ringfence::egress::Asker;
use ringfence::policy::{Code, Refusal, Target};
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::print::FRESH_LINE;

/// The terminal, opened at the first question.
#[derive(Default)]
pub(super) struct Terminal(tokio::sync::Mutex<Option<Lines>>);

struct Lines {
    screen: File,
    typed: UnboundedReceiver<String>,
}

impl Terminal {
    async fn answer(&self, target: &Target) -> Result<(), Refusal> {
        let refused = |why: &str| Refusal::new(Code::ApprovalDenied, format!("{target}: {why}"));
        let mut lines = self.0.lock().await;
        let lines = match &mut *lines {
            Some(lines) => lines,
            closed => {
                let opened = Lines::open().map_err(|_| refused("there is no terminal to ask on"))?;
                closed.insert(opened)
            }
        };
        lines.forget();
        let host = &target.host;
        let question = format!(
            "{FRESH_LINE}ringfence: the command wants to connect to {target}, which is not granted.\r\n\
             ringfence: type `{host}` to allow it, or press Enter to refuse: "
        );
        lines.screen.write_all(question.as_bytes()).map_err(|_| refused("the terminal is gone"))?;
        match lines.typed.recv().await {
            Some(typed) if typed.trim() == host.to_string() => Ok(()),
            Some(_) => Err(refused("it was refused on the terminal")),
            None => Err(refused("the terminal is gone")),
        }
    }
}

impl Lines {
    fn open() -> std::io::Result<Self> {
        let screen = File::options().read(true).write(true).open("/dev/tty")?;
        // What was typed so far was typed for somebody else; the reader must not see it.
        tcflush(&screen, QueueSelector::IFlush)?;
        let keyboard = BufReader::new(screen.try_clone()?);
        let (sender, typed) = unbounded_channel();
        std::thread::Builder::new().name("ringfence-terminal".into()).spawn(move || {
            for line in keyboard.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { screen, typed })
    }

    /// Throws away what was typed before, whole lines and begun ones.
    fn forget(&mut self) {
        // Where it cannot be flushed, the name that has to be typed still tells one question from another.
        let _flushed = tcflush(&self.screen, QueueSelector::IFlush);
        while self.typed.try_recv().is_ok() {}
    }
}

impl Asker for Terminal {
    fn ask<'a>(
        &'a self,
        target: &'a Target,
    ) -> Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send + 'a>> {
        Box::pin(self.answer(target))
    }
}
