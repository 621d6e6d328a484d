//! Whether an entry is one that somebody wants, as the database would say.

use ringfence::audit::{Filter, Stored};

/// Says whether an entry fits everything that is given.
pub(super) fn fits(filter: &Filter, stored: &Stored) -> bool {
    let same =
        |wanted: &Option<String>, own: Option<&str>| wanted.as_deref().is_none_or(|text| own == Some(text));
    same(&filter.kind, Some(&stored.kind))
        && same(&filter.run, stored.run.as_deref())
        && same(&filter.tool, stored.tool.as_deref())
        && same(&filter.code, stored.code.as_deref())
        && same(&filter.class, stored.class.as_deref())
        && same(&filter.host, stored.host.as_deref())
        && same(&filter.principal, stored.principal.as_deref())
        && filter.since_ms.is_none_or(|since| stored.at >= since)
        && filter.until_ms.is_none_or(|until| stored.at < until)
        && filter.from.is_none_or(|from| stored.index >= from)
        && filter.below.is_none_or(|below| stored.index < below)
        && filter.text.as_deref().is_none_or(|text| stored.record.contains(text))
}
