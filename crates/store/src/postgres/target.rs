//! Which server, which database, and whether the way there may be read by others.
//!
//! INVARIANT: nothing leaves this machine in plain text unless the URL says `sslmode=disable`, and an encrypted
//! connection is always to a server whose certificate is for the host of the URL.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use super::error::PostgresError;
use super::tls::Tls;

/// The parameters of a URL that are handed on as they are.
const PASSED_ON: [&str; 12] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "keepalives",
    "keepalives_idle",
    "password",
    "port",
    "sslnegotiation",
    "target_session_attrs",
    "user",
];

/// A server and a database on it.
pub(super) struct Target {
    /// How to get there.
    pub(super) config: Config,
    /// How to shake hands there; not used where the configuration says plain text.
    pub(super) tls: Tls,
    /// The database and its host, for messages.
    pub(super) place: Arc<str>,
}

/// What the URL says of encryption.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    /// Plain text, whatever the host.
    Disable,
    /// Plain text on this machine, and encrypted beyond it.
    Unsaid,
    /// Encrypted, whatever the host.
    Verify,
}

impl Target {
    /// Reads a URL.
    pub(super) fn parse(url: &str, connect: Duration) -> Result<Self, PostgresError> {
        let (rest, mode, roots) = split(url)?;
        let mut config: Config = rest.parse().map_err(|_| refused("it is malformed"))?;
        if config.get_hosts().is_empty() {
            return Err(refused("it names no host"));
        }
        let plain = mode == Mode::Disable || (mode == Mode::Unsaid && stays_here(&mut config));
        config.ssl_mode(if plain { SslMode::Disable } else { SslMode::Require });
        if config.get_application_name().is_none() {
            config.application_name("ringfence");
        }
        if config.get_hosts().len() > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config.connect_timeout(connect).tcp_user_timeout(Duration::from_secs(60));
        let place = place(&config);
        let tls = Tls::new(roots.as_deref().filter(|_| !plain), &place, plain)?;
        Ok(Self { config, tls, place })
    }
}

/// Takes our own parameters out of a URL.
fn split(url: &str) -> Result<(String, Mode, Option<PathBuf>), PostgresError> {
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(refused("it must begin with `postgres://`"));
    }
    let (rest, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut rest, mut mode, mut roots) = (rest.to_owned(), Mode::Unsaid, None);
    let mut separator = '?';
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').ok_or_else(|| refused("a parameter has no value"))?;
        match name {
            "sslmode" => {
                mode = match value {
                    "disable" => Mode::Disable,
                    "require" | "verify-full" => Mode::Verify,
                    "allow" | "prefer" => {
                        return Err(refused(
                            "`sslmode=allow` and `sslmode=prefer` may end in plain text; \
                             use `require`, `verify-full` or `disable`",
                        ));
                    }
                    _ => return Err(refused("`sslmode` must be `require`, `verify-full` or `disable`")),
                };
            }
            "sslrootcert" => roots = Some(PathBuf::from(decoded(value)?)),
            name if PASSED_ON.contains(&name) => {
                // Writing to a string does not fail.
                let _written = write!(rest, "{separator}{parameter}");
                separator = '&';
            }
            // The name may be a piece of a password that was not escaped.
            _ => {
                return Err(refused(&format!(
                    "it has a parameter other than sslmode, sslrootcert, {}",
                    PASSED_ON.join(", ")
                )));
            }
        }
    }
    Ok((rest, mode, roots))
}

/// Says whether every host is a Unix socket or a loopback address. `localhost` is made to be one.
fn stays_here(config: &mut Config) -> bool {
    let hosts = config.get_hosts().to_vec();
    if let [Host::Tcp(name)] = hosts.as_slice()
        && name == "localhost"
    {
        // The address is fixed here, so that nobody else can say what the name means.
        config.hostaddr(IpAddr::V4(Ipv4Addr::LOCALHOST));
        return true;
    }
    hosts.iter().all(|host| match host {
        Host::Tcp(name) => name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
        Host::Unix(_) => true,
    })
}

/// Names the database and its hosts.
fn place(config: &Config) -> Arc<str> {
    let database = config.get_dbname().or(config.get_user()).unwrap_or("postgres");
    let mut hosts = Vec::new();
    for (index, host) in config.get_hosts().iter().enumerate() {
        let port = config.get_ports().get(index).or(config.get_ports().first()).unwrap_or(&5432);
        hosts.push(match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            Host::Unix(path) => Path::display(path).to_string(),
        });
    }
    format!("`{database}` at `{}`", hosts.join(",")).replace(char::is_control, "?").into()
}

/// Undoes the percent encoding of a value.
fn decoded(value: &str) -> Result<String, PostgresError> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(refused("a `%` is not followed by two digits"));
        };
        bytes.push(u8::try_from(high << 4 | low).unwrap_or_default());
    }
    String::from_utf8(bytes).map_err(|_| refused("a parameter is not UTF-8"))
}

fn refused(why: &str) -> PostgresError {
    PostgresError::Address { why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<(String, SslMode), String> {
        let target = Target::parse(url, Duration::from_secs(1)).map_err(|error| error.to_string())?;
        Ok((target.place.to_string(), target.config.get_ssl_mode()))
    }

    #[test]
    fn plain_text_stays_on_this_machine() {
        #[rustfmt::skip]
        let cases = [
            // URL                                              place                           mode
            ("postgres://u:p@127.0.0.1:7/db",                   "`db` at `127.0.0.1:7`",        SslMode::Disable),
            ("postgres://u:p@127.9.9.9/db",                     "`db` at `127.9.9.9:5432`",     SslMode::Disable),
            ("postgresql://u:p@localhost/db",                   "`db` at `localhost:5432`",     SslMode::Disable),
            ("postgres://u@%2Frun%2Fpostgresql/db",             "`db` at `/run/postgresql`",    SslMode::Disable),
            ("postgres:///db?host=/run/postgresql&user=u",      "`db` at `/run/postgresql`",    SslMode::Disable),
            ("postgres://u:p@db.example/",                      "`u` at `db.example:5432`",     SslMode::Require),
            ("postgres://u:p@10.0.0.1/db",                      "`db` at `10.0.0.1:5432`",      SslMode::Require),
            ("postgres://u:p@localhost.example/db",             "`db` at `localhost.example:5432`", SslMode::Require),
            ("postgres://u:p@127.0.0.1.example/db",             "`db` at `127.0.0.1.example:5432`", SslMode::Require),
            ("postgres://u:p@db.example/db?host=127.0.0.1",     "`db` at `db.example:5432,127.0.0.1:5432`", SslMode::Require),
            ("postgres://u:p@127.0.0.1/db?sslmode=require",     "`db` at `127.0.0.1:5432`",     SslMode::Require),
            ("postgres://u:p@localhost/db?sslmode=verify-full", "`db` at `localhost:5432`",     SslMode::Require),
            ("postgres://u:p@db.example/db?sslmode=disable",    "`db` at `db.example:5432`",    SslMode::Disable),
        ];
        for (url, place, mode) in cases {
            assert_eq!(read(url), Ok((place.to_owned(), mode)), "{url}");
        }
    }

    #[test]
    fn says_what_is_wrong_and_never_the_password() {
        #[rustfmt::skip]
        let cases = [
            // URL                                                  the sentence ends with
            ("mysql://u:hunter2@db/x",                              "it must begin with `postgres://`"),
            ("host=db password=hunter2",                            "it must begin with `postgres://`"),
            ("postgres://u:hunter2@/x?dbname=x",                    "it names no host"),
            ("postgres://u:hunter2@db:port/x",                      "it is malformed"),
            ("postgres://u:hunter2@db/x?sslmode=prefer",            "use `require`, `verify-full` or `disable`"),
            ("postgres://u:hunter2@db/x?sslmode=allow",             "use `require`, `verify-full` or `disable`"),
            ("postgres://u:hunter2@db/x?sslmode=verify-ca",         "`sslmode` must be `require`, `verify-full` or `disable`"),
            ("postgres://u:hunter2@db/x?sslmode",                   "a parameter has no value"),
            ("postgres://u:hun?ter2=@db/x",                         "target_session_attrs, user"),
            ("postgres://u:hunter2@db/x?hostaddr=10.0.0.1",         "target_session_attrs, user"),
            ("postgres://u:hunter2@db/x?sslrootcert=/none/ca.pem",  "`/none/ca.pem` cannot be read: entity not found"),
            ("postgres://u:hunter2@db/x?sslrootcert=%2",            "a `%` is not followed by two digits"),
            ("postgres://u:hunter2@db/x?sslrootcert=/dev/null",     "`/dev/null` holds no certificate"),
        ];
        for (url, end) in cases {
            let error = read(url).unwrap_err();
            assert!(error.ends_with(end) && !error.contains("hun"), "{url}: {error}");
        }
    }
}
