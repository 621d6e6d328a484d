//! Tables of good and bad entries of servers, gateways, consoles and agents.

use std::path::PathBuf;

use super::*;
use crate::{Personality, Toolbox, check_agents};

const GOOD: &str = r#"
[personality]
fs_reach = { read = ["${workspace}"] }
secrets = { allow = ["github/*"] }

[[server]]
name = "git"
command = ["uvx", "mcp-server-git", "--repository", "${workspace}/{x}"]
capabilities = { fs_reach = { read = ["${workspace}"] }, process = { allowedBinaries = ["git"] }, secrets = ["github/token"] }
accept = "clean"
env = { LOG_LEVEL = "info", DATA = "${workspace}/data" }
secrets = { GITHUB_TOKEN = "github/token" }
directory = "${workspace}/sub"
registry = ["registry.example"]
limits = { memory = "512M", processes = 64 }
idle = "10m"
policy_tool = false
max_message = "64M"
unix_sockets = true
sampling = false
elicitation = false
[server.tool.transfer]
class = "financial"
risk = "high"
idempotency = { mode = "required", key = ["invoice"] }
constraints = { maxInvocations = 3 }
limits = { wall = "60s" }
enabled = false

[[server]]
name = "time"

[gateway]
listen = "127.0.0.1:7117"
tls = { certificate = "${self}/cert.pem", key = "${self}/key.pem" }
hosts = ["gateway.example", "10.0.0.7"]

[console]
listen = "127.0.0.1:7118"
hosts = ["console.example"]
trust = "log+00000000+AA"

[[agent]]
name = "researcher"
token = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
servers = ["git", "toolbox"]
tools = ["git__git_status"]
"#;

fn variables() -> Variables {
    Variables { workspace: Some("/srv/w".into()), self_dir: Some("/srv/p".into()), ..Variables::default() }
}

/// Reads a file and returns everything that is wrong with its servers, its gateway, its console and its agents, a line each.
fn faults(text: &str) -> Vec<String> {
    let toolbox = match Toolbox::from_toml(text) {
        Ok(toolbox) => toolbox,
        Err(error) => return vec![format!("{}: {}", error.line, error.message)],
    };
    let (servers, mut gaps) = toolbox.servers(&variables());
    let personality = toolbox.personality.clone().unwrap_or_default().expand(&variables()).unwrap();
    gaps.extend(check_servers(&servers, &personality));
    gaps.extend(toolbox.gateway(&variables()).1);
    gaps.extend(toolbox.console(&variables()).1);
    gaps.extend(check_agents(&toolbox.agents, &servers, |name| name == "grep"));
    gaps.into_iter().map(|gap| format!("{} {} {}: {}", gap.table, gap.name, gap.field, gap.message)).collect()
}

#[test]
fn reads_everything_that_an_entry_can_say() {
    assert_eq!(faults(GOOD), Vec::<String>::new());
    let toolbox = Toolbox::from_toml(GOOD).unwrap();
    let (servers, _) = toolbox.servers(&variables());
    let [git, time] = &servers[..] else { panic!("two servers") };
    assert_eq!(git.command, ["uvx", "mcp-server-git", "--repository", "/srv/w/{x}"]);
    assert_eq!(git.env["DATA"], "/srv/w/data");
    assert_eq!(git.directory(), Some(PathBuf::from("/srv/w/sub")));
    assert_eq!((git.accept, git.policy_tool), (Accept::Clean, false));
    assert_eq!((git.max_message, git.unix_sockets), (Some(Size::new(64 << 20)), true));
    assert_eq!((git.sampling, git.elicitation), (false, false));
    assert_eq!(
        (time.max_message, time.unix_sockets, time.sampling, time.elicitation),
        (None, false, true, true)
    );
    let transfer = &git.tools["transfer"];
    assert_eq!((transfer.class, transfer.risk), (Some(SafetyClass::Financial), Some(Risk::High)));
    assert!(!transfer.enabled);
    assert_eq!((time.accept, time.policy_tool), (Accept::Review, true));
    assert_eq!((&time.capabilities, time.command.is_empty()), (&Capabilities::default(), true));
    let (gateway, _) = toolbox.gateway(&variables());
    assert_eq!(gateway.tls.unwrap().key, PathBuf::from("/srv/p/key.pem"));
    assert!(gateway.policy_tool);
    let (console, _) = toolbox.console(&variables());
    assert_eq!(console.listen, Some("127.0.0.1:7118".parse().unwrap()));
    assert_eq!(console.tls.unwrap().key, PathBuf::from("/srv/p/key.pem"), "that of the gateway");
    assert_eq!((console.enabled, console.trust.as_deref()), (true, Some("log+00000000+AA")));
    assert_eq!(console.hosts.len(), 1);
    let token = "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    assert_eq!(toolbox.agents[0].token.to_string(), token);
}

#[test]
fn the_same_shape_is_read_from_json() {
    let value: serde_json::Value = toml::from_str(GOOD).unwrap();
    let json = Toolbox::from_json(&value.to_string()).unwrap();
    let toml = Toolbox::from_toml(GOOD).unwrap();
    assert_eq!(json.servers(&variables()), toml.servers(&variables()));
    assert_eq!(json.gateway(&variables()), toml.gateway(&variables()));
    assert_eq!(json.console(&variables()), toml.console(&variables()));
    assert_eq!(json.agents, toml.agents);
}

#[test]
fn the_numbers_of_a_gateway_have_bounds() {
    #[rustfmt::skip]
    let cases = [
        ("sessions_per_agent = 1",   ""),
        ("sessions_per_agent = 256", ""),
        ("sessions_per_agent = 0",   "sessions_per_agent"),
        ("sessions_per_agent = 257", "sessions_per_agent"),
        ("requests_per_minute = 60", ""),
        ("requests_per_minute = 59", "requests_per_minute"),
        ("keep_keys = \"1h\"",       ""),
        ("keep_keys = \"8784h\"",    ""),
        ("keep_keys = \"59m\"",      "keep_keys"),
        ("keep_keys = \"8785h\"",    "keep_keys"),
    ];
    for (line, field) in cases {
        let toolbox = Toolbox::from_toml(&format!("[gateway]\n{line}")).unwrap();
        let (_, gaps) = toolbox.gateway(&variables());
        let fields: Vec<&str> = gaps.iter().map(|gap| &*gap.field).collect();
        assert_eq!(fields.join(" "), field, "{line}");
    }
    let (usual, _) = Toolbox::from_toml("").unwrap().gateway(&variables());
    assert_eq!((usual.sessions_per_agent, usual.keep_keys.to_string().as_str()), (32, "604800s"));
}

#[test]
fn a_bad_entry_is_told_with_its_place() {
    const TOKEN: &str = "token = \"sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"";
    let two_agents = format!("[[agent]]\nname = \"a\"\n{TOKEN}\n[[agent]]\nname = \"a\"\n{TOKEN}");
    let agent =
        |scope: &str| format!("[[server]]\nname = \"git\"\n[[agent]]\nname = \"a\"\n{TOKEN}\n{scope}");
    let server = |fields: &str| format!("[[server]]\nname = \"s\"\n{fields}");
    #[rustfmt::skip]
    let cases = [
        ("[[server]]\nname = \"A\"".to_owned(),                       "2: server name `A` is not 1 to 32"),
        ("[[server]]\nname = \"toolbox\"".to_owned(),                 "2: server name `toolbox` stands for"),
        ("[[server]]\ncommand = [\"x\"]".to_owned(),                  "1: missing field `name`"),
        (server("nmae = 1"),                                          "3: unknown field `nmae`"),
        (server("command = []"),                                      "3: `command` names no program"),
        (server("command = [\"\", \"x\"]"),                           "3: `command` names no program"),
        (server("command = \"uvx x\""),                               "3: invalid type: string"),
        (server("accept = \"all\""),                                  "3: unknown variant `all`"),
        (server("idle = \"0s\""),                                     "3: `0s` is not a duration"),
        (server("[server.tool.x]\nclas = \"read\""),                  "4: unknown field `clas`"),
        (server("[server.tool.\"a b\"]"),                             "3: tool name `a b`"),
        (server("[[server]]\nname = \"s\""),                          "server s name: another server of this file has the same name"),
        (server("command = [\"x\", \"${nowhere}\"]"),                 "server s command: `${nowhere}`"),
        (server("command = [\"x\", \"${home}\"]"),                    "server s command: "),
        (server("env = { \"A=B\" = \"x\" }"),                         "server s env: the variable name `A=B` contains `=`"),
        (server("env = { \"\" = \"x\" }"),                            "server s env: the variable name `` is empty"),
        (server("env = { A = \"x\" }\nsecrets = { A = \"k\" }\ncapabilities = { secrets = [\"k\"] }"), "server s secrets: the variable `A` is in `env` too"),
        (server("secrets = { A = \"k\" }"),                           "server s secrets: the secret `k` for the variable `A` is not granted"),
        (server("secrets = { A = \"k/*\" }\ncapabilities = { secrets = [\"k/*\"] }"), "server s secrets: the secret `k/*` for the variable `A` is not granted"),
        ("[personality]\nsecrets = [\"other\"]\n[[server]]\nname = \"s\"\nsecrets = { A = \"k\" }\ncapabilities = { secrets = [\"k\"] }".to_owned(), "server s capabilities.secrets: `k` is not covered by the personality"),
        (server("directory = \"/srv/w\""),                            "server s directory: the folder `/srv/w` is not granted"),
        (server("directory = \"/srv/*\""),                            "server s directory: `/srv/*` is a pattern"),
        (server("directory = \"sub\""),                               "server s directory: "),
        (server("capabilities = { fs_reach = { read = [\"/etc\"] } }"), "server s capabilities.fs_reach.read: path `/etc` is not covered"),
        ("[personality]\nfs_reach = { read = [\"/srv\"] }\n[[server]]\nname = \"s\"\ncapabilities = { fs_reach = { read = [\"/srv/*.md\"] } }".to_owned(), "server s capabilities.fs_reach.read: a server's process cannot be given the read glob `/srv/*.md`"),
        (server("capabilities = { storage = { scope = \"session\" } }"), "server s capabilities.storage: a server keeps no storage"),
        (server("capabilities = { network = { allow = [\"a.example\"] } }"), "server s capabilities.network: host `a.example` is not covered"),
        (server("max_message = \"1K\""),                              "server s max_message: a message cannot be limited to 1K"),
        (server("max_message = \"2G\""),                              "server s max_message: a message cannot be limited to 2G"),
        ("[personality]\nunix_sockets = false\n[[server]]\nname = \"s\"\nunix_sockets = true".to_owned(), "server s unix_sockets: opens Unix sockets, which the personality does not permit"),
        (server("registry = []"),                                     "server s registry: an empty list"),
        (server("registry = [\"*.example\"]"),                        "server s registry: the install step may reach single hosts only"),
        ("[personality]\nnetwork = { allow = [\"a.example\"] }\n[[server]]\nname = \"s\"\ncapabilities = { network = { allow = [\"a.example\"] } }\n[server.tool.x]\nclass = \"write\"".to_owned(), "server s tool.x.class: CLASS_UNDERSTATED"),
        ("[gateway]\nlisten = \"localhost:80\"".to_owned(),           "2: `listen` is an address and a port"),
        ("[gateway]\nlisten = \"0.0.0.0:80\"".to_owned(),             "gateway  listen: `0.0.0.0:80` is not a loopback address"),
        ("[gateway]\nhosts = [\"a b\"]".to_owned(),                   "2: `a b`"),
        ("[gateway]\ntls = { certificate = \"/c\" }".to_owned(),      "2: missing field `key`"),
        ("[gateway]\ntls = { certificate = \"c\", key = \"/k\" }".to_owned(), "gateway  tls.certificate: "),
        ("[gateway]\ntsl = 1".to_owned(),                             "2: unknown field `tsl`"),
        ("[console]\nlisten = \"localhost:80\"".to_owned(),           "2: `listen` is an address and a port"),
        ("[console]\nlisten = \"0.0.0.0:80\"".to_owned(),             "console  listen: `0.0.0.0:80` is not a loopback address"),
        ("[console]\nhosts = [\"a b\"]".to_owned(),                   "2: `a b`"),
        ("[console]\nenabled = \"no\"".to_owned(),                    "2: invalid type: string"),
        ("[console]\ntrust = 1".to_owned(),                           "2: invalid type: integer"),
        ("[console]\ntls = { certificate = \"/c\", key = \"k\" }".to_owned(), "console  tls.key: "),
        ("[console]\ntoken = 1".to_owned(),                           "2: unknown field `token`"),
        ("[[agent]]\nname = \"a\"".to_owned(),                        "1: missing field `token`"),
        ("[[agent]]\nname = \"a\"\ntoken = \"rfg_secret\"".to_owned(), "3: `token` is not `sha256:` and 64"),
        ("[[agent]]\nname = \"a\"\ntoken = \"sha256:0g\"".to_owned(), "3: `token` is not `sha256:` and 64"),
        (two_agents,                                                  "agent a name: another agent of this file has the same name"),
        (agent("servers = [\"gti\"]"),                                "agent a servers: no server of this file is named `gti`"),
        (agent("tools = [\"gti__status\"]"),                          "agent a tools: `gti__status` is neither"),
        (agent("tools = [\"status\"]"),                               "agent a tools: `status` is neither"),
        (agent("servers = [\"toolbox\"]\ntools = [\"git__status\"]"), "agent a tools: `git__status` is of `git`, which is not among its servers"),
    ];
    for (text, message) in cases {
        let found = faults(&text);
        assert!(
            found.iter().any(|fault| fault.starts_with(message)),
            "{text}\nwanted {message}\nfound {found:?}"
        );
    }
    for permitted in ["", "unix_sockets = true\n"] {
        let text = format!("[personality]\n{permitted}[[server]]\nname = \"s\"\nunix_sockets = true");
        assert_eq!(faults(&text), Vec::<String>::new(), "{text}");
    }
    for scope in [
        "servers = [\"git\"]\ntools = [\"git__status\"]",
        "tools = [\"grep\", \"toolbox__grep\"]",
        "servers = [\"toolbox\"]\ntools = [\"grep\"]",
    ] {
        assert_eq!(faults(&agent(scope)), Vec::<String>::new(), "{scope}");
    }
    let tls = "tls = { certificate = \"/c\", key = \"/k\" }";
    for entries in [
        format!("[console]\nlisten = \"0.0.0.0:80\"\n{tls}"),
        format!("[gateway]\n{tls}\n[console]\nlisten = \"0.0.0.0:80\""),
        "[console]\nlisten = \"[::1]:80\"\nenabled = false".to_owned(),
    ] {
        assert_eq!(faults(&entries), Vec::<String>::new(), "{entries}");
    }
    let secret = faults("[[agent]]\nname = \"a\"\ntoken = \"rfg_very_secret\"");
    assert!(!secret.concat().contains("very_secret"), "{secret:?}");
}

#[test]
fn what_a_personality_does_not_mention_is_not_permitted() {
    let text = "[[server]]\nname = \"s\"\ncapabilities = { process = { allow = [\"git\"] }, environment = [\"LANG\"] }";
    assert_eq!(faults(text), Vec::<String>::new());
    let entry = Toolbox::from_toml(text).unwrap().servers(&variables()).0.remove(0);
    let none: Personality = toml::from_str("process = { allow = [] }\nenvironment = []").unwrap();
    assert_eq!(check_servers([&entry], &none).len(), 2);
}
