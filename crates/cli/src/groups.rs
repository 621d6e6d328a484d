//! The commands by what people do with them, as `ringfence --help` lists them.

use std::fmt::Write as _;

/// Every command is in one group.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Start here", &["demo", "doctor", "explain", "help", "init"]),
    ("Run a program inside the fence", &["learn", "run"]),
    ("Put MCP servers behind the fence", &["gateway", "import", "install", "pins", "scan", "wrap"]),
    ("Write and review a policy", &["ask", "check", "lint", "manifest", "schema", "tools"]),
    ("Offer tools and call them", &["call", "clean", "component", "serve"]),
    ("Approve, account and look after", &["approvals", "approver", "audit", "idempotency", "store"]),
    ("For the shell", &["completions", "man"]),
];

/// Gives the help of the whole command line its groups.
pub(crate) fn grouped(command: clap::Command) -> clap::Command {
    let mut list = String::new();
    let width = command.get_subcommands().map(|one| one.get_name().len()).max().unwrap_or_default();
    for (title, names) in GROUPS {
        let _fits = writeln!(list, "{title}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _fits = writeln!(list, "  {name:width$}  {about}");
        }
        list.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        listed.sort_unstable();
        let command = crate::command();
        let mut known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        known.sort_unstable();
        assert_eq!(listed, known);
    }
}
