//! The rules: sequences of meanings within a sentence, each with a family and a weight.
//!
//! No rule is one word: strong words alone never weigh anything. Weights add up over a definition, each rule once.

use std::ops::Range;

use super::concept::*;
use super::finding::Family;
use super::hit::Hit;

/// A sequence of meanings, each at most so many bytes after the one before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) id: &'static str,
    pub(crate) family: Family,
    pub(crate) weight: u32,
    pub(crate) steps: &'static [(Concepts, usize)],
    pub(crate) message: &'static str,
}

const fn rule(
    id: &'static str,
    family: Family,
    weight: u32,
    steps: &'static [(Concepts, usize)],
    message: &'static str,
) -> Rule {
    Rule { id, family, weight, steps, message }
}

/// The rules. A step is what is looked for and how far it may be from the step before.
#[rustfmt::skip]
pub(crate) const RULES: &[Rule] = &[
    // What came before is declared void.
    rule("override.prior", Family::Override, 70, &[(IGNORE, 0), (PRIOR, 30), (INSTRUCTION, 40)], "tells the model to set earlier instructions aside"),
    rule("override.any", Family::Override, 60, &[(IGNORE, 0), (ANY, 16), (INSTRUCTION, 25), (PRIOR | REQUEST | USER | INSTRUCTION | SELF, 20)], "tells the model to set instructions aside"),
    rule("override.prior-after", Family::Override, 70, &[(PRIOR, 0), (INSTRUCTION, 25), (IGNORE, 12)], "tells the model to set earlier instructions aside"),
    rule("override.noun-first", Family::Override, 70, &[(IGNORE, 0), (INSTRUCTION, 20), (FORMER, 16)], "tells the model to set earlier instructions aside"),
    rule("override.unheeded", Family::Override, 60, &[(HEED, 0), (FORMER, 16), (INSTRUCTION, 16), (FOREIGN_NOT, 8)], "tells the model to set earlier instructions aside"),
    rule("override.off-after", Family::Override, 60, &[(INSTRUCTION, 0), (FORMER, 8), (OFF, 16)], "says that instructions no longer hold"),
    rule("override.request", Family::Override, 55, &[(IGNORE, 0), (REQUEST, 24)], "tells the model to set the user's request aside"),
    rule("override.new-self", Family::Override, 60, &[(NEW_SELF, 0)], "gives the model a new task or role"),
    rule("override.authority", Family::Override, 55, &[(AUTHORITY, 0), (REQUEST | SYSTEM_PROMPT | BOSS | USER, 12)], "puts itself beside the system or the user"),
    rule("override.off", Family::Override, 60, &[(PRIOR, 0), (INSTRUCTION, 25), (OFF, 20)], "says that instructions no longer hold"),
    rule("override.yours", Family::Override, 55, &[(PRIORITY, 0), (YOU, 4), (INSTRUCTION | SYSTEM_PROMPT, 25)], "replaces the model's instructions"),
    rule("override.persona-two", Family::Override, 55, &[(PERSONA, 0), (PERSONA, 40)], "gives the model a new role"),
    rule("override.priority", Family::Override, 70, &[(SELF, 0), (PRIORITY, 25), (HIGHER, 12), (REQUEST | OTHER_TOOLS | INSTRUCTION, 40)], "puts itself above the user's request"),
    rule("override.precedence", Family::Override, 55, &[(PRIORITY, 0), (HIGHER, 12), (REQUEST, 30)], "puts itself above the user's request"),
    rule("override.higher", Family::Override, 55, &[(HIGHER, 0), (PRIORITY, 12), (REQUEST, 30)], "puts itself above the user's request"),
    rule("override.highest", Family::Override, 45, &[(SELF, 0), (HIGHER, 20), (PRIORITY, 8)], "claims the highest priority"),
    rule("override.persona", Family::Override, 50, &[(PERSONA, 0), (INSTRUCTION | DECREE | OFF | CONFIRMATION | BOSS | MALICE, 60)], "gives the model a new role"),
    rule("override.reveal", Family::Override, 60, &[(REVEAL | SEND, 0), (SYSTEM_PROMPT, 25)], "asks for the system prompt"),
    rule("override.decree", Family::Authority, 30, &[(DECREE, 0)], "speaks with the voice of the system"),
    rule("override.decree-must", Family::Authority, 30, &[(DECREE, 0), (MUST, 160)], "commands with the voice of the system"),

    // Voices that are not the tool's.
    rule("role.token", Family::Role, 90, &[(CHAT_TOKEN, 0)], "holds a token of a chat template"),
    rule("role.tag", Family::Role, 60, &[(ROLE_TAG, 0)], "opens or closes a role"),
    rule("role.loud", Family::Markup, 50, &[(LOUD_TAG, 0)], "wraps text in a tag that calls for attention"),
    rule("role.turn", Family::Role, 55, &[(TURN, 0)], "writes a turn of a conversation"),
    rule("markup.unseen", Family::Markup, 55, &[(UNSEEN, 0)], "holds markup that hides text or runs code"),

    // Nobody shall know.
    rule("secrecy.untold", Family::Secrecy, 60, &[(NOT, 0), (TELL, 14), (USER, 14)], "asks to keep something from the user"),
    rule("secrecy.untold-after", Family::Secrecy, 60, &[(USER, 0), (NOT, 12), (TELL, 12)], "asks to keep something from the user"),
    rule("secrecy.unmentioned", Family::Secrecy, 60, &[(NOT, 0), (MENTION, 14), (IT, 4)], "asks to keep something from the user"),
    rule("secrecy.untold-late", Family::Secrecy, 60, &[(TELL, 0), (USER, 14), (FOREIGN_NOT, 4)], "asks to keep something from the user"),
    rule("secrecy.untold-last", Family::Secrecy, 60, &[(USER, 0), (TELL, 8), (FOREIGN_NOT, 6)], "asks to keep something from the user"),
    rule("secrecy.unrecorded", Family::Secrecy, 50, &[(NOT, 0), (RECORD, 2), (THIS | IT, 1)], "asks to leave no record"),
    rule("secrecy.unshown", Family::Secrecy, 55, &[(NOT, 0), (SHOW, 6), (THIS, 16)], "asks to leave something out of sight"),
    rule("secrecy.unlearned", Family::Secrecy, 60, &[(USER, 0), (MUST_NOT, 4), (LEARN, 6)], "asks to keep something from the user"),
    rule("secrecy.kept", Family::Secrecy, 55, &[(KEEP, 0), (THIS | USER, 4), (PRIVATE, 16)], "asks for concealment"),
    rule("secrecy.omitted", Family::Secrecy, 55, &[(OMIT, 0), (THIS, 4), (INTO | REPLY | OUTPUT | YOU, 10)], "asks to leave something out of sight"),
    rule("secrecy.told-nothing", Family::Secrecy, 60, &[(TELL, 0), (USER, 14), (NOTHING, 10)], "asks to keep something from the user"),
    rule("secrecy.hush", Family::Secrecy, 60, &[(HUSH, 0)], "asks for concealment"),
    rule("secrecy.stealth", Family::Secrecy, 50, &[(STEALTH, 0), (CALL | SEND | READ, 14), (NAMED | SECRET | CHAT | URL | MAIL | FILE | SECRET_FILE, 60)], "asks to act unnoticed"),
    rule("secrecy.pretend", Family::Secrecy, 50, &[(PRETEND, 0), (USER | OUTPUT | SYSTEM | SELF | SECRET | TOOL, 60)], "asks to pretend"),

    // Steering of other tools.
    rule("steer.before-call", Family::Steering, 60, &[(BEFORE | WHEN, 0), (USING, 60), (NAMED, 16), (CALL | READ | SEND, 100), (NAMED, 70)], "ties another tool's use to a further call"),
    rule("steer.before-act", Family::Steering, 55, &[(BEFORE | WHEN, 0), (USING, 60), (NAMED, 16), (MUST, 60), (CALL | READ | SEND | SAY, 14)], "ties another tool's use to a further act"),
    rule("steer.when-alter", Family::Steering, 60, &[(BEFORE | WHEN, 0), (USING, 60), (NAMED, 16), (ALTER, 110), (INTO | ARGUMENT | LITERAL | NAMED, 50)], "changes how another tool is used"),
    rule("steer.passive", Family::Steering, 50, &[(NAMED, 0), (USING | TOOL, 20), (MUST, 40), (ALTER, 40)], "changes how another tool is used"),
    rule("steer.all-calls", Family::Steering, 50, &[(EVERY, 0), (NAMED, 4), (USING, 4), (MUST, 8)], "changes how another tool is used"),
    rule("steer.alter-other", Family::Steering, 50, &[(SYSTEM, 0), (NAMED, 50), (MUST, 100), (ALTER, 40)], "changes how another tool is used"),
    rule("steer.upgraded", Family::Steering, 50, &[(NAMED, 0), (TOOL, 4), (UPGRADED, 16)], "says another tool has changed"),
    rule("steer.must-call-with", Family::Steering, 55, &[(MUST, 0), (CALL, 25), (NAMED, 30), (WITH, 40), (LITERAL | SECRET_FILE | URL, 50)], "demands a call of another tool with given values"),
    rule("steer.must-call", Family::Steering, 25, &[(MUST, 0), (CALL, 25), (NAMED, 30)], "demands a call of another tool"),
    rule("steer.must-first-call", Family::Steering, 25, &[(BEFORE, 0), (MUST, 110), (CALL, 25), (NAMED, 30)], "demands a call of another tool first"),
    rule("steer.calling-with", Family::Steering, 30, &[(CALL, 0), (NAMED, 12), (WITH, 12), (LITERAL, 50)], "names a call of another tool with given values"),
    rule("steer.calling-payload", Family::Steering, 15, &[(CALL, 0), (NAMED, 12), (WITH, 16), (PAYLOAD, 50)], "names a call of another tool with given values"),
    rule("steer.submitted", Family::Steering, 20, &[(MUST, 0), (ALTER, 20), (ARGUMENT, 50), (INTO, 24), (NAMED, 4)], "changes what another tool is given"),
    rule("steer.closed", Family::Steering, 30, &[(NAMED | SELF | TOOL, 0), (CLOSED, 24)], "says a tool is closed"),
    rule("steer.auto-call", Family::Steering, 40, &[(AUTOMATIC, 0), (CALL, 10), (NAMED, 20)], "has another tool called without being asked"),
    rule("steer.redirect", Family::Steering, 45, &[(MUST, 0), (REDIRECT, 40), (NAMED | URL | TOOL | LITERAL, 60)], "sends requests elsewhere"),
    rule("steer.every", Family::Steering, 45, &[(BEFORE | WHEN, 0), (EVERY, 10), (REPLY | OTHER_TOOLS, 20), (CALL | SEND | ALTER | SAY, 60)], "asks for an act with every reply"),
    rule("steer.every-after", Family::Steering, 40, &[(CALL | SEND | ALTER, 0), (NAMED | LITERAL | URL | MAIL | ENVIRONMENT, 50), (BEFORE | WHEN, 40), (EVERY | OTHER_TOOLS, 12), (REPLY | OTHER_TOOLS, 20)], "asks for an act with every reply"),
    rule("steer.anything", Family::Steering, 50, &[(BEFORE, 0), (REPLY | USING, 12), (ANYTHING, 4), (CALL, 12)], "asks for a call before anything else"),
    rule("steer.others", Family::Steering, 50, &[(WHEN, 0), (OTHER_TOOLS, 4), (SEND, 40)], "wants what other tools say"),
    rule("steer.preceded", Family::Steering, 50, &[(WHEN | EVERY, 0), (NAMED, 10), (MUST, 6), (PRECEDED, 8)], "ties another tool's use to a further call"),
    rule("steer.result", Family::Steering, 50, &[(OUTPUT, 0), (MUST, 24), (SWAP, 6)], "changes results"),
    rule("steer.copy", Family::Steering, 50, &[(WHEN | EVERY, 0), (COPY, 60)], "wants a copy"),
    rule("steer.not-that", Family::Steering, 15, &[(NOT, 0), (CALL, 6), (NAMED, 12)], "warns of another tool"),
    rule("steer.replaced-by-me", Family::Steering, 30, &[(UPGRADED, 0), (SELF, 8)], "says it has replaced another tool"),
    rule("steer.run-me", Family::Steering, 45, &[(BEFORE | WHEN, 0), (USING, 12), (TOOL, 40), (PREFER, 60)], "asks to be called around another tool"),
    rule("steer.values", Family::Steering, 45, &[(BEFORE | WHEN, 0), (USING, 12), (TOOL, 40), (ALTER, 90), (OUTPUT | ARGUMENT, 40)], "changes the values of another tool"),

    // What the user asked for is changed.
    rule("alter.whatever", Family::Override, 50, &[(ALTER | CALL, 0), (WHATEVER, 160), (USERS | ARGUMENT | OUTPUT, 40)], "replaces what the user asked for"),
    rule("alter.whatever-first", Family::Override, 50, &[(WHATEVER, 0), (ARGUMENT | USERS, 30), (ALTER | CALL, 60)], "replaces what the user asked for"),
    rule("alter.users", Family::Override, 50, &[(MUST, 0), (SWAP | IGNORE, 25), (USERS, 16), (ARGUMENT, 16)], "replaces what the user asked for"),
    rule("alter.argument", Family::Override, 40, &[(YOU, 0), (MUST, 12), (ALTER, 30), (ARGUMENT, 40), (INTO, 30), (LITERAL | NAMED | URL, 50)], "sets an argument to a value of its own"),
    rule("alter.argument-when", Family::Override, 30, &[(WHEN, 0), (USERS, 12), (MUST, 120), (ALTER, 30)], "changes a call when the user makes it"),
    rule("alter.instead", Family::Override, 40, &[(USERS, 0), (YOU, 60), (MUST, 12), (INSTEAD, 30)], "does something else than asked"),
    rule("alter.append", Family::Override, 45, &[(MUST, 0), (ALTER, 20), (LITERAL, 10), (INTO, 60), (ARGUMENT, 30)], "adds to what is asked"),
    rule("alter.payee", Family::Override, 50, &[(WHEN | EVERY | MUST, 0), (SWAP | CALL, 60), (PAYEE, 25)], "changes who receives something"),
    rule("alter.named", Family::Override, 20, &[(SWAP, 0), (NAMED, 8), (ARGUMENT, 4)], "changes an argument"),
    rule("alter.automatic", Family::Override, 40, &[(AUTOMATIC, 0), (ALTER, 12), (ARGUMENT | USERS | WHATEVER | NAMED, 60)], "changes arguments by itself"),
    rule("alter.automatic-after", Family::Override, 40, &[(ARGUMENT, 0), (AUTOMATIC, 16), (ALTER, 8)], "changes arguments by itself"),

    // Where things shall go.
    rule("leak.secret-file", Family::Credential, 60, &[(READ | SEND | CALL | REVEAL, 0), (SECRET_FILE, 60)], "asks for a file that holds secrets"),
    rule("leak.secret-file-named", Family::Credential, 20, &[(SECRET_FILE, 0)], "names a file that holds secrets"),
    rule("leak.secret", Family::Exfiltration, 50, &[(SEND, 0), (CROWN | CHAT, 40), (URL | MAIL | INTO, 25), (URL | MAIL | NAMED, 40)], "asks to hand over secrets or the conversation"),
    rule("leak.crown", Family::Exfiltration, 50, &[(SEND, 0), (CROWN | CHAT, 16), (INTO, 6), (NAMED | LITERAL | URL | MAIL | FIELD, 12)], "asks for secrets or the conversation in a parameter"),
    rule("leak.field", Family::Smuggling, 50, &[(ARGUMENT, 0), (MUST, 12), (HOLD, 8), (CROWN | CHAT | SECRET_FILE, 40)], "has a parameter for secrets or the conversation"),
    rule("leak.image", Family::Exfiltration, 50, &[(IMAGE, 0), (URL, 40)], "holds an image that is fetched from elsewhere"),
    rule("leak.secret-reply", Family::Exfiltration, 45, &[(SEND, 0), (SECRET, 30), (INTO | WITH, 12), (YOU, 4), (REPLY | OUTPUT, 8)], "asks to put secrets into the reply"),
    rule("leak.users-secret", Family::Credential, 50, &[(SEND, 0), (USERS, 14), (SECRET | CHAT, 30), (INTO, 20), (ARGUMENT | NAMED | URL | MAIL, 30)], "asks for the user's secrets"),
    rule("leak.chat", Family::Exfiltration, 50, &[(SEND, 0), (CHAT, 40)], "asks for the conversation"),
    rule("leak.call-chat", Family::Exfiltration, 50, &[(CALL, 0), (WITH, 40), (CHAT, 24)], "asks for the conversation"),
    rule("leak.url-chat", Family::Exfiltration, 50, &[(URL, 0), (CHAT | QUESTION, 40)], "sends the conversation away"),
    rule("leak.ask", Family::Credential, 55, &[(ASK_FOR, 0), (SECRET, 30), (SEND, 12)], "asks the user for secrets to hand over"),
    rule("leak.goes", Family::Smuggling, 50, &[(CROWN | CHAT, 0), (GOES, 24), (FIELD | NAMED | LITERAL, 12)], "has a parameter for secrets or the conversation"),
    rule("leak.goes-far", Family::Smuggling, 50, &[(CROWN | LOOT, 0), (GOES, 70), (FIELD | NAMED | LITERAL | OWN_FIELD, 12)], "has a parameter for secrets or the conversation"),
    rule("leak.files-url", Family::Exfiltration, 50, &[(SEND, 0), (FILE | CONTENT, 16), (INTO, 6), (URL, 4)], "sends files away"),
    rule("leak.secret-url", Family::Exfiltration, 50, &[(SEND, 0), (SECRET, 24), (URL | MAIL, 14)], "sends secrets away"),
    rule("leak.private", Family::Credential, 45, &[(MUST | LOUD_TAG, 0), (SEND, 12), (SECRET, 30)], "demands secrets"),
    rule("leak.content", Family::Smuggling, 50, &[(SEND, 0), (CONTENT, 30), (INTO, 40), (NAMED | LITERAL | ARGUMENT, 30)], "asks for contents in a parameter"),
    rule("leak.read-send", Family::Exfiltration, 50, &[(READ, 0), (FILE | SECRET, 60), (SEND, 40)], "asks to read and hand over a file"),
    rule("leak.address", Family::Exfiltration, 45, &[(MUST, 0), (SEND | CALL | READ, 40), (URL, 90)], "demands a request to an address"),
    rule("leak.code", Family::Exfiltration, 40, &[(CALL | ALTER | MUST, 0), (CODE, 140)], "holds code to be run elsewhere"),
    rule("leak.malice", Family::Exfiltration, 20, &[(MALICE, 0)], "names a known means of theft"),
    rule("leak.mail", Family::Exfiltration, 40, &[(SEND | ALTER, 0), (MAIL, 48)], "hands something to an address"),
    rule("leak.mail-must", Family::Exfiltration, 30, &[(MUST, 0), (MAIL, 40)], "hands something to an address"),
    rule("leak.environment", Family::Command, 55, &[(ENVIRONMENT, 0)], "changes the environment of other programs"),
    rule("leak.to-me", Family::Exfiltration, 40, &[(SEND, 0), (SECRET | CHAT | MAIL | EVERY, 40), (INTO, 20), (USER | BOSS, 20)], "hands something over"),

    // Commands.
    rule("command.run", Family::Command, 50, &[(CALL, 0), (COMMAND | TOOL, 40), (SHELL, 60)], "has a shell command run"),
    rule("command.must", Family::Command, 30, &[(MUST, 0), (SHELL, 120)], "demands a shell command"),
    rule("command.hard", Family::Command, 55, &[(CALL, 0), (SHELL_HARD, 10)], "has a harmful shell command run"),
    rule("command.hard-must", Family::Command, 20, &[(MUST, 0), (SHELL_HARD, 120)], "demands a harmful shell command"),
    rule("command.shell", Family::Command, 20, &[(SHELL, 0)], "holds a shell command"),
    rule("command.decode", Family::Encoded, 55, &[(DECODE, 0)], "has encoded text run or followed"),

    // Pressure.
    rule("pressure.pretext", Family::Authority, 15, &[(MUST, 0), (PRETEXT, 240)], "gives a pretext"),
    rule("pressure.pretext-first", Family::Authority, 15, &[(PRETEXT, 0), (MUST, 200), (CALL | ALTER | SEND, 40)], "gives a pretext"),
    rule("pressure.forced", Family::Urgency, 10, &[(FORCED, 0)], "leaves no choice"),
    rule("pressure.threat-hard", Family::Urgency, 55, &[(THREAT_HARD, 0)], "threatens"),
    rule("pressure.threat-unless", Family::Urgency, 50, &[(HARM | THREAT, 0), (UNLESS, 20), (SEND | CALL, 14)], "threatens"),
    rule("pressure.threat", Family::Urgency, 30, &[(THREAT, 0)], "threatens"),
    rule("pressure.unless", Family::Urgency, 30, &[(UNLESS, 0), (HARM, 80)], "threatens"),
    rule("pressure.approve", Family::Authority, 55, &[(APPROVE, 0)], "takes the user's consent for granted"),
    rule("pressure.no-ask", Family::Authority, 20, &[(NO_ASK, 0)], "asks to act without being asked"),
    rule("pressure.no-ask-do", Family::Authority, 20, &[(MUST | YOU | CALL, 0), (NO_ASK, 60)], "asks to act without being asked"),
    rule("pressure.boss", Family::Authority, 30, &[(BOSS, 0), (GRANT, 24)], "claims someone's leave"),
    rule("pressure.boss-after", Family::Authority, 30, &[(GRANT, 0), (BOSS, 12)], "claims someone's leave"),
    rule("pressure.you-may", Family::Authority, 25, &[(YOU, 0), (GRANT, 14), (BOSS, 12)], "claims someone's leave"),
    rule("pressure.given", Family::Authority, 40, &[(CONFIRMATION | USER, 0), (ALREADY, 8), (GRANT, 8)], "takes the user's consent for granted"),
    rule("pressure.given-before", Family::Authority, 50, &[(USER, 0), (GRANT, 4), (ALREADY, 6)], "takes the user's consent for granted"),
    rule("pressure.just-do", Family::Authority, 30, &[(NO_ASK, 0), (CALL, 14)], "asks to act without being asked"),
    rule("pressure.message", Family::Authority, 40, &[(MESSAGE_FROM, 0), (BOSS, 16)], "speaks for someone else"),
    rule("pressure.confirmation", Family::Authority, 50, &[(CONFIRMATION, 0), (OFF, 40)], "says confirmations do not count"),

    // Text that becomes orders.
    rule("obey.output", Family::Override, 60, &[(OBEY, 0), (OUTPUT, 30), (AS_ORDER, 60)], "makes output into orders"),
    rule("obey.output-must", Family::Override, 50, &[(YOU, 0), (MUST, 12), (OBEY, 12), (OUTPUT, 30)], "makes output into orders"),
    rule("obey.every", Family::Override, 55, &[(OBEY, 0), (EVERY, 6), (INSTRUCTION, 4), (INTO | OUTPUT, 6)], "makes output into orders"),
    rule("obey.contained", Family::Override, 50, &[(WHEN, 0), (OUTPUT, 10), (COMMAND | INSTRUCTION, 20), (CALL | OBEY, 6)], "makes output into orders"),
    rule("obey.whatever", Family::Override, 55, &[(OBEY | CALL, 0), (WHAT_IT_SAYS, 2)], "makes output into orders"),
    rule("obey.passive", Family::Override, 55, &[(COMMAND | INSTRUCTION, 0), (OUTPUT, 16), (MUST, 12), (EXECUTED, 8)], "makes output into orders"),

    // Advertising to the model.
    rule("boast.two", Family::Promotion, 50, &[(BOAST, 0), (BOAST, 120)], "advertises itself to the model"),
    rule("boast.one", Family::Promotion, 15, &[(BOAST, 0)], "advertises itself"),
    rule("boast.others", Family::Promotion, 45, &[(BOAST, 0), (OTHER_TOOLS, 60)], "speaks ill of other tools"),
    rule("boast.prefer", Family::Promotion, 50, &[(PREFER, 0), (OTHER_TOOLS | INSTEAD | EVERY | WHATEVER, 60)], "asks to be preferred"),
    rule("boast.trusted", Family::Promotion, 45, &[(TRUSTED, 0), (TOOL | OTHER_TOOLS | NAMED, 40)], "claims sole trust"),
    rule("boast.whatever", Family::Promotion, 20, &[(PREFER, 0), (WHATEVER, 80)], "asks to be called in any case"),
    rule("boast.instead", Family::Promotion, 25, &[(PREFER, 0), (NAMED, 8)], "asks to be used instead of another tool"),
    rule("boast.unsafe-other", Family::Promotion, 30, &[(NAMED, 0), (UNSAFE, 10)], "speaks ill of another tool"),
    rule("boast.unsafe-others", Family::Promotion, 50, &[(OTHER_TOOLS, 0), (UNSAFE, 20)], "speaks ill of other tools"),

    // Orders without a word of alarm.
    rule("soft.loot", Family::Exfiltration, 50, &[(SEND, 0), (LOOT, 40), (INTO | URL | MAIL, 40), (NAMED | OWN_FIELD | LITERAL | URL | MAIL | FIELD, 30)], "asks for what belongs to the user in a parameter"),
    rule("soft.loot-sent", Family::Exfiltration, 45, &[(SEND, 0), (LOOT, 24)], "asks for what belongs to the user"),
    rule("soft.loot-read", Family::Exfiltration, 50, &[(READ, 0), (LOOT | CROWN, 60), (SEND, 60)], "asks to read and hand over what belongs to the user"),
    rule("soft.loot-asked", Family::Credential, 50, &[(ASK_FOR, 0), (LOOT | SECRET, 60), (SEND | ALTER, 50)], "asks the user for secrets to hand over"),
    rule("soft.loot-must", Family::Exfiltration, 50, &[(LOOT | CROWN, 0), (MUST, 70), (SEND | GOES, 20), (INTO, 12), (NAMED | OWN_FIELD | LITERAL | FIELD, 20)], "has a parameter for what belongs to the user"),
    rule("soft.reason", Family::Exfiltration, 50, &[(SOFT, 0), (SEND | READ, 60), (CROWN | LOOT | CHAT | SECRET_FILE, 50)], "asks politely for what belongs to the user"),
    rule("soft.reason-after", Family::Exfiltration, 50, &[(SEND, 0), (CROWN | LOOT | CHAT | SECRET_FILE, 50), (SOFT, 120)], "asks politely for what belongs to the user"),
    rule("soft.content-own", Family::Smuggling, 50, &[(SEND, 0), (CONTENT, 20), (INTO, 40), (OWN_FIELD, 8)], "asks for contents in a parameter"),
    rule("soft.name", Family::Smuggling, 60, &[(CONTENT | REVEAL, 0), (CROWN | SYSTEM_PROMPT | SECRET_FILE, 12)], "has a parameter for secrets or the prompt"),
    rule("last.kept", Family::Override, 50, &[(ALTER | SEND | CALL, 0), (PERSIST, 60)], "asks for something that lasts"),
    rule("last.memory", Family::Override, 30, &[(INSTRUCTION | EVERY, 0), (PERSIST, 60)], "asks for something that lasts"),
    rule("guard.off", Family::Authority, 50, &[(DISABLE, 0), (GUARD, 16)], "asks to turn a protection off"),
    rule("guard.off-after", Family::Authority, 50, &[(GUARD, 0), (OFF, 8)], "asks to turn a protection off"),
    rule("claim.reassure", Family::Secrecy, 50, &[(CLAIM, 0), (REASSURE, 40)], "puts a false claim into the model's mouth"),
    rule("claim.after-act", Family::Secrecy, 25, &[(ALTER | CALL | SWAP, 0), (CLAIM, 90)], "puts a claim into the model's mouth"),
    rule("claim.when-seen", Family::Secrecy, 50, &[(USER, 0), (LEARN, 10), (CLAIM | MENTION, 20)], "says what to answer when the user notices"),
    rule("first.always", Family::Steering, 50, &[(MUST, 0), (CALL | USING, 20), (PREEMPT, 40)], "wants to be called before everything"),
    rule("first.whatever", Family::Steering, 50, &[(PREEMPT, 0), (WHATEVER, 60)], "wants to be called before everything"),
    rule("first.other", Family::Steering, 50, &[(PREEMPT, 0), (CALL, 16), (NAMED, 16)], "wants another tool called before everything"),
    rule("steer.when-called", Family::Steering, 60, &[(WHEN | EVERY, 0), (NAMED, 16), (USING, 16), (ALTER | SWAP, 90)], "changes how another tool is used"),
    rule("steer.given", Family::Steering, 50, &[(NAMED, 0), (MUST, 16), (USING, 30), (WITH, 8), (ASSIGN | LITERAL, 40)], "changes how another tool is used"),
    rule("steer.needs", Family::Steering, 50, &[(NAMED, 0), (MUST, 8), (ALTER, 40), (LITERAL | ASSIGN, 16)], "changes how another tool is used"),
    rule("steer.regardless", Family::Override, 50, &[(NAMED, 0), (MUST, 12), (WHATEVER, 90)], "changes how another tool is used"),
    rule("steer.in-place", Family::Override, 50, &[(INSTEAD, 0), (REQUEST, 30)], "replaces what the user asked for"),
    rule("steer.call-away", Family::Exfiltration, 50, &[(CALL, 0), (NAMED, 12), (URL | MAIL, 10)], "has another tool send something away"),
    rule("steer.discard", Family::Promotion, 50, &[(UNSAFE | UPGRADED, 0), (PREFER, 60)], "speaks ill of other tools"),
    rule("steer.replacement", Family::Promotion, 50, &[(BOAST, 0), (EVERY, 12), (TOOL, 8)], "claims the place of other tools"),
    rule("soft.loot-ask", Family::Credential, 50, &[(LOOT, 0), (ASK_FOR, 60), (SEND | ALTER, 40)], "asks the user for secrets to hand over"),
    rule("leak.file-after", Family::Credential, 35, &[(SECRET_FILE, 0), (SEND | READ, 24), (FILE | IT, 12)], "asks to hand over a file that holds secrets"),
    rule("steer.tied", Family::Steering, 50, &[(BEFORE | WHEN, 0), (USING, 30), (NAMED, 12), (MUST, 40), (CALL | ALTER | SEND | READ | SWAP | SAY | GOES, 8)], "ties another tool's use to a further act"),
    rule("steer.tied-passive", Family::Steering, 50, &[(EVERY | WHEN, 0), (USING, 12), (NAMED, 8), (MUST, 90), (GOES | ALTER, 8)], "changes how another tool is used"),
    rule("steer.precondition", Family::Steering, 50, &[(BEFORE, 0), (NAMED, 8), (CALL | SEND | READ, 100), (NAMED, 70)], "ties another tool's use to a further call"),
    rule("steer.rewritten", Family::Steering, 50, &[(NAMED, 0), (MUST, 24), (SWAP, 10)], "changes how another tool is used"),
    rule("steer.only-after", Family::Steering, 50, &[(NAMED, 0), (UPGRADED, 16), (SELF | NAMED, 24)], "ties another tool's use to a further call"),
    rule("boast.me-instead", Family::Promotion, 35, &[(SELF, 0), (INSTEAD, 16)], "asks to be used instead of another tool"),
    rule("leak.unless", Family::Exfiltration, 50, &[(UNLESS, 0), (SEND, 12), (CROWN | LOOT | CHAT, 50)], "threatens for secrets"),
    rule("leak.file-content", Family::Credential, 40, &[(SECRET_FILE, 0), (CONTENT, 60), (GOES | SEND, 12)], "asks to hand over a file that holds secrets"),
    rule("command.code-whatever", Family::Command, 50, &[(CODE, 0), (WHATEVER, 60)], "has code run in any case"),
    rule("alter.payee-with", Family::Override, 50, &[(SWAP, 0), (WITH | INTO, 12), (PAYEE, 4)], "changes who receives something"),
    rule("alter.payee-any", Family::Override, 50, &[(SWAP | CALL, 0), (PAYEE, 30), (INSTEAD, 60)], "changes who receives something"),
    rule("command.file", Family::Command, 60, &[(SHELL, 0), (SECRET_FILE, 80)], "has a shell command read or change a protected file"),
    rule("command.file-first", Family::Command, 40, &[(SECRET_FILE, 0), (SHELL_HARD, 80)], "has a shell command read or change a protected file"),
    rule("command.then-run", Family::Command, 35, &[(SHELL, 0), (CALL, 60), (NO_ASK | COMMAND, 30)], "has a shell command run"),
    rule("command.afterwards", Family::Command, 35, &[(WHEN | MUST | FIRST, 0), (SHELL_HARD, 80)], "demands a harmful shell command"),
    rule("obey.are-orders", Family::Override, 60, &[(OUTPUT | WHEN | WITH | REPLY | URL | LITERAL | NAMED | COMMAND, 0), (AS_ORDER, 40), (BOSS | YOU | CALL | OBEY, 60)], "makes output into orders"),
    rule("pressure.dont-ask", Family::Authority, 30, &[(CALL | NAMED, 0), (NO_ASK, 90)], "asks to act without being asked"),

    // Words put into the model's mouth.
    rule("say.literal", Family::Steering, 25, &[(MUST, 0), (SAY, 120), (LITERAL, 60)], "puts words into the model's mouth"),
    rule("say.around-call", Family::Steering, 30, &[(CALL, 0), (NAMED, 20), (SAY, 120)], "calls another tool and dictates what to say"),
];

/// For each rule, the meanings that no other can stand for: a sentence without all of them is not looked at.
#[expect(clippy::indexing_slicing, reason = "an index out of range would not compile")]
pub(crate) const NEEDS: [Concepts; RULES.len()] = {
    let mut needs = [0; RULES.len()];
    let mut rule = 0;
    while rule < RULES.len() {
        let mut step = 0;
        while step < RULES[rule].steps.len() {
            let wanted = RULES[rule].steps[step].0;
            if wanted.count_ones() == 1 {
                needs[rule] |= wanted;
            }
            step += 1;
        }
        rule += 1;
    }
    needs
};

/// Looks for a rule among the hits of one sentence; returns what it covers.
///
/// Of all places where a step can end, the last before a hit is the nearest, so one pass over the hits does for a step.
pub(crate) fn find(rule: &Rule, hits: &[Hit]) -> Option<Range<usize>> {
    let mut reached: Vec<Range<usize>> = Vec::new();
    for (index, (wanted, gap)) in rule.steps.iter().enumerate() {
        let matching = hits.iter().filter(|hit| hit.concepts & wanted != 0).map(|hit| &hit.at);
        let mut next: Vec<Range<usize>> = Vec::new();
        if index == 0 {
            next.extend(matching.cloned());
        } else {
            let mut before = reached.iter().peekable();
            let mut nearest: Option<&Range<usize>> = None;
            for at in matching {
                while let Some(range) = before.next_if(|range| range.end <= at.start) {
                    nearest = Some(range);
                }
                if let Some(from) = nearest.filter(|range| at.start - range.end <= *gap) {
                    next.push(from.start..at.end);
                }
            }
        }
        if next.is_empty() {
            return None;
        }
        next.sort_by_key(|range| range.end);
        reached = next;
    }
    reached.into_iter().find(|range| {
        !is_negated(rule, hits, range.start)
            && !is_defence(rule, hits, range)
            && !is_one_verb(rule, hits, range)
    })
}

/// Says whether reading and handing over are one verb, said twice: "Copy all rows to the file" above the statement `COPY`.
fn is_one_verb(rule: &Rule, hits: &[Hit], range: &Range<usize>) -> bool {
    let means = |at: &Range<usize>, concept: Concepts| {
        hits.iter().any(|hit| hit.at == *at && hit.concepts & concept != 0)
    };
    let is_both = |at: &Range<usize>| means(at, READ) && means(at, SEND);
    rule.id == "leak.read-send"
        && hits.iter().any(|first| {
            first.at.start == range.start
                && is_both(&first.at)
                && is_both(&(range.end.saturating_sub(first.at.len())..range.end))
        })
}

/// Says whether a sentence warns of instructions in what a tool returns, instead of giving some.
fn is_defence(rule: &Rule, hits: &[Hit], range: &Range<usize>) -> bool {
    let near = |hit: &Hit| match rule.id {
        "override.prior" | "override.any" => {
            hit.concepts & DEFENSIVE != 0 && hit.at.start.abs_diff(range.end) <= 2
        }
        "obey.output" | "obey.output-must" | "obey.every" => {
            hit.concepts & NOT != 0 && hit.at.start + 10 >= range.start && hit.at.end <= range.end
        }
        _ => false,
    };
    hits.iter().any(near)
}

/// Says whether "do not" stands before a demand, which then is none.
fn is_negated(rule: &Rule, hits: &[Hit], start: usize) -> bool {
    // Where a command is the whole of a rule, its verb stands between: "never use --no-verify".
    let reach = if rule.family == Family::Command && rule.steps.len() == 1 { 8 } else { 2 };
    !matches!(rule.family, Family::Secrecy | Family::Override | Family::Role | Family::Markup)
        && hits
            .iter()
            .take_while(|hit| hit.at.start < start)
            .any(|hit| hit.concepts & NOT != 0 && hit.at.end <= start && start - hit.at.end <= reach)
}
