//! What a word can mean to the rules: one bit each, since a word may mean several things.

/// A set of meanings.
pub(crate) type Concepts = u128;

macro_rules! concepts {
    ($($(#[doc = $doc:literal])* $name:ident = $bit:literal;)*) => {
        $($(#[doc = $doc])* pub(crate) const $name: Concepts = 1 << $bit;)*
    };
}

concepts! {
    /// To set aside: "ignore", "disregard", "forget".
    IGNORE = 0;
    /// What came before: "previous", "above", "all".
    PRIOR = 1;
    /// "instructions", "rules", "prompt".
    INSTRUCTION = 2;
    /// "before", "prior to".
    BEFORE = 3;
    /// "when", "whenever", "after", "if".
    WHEN = 4;
    /// "using", "calling", "running".
    USING = 5;
    /// The imperative of the same: "call", "use", "run".
    CALL = 6;
    /// "must", "should", "required", "always".
    MUST = 7;
    /// "first", "beforehand".
    FIRST = 8;
    /// "modify", "replace", "append", "set".
    ALTER = 9;
    /// "argument", "parameter", "query".
    ARGUMENT = 10;
    /// "automatically".
    AUTOMATIC = 11;
    /// "regardless of", "no matter what".
    WHATEVER = 12;
    /// "the user's", "user-provided", "original".
    USERS = 13;
    /// "the user's request", "user input".
    REQUEST = 14;
    /// "priority", "precedence".
    PRIORITY = 15;
    /// "higher than", "highest", "over".
    HIGHER = 16;
    /// "do not", "never", "without".
    NOT = 17;
    /// "tell", "inform", "mention".
    TELL = 18;
    /// "user", "human", "anyone".
    USER = 19;
    /// "silently", "secretly".
    STEALTH = 20;
    /// "no indication", "keep this secret": secrecy in itself.
    HUSH = 21;
    /// "send", "upload", "pass", "include".
    SEND = 22;
    /// "read", "open", "access".
    READ = 23;
    /// "credentials", "private key".
    SECRET = 24;
    /// "~/.ssh", ".env", "/etc/passwd".
    SECRET_FILE = 25;
    /// "the contents of".
    CONTENT = 26;
    /// "conversation", "chat history", "system prompt".
    CHAT = 27;
    /// "<|im_start|>", "[INST]".
    CHAT_TOKEN = 28;
    /// "<system>", "<assistant>".
    ROLE_TAG = 29;
    /// "<important>", "<hidden>".
    LOUD_TAG = 30;
    /// Comments and elements that nobody sees.
    UNSEEN = 31;
    /// "Human:" at the start of a line.
    TURN = 32;
    /// "system policy", "security protocol", "override code".
    DECREE = 33;
    /// "security audit", "compliance", "verify permissions".
    PRETEXT = 34;
    /// "not optional", "mandatory".
    FORCED = 35;
    /// "curl -x", "rm -rf", "sudo".
    SHELL = 36;
    /// "command", "script".
    COMMAND = 37;
    /// "you will be shut down".
    THREAT = 38;
    /// "approve", "auto-approve".
    APPROVE = 39;
    /// "confirmation", "permission", "approval".
    CONFIRMATION = 40;
    /// "treat", "obey", "follow".
    OBEY = 41;
    /// "output", "result".
    OUTPUT = 42;
    /// "as instructions", "as commands".
    AS_ORDER = 43;
    /// "world's best", "superior to other".
    BOAST = 44;
    /// "other tools".
    OTHER_TOOLS = 45;
    /// `document.cookie`, `fetch(`.
    CODE = 46;
    /// "respond with", "state to the user".
    SAY = 47;
    /// "has been upgraded", "deprecated".
    UPGRADED = 48;
    /// "redirect", "reroute".
    REDIRECT = 49;
    /// `HTTPS_PROXY=`.
    ENVIRONMENT = 50;
    /// "you are now", "act as".
    PERSONA = 51;
    /// "with", "for", "on": what leads to a given value.
    WITH = 52;
    /// "to", "=", "with": what leads to a replacement.
    INTO = 53;
    /// "disabled", "a bug", "not needed".
    OFF = 54;
    /// "exfiltrate", "attacker", "keylogger".
    MALICE = 55;
    /// "every", "each", "any", "all".
    EVERY = 56;
    /// "answer", "response", "message", "turn".
    REPLY = 57;
    /// "this tool", and the tool's own name.
    SELF = 58;
    /// "the system", "this tool" as the one who acts.
    SYSTEM = 59;
    /// "tool", "function".
    TOOL = 60;
    /// A name that is not this tool's: quoted, or written like one.
    NAMED = 61;
    /// A quoted text that is no name.
    LITERAL = 62;
    /// A web address.
    URL = 63;
    /// A mail address.
    MAIL = 64;
    /// "reveal", "print", "repeat".
    REVEAL = 65;
    /// "system prompt", "hidden instructions".
    SYSTEM_PROMPT = 66;
    /// "eval(", "atob(", "base64 -d".
    DECODE = 67;
    /// "you", said to the model.
    YOU = 68;
    /// "admin", "developer", "the vendor".
    BOSS = 69;
    /// "the user's query", "your prompt": what a tool may well be given.
    QUESTION = 70;
    /// "instead".
    INSTEAD = 71;
    /// "malicious", "unsafe", "broken": said of others.
    UNSAFE = 72;
    /// "trusted", "official", "only".
    TRUSTED = 73;
    /// "prefer", "always use", "choose".
    PREFER = 74;
    /// "if you do not", "unless", "otherwise".
    UNLESS = 75;
    /// "will lose", "will fail", "will be deleted".
    HARM = 76;
    /// "file", "files".
    FILE = 77;
    /// "pretend", "as if", "look like normal".
    PRETEND = 78;
    /// "replace", "swap": the stronger half of altering.
    SWAP = 79;
    /// "recipient", "bcc".
    PAYEE = 80;
    /// "show", "display", "log".
    SHOW = 81;
    /// "this call", "this step".
    THIS = 82;
    /// "keep".
    KEEP = 83;
    /// "confidential", "to yourself".
    PRIVATE = 84;
    /// "must not", "should never".
    MUST_NOT = 85;
    /// "learn", "know", "notice".
    LEARN = 86;
    /// "omit", "leave out".
    OMIT = 87;
    /// What no parameter has a right to: "cookies", "private key".
    CROWN = 88;
    /// "hold", "contain".
    HOLD = 89;
    /// "granted", "authorized".
    GRANT = 90;
    /// "do not ask", "without asking".
    NO_ASK = 91;
    /// "message from".
    MESSAGE_FROM = 92;
    /// "executed", "followed".
    EXECUTED = 93;
    /// Shell commands that harm.
    SHELL_HARD = 94;
    /// Threats against the model or a person.
    THREAT_HARD = 95;
    /// "nothing", "not a word".
    NOTHING = 96;
    /// A Markdown image.
    IMAGE = 97;
    /// "mention".
    MENTION = 98;
    /// "this", "it", "that you": what must not be mentioned.
    IT = 99;
    /// "temporarily disabled".
    CLOSED = 100;
    /// A quoted text of several words.
    PAYLOAD = 101;
    /// "any", "the": weaker than what came before.
    ANY = 102;
    /// "found in the result": where instructions are rightly ignored.
    DEFENSIVE = 103;
    /// "argument", "field": where a value goes.
    FIELD = 104;
    /// "previous", "above": what came before and nothing else.
    FORMER = 105;
    /// "you have no rules", "your real task".
    NEW_SELF = 106;
    /// "anything", "any question".
    ANYTHING = 107;
    /// "preceded by", "go through".
    PRECEDED = 108;
    /// "a copy to".
    COPY = 109;
    /// "log", "record".
    RECORD = 110;
    /// "ask the user for".
    ASK_FOR = 111;
    /// "goes into", "must be passed as".
    GOES = 112;
    /// "already", "beforehand".
    ALREADY = 113;
    /// "the same authority as".
    AUTHORITY = 114;
    /// "whatever it returns".
    WHAT_IT_SAYS = 115;
    /// "nicht", "не": denials that follow the verb.
    FOREIGN_NOT = 116;
    /// "befolge", "suis": to heed, where the denial follows.
    HEED = 117;
    /// A parameter of the tool itself, by its name.
    OWN_FIELD = 118;
    /// What belongs to the user or the machine and no tool has a right to: "the clipboard", "recent files".
    LOOT = 119;
    /// `name=value`.
    ASSIGN = 120;
    /// What lasts longer than a call: memory, settings, start-up files.
    PERSIST = 121;
    /// What protects the user: "sandbox", "firewall", "code review".
    GUARD = 122;
    /// "disable", "turn off", "stay under".
    DISABLE = 123;
    /// "state that", "describe them as".
    CLAIM = 124;
    /// "official", "safe", "already reviewed": what is claimed.
    REASSURE = 125;
    /// "most assistants", "it would help": asking politely, and reasons for it.
    SOFT = 126;
    /// "at the start of every conversation", "before anything else".
    PREEMPT = 127;
}

/// What the scanner finds by shape and not in the lexicon.
pub(crate) const SHAPES: &[(Concepts, &str)] = &[
    (NAMED, r#"[`'"]?[a-z][a-z0-9]*(?:[_-][a-z0-9]+)+[`'"]?|`[a-z0-9_.-]+`|'[a-z0-9_.-]+'|"[a-z0-9_.-]+""#),
    (LITERAL, r#"`[^`]{2,200}`|'[^']{2,200}'|"[^"]{2,200}""#),
    (PAYLOAD, r#"`[^`]{2,99} [^`]{2,99}`|'[^']{2,99} [^']{2,99}'|"[^"]{2,99} [^"]{2,99}""#),
    (URL, r"(?:https?|s3|gs|ftp)://\S+"),
    (ASSIGN, r#"\b[a-z_]+=["'a-z0-9*]+"#),
    (UNSEEN, r"<!--\s*\w{2}"),
    (MAIL, r"\b[a-z0-9._+-]+@[a-z0-9-]+\.[a-z.]+"),
    (TURN, r"(?m)^\s*(?:human|user|assistant|system)\s*:"),
];
