//! Spellings that people use, and some that must not be followed.

use super::*;

fn read(line: &str) -> Result<Option<Install>, SpellingError> {
    let words: Vec<String> = line.split_whitespace().map(|word| word.replace('␠', " ")).collect();
    Install::read(&words)
}

#[test]
fn reads_what_people_write() {
    #[rustfmt::skip]
    let cases = [
        // the command                                            package            version         with   command          arguments
        ("npx some-server",                                       "some-server",     "",             "",    "",              ""),
        ("npx -y some-server /srv",                               "some-server",     "",             "",    "",              "/srv"),
        ("npx --yes some-server@1.2.3 a b",                       "some-server",     "1.2.3",        "",    "",              "a b"),
        ("/usr/bin/npx -y @modelcontextprotocol/server-x",        "@modelcontextprotocol/server-x", "", "", "",              ""),
        ("npx -y @scope/name@latest",                             "@scope/name",     "",             "",    "",              ""),
        ("npx -y @scope/name@next --flag -y",                     "@scope/name",     "next",         "",    "",              "--flag -y"),
        ("npx -y @scope/name@^1.0 -- x",                          "@scope/name",     "^1.0",         "",    "",              "-- x"),
        ("npx some@>=1␠<2",                                       "some",            ">=1 <2",       "",    "",              ""),
        ("npx -- some-server --port 1",                           "some-server",     "",             "",    "",              "--port 1"),
        ("npx -p some-server tool x",                             "some-server",     "",             "",    "tool",          "x"),
        ("npx -y --package=@a/b@1 -- tool x",                     "@a/b",            "1",            "",    "tool",          "x"),
        ("npx --package @a/b -p c@2 tool",                        "@a/b",            "",             "c@2", "tool",          ""),
        ("npx -q --prefer-offline some",                          "some",            "",             "",    "",              ""),
        ("npm exec -y some -- --port 1",                          "some",            "",             "",    "",              "--port 1"),
        ("npm exec some a b",                                     "some",            "",             "",    "",              "a b"),
        ("npm x --package=some -- tool -v",                       "some",            "",             "",    "tool",          "-v"),
        ("uvx mcp-server-time",                                   "mcp-server-time", "",             "",    "mcp-server-time", ""),
        ("uvx mcp-server-time@2025.1 --local-timezone UTC",       "mcp-server-time", "==2025.1",     "",    "mcp-server-time", "--local-timezone UTC"),
        ("uvx mcp-server-time@latest",                            "mcp-server-time", "",             "",    "mcp-server-time", ""),
        ("uvx mcp-server-time==2025.1.1",                         "mcp-server-time", "==2025.1.1",   "",    "mcp-server-time", ""),
        ("uvx --from mcp-server-time server -v",                  "mcp-server-time", "",             "",    "server",        "-v"),
        ("uvx --from=mcp[cli]>=1,<2 mcp run",                     "mcp[cli]",        ">=1,<2",       "",    "mcp",           "run"),
        ("uvx --from mcp@1.2 mcp",                                "mcp",             "==1.2",        "",    "mcp",           ""),
        ("uvx --with mcp<2 mcp-server-sqlite --db x",             "mcp-server-sqlite", "",           "mcp<2", "mcp-server-sqlite", "--db x"),
        ("uvx --with a,b~=1 -w c==2 d",                           "d",               "",             "a b~=1 c==2", "d",     ""),
        ("uvx -q --isolated --no-cache some",                     "some",            "",             "",    "some",          ""),
        ("uvx -- some -x",                                        "some",            "",             "",    "some",          "-x"),
        ("uvx some[extra]",                                       "some[extra]",     "",             "",    "some",          ""),
        ("uv tool run some@1 x",                                  "some",            "==1",          "",    "some",          "x"),
        ("uv tool run --from a b",                                "a",               "",             "",    "b",             ""),
        ("pipx run some --x",                                     "some",            "",             "",    "some",          "--x"),
        ("pipx run some==1.0",                                    "some",            "==1.0",        "",    "some",          ""),
        ("pipx run --spec other==2 some",                         "other",           "==2",          "",    "some",          ""),
        ("pipx run --spec=other[x] some a",                       "other[x]",        "",             "",    "some",          "a"),
        ("pipx run --no-cache some",                              "some",            "",             "",    "some",          ""),
    ];
    for (line, package, version, with, command, arguments) in cases {
        let install = read(line).unwrap().unwrap_or_else(|| panic!("{line}"));
        let found = (install.package.as_str(), install.version.as_deref().unwrap_or_default());
        assert_eq!(found, (package, version), "{line}");
        let found =
            (install.with.join(" "), install.command.unwrap_or_default(), install.arguments.join(" "));
        assert_eq!(found, (with.into(), command.into(), arguments.into()), "{line}");
    }
}

#[test]
fn what_installs_nothing_is_left_alone() {
    for line in [
        "node /srv/index.js",
        "/venv/bin/server",
        "python3 -m server",
        "npm start",
        "uv run server.py",
        "git",
    ] {
        assert_eq!(read(line), Ok(None), "{line}");
    }
    assert_eq!(Install::read(&[]), Ok(None));
}

#[test]
fn what_is_not_understood_is_refused() {
    #[rustfmt::skip]
    let cases = [
        ("npx",                                        "`npx` is given no package to run"),
        ("npx -y",                                     "`npx` is given no package to run"),
        ("npx -y --",                                  "`npx` is given no package to run"),
        ("npx -p",                                     "`npx` is given `-p` without a value"),
        ("npx -p some",                                "`npx` is given no package to run"),
        ("npx -c some",                                "`npx` is given the option `-c`"),
        ("npx --call=rm some",                         "`npx` is given the option `--call`"),
        ("npx --registry=https://evil.example some",   "`npx` is given the option `--registry`, which is not followed"),
        ("npx --no-such-thing some",                   "`npx` is given the option `--no-such-thing`"),
        ("npx -y github:user/repo",                    "`github:user/repo` is not a package of a registry"),
        ("npx -y user/repo",                           "`user/repo` is not a package"),
        ("npx -y git+https://a.example/x",             "`git+https://a.example/x` is not a package"),
        ("npx -y https://a.example/x.tgz",             "`https://a.example/x.tgz` is not a package"),
        ("npx -y file:../x",                           "`file:../x` is not a package"),
        ("npx -y ./x",                                 "`./x` is not a package"),
        ("npx -y ../x",                                "`../x` is not a package"),
        ("npx -y /srv/x",                              "`/srv/x` is not a package"),
        ("npx -y x.tgz",                               "`x.tgz` is not a package"),
        ("npx -y some@npm:other",                      "`some@npm:other` is not a package"),
        ("npx -y some@file:x",                         "`some@file:x` is not a package"),
        ("npx -y some@",                               "`some@` is not a package"),
        ("npx -y @scope",                              "`@scope` is not a package"),
        ("npx -y some@--prefix",                       "`some@--prefix` is not a package"),
        ("npx -p some ../../bin/sh",                   "`../../bin/sh` is not a package"),
        ("npm exec some --port 1",                     "`npm exec` is given the option `--port`"),
        ("npm exec --prefix /srv some",                "`npm exec` is given the option `--prefix`"),
        ("uvx",                                        "`uvx` is given no package to run"),
        ("uvx --from",                                 "`uvx` is given `--from` without a value"),
        ("uvx --python 3.12 some",                     "`uvx` is given the option `--python`"),
        ("uvx --index-url https://me:pw@a.example some", "`uvx` is given the option `--index-url`"),
        ("uvx --from git+https://a.example/x some",    "`git+https://a.example/x` is not a package"),
        ("uvx --from ./x some",                        "`./x` is not a package"),
        ("uvx --from some@git+https://a.example/x y",  "`some@git+https://a.example/x` is not a package"),
        ("uvx --from some␠@␠https://a.example/x.whl y", "`some @ https://a.example/x.whl` is not a package"),
        ("uvx --from some x/y",                        "`x/y` is not a package"),
        ("uvx server.py",                              "`server.py` is not a package"),
        ("uvx some.whl",                               "`some.whl` is not a package"),
        ("uvx some=1",                                 "`some=1` is not a package"),
        ("uvx some[",                                  "`some[` is not a package"),
        ("uvx --with ./y some",                        "`./y` is not a package"),
        ("uvx some;python_version>'3'",                "`some;python_version>'3'` is not a package"),
        ("pipx run https://a.example/x.py",            "`https://a.example/x.py` is not a package"),
        ("pipx run --python 3 some",                   "`pipx run` is given the option `--python`"),
        ("pipx run --pip-args=--pre some",             "`pipx run` is given the option `--pip-args`"),
        ("pipx run --spec",                            "`pipx run` is given `--spec` without a value"),
        ("pipx install some",                          "`pipx` installs what it runs"),
        ("uv tool install some",                       "`uv tool` installs what it runs"),
        ("bunx some",                                  "`bunx` installs what it runs"),
        ("pnpm dlx some",                              "`pnpm dlx` installs what it runs"),
        ("yarn dlx some",                              "`yarn dlx` installs what it runs"),
    ];
    for (line, message) in cases {
        let error = read(line).unwrap_err();
        assert!(error.to_string().starts_with(message), "{line}: {error}");
        assert!(!error.hint().is_empty());
    }
    let secret = read("uvx --index-url=https://me:hunter2@a.example some").unwrap_err().to_string();
    assert!(!secret.contains("hunter2"), "{secret}");
}
