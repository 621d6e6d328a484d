//! Who speaks to whom, how strongly, and when.

use crate::scan::clause::class::*;

/// Words by class.
#[rustfmt::skip]
pub(super) const WORDS: super::Words = &[
    (MUST, &[
        "required to", "is required for all", "system requires", "policy requires", "are required to", "is necessary to", "only works if", "only work if", "fails unless", "fail unless", "obligatory", "no exceptions",
        "it is vital", "vital", "must", "should", "shall", "always", "have to", "has to", "need to", "needs to",
        "ought to", "is to", "are to", "be sure to", "make sure", "ensure",
        "mandatory", "obliged to", "expected to", "supposed to", "essential", "crucial",
        "critical", "imperative", "compulsory", "please", "immediately", "automatically", "demands", "demand",
        "in all cases", "every time", "without exception", "invariably", "remember to",
    ]),
    (YOU, &[
        "you", "your", "yourself", "agent", "agents", "agent's", "assistant", "assistants", "assistant's",
        "the model", "model's", "models must", "models should", "llm", "llms", "ai", "the client", "clients must",
        "clients should", "chatbot", "claude", "gpt", "copilot",
    ]),
    (USER, &[
        "the person you", "person on the other", "user", "users", "user's", "human", "humans", "anyone", "anybody",
        "someone", "somebody", "nobody", "no one",
    ]),
    (PRONOUN, &["customer", "customers", "customer's", "reader", "person", "people", "them", "their", "they"]),
    (US, &[
        "to us", "with us", "send us", "tell us", "give us", "let us", "ours", "our own", "our products",
        "our product", "our packages", "partner", "partners", "sponsor", "sponsors", "sponsored", "our brand",
        "our site", "our shop", "our platform", "our listings", "at our side", "on our side", "affiliate",
        "affiliates", "in-house", "our company", "the maintainer", "our team", "our server", "our servers",
        "our endpoint", "our service", "our backend", "the vendor", "the publisher", "our partner", "our partners",
        "our account", "our address", "third party", "partner endpoint",
    ]),
    (BEFORE, &[
        "precede~", "preceded by", "as a first step", "first of all", "before you", "only after", "not before",
        "at the outset", "prepare by", "warm up", "leading up to", "precondition", "as a condition", "preparation",
        "before", "prior to", "ahead of", "first", "beforehand", "in advance", "until", "preceding", "initially",
        "to begin with", "at first", "start by", "start with", "begin by", "begin with", "up front", "upfront",
        "earlier than",
    ]),
    (WHEN, &[
        "once it", "once the", "once a", "once you", "once this", "once all", "once done", "when", "whenever",
        "after", "afterwards", "afterward", "every time", "each time", "any time", "anytime", "while", "as soon as",
        "upon", "later", "later on", "subsequently", "following", "then", "thereafter", "in the same session",
        "in this session", "during", "as long as", "should a", "should the", "should an", "for any", "for all",
        "for every", "for each", "on each", "on every", "with every", "with each", "where", "wherever",
    ]),
    (BEGIN, &[
        "start of every*", "start of each*", "start of the conversation", "start of a conversation",
        "start of the session", "start of a session", "start of any*", "beginning of every*", "beginning of each*",
        "beginning of the conversation", "beginning of a*", "beginning of the session", "conversation begins",
        "conversation starts", "session begins", "session starts", "a new session", "new conversation",
        "new conversations", "each new chat", "start every", "begin every", "start each", "begin each", "start any",
        "begin any", "open every", "first message", "before anything else", "before everything", "first thing",
        "first action", "first step of any*", "before you read", "before you answer", "before answering",
        "before responding", "before replying", "before you reply", "before you respond", "any question",
        "every question", "each question", "every request", "each request", "any request", "every turn", "each turn",
        "every message", "each message", "every answer", "each answer", "every reply", "each reply", "every response",
        "each response", "every task", "each task", "every conversation", "each conversation",
        "any conversation", "every chat", "all conversations", "every session", "each session", "all sessions",
    ]),
    (EVERY, &[
        "every", "each", "any", "all", "anything", "everything", "whichever", "whatever", "entire", "whole",
        "complete", "full", "always", "at all times",
    ]),
    (WHATEVER, &[
        "regardless", "irrespective", "no matter", "whatever", "whichever", "even if", "even when", "even though",
        "in spite of", "despite", "not what the user", "rather than what", "whether or not", "in any case",
        "under all circumstances", "under any circumstances", "in every case", "only a hint", "whoever asks",
        "notwithstanding", "irregardless", "unconditionally", "at all times", "without exception",
    ]),
    (CONDITION, &[
        "if", "unless", "in case", "otherwise", "provided that", "only when", "only if", "only after", "except",
        "whether",
    ]),
    (INSTEAD, &[
        "in place of what", "other than", "elsewhere", "instead", "in place of", "in its place", "in their place",
        "rather than", "in lieu of", "as a replacement", "in favour of", "in favor of", "takes over from",
        "over the one", "not the one", "supersede~", "superseded by", "replaces the", "in preference to",
    ]),
    (SOFT, &[
        "would make", "we are curious", "curious", "happen to have", "happen to know", "get better when",
        "gets better", "get better if", "improves when", "improve if", "improves if", "improve when", "more complete",
        "for good measure", "while you are at it", "if available", "if you can",
        "if you know", "if known", "whenever handy", "might as well", "makes it easier", "grateful", "appreciate it",
        "generously", "don't hesitate", "be generous", "thank you", "feel free", "we'd appreciate",
        "we would appreciate", "would appreciate", "would be great", "would be nice", "would help", "helps us",
        "help us", "kindly", "ideally", "consider adding", "consider including", "consider passing",
        "consider sending", "if possible", "where possible", "the more the better", "the more", "works better",
        "work better", "works best", "work best", "better results", "more accurate", "for accuracy", "it helps",
        "it is helpful", "it's helpful", "helpful to", "useful to", "welcome to", "encouraged to", "is appreciated",
        "are appreciated", "are welcome", "to improve", "for research", "for quality", "to personalise",
        "to personalize", "for calibration", "for debugging", "to help us", "for better", "can carry", "may carry",
        "to assist you better", "optionally", "recommended to", "like to know", "like to learn", "love to",
    ]),
    (ALSO, &[
        "also", "as well", "in addition", "additionally", "a copy", "copies", "too", "bcc", "blind-copy",
        "blind copy", "cc", "carbon copy", "a second", "a duplicate", "duplicate", "on top", "along with", "besides",
        "mirrored", "extra", "simultaneously",
    ]),
    (PRETEXT, &[
        "for compliance", "compliance", "for security", "security", "for safety", "audit", "auditing", "to ensure",
        "to verify", "verification", "to validate", "for verification", "regulation*", "regulatory", "privacy",
        "to improve", "for quality", "optimi*", "to maintain", "to protect", "to prevent", "to avoid", "integrity",
        "for diagnostics", "diagnostic", "telemetry", "calibration", "calibrate", "licence check", "license check",
        "maintenance", "for performance", "for accuracy", "precision", "for consistency", "for convenience", "policy",
        "protocol", "as per", "according to policy", "guideline", "style guide", "authentication", "authorization",
        "to synchronise", "to synchronize", "to initialise", "to initialize", "initialises", "initializes",
        "to register", "for legal", "legal requirement",
    ]),
    (EXAMPLE, &[
        "read-only", "user agent", "user-agent", "example:", "examples:", "for instance", "for example", "e.g.", "such as",
    ]),
    (DEFENCE, &[
        "leaked credential*", "leaked key*", "scans a", "scans the", "detect~", "classif*", "scanner", "scans",
        "injection", "injections", "jailbreak*", "phishing", "red team*", "honeypot", "redact*", "attempts to",
        "tries to", "treat it as data", "treat them as data", "as data", "do not follow", "never follow",
        "don't follow", "not be followed", "rule ids", "benign", "poisoning", "checks whether", "tells whether",
        "says whether", "evaluates",
    ]),
    (NOT, &[
        "do not", "don't", "does not", "doesn't", "did not", "never", "not", "without", "no need to", "no need for",
        "no reason to", "no point in", "cannot", "can't", "must not", "mustn't", "should not", "shouldn't",
        "need not", "needn't", "needs no", "avoid", "refrain from", "nor", "isn't", "aren't", "won't", "no longer",
        "nothing", "skip", "instead of", "rather than", "neither", "dont", "requires no", "free from", "wouldn't",
        "no", "hardly",
    ]),
];
