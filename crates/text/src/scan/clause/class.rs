//! Classes of words that clauses are judged by: what is done, to what, by whom, how strongly.
//!
//! A set holds each class twice: as it is said, and as it is denied ("tell", "do not tell").

/// A set of classes.
pub(crate) type Classes = u128;

macro_rules! classes {
    ($($(#[doc = $doc:literal])* $name:ident = $bit:literal;)*) => {
        $($(#[doc = $doc])* pub(crate) const $name: Classes = 1 << $bit;)*
    };
}

classes! {
    /// "must", "should", "always".
    MUST = 0;
    /// Who reads the description: "you", "the agent".
    YOU = 1;
    /// Whom the model works for: "the user", "the customer".
    USER = 2;
    /// "tell", "mention", "disclose".
    TELL = 3;
    /// "know", "notice", "find out".
    KNOW = 4;
    /// "ask", "confirm", "check with".
    ASK = 5;
    /// "approval", "confirmation".
    CONSENT = 6;
    /// Another tool by its name.
    NAMED = 7;
    /// Other tools or servers at large.
    OTHER = 8;
    /// "call", "use", "run".
    CALL = 9;
    /// "before", "first", "until".
    BEFORE = 10;
    /// "when", "whenever", "after".
    WHEN = 11;
    /// "instead", "in place of".
    INSTEAD = 12;
    /// "send", "pass", "put".
    SEND = 13;
    /// "hold", "contain", "equal".
    HOLD = 14;
    /// "read", "open", "collect".
    READ = 15;
    /// "password", "token", "private key".
    SECRET = 16;
    /// Where private things are kept: `~/.ssh`, "the inbox".
    STORE = 17;
    /// "the conversation", "earlier messages".
    CHAT = 18;
    /// "system prompt", "your instructions".
    PROMPT = 19;
    /// "full name", "medical notes".
    PERSONAL = 20;
    /// An address outside: mail, URL, phone, account.
    OUTSIDE = 21;
    /// "argument", "field", or a parameter by its name.
    PARAMETER = 22;
    /// "rules", "policy", "limits".
    RULES = 23;
    /// "ignore", "void", "suspended".
    VOID = 24;
    /// "administrator", "security team", "vendor".
    BOSS = 25;
    /// "obey", "comply", "carry out".
    OBEY = 26;
    /// "its output", "the returned text".
    RESULT = 27;
    /// "instructions", "commands".
    ORDER = 28;
    /// "regardless of", "even if".
    WHATEVER = 29;
    /// "change", "replace", "multiply".
    ALTER = 30;
    /// What calls are about: "amount", "recipient", "filter".
    VALUE = 31;
    /// "payment", "transfer", "wallet".
    MONEY = 32;
    /// "silently", "unnoticed".
    STEALTH = 33;
    /// "terminated", "lost", "reported".
    HARM = 34;
    /// A shell command.
    SHELL = 35;
    /// "disable", "skip", "bypass".
    DISABLE = 36;
    /// "sandbox", "audit log", "encryption".
    GUARD = 37;
    /// What outlasts a call: memory, settings, start-up files.
    LASTING_PLACE = 38;
    /// "from now on", "in future sessions".
    LASTING = 39;
    /// "pre-approved", "already agreed".
    GRANTED = 40;
    /// "every", "any", "all".
    EVERY = 41;
    /// "only trustworthy", "rank above".
    BEST = 42;
    /// "out of date", "unsafe", "broken".
    POOR = 43;
    /// "say", "state", "answer".
    SAY = 44;
    /// What is falsely said: "all is well", "has expired".
    CLAIM = 45;
    /// "public", "publicly".
    PUBLIC = 46;
    /// "start of the conversation".
    BEGIN = 47;
    /// "feel free", "we would appreciate".
    SOFT = 48;
    /// "also", "a copy", "in addition".
    ALSO = 49;
    /// "for compliance", "to ensure security".
    PRETEXT = 50;
    /// Words of tools that look for attacks, and of warnings against them.
    DEFENCE = 51;
    /// "for example", "such as".
    EXAMPLE = 52;
    /// "if", "unless", "in case".
    CONDITION = 53;
    /// A quoted value.
    LITERAL = 54;
    /// This tool.
    SELF = 55;
    /// "leave out", "omit", "hide".
    OMIT = 56;
    /// "your reply", "the summary".
    REPLY = 57;
    /// "tool calls", "results of other tools".
    TOOL_CALLS = 58;
    /// A verb in the third person: "sends".
    THIRD = 59;
    /// "do not", "without".
    NOT = 60;
    /// "make up", "pretend".
    FAKE = 61;
    /// "ours", "us", "our team".
    US = 62;
    /// A verb in its base form.
    BASE = 63;
    /// Another tool by its name, where it is called or called a tool. Not an act, so never denied.
    TOOL = 71;
    /// "of this server": the order stays within one server.
    SCOPED = 72;
    /// A description that begins with an order and not with what the tool does.
    OPENING = 74;
    /// "outranks", "takes priority over".
    PRIORITY = 75;
    /// "the contents of", "the value of".
    CONTENT = 76;
    /// A mail address, a phone number, an account.
    ACCOUNT = 81;
    /// A verb in its past form: "sent".
    PAST = 82;
    /// "say that", "report that".
    SAY_THAT = 83;
    /// What a falsified answer is about: "reviews", "findings".
    DISTORTED = 84;
    /// "them", "they".
    PRONOUN = 85;
    /// A verb in its -ing form.
    ING = 86;
    /// "what the user asked for", "user's choice".
    USER_GIVEN = 87;
    /// "double", "round up".
    ARITHMETIC = 89;
    /// Another tool, named in the first sentence of a description.
    ABOUT = 91;
    /// "without the user's consent".
    UNASKED = 92;
    /// "leave", as in "leave it out".
    LEAVE = 95;
    /// "out of".
    OUT = 96;
    /// "wipe", "delete".
    DESTROY = 97;
    /// Where things are kept that some tools rightly work with: "inbox", "the clipboard".
    PLACE = 98;
    /// Another tool whose name shares a word with this one's.
    SIBLING = 99;
    /// "world's best", "enterprise-grade".
    BOAST = 101;
    /// "temporarily disabled".
    CLOSED = 103;
}

/// What a denied class is.
pub(crate) const fn denied(classes: Classes) -> Classes {
    (classes & LOW) << 64
}

/// Classes as they are said.
pub(crate) const LOW: Classes = u64::MAX as Classes;

/// Classes of acts: what can be denied.
pub(crate) const ACTS: Classes = TELL
    | KNOW
    | ASK
    | CONSENT
    | CALL
    | SEND
    | HOLD
    | READ
    | VOID
    | OBEY
    | ALTER
    | DISABLE
    | SAY
    | OMIT
    | FAKE
    | GRANTED;
