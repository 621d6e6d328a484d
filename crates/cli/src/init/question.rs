//! Asking what to fence: plain lines, and an empty answer takes what is shown.
//!
//! INVARIANT: whoever ends the input (Ctrl-D) has changed nothing.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use super::{Reach, WORKSPACE, Wanted, split};
use crate::error::CommandError;

/// Who is asked.
pub(crate) struct Questions<'a> {
    input: &'a mut dyn BufRead,
    screen: &'a mut dyn Write,
}

impl<'a> Questions<'a> {
    pub(crate) fn new(input: &'a mut dyn BufRead, screen: &'a mut dyn Write) -> Self {
        Self { input, screen }
    }

    /// Asks everything.
    pub(crate) fn wanted(&mut self) -> Result<Wanted, CommandError> {
        self.say("What do you want to fence?")?;
        self.say("  1  a command, which an agent calls as a tool")?;
        self.say("  2  the MCP servers of a client (Claude Desktop, Cursor, VS Code, ...)")?;
        self.say("  3  a Rust crate of tools")?;
        loop {
            match self.ask("1, 2 or 3", "1")?.as_str() {
                "1" => return self.command(),
                "2" => {
                    let file = self.insist("The configuration of the client")?;
                    return Ok(Wanted::Configuration(PathBuf::from(file)));
                }
                "3" => return Ok(Wanted::Package(PathBuf::from(self.ask("The folder of the crate", ".")?))),
                _ => self.say("Please answer 1, 2 or 3; Ctrl-D ends it, and nothing is written.")?,
            }
        }
    }

    fn command(&mut self) -> Result<Wanted, CommandError> {
        self.say("The command, with {name} where an argument goes that each call brings, as in")?;
        self.say("  rg --line-number -- {pattern} ${workspace}")?;
        let words = loop {
            match split(&self.insist("The command")?) {
                Ok(words) => break words,
                Err(error) => self.say(error.report().trim_end())?,
            }
        };
        let read = self.list("What may it read? Paths, with spaces between them", WORKSPACE)?;
        let write = self.list("What may it write?", "nothing")?;
        let hosts = self.list("Which hosts may it reach?", "none")?;
        let mut reach = Reach::of(&read, &write, &hosts);
        // Here it was asked, so that an answer of nothing is one.
        if read.is_empty() {
            reach.read.clear();
        }
        Ok(Wanted::Command { words, reach })
    }

    /// Asks for a list; the words that stand for an empty one are the default's.
    fn list(&mut self, question: &str, default: &str) -> Result<Vec<String>, CommandError> {
        let answer = self.ask(question, default)?;
        if matches!(answer.as_str(), "nothing" | "none" | "-") {
            return Ok(Vec::new());
        }
        Ok(answer.split([' ', ',']).filter(|part| !part.is_empty()).map(str::to_owned).collect())
    }

    /// Asks until there is an answer.
    fn insist(&mut self, question: &str) -> Result<String, CommandError> {
        loop {
            let answer = self.ask(question, "")?;
            if !answer.is_empty() {
                return Ok(answer);
            }
        }
    }

    fn ask(&mut self, question: &str, default: &str) -> Result<String, CommandError> {
        let shown = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        write!(self.screen, "{question}{shown}: ").and_then(|()| self.screen.flush())?;
        let mut answer = String::new();
        if self.input.read_line(&mut answer)? == 0 {
            let _told = writeln!(self.screen);
            return Err(CommandError::Failed {
                message: "the questions were ended, and nothing was written".to_owned(),
                hint: Some("`ringfence init --help` shows how to say it all at once"),
            });
        }
        let answer = answer.trim();
        Ok(if answer.is_empty() { default } else { answer }.to_owned())
    }

    fn say(&mut self, line: &str) -> Result<(), CommandError> {
        Ok(writeln!(self.screen, "{line}")?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(answers: &str) -> (Result<Wanted, String>, String) {
        let mut screen = Vec::new();
        let wanted = Questions::new(&mut answers.as_bytes(), &mut screen).wanted();
        (wanted.map_err(|error| error.to_string()), String::from_utf8(screen).unwrap())
    }

    #[test]
    fn an_empty_answer_takes_what_is_shown() {
        let (wanted, screen) = asked("\n\nrg -- {pattern}\n\n\n\n");
        let words = ["rg", "--", "{pattern}"].map(str::to_owned).to_vec();
        let reach = Reach { read: vec![WORKSPACE.into()], ..Reach::default() };
        assert_eq!(wanted.unwrap(), Wanted::Command { words, reach });
        assert!(screen.contains("1, 2 or 3 [1]: ") && screen.contains("[${workspace}]: "), "{screen}");
    }

    #[test]
    fn answers_are_taken_as_they_are_given() {
        let (wanted, _) = asked("1\ncp {from} out\nnothing\nout, /srv/x\n*.github.com\n");
        let words = ["cp", "{from}", "out"].map(str::to_owned).to_vec();
        let reach = Reach {
            read: vec![],
            write: vec!["${workspace}/out".into(), "/srv/x".into()],
            hosts: vec!["*.github.com".into()],
        };
        assert_eq!(wanted.unwrap(), Wanted::Command { words, reach });
        assert_eq!(asked("9\n2\n\nmcp.json\n").0.unwrap(), Wanted::Configuration("mcp.json".into()));
        assert_eq!(asked("3\n\n").0.unwrap(), Wanted::Package(".".into()));
    }

    #[test]
    fn the_end_of_the_input_ends_it() {
        for answers in ["", "1\n", "1\nrg x\n", "2\n"] {
            let (wanted, _) = asked(answers);
            assert_eq!(
                wanted.unwrap_err(),
                "the questions were ended, and nothing was written",
                "{answers:?}"
            );
        }
    }

    #[test]
    fn a_command_that_cannot_be_is_asked_for_again() {
        let (wanted, screen) = asked("1\nls | wc\nls\n\n\n\n");
        assert!(matches!(wanted, Ok(Wanted::Command { words, .. }) if words == ["ls"]));
        assert!(screen.contains("`|` is for a shell"), "{screen}");
    }
}
