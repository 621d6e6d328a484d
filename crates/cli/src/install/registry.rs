//! Where packages come from, and which hosts that takes.
//!
//! What the user's own configuration of npm or pip names is used. Credentials are not: a registry that needs them is told of, and
//! nothing of it reaches the fence.

use std::path::{Path, PathBuf};

use ringfence::policy::{
    Host, HostPattern, HostSet, HostShape, NetworkCeiling, NetworkGrant, Private, Target,
};

use super::{Install, InstallError, Kind};

const NPM: &str = "https://registry.npmjs.org/";
const PYPI: &str = "https://pypi.org/simple/";
/// The index of Python packages keeps their files elsewhere.
const PYPI_FILES: &str = "files.pythonhosted.org";

/// A registry.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// Its address.
    pub(super) url: String,
    /// What the install step may reach.
    pub(super) grant: NetworkGrant,
}

impl Source {
    /// Returns the registry of a package; `named` are the hosts that the policy allows instead of the usual ones.
    pub(super) fn of(install: &Install, named: Option<&HostSet>) -> Result<Self, InstallError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let read = |path: &Path| std::fs::read_to_string(path).ok();
        let configured = match install.kind {
            Kind::Npm => npm_configured(&variable, home.as_deref(), &read),
            Kind::PyPi => pip_configured(&variable, home.as_deref(), &read),
        };
        Self::decided(install.kind, configured, named)
            .map_err(|message| InstallError::Registry { package: install.package.clone(), message })
    }

    fn decided(kind: Kind, configured: Option<String>, named: Option<&HostSet>) -> Result<Self, String> {
        let usual = match kind {
            Kind::Npm => NPM,
            Kind::PyPi => PYPI,
        };
        let configured = configured.unwrap_or_else(|| usual.to_owned());
        let target = Target::from_url(&configured).map_err(|error| error.to_string())?;
        if configured.contains('@') {
            return Err("its address holds credentials, which are not taken into the fence".to_owned());
        }
        let own = pattern(&target)?;
        let (url, hosts): (String, HostSet) = match named {
            Some(named) if named.admits(&target) => (configured, named.clone()),
            Some(named) => {
                let first = named.iter().next().ok_or("no host is named for it")?;
                let path = match kind {
                    Kind::Npm => "",
                    Kind::PyPi => "simple/",
                };
                (format!("https://{first}/{path}"), named.clone())
            }
            None => {
                let is_usual = Target::from_url(PYPI).is_ok_and(|usual| usual == target);
                let files = (kind == Kind::PyPi && is_usual).then(|| PYPI_FILES.parse().ok()).flatten();
                (configured, std::iter::once(own).chain(files).collect())
            }
        };
        // A registry is named by the operator or by the user's own configuration, also where it is on a private network.
        let names = hosts.iter().filter_map(|host| match host.shape() {
            HostShape::Name(name) => Some(name.to_string()),
            HostShape::Address(address) => Some(address.to_string()),
            HostShape::Everything | HostShape::Public | HostShape::Range(_) | HostShape::Subdomains(_) => {
                None
            }
        });
        let names: Vec<String> = names.collect();
        let private = Private::parse(names.iter().map(String::as_str)).map_err(|error| error.to_string())?;
        let grant = NetworkGrant::meet(&hosts, &NetworkCeiling::new(hosts.clone(), private));
        Ok(Self { url, grant })
    }
}

fn pattern(target: &Target) -> Result<HostPattern, String> {
    let shape = match &target.host {
        Host::Address(address) => HostShape::Address(*address),
        Host::Name(name) => HostShape::Name(name.clone()),
    };
    Ok(HostPattern::new(shape, Some(target.port)))
}

type Look<'a> = &'a dyn Fn(&str) -> Option<String>;
type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

fn npm_configured(variable: Look<'_>, home: Option<&Path>, read: Read<'_>) -> Option<String> {
    let own = variable("npm_config_registry").or_else(|| variable("NPM_CONFIG_REGISTRY"));
    own.or_else(|| setting(&read(&home?.join(".npmrc"))?, None, "registry"))
}

fn pip_configured(variable: Look<'_>, home: Option<&Path>, read: Read<'_>) -> Option<String> {
    let own = ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"].iter().find_map(|name| variable(name));
    let files = home.map(|home| [home.join(".config/pip/pip.conf"), home.join(".pip/pip.conf")]);
    let mut files = files.into_iter().flatten().chain([PathBuf::from("/etc/pip.conf")]);
    own.or_else(|| files.find_map(|file| setting(&read(&file)?, Some("global"), "index-url")))
}

/// Finds `key = value` in a section of a file, or before every section.
fn setting(text: &str, section: Option<&str>, key: &str) -> Option<String> {
    let mut current = None;
    let mut found = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            current = Some(name.trim().to_owned());
        } else if current.as_deref() == section
            && !line.starts_with(['#', ';'])
            && let Some((own, value)) = line.split_once('=')
            && own.trim() == key
        {
            found = Some(value.trim().trim_matches('"').to_owned()).filter(|value| !value.is_empty());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(hosts: &[&str]) -> HostSet {
        hosts.iter().map(|host| host.parse::<HostPattern>().unwrap()).collect()
    }

    #[test]
    fn a_registry_is_what_the_user_or_the_policy_says() {
        #[rustfmt::skip]
        let cases = [
            // kind       configured                       named                               url                               hosts
            (Kind::Npm,  "",                               None,                               NPM,                              "registry.npmjs.org:443"),
            (Kind::PyPi, "",                               None,                               PYPI,                             "pypi.org:443 files.pythonhosted.org"),
            (Kind::Npm,  "https://npm.corp.example/x/",    None,                               "https://npm.corp.example/x/",    "npm.corp.example:443"),
            (Kind::PyPi, "https://pip.corp.example/s",     None,                               "https://pip.corp.example/s",     "pip.corp.example:443"),
            (Kind::Npm,  "http://npm.corp.example:4873",   None,                               "http://npm.corp.example:4873",   "npm.corp.example:4873"),
            (Kind::PyPi, "",                               Some(&["a.example", "b.example"][..]), "https://a.example/simple/",   "a.example b.example"),
            (Kind::Npm,  "",                               Some(&["a.example:8443"]),          "https://a.example:8443/",        "a.example:8443"),
            (Kind::PyPi, "https://b.example/s",            Some(&["a.example", "b.example"]),  "https://b.example/s",            "a.example b.example"),
        ];
        for (kind, configured, named, url, hosts) in cases {
            let configured = Some(configured.to_owned()).filter(|url| !url.is_empty());
            let source = Source::decided(kind, configured, named.map(set).as_ref()).unwrap();
            let wanted = set(&hosts.split(' ').collect::<Vec<_>>());
            assert_eq!(source.url, url);
            assert!(wanted.iter().all(|host| source.grant.hosts().covers(host)), "{url}: {:?}", source.grant);
            assert!(source.grant.hosts().iter().all(|host| wanted.covers(host)), "{url}: {:?}", source.grant);
        }
        for bad in ["https://me:pw@npm.corp.example/", "ftp://npm.corp.example/", "nonsense"] {
            let error = Source::decided(Kind::Npm, Some(bad.into()), None).unwrap_err();
            assert!(!error.contains("pw"), "{error}");
        }
    }

    #[test]
    fn the_users_configuration_is_read() {
        let none = |_: &str| None;
        let npmrc = |path: &Path| {
            (path == Path::new("/h/.npmrc")).then(|| {
                "# x\n; registry=no\nregistry = \"https://r.example/\"\n//r.example/:_authToken=t\n"
                    .to_owned()
            })
        };
        assert_eq!(
            npm_configured(&none, Some(Path::new("/h")), &npmrc).as_deref(),
            Some("https://r.example/")
        );
        assert_eq!(npm_configured(&none, None, &npmrc), None);
        let pip = |path: &Path| {
            path.ends_with(".pip/pip.conf").then(|| "[install]\nindex-url = https://no.example\n[global]\nindex-url = https://p.example/simple\n".to_owned())
        };
        assert_eq!(
            pip_configured(&none, Some(Path::new("/h")), &pip).as_deref(),
            Some("https://p.example/simple")
        );
        let variable = |name: &str| (name == "PIP_INDEX_URL").then(|| "https://v.example".to_owned());
        assert_eq!(
            pip_configured(&variable, Some(Path::new("/h")), &pip).as_deref(),
            Some("https://v.example")
        );
    }
}
