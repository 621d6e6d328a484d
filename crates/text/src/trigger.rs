//! All keywords of all rules in one filter, so that ordinary text is read once.

use std::sync::LazyLock;

use crate::credential::{ANNOUNCERS, RULES};
use crate::keyword::{After, Before, Keyword, Keywords};
use crate::markdown::{MARKS, Mark};

/// What a keyword may start.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning {
    /// A credential with a prefix: the rule's index.
    Vendor(usize),
    /// A word that announces a credential: its index.
    Announce(usize),
    /// `Authorization:` and `Bearer`.
    Header(Header),
    /// A private key in armour.
    Armour,
    /// A command with a password among its arguments: the option.
    Command(&'static str),
    /// A line of a PostgreSQL password file.
    Pgpass,
    /// Words that open a wallet.
    Phrase,
    /// A parameter of an address: only after `?` or `&`.
    Query(&'static str),
    /// Markup.
    Mark(Mark),
}

/// Headers that carry credentials.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Header {
    Authorization,
    Basic,
    Bearer,
    Cookie,
}

/// One place where something may start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) at: usize,
    pub(crate) meaning: Meaning,
}

#[rustfmt::skip]
const OTHERS: &[(&str, Meaning)] = &[
    ("authorization",    Meaning::Header(Header::Authorization)),
    ("bearer ",          Meaning::Header(Header::Bearer)),
    ("basic ",           Meaning::Header(Header::Basic)),
    ("cookie:",          Meaning::Header(Header::Cookie)),
    ("cookie\":",        Meaning::Header(Header::Cookie)),
    ("-----begin ",      Meaning::Armour),
    ("putty-user-key-file-", Meaning::Armour),
    ("sshpass ",         Meaning::Command("-p")),
    ("mysql ",           Meaning::Command("-p")),
    ("mysqldump ",       Meaning::Command("-p")),
    ("mysqladmin ",      Meaning::Command("-p")),
    ("mariadb ",         Meaning::Command("-p")),
    ("mongosh ",         Meaning::Command("-p")),
    ("mongodump ",       Meaning::Command("-p")),
    ("docker login ",    Meaning::Command("-p")),
    ("podman login ",    Meaning::Command("-p")),
    ("az login ",        Meaning::Command("-p")),
    ("oc login ",        Meaning::Command("-p")),
    ("redis-cli ",       Meaning::Command("-a")),
    ("ldapsearch ",      Meaning::Command("-w")),
    ("sqlcmd ",          Meaning::Command("-P")),
    ("sqlplus ",         Meaning::Command("/")),
    ("unzip ",           Meaning::Command("-P")),
    ("curl ",            Meaning::Command("-u")),
    ("wget ",            Meaning::Command("-u")),
    ("http ",            Meaning::Command("-a")),
    ("smbclient ",       Meaning::Command("-U")),
    ("net user ",        Meaning::Command("user")),
    ("htpasswd ",        Meaning::Command("-b")),
    ("chpasswd",         Meaning::Command("|")),
    ("--user ",          Meaning::Command("--user")),
    ("--user=",          Meaning::Command("--user")),
    (":5432:",           Meaning::Pgpass),
    (":*:*:",            Meaning::Pgpass),
    ("mnemonic",         Meaning::Phrase),
    ("seed phrase",      Meaning::Phrase),
    ("seed_phrase",      Meaning::Phrase),
    ("seedphrase",       Meaning::Phrase),
    ("recovery phrase",  Meaning::Phrase),
    ("backup phrase",    Meaning::Phrase),
    ("seed words",       Meaning::Phrase),
    ("?key=",            Meaning::Query("api-key")),
    ("&key=",            Meaning::Query("api-key")),
    ("?sig=",            Meaning::Query("signature")),
    ("&sig=",            Meaning::Query("signature")),
    ("?code=",           Meaning::Query("oauth-code")),
    ("&code=",           Meaning::Query("oauth-code")),
    ("?auth=",           Meaning::Query("token")),
    ("&auth=",           Meaning::Query("token")),
    ("?sid=",            Meaning::Query("session")),
    ("&sid=",            Meaning::Query("session")),
    ("&hmac=",           Meaning::Query("signature")),
    ("?appid=",          Meaning::Query("api-key")),
    ("&appid=",          Meaning::Query("api-key")),
];

static KEYWORDS: LazyLock<Keywords<Meaning>> = LazyLock::new(|| {
    let vendors = RULES.iter().enumerate().map(|(index, rule)| Keyword {
        word: rule.prefix,
        exact: true,
        before: if rule.needs_edge() { Before::Edge } else { Before::Anything },
        after: After::Token(rule.least()),
        meaning: Meaning::Vendor(index),
    });
    let announcers = ANNOUNCERS.iter().enumerate().map(|(index, one)| Keyword {
        word: one.word,
        exact: false,
        before: if one.needs_edge() { Before::Joint } else { Before::Anything },
        after: if one.word.len() == 3 { After::Name } else { After::Anything },
        meaning: Meaning::Announce(index),
    });
    let marks = MARKS.iter().map(|(word, mark)| (*word, Meaning::Mark(*mark)));
    let others = OTHERS.iter().copied().chain(marks).map(|(word, meaning)| Keyword {
        word,
        exact: false,
        before: Before::Anything,
        after: After::Anything,
        meaning,
    });
    Keywords::new(vendors.chain(announcers).chain(others).collect())
});

/// Finds every place where something may start, in order.
pub(crate) fn hits(text: &str) -> Vec<Hit> {
    let mut hits = Vec::new();
    KEYWORDS.find(text.as_bytes(), |at, keyword| hits.push(Hit { at, meaning: keyword.meaning }));
    hits.sort_by_key(|hit| hit.at);
    hits
}
