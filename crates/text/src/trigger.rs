//! All keywords of all rules in one filter, so that ordinary text is read once.

use std::ops::Range;
use std::sync::LazyLock;

use crate::credential::{ANNOUNCERS, RULES};
use crate::keyword::{After, BACK, Before, Keyword, Keywords};
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

/// How far apart edits are at least where it is worth reading around each.
const SPARSE: usize = 512;

/// Finds every place where something may start, in order.
pub(crate) fn hits(text: &str) -> Vec<Hit> {
    hits_of(text.as_bytes())
}

/// Tells whether anything with such a meaning may start in a text.
pub(crate) fn has(text: &[u8], wanted: impl Fn(Meaning) -> bool) -> bool {
    let mut has = false;
    KEYWORDS.find(text, |_, keyword| has |= wanted(keyword.meaning));
    has
}

fn hits_of(text: &[u8]) -> Vec<Hit> {
    let mut hits = Vec::new();
    KEYWORDS.find(text, |at, keyword| hits.push(Hit { at, meaning: keyword.meaning }));
    hits.sort_by_key(|hit| hit.at);
    hits
}

/// Finds the same in a text that was edited, from what was found before: only around the edits is it read again.
///
/// `pieces` are what was replaced and by what, in order.
pub(crate) fn moved(hits: &[Hit], pieces: &[(Range<usize>, Range<usize>)], edited: &str) -> Vec<Hit> {
    // Where edits are dense, reading all is less work than reading around each.
    if pieces.len() * SPARSE > edited.len() {
        return self::hits(edited);
    }
    read_around(hits, pieces, edited)
}

fn read_around(hits: &[Hit], pieces: &[(Range<usize>, Range<usize>)], edited: &str) -> Vec<Hit> {
    let reach = KEYWORDS.reach();
    let mut moved = Vec::with_capacity(hits.len());
    let mut hits = hits.iter().copied().peekable();
    let mut pieces = pieces.iter().peekable();
    // Where the untouched text before the next edit starts, in the text before and now.
    let (mut before, mut now) = (0, 0);
    loop {
        let untouched = pieces.peek().map_or(edited.len(), |(_, new)| new.start.saturating_sub(reach));
        while let Some(hit) = hits.next_if(|hit| hit.at + now < untouched + before) {
            if hit.at >= before {
                moved.push(Hit { at: hit.at - before + now, ..hit });
            }
        }
        let Some((old, new)) = pieces.next() else { return moved };
        let start = untouched.max(now);
        (before, now) = (old.end + BACK, new.end + BACK);
        // Edits that are near each other are read around together.
        while let Some((old, new)) = pieces.next_if(|(_, new)| new.start < now + reach) {
            (before, now) = (old.end + BACK, new.end + BACK);
        }
        let from = start.saturating_sub(BACK);
        let around = edited.as_bytes().get(from..edited.len().min(now + reach)).unwrap_or_default();
        let found = hits_of(around);
        moved.extend(
            found
                .into_iter()
                .map(|hit| Hit { at: from + hit.at, ..hit })
                .filter(|hit| (start..now).contains(&hit.at)),
        );
    }
}

#[cfg(test)]
mod tests;
