//! A script that tries to get round the gate from inside, and what may come of it.

use super::ends::{Ends, Ran};
use super::far::Service;
use super::speech::Speech;
use crate::matrix::stage::PATH;

/// One attempt.
#[derive(Clone, Copy)]
pub(crate) struct Attempt {
    /// `family::what`.
    pub(crate) name: &'static str,
    /// What is granted.
    pub(crate) hosts: &'static [&'static str],
    /// What the sandbox is told beside that.
    pub(crate) flags: &'static [&'static str],
    /// Python, after the functions of `inside.py`.
    pub(crate) script: &'static str,
    /// What it must print, among the rest.
    pub(crate) says: &'static [&'static str],
    /// What must hold afterwards.
    pub(crate) check: fn(&Ends<'_>, &Ran) -> Result<(), String>,
    /// What becomes of it without a sandbox.
    pub(crate) alone: Alone,
}

/// What becomes of an attempt without a sandbox.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Alone {
    /// A far end answers it.
    Escapes,
    /// It is about the gate itself, or about what this machine has no far end for.
    Untried,
}

/// An attempt with one name granted that must reach nobody.
pub(crate) const NOBODY: Attempt = Attempt {
    name: "",
    hosts: &["{near}"],
    flags: &[],
    script: "",
    says: &[],
    check: reaches_nobody,
    alone: Alone::Escapes,
};

/// An attempt with one name granted that must be let through.
pub(crate) const HONEST: Attempt = Attempt { check: reaches_only_near, alone: Alone::Untried, ..NOBODY };

/// No connection arrived anywhere, and nobody answered.
pub(crate) fn reaches_nobody(ends: &Ends<'_>, ran: &Ran) -> Result<(), String> {
    ends.untouched().map_err(|why| format!("{why}: {ran:?}"))?;
    silent(ends, ran)?;
    match ran.dialled().next() {
        Some(one) => Err(format!("somebody was dialled: {one}")),
        None => Ok(()),
    }
}

/// No connection arrived anywhere, nobody answered, and the gate told of a refusal.
pub(crate) fn is_refused(ends: &Ends<'_>, ran: &Ran) -> Result<(), String> {
    reaches_nobody(ends, ran)?;
    if ran.count("refused") > 0 { Ok(()) } else { Err(format!("no refusal is told of: {ran:?}")) }
}

/// Whoever is granted answered, and nobody else saw anything.
pub(crate) fn reaches_only_near(ends: &Ends<'_>, ran: &Ran) -> Result<(), String> {
    ends.other_untouched()?;
    match (ran.stdout.contains(&ends.token), ends.near.connections()) {
        (true, 1..) => Ok(()),
        _ => Err(format!("nobody answered: {ran:?}")),
    }
}

/// Whatever arrived where it may, nothing arrived where it may not.
pub(crate) fn spares_the_other(ends: &Ends<'_>, _: &Ran) -> Result<(), String> {
    ends.other_untouched()
}

fn silent(ends: &Ends<'_>, ran: &Ran) -> Result<(), String> {
    if ran.stdout.contains(&ends.token) { Err(format!("a far end answered: {ran:?}")) } else { Ok(()) }
}

impl Attempt {
    /// Runs it inside, where it must be stopped.
    pub(crate) fn is_stopped(&self, ends: &mut Ends<'_>) -> Result<(), String> {
        more_services(ends);
        let ran = ends.confined(self.hosts, self.flags, &self.command());
        for says in self.says {
            ran.must(&ends.expand(says))?;
        }
        if ran.code != Some(0) {
            return Err(format!("the script did not come to its end: {ran:?}"));
        }
        (self.check)(ends, &ran)
    }

    /// Runs it without a sandbox, where somebody must answer it.
    pub(crate) fn escapes(&self, ends: &mut Ends<'_>) -> Result<(), String> {
        more_services(ends);
        let ended = ends.unconfined(&[], &self.command(), PATH);
        ended.must(0, &ends.token)
    }

    /// Whether it can be tried without a sandbox.
    pub(crate) fn can_escape(&self) -> bool {
        self.alone == Alone::Escapes
    }

    fn command(&self) -> Vec<String> {
        let script = format!("{}\n{}", include_str!("inside.py"), self.script);
        let values = ["{near}", "{other}", "{near-ip}", "{other-ip}", "{ca}", "{canary}", "{own}"];
        let command = ["python3".to_owned(), "-c".to_owned(), script];
        command.into_iter().chain(values.map(str::to_owned)).collect()
    }
}

/// What the far ends have beside HTTP: SSH and PostgreSQL of a kind, a sink, a source, and datagrams.
fn more_services(ends: &mut Ends<'_>) {
    for far in [&mut ends.near, &mut ends.other] {
        far.serve(22, Service::Speech(Speech::Banner));
        far.serve(5432, Service::Speech(Speech::Postgres));
        far.serve(9001, Service::Speech(Speech::Sink));
        far.serve(9002, Service::Speech(Speech::Source(8 << 20)));
        far.serve(9, Service::Udp);
        far.serve(53, Service::Udp);
    }
}
