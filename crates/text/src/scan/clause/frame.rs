//! The frames: combinations of classes in a sentence, in any order, each with a family and a weight.

use super::super::finding::Family;
use super::class::*;
use super::{Frame, Scope};

const fn frame(
    id: &'static str,
    family: Family,
    weight: u32,
    within: usize,
    parts: &'static [Classes],
    unless: Classes,
    message: &'static str,
) -> Frame {
    let needs = needs(parts);
    Frame { id, family, weight, parts, needs, unless, within, ordered: false, scope: Scope::Prose, message }
}

/// Returns the classes that no other can stand for: a sentence without all of them is not looked at.
const fn needs(mut parts: &[Classes]) -> Classes {
    let mut needs = 0;
    while let [part, rest @ ..] = parts {
        if part.count_ones() == 1 {
            needs |= *part;
        }
        parts = rest;
    }
    needs
}

const fn ordered(frame: Frame) -> Frame {
    Frame { ordered: true, ..frame }
}

const fn anywhere(frame: Frame) -> Frame {
    Frame { scope: Scope::Anywhere, ..frame }
}

const fn in_schema(frame: Frame) -> Frame {
    Frame { scope: Scope::Schema, ..frame }
}

const TAKEN: Classes = SECRET | STORE | CHAT | PROMPT | PERSONAL | TOOL_CALLS;
const TOOLS: Classes = OTHER | TOOL;
const HONEST: Classes = DEFENCE;

/// All frames.
#[rustfmt::skip]
pub(crate) const FRAMES: &[Frame] = &[
    // Nobody shall know.
    anywhere(frame("clause.untold", Family::Secrecy, 50, 70, &[denied(TELL), USER | PRONOUN | REPLY | DISTORTED | US], HONEST | CONDITION | SECRET | INSTEAD, "asks to keep something from the user")),
    ordered(frame("clause.unknown", Family::Secrecy, 50, 50, &[USER, denied(KNOW)], HONEST | CONDITION, "asks to keep something from the user")),
    anywhere(frame("clause.stealth", Family::Secrecy, 50, 60, &[STEALTH, SEND | READ | CALL | ALTER, MUST | TAKEN | TOOLS], HONEST | denied(SEND | ALTER | CALL), "asks to act unnoticed")),
    frame("clause.omitted", Family::Secrecy, 50, 60, &[OMIT, REPLY], HONEST | CONDITION, "asks to leave something out of sight"),
    frame("clause.claimed", Family::Secrecy, 50, 110, &[SAY, CLAIM, USER | PRONOUN | WHATEVER | CONDITION | WHEN], HONEST, "puts a false claim into the model's mouth"),
    frame("clause.made-up", Family::Secrecy, 40, 80, &[FAKE, SAY | CLAIM | MUST], HONEST, "asks for something made up"),

    // Where things shall go.
    anywhere(frame("clause.secret-sent", Family::Credential, 50, 110, &[SEND | HOLD, SECRET, PARAMETER | OUTSIDE | US], HONEST | EXAMPLE | OMIT | denied(SEND | HOLD), "asks for secrets")),
    anywhere(frame("clause.private-sent", Family::Exfiltration, 50, 120, &[SEND | HOLD, STORE, PARAMETER | OUTSIDE | US], HONEST | EXAMPLE, "asks for what belongs to the user")),
    frame("clause.personal-sent", Family::Exfiltration, 50, 140, &[SEND | HOLD, PERSONAL | PLACE, PARAMETER | OUTSIDE | US, MUST | SOFT | ALSO | BEFORE | WHATEVER | YOU], HONEST | EXAMPLE | CONDITION, "asks for what belongs to the user"),
    anywhere(frame("clause.chat-sent", Family::Exfiltration, 50, 110, &[SEND | HOLD, CHAT | TOOL_CALLS, PARAMETER | OUTSIDE | US | TOOL], HONEST | EXAMPLE, "asks for the conversation")),
    frame("clause.chat-all", Family::Exfiltration, 50, 90, &[MUST | ALSO, SEND | HOLD, CHAT | TOOL_CALLS, EVERY], HONEST | EXAMPLE | CONDITION, "asks for the conversation"),
    ordered(anywhere(frame("clause.prompt-sent", Family::Exfiltration, 50, 90, &[SEND | HOLD | TELL, PROMPT], HONEST, "asks for the system prompt"))),
    frame("clause.read-sent", Family::Exfiltration, 50, 110, &[READ, STORE | SECRET, SEND], HONEST | EXAMPLE, "asks to read and hand over what belongs to the user"),
    anywhere(frame("clause.read-param", Family::Smuggling, 50, 70, &[READ | HOLD, STORE, PARAMETER], HONEST | EXAMPLE, "takes a parameter from what belongs to the user")),
    frame("clause.store-sent", Family::Exfiltration, 50, 70, &[SEND, STORE, MUST | BASE], HONEST | EXAMPLE, "asks for what belongs to the user"),
    frame("clause.soft", Family::Exfiltration, 50, 150, &[SOFT, SEND | READ | HOLD | TELL | SAY, TAKEN], HONEST | EXAMPLE, "asks politely for what belongs to the user"),
    frame("clause.must-taken", Family::Exfiltration, 50, 90, &[MUST, SEND | READ, STORE | PROMPT | TOOL_CALLS], HONEST | EXAMPLE, "demands what belongs to the user"),

    // Rules and voices.
    anywhere(frame("clause.void", Family::Override, 50, 70, &[VOID, RULES], HONEST, "says that rules do not hold")),
    frame("clause.boss", Family::Authority, 50, 130, &[BOSS, MUST | GRANTED | OBEY, TAKEN | ORDER | RULES | YOU], HONEST, "speaks for an authority"),
    anywhere(frame("clause.obey", Family::Override, 50, 110, &[OBEY, RESULT | BOSS, ORDER | USER | YOU | MUST], HONEST, "makes text into orders")),
    anywhere(frame("clause.granted", Family::Authority, 50, 90, &[GRANTED, USER | YOU | CONSENT | ASK | CALL | MONEY], HONEST | CONDITION, "takes consent for granted")),
    anywhere(frame("clause.unasked", Family::Authority, 45, 60, &[denied(ASK), USER | CONSENT], HONEST | CONDITION | denied(ACTS & !ASK & !CONSENT), "asks to act without being asked")),
    frame("clause.unapproved", Family::Authority, 50, 60, &[denied(CONSENT), USER | YOU], HONEST | CONDITION | denied(ACTS & !CONSENT), "asks to act without approval"),

    // Other tools.
    frame("clause.first", Family::Steering, 50, 90, &[BEGIN, CALL | SEND, MUST | BEFORE | WHATEVER], SCOPED, "wants to be called before everything"),
    frame("clause.other-first", Family::Steering, 50, 100, &[BEFORE, OTHER, CALL, MUST | EVERY | WHATEVER | USER | OBEY], SCOPED, "wants to be called before other tools"),
    frame("clause.opening", Family::Steering, 50, 300, &[OPENING, TOOLS | SIBLING, TOOLS | SIBLING], SCOPED, "begins with orders about other tools"),
    frame("clause.opening-altered", Family::Steering, 50, 300, &[OPENING, TOOLS | SIBLING, MUST | ALTER, LITERAL | VALUE | PRETEXT | USER_GIVEN | STORE, ALTER | READ | SEND | SAY], SCOPED, "begins with orders about another tool"),
    frame("clause.must-with", Family::Steering, 50, 110, &[MUST, TOOL, LITERAL], SCOPED, "demands a call of another tool with given values"),
    frame("clause.must-alter", Family::Override, 50, 110, &[MUST, ALTER, LITERAL | OUTSIDE, VALUE, YOU | USER | USER_GIVEN | TOOLS | SIBLING], SCOPED, "sets a value of its own"),
    frame("clause.boast", Family::Promotion, 50, 200, &[BOAST, BOAST, BOAST], HONEST, "advertises itself to the model"),
    frame("clause.boast-others", Family::Promotion, 50, 120, &[BOAST, OTHER | TOOL | POOR], HONEST, "speaks ill of other tools"),
    frame("clause.closed", Family::Steering, 50, 110, &[SELF | TOOL | SIBLING, CLOSED], HONEST | CONDITION, "says a tool is closed or has changed"),
    frame("clause.shell-must", Family::Command, 50, 140, &[SHELL, MUST, CALL, PRETEXT | BEFORE | WHEN | OTHER | EVERY], HONEST | EXAMPLE, "demands a shell command"),
    frame("clause.whatever-account", Family::Override, 50, 110, &[WHATEVER | INSTEAD, ACCOUNT, VALUE | MONEY | SEND], HONEST | EXAMPLE, "changes who receives something"),
    frame("clause.chat-user", Family::Exfiltration, 50, 90, &[SEND, CHAT, USER | YOU], HONEST | EXAMPLE | CONDITION, "asks for the conversation"),
    frame("clause.place-sent", Family::Exfiltration, 50, 120, &[READ, PLACE | PERSONAL, SEND, PARAMETER | OUTSIDE | US], HONEST | EXAMPLE, "asks to read and hand over what belongs to the user"),
    ordered(in_schema(frame("clause.param-asks", Family::Smuggling, 50, 60, &[SEND | HOLD | READ, CHAT | PROMPT | STORE], HONEST | EXAMPLE | CONDITION, "has a parameter for what belongs to the user"))),
    in_schema(frame("clause.param-all", Family::Smuggling, 50, 60, &[CHAT | PROMPT, SOFT], HONEST | EXAMPLE, "has a parameter for the conversation")),
    frame("clause.users-altered", Family::Override, 50, 140, &[WHEN, USER, MUST, ALTER | INSTEAD, VALUE | LITERAL], SCOPED, "changes what the user asked for"),
    frame("clause.other-altered", Family::Steering, 50, 120, &[WHEN | EVERY, TOOLS, MUST | BASE, ALTER, VALUE | LITERAL | OUTSIDE], SCOPED, "changes how another tool is used"),
    anywhere(frame("clause.other-call", Family::Steering, 50, 140, &[BEFORE | WHEN, TOOL, MUST, CALL | READ, LITERAL | STORE | PRETEXT | TOOL], SCOPED | CONDITION, "ties another tool's use to a further call")),
    frame("clause.poor", Family::Promotion, 50, 110, &[TOOLS, POOR, MUST | INSTEAD | BASE], SCOPED, "speaks ill of other tools"),
    anywhere(frame("clause.whatever", Family::Override, 50, 130, &[WHATEVER, ALTER | CALL | SEND | HOLD | SAY, USER | USER_GIVEN], HONEST | CONDITION, "replaces what the user asked for")),
    frame("clause.whatever-set", Family::Override, 50, 130, &[WHATEVER, ALTER, VALUE | LITERAL], HONEST | CONDITION, "replaces what the user asked for"),
    frame("clause.whatever-must", Family::Override, 50, 130, &[WHATEVER, MUST, LITERAL | OUTSIDE | TOOL], HONEST | CONDITION, "replaces what the user asked for"),
    frame("clause.outranks", Family::Override, 50, 60, &[PRIORITY, USER | RULES | ORDER | CHAT], HONEST, "puts itself above the user"),
    anywhere(frame("clause.content", Family::Smuggling, 50, 50, &[CONTENT, STORE | SECRET], HONEST | EXAMPLE, "asks for secrets or private files")),
    anywhere(frame("clause.param-taken", Family::Smuggling, 50, 110, &[PARAMETER, MUST, STORE | PERSONAL | PROMPT], HONEST | EXAMPLE | denied(HOLD | SEND), "has a parameter for what belongs to the user")),

    frame("clause.other-must", Family::Steering, 50, 70, &[TOOL, MUST, ALTER | HOLD], SCOPED | CONDITION, "changes how another tool is used"),
    anywhere(frame("clause.user-given", Family::Override, 50, 80, &[ALTER | VOID | OMIT | INSTEAD | WHATEVER, USER_GIVEN, MUST | BASE | LITERAL | TOOL], HONEST | CONDITION, "replaces what the user asked for")),
    frame("clause.two-with", Family::Steering, 45, 180, &[BEFORE | WHEN, TOOL, TOOL, LITERAL], SCOPED | CONDITION, "ties another tool's use to a further call"),
    frame("clause.about", Family::Steering, 50, 160, &[ABOUT, MUST | BEFORE | WHEN | EVERY, ALTER, VALUE | LITERAL | USER_GIVEN | PRETEXT], SCOPED | CONDITION, "begins with orders about another tool"),
    frame("clause.each-call", Family::Steering, 50, 90, &[WHEN, EVERY, TOOL, SEND | ALTER | VOID], SCOPED | CONDITION, "ties another tool's use to a further act"),
    frame("clause.tool-now", Family::Steering, 50, 90, &[TOOL, LASTING, MUST | CALL | ALTER | VALUE], SCOPED | CONDITION, "changes how another tool is used"),
    frame("clause.ordered", Family::Authority, 50, 90, &[BOSS, ORDER | GRANTED | VOID, YOU | MUST | SEND | CALL], HONEST, "speaks for an authority"),
    frame("clause.ours", Family::Promotion, 50, 80, &[US, BEST | OMIT | denied(TELL | SEND | SAY) | POOR, MUST | BASE | VALUE | DISTORTED], HONEST | CONDITION, "falsifies answers in its own favour"),
    frame("clause.arithmetic", Family::Override, 50, 100, &[WHEN | MUST | EVERY | CONDITION, ARITHMETIC, MONEY | VALUE], HONEST, "changes an amount"),
    frame("clause.best", Family::Promotion, 50, 90, &[BEST, WHATEVER | OMIT | OTHER | POOR, MUST | BASE], HONEST, "asks to be preferred"),
    anywhere(frame("clause.hook", Family::Override, 50, 100, &[SEND | ALTER | BASE, LASTING_PLACE, OUTSIDE | GRANTED], HONEST, "asks for something that lasts")),
    frame("clause.no-say", Family::Authority, 50, 100, &[UNASKED, SEND | CALL | ALTER | MONEY | YOU | DESTROY], HONEST | CONDITION | denied(ACTS), "asks to act without approval"),
    frame("clause.left-out", Family::Secrecy, 50, 90, &[LEAVE, OUT, REPLY | US | DISTORTED], HONEST | CONDITION, "asks to leave something out of sight"),
    frame("clause.destroyed", Family::Command, 50, 90, &[DESTROY, STORE, OTHER | MUST | BEFORE | WHEN | CONDITION], HONEST | EXAMPLE, "asks to destroy something"),
    frame("clause.destroy-with", Family::Command, 45, 90, &[DESTROY, OTHER | TOOL, BEFORE | WHEN | MUST | EVERY], HONEST | EXAMPLE, "asks to destroy something with another tool"),
    frame("clause.read-private", Family::Credential, 45, 70, &[READ, STORE, MUST | BASE | YOU], HONEST | EXAMPLE, "asks to read what belongs to the user"),
    anywhere(frame("clause.secret-given", Family::Credential, 45, 60, &[SEND, SECRET, MUST | ALSO | EVERY | WHATEVER | YOU], HONEST | EXAMPLE | OMIT | CONDITION, "asks for secrets")),
    anywhere(frame("clause.param-chat", Family::Smuggling, 45, 90, &[PARAMETER, CHAT | PROMPT | TOOL_CALLS, EVERY | YOU | SOFT], HONEST | EXAMPLE, "has a parameter for the conversation")),
    frame("clause.about-altered", Family::Steering, 50, 120, &[ABOUT, ALTER, LITERAL | OUTSIDE | VALUE], SCOPED | CONDITION | EXAMPLE, "begins with orders about another tool"),
    anywhere(frame("clause.users-void", Family::Override, 50, 50, &[VOID, USER], HONEST | CONDITION | EXAMPLE | WHEN, "sets the user's wishes aside")),
    frame("clause.say-that", Family::Secrecy, 50, 120, &[SAY_THAT, CLAIM | CALL | ALTER | WHATEVER], HONEST, "puts a claim into the model's mouth"),
    frame("clause.distorted", Family::Secrecy, 50, 90, &[OMIT | ALTER | FAKE, DISTORTED, MUST | BASE], HONEST | CONDITION, "falsifies what the user is shown"),
    anywhere(frame("clause.every-secret", Family::Credential, 50, 80, &[SEND, EVERY, SECRET], HONEST | EXAMPLE | OMIT, "asks for secrets")),
    frame("clause.asked-for", Family::Credential, 50, 120, &[ASK, PERSONAL | SECRET, SEND, PARAMETER | US | OUTSIDE | SOFT], HONEST | EXAMPLE, "asks the user for what it has no need of"),

    // Money and protection.
    anywhere(frame("clause.payee", Family::Override, 50, 120, &[MONEY | VALUE | SEND, ACCOUNT, MUST | ALTER | INSTEAD | ALSO | EVERY | WHEN | YOU], HONEST | EXAMPLE, "changes who receives something")),
    frame("clause.elsewhere", Family::Override, 50, 120, &[MUST | WHEN, OUTSIDE, INSTEAD], HONEST | EXAMPLE, "sends requests elsewhere"),
    frame("clause.amount", Family::Override, 30, 110, &[WHEN | EVERY | MUST, ALTER, MONEY, VALUE | USER | MONEY], HONEST | CONDITION, "changes an amount"),
    frame("clause.guard-off", Family::Authority, 50, 50, &[DISABLE, GUARD], HONEST | CONDITION, "asks to turn a protection off"),
    frame("clause.lasting", Family::Override, 50, 140, &[SEND | ALTER, LASTING_PLACE], HONEST, "asks for something that lasts"),
    frame("clause.from-now", Family::Override, 40, 110, &[LASTING, GRANTED | VOID | OBEY | MUST], HONEST, "sets rules for later"),
    anywhere(frame("clause.harm", Family::Urgency, 50, 130, &[HARM, YOU | SEND | denied(SEND) | MUST, TAKEN | CONDITION | PARAMETER | NAMED], HONEST, "threatens")),
    frame("clause.public", Family::Exfiltration, 50, 80, &[ALTER | SEND | MUST, PUBLIC, MUST | STORE | PERSONAL | YOU | BEFORE], HONEST | CONDITION | NOT | denied(ALTER | SEND), "asks to publish something"),
    frame("clause.copy", Family::Exfiltration, 50, 90, &[ALSO, SEND, OUTSIDE], HONEST | EXAMPLE, "wants a copy"),
    frame("clause.shell", Family::Command, 45, 90, &[SHELL, CALL | MUST, BEFORE | WHEN | OTHER], HONEST | EXAMPLE, "has a shell command run"),
    frame("clause.shell-outside", Family::Command, 50, 90, &[SHELL, OUTSIDE | STORE, CALL | MUST | BASE | BEFORE], HONEST | EXAMPLE, "has a shell command run"),
];
