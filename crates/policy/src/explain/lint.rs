//! The codes of the lint. Its own table is in a crate above this one, which holds the two together by a test.

use super::Text;

/// The codes, what they mean, and what is done about them.
pub(super) const CODES: &[(&str, &str, &str)] = &[
    (
        "lint.bypass",
        "a tool's own code goes past the scoped handles",
        "use the handle that the finding names instead of the call; a waiver with a reason and an end is the other way",
    ),
    (
        "lint.configuration",
        "the project says to cargo how it is built, beside its manifest",
        "take the configuration away, or read it and waive it: it decides what runs during a build",
    ),
    (
        "lint.entry.missing",
        "the function that a tool names does not exist",
        "correct the name of the function in the tool's entry",
    ),
    (
        "lint.exit",
        "a tool can end the process of the agent",
        "return an error in place of the call; a program that must end itself is a tool of its own, in the sandbox",
    ),
    (
        "lint.incomplete",
        "a declaration cannot be read from the source",
        "write the declaration with literals, so that it can be read without running anything",
    ),
    (
        "lint.nothing",
        "nothing declares what it does",
        "declare the tool's capabilities; `{}` for one that touches nothing",
    ),
    (
        "lint.opaque",
        "code is reached that cannot be analysed, and nobody answers for it",
        "read that code, and waive it for the version you read, or do without it",
    ),
    (
        "lint.overdeclared",
        "a surface is declared and not used",
        "take the surface out of the declaration: nothing would miss it",
    ),
    (
        "lint.package.opaque",
        "a package runs or brings code that is not analysed, and nobody answers for it",
        "read what it runs or brings, and waive the package by its checksum, or do without it",
    ),
    (
        "lint.undeclared",
        "an effect is used and not declared",
        "declare the surface that the finding names, or take the call out; the finding shows the way to it",
    ),
    (
        "lint.unmediated",
        "a dependency touches a declared surface without a handle",
        "run the tool as a command, in the sandbox, or waive the dependency for the version you read",
    ),
    (
        "lint.waived",
        "an effect is used that a waiver covers",
        "nothing: it is told so that nobody forgets the waiver",
    ),
    (
        "lint.waiver.checksum",
        "a waiver is for other content than what is used",
        "read what is used now, and write its checksum into the waiver",
    ),
    (
        "lint.waiver.expired",
        "a waiver is over",
        "read the code again, and give the waiver a new end or drop it",
    ),
    ("lint.waiver.late", "a waiver has no end within a year", "give the waiver an end within a year"),
    (
        "lint.waiver.own",
        "a waiver is for what should be declared",
        "declare the surface instead: a waiver is for what no declaration can say",
    ),
    ("lint.waiver.unused", "a waiver covers nothing", "drop the waiver"),
];

/// Returns what is said beside the meaning.
pub(super) const fn text(change: &'static str) -> Text {
    Text {
        decided: "the declarations of the project beside what its code and its dependencies were seen to use; the finding has file and line",
        change,
        also: "a declaration lets the tool ask for more, within its personality; a waiver covers the code it names until its end",
    }
}
