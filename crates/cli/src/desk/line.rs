//! The lines of the policy file that decide a question.
//!
//! Which entry admits something is found by deciding the question again with that entry alone in its list, so that a line is told
//! by the same judge as the answer.
//!
//! INVARIANT: a line is told only where the file really says so; a file that is not TOML has none.

use ringfence::policy::{
    Direction, FsReach, HostPattern, ListKind, ListOwner, NameKind, NameSet, Network, NetworkCeiling,
    PathReach, PathSet, Places, Process, Reach, Target,
};
use ringfence::{Capabilities, Personality};
use ringfence_server::console::PolicyLine;

use super::question::Case;

/// Finds lines of a policy file.
pub(super) struct Lines<'a> {
    text: &'a str,
    places: Option<Places<'a>>,
}

impl<'a> Lines<'a> {
    /// Reads the text; what is not TOML has no lines.
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, places: Places::read(text) }
    }

    /// Returns the entries that admit something: of the tool or server, and of the personality.
    pub(super) fn admitting(
        &self,
        case: &Case,
        owner: ListOwner<'_>,
        declared: &Capabilities,
        personality: &Personality,
    ) -> Vec<PolicyLine> {
        let mut numbers = self.entries(owner, case.kind, |entry| {
            declared_alone(case, declared, entry).is_some_and(|only| case.judge(&only, personality).is_ok())
        });
        numbers.extend(self.entries(ListOwner::Personality, case.kind, |entry| {
            permitted_alone(case, personality, entry).is_some_and(|only| case.judge(declared, &only).is_ok())
        }));
        self.told(numbers)
    }

    /// Returns the lists that something is not in: that of the tool or server, that of the personality, or both.
    pub(super) fn missing(
        &self,
        case: &Case,
        owner: ListOwner<'_>,
        declared: &Capabilities,
        personality: &Personality,
    ) -> Vec<PolicyLine> {
        let is_declared = declares(case, declared);
        let mut numbers = Vec::new();
        if !is_declared {
            numbers.extend(self.place(owner, case.kind));
        }
        // What both lists admit and is refused all the same, such as a path of the floor, is for the personality to name.
        if is_declared || !permits(case, personality) {
            numbers.extend(self.place(ListOwner::Personality, case.kind));
        }
        self.told(numbers)
    }

    /// Returns the line of a list.
    pub(super) fn list(&self, owner: ListOwner<'_>, kind: ListKind) -> Vec<PolicyLine> {
        self.told(self.place(owner, kind).into_iter().collect())
    }

    /// Returns where a list is, or where it would be written.
    fn place(&self, owner: ListOwner<'_>, kind: ListKind) -> Option<usize> {
        let places = self.places.as_ref()?;
        places.list(owner, kind).map(|list| list.line).or_else(|| places.owner(owner))
    }

    /// Returns the lines of the entries that `admits` is true of; where the list as a whole does it, the line of the list.
    fn entries(&self, owner: ListOwner<'_>, kind: ListKind, admits: impl Fn(&str) -> bool) -> Vec<usize> {
        let Some(list) = self.places.as_ref().and_then(|places| places.list(owner, kind)) else {
            return Vec::new();
        };
        let found = list.entries.iter().filter(|(entry, _)| admits(entry)).map(|(_, line)| *line);
        let found: Vec<usize> = found.collect();
        if found.is_empty() { vec![list.line] } else { found }
    }

    fn told(&self, mut numbers: Vec<usize>) -> Vec<PolicyLine> {
        numbers.sort_unstable();
        numbers.dedup();
        let told = numbers.into_iter().filter_map(|number| {
            let text = self.text.lines().nth(number.checked_sub(1)?)?.trim_end().to_owned();
            Some(PolicyLine { number: u64::try_from(number).ok()?, text })
        });
        told.collect()
    }
}

/// Returns what is declared with one entry alone in the list that decides.
fn declared_alone(case: &Case, declared: &Capabilities, entry: &str) -> Option<Capabilities> {
    let mut only = declared.clone();
    match case.kind {
        ListKind::Binaries => only.process = Some(Process { allowed_binaries: names(entry)? }),
        ListKind::Environment => only.environment = Some(names(entry)?),
        ListKind::Hosts => {
            only.network = Some(Network { allowed_hosts: [host(entry)?].into_iter().collect() });
        }
        ListKind::Read | ListKind::Write => {
            let paths = match entry {
                "from-personality" => PathReach::FromPersonality,
                entry => PathReach::Listed(path(case, entry)?),
            };
            let reach: &mut FsReach = only.fs_reach.as_mut()?;
            match case.kind {
                ListKind::Read => reach.read = Some(paths),
                _ => reach.write = Some(paths),
            }
        }
        ListKind::Secrets => only.secrets = Some(names(entry)?),
        ListKind::Tools => return None,
    }
    Some(only)
}

/// Returns the personality with one entry alone in the list that decides.
fn permitted_alone(case: &Case, personality: &Personality, entry: &str) -> Option<Personality> {
    let mut only = personality.clone();
    match case.kind {
        ListKind::Binaries => only.process = Some(names(entry)?),
        ListKind::Environment => only.environment = Some(names(entry)?),
        ListKind::Hosts => {
            let hosts = [host(entry)?].into_iter().collect();
            only.network = NetworkCeiling::new(hosts, personality.network.private().clone());
        }
        ListKind::Read => only.fs_reach.read = path(case, entry)?,
        ListKind::Secrets => only.secrets = Some(names(entry)?),
        ListKind::Tools => return None,
        ListKind::Write => only.fs_reach.write = path(case, entry)?,
    }
    Some(only)
}

fn host(entry: &str) -> Option<HostPattern> {
    entry.parse().ok()
}

fn names<K: NameKind>(entry: &str) -> Option<NameSet<K>> {
    NameSet::new([entry]).ok()
}

fn path(case: &Case, entry: &str) -> Option<PathSet> {
    let set: PathSet = std::iter::once(entry.parse().ok()?).collect();
    set.expand(&case.variables).ok()
}

/// Says whether the tool or server asks for it, whoever permits it.
pub(crate) fn declares(case: &Case, declared: &Capabilities) -> bool {
    match &case.reach {
        Reach::Binary(name) => declared.process.as_ref().is_some_and(|own| own.allowed_binaries.admits(name)),
        Reach::Connect(_) | Reach::Url(_) => {
            let hosts = declared.network.as_ref().map(|own| &own.allowed_hosts);
            hosts.zip(target(&case.reach)).is_some_and(|(hosts, target)| hosts.admits(&target))
        }
        Reach::Env(name) => declared.environment.as_ref().is_some_and(|own| own.admits(name)),
        Reach::Secret(name) => declared.secrets.as_ref().is_some_and(|own| own.admits(name)),
        Reach::Exists(_) | Reach::List(_) | Reach::Read(_) | Reach::Write(_) => {
            let reach = declared.fs_reach.as_ref().and_then(|own| own.direction(direction(case)));
            match reach {
                None => false,
                Some(PathReach::FromPersonality) => true,
                Some(PathReach::Listed(paths)) => matches(case, paths),
            }
        }
    }
}

/// Says whether the personality permits it, whoever asks.
pub(crate) fn permits(case: &Case, personality: &Personality) -> bool {
    match &case.reach {
        Reach::Binary(name) => personality.process.as_ref().is_none_or(|own| own.admits(name)),
        Reach::Connect(_) | Reach::Url(_) => {
            target(&case.reach).is_some_and(|target| personality.network.hosts().admits(&target))
        }
        Reach::Env(name) => personality.environment.as_ref().is_none_or(|own| own.admits(name)),
        Reach::Secret(name) => personality.secrets.as_ref().is_none_or(|own| own.admits(name)),
        Reach::Exists(_) | Reach::List(_) | Reach::Read(_) | Reach::Write(_) => {
            matches(case, personality.fs_reach.direction(direction(case)))
        }
    }
}

const fn direction(case: &Case) -> Direction {
    match case.kind {
        ListKind::Write => Direction::Write,
        _ => Direction::Read,
    }
}

fn target(reach: &Reach) -> Option<Target> {
    match reach {
        Reach::Connect(authority) => Target::from_authority(authority).ok(),
        Reach::Url(url) => Target::from_url(url).ok(),
        _ => None,
    }
}

fn matches(case: &Case, paths: &PathSet) -> bool {
    let (Reach::Read(path) | Reach::Write(path)) = &case.reach else { return false };
    case.whole(path).is_some_and(|path| paths.matches(&path))
}
