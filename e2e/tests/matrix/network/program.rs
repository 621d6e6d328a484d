//! Real programs, unchanged: the granted name works, the other one fails and nothing arrives there.

use super::ends::{Ends, NEAR, OTHER, Ran};
use super::http::Pages;
use super::package;
use crate::matrix::program::cargo;
use crate::matrix::stage::{PATH, Work};

/// One program that fetches something from a far end, and what it needs for that.
pub(crate) struct Program {
    /// `program::what`.
    pub(crate) name: &'static str,
    /// What is granted; `{host}` is the name and `{address}` the address of whom it goes to.
    grant: &'static str,
    /// What the sandbox is told beside that.
    flags: &'static [&'static str],
    /// `NAME=VALUE`, inside and outside.
    variables: &'static [&'static str],
    command: &'static [&'static str],
    /// Part of what it prints when it worked.
    says: &'static str,
    /// Whether it must be the tests' own toolchain that runs.
    toolchain: bool,
    /// Whether it only asks for the name, and connects to nobody.
    asks_only: bool,
    /// Whether it does not find the name in the machine's file of hosts, and cannot be tried without a sandbox.
    needs_dns: bool,
}

/// A program that needs nothing but its arguments.
const PLAIN: Program = Program {
    name: "",
    grant: "{host}",
    flags: &[],
    variables: &[],
    command: &[],
    says: "the page",
    toolchain: false,
    asks_only: false,
    needs_dns: false,
};

const URLLIB: &str = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())";
const REQUESTS: &str = "import sys, requests; print(requests.get(sys.argv[1]).text)";
const FETCH: &str = "fetch(process.argv[1]).then(a => a.text()).then(console.log)";
const NODE_HTTPS: &str =
    "require('https').get(process.argv[1], a => a.on('data', data => console.log(String(data))))";

#[rustfmt::skip]
pub(crate) const PROGRAMS: &[Program] = &[
    Program { name: "curl::https", command: &["curl", "-sS", "--cacert", "{ca}", "https://{host}/page"], ..PLAIN },
    Program { name: "curl::http", command: &["curl", "-sS", "--fail", "http://{host}/page"], ..PLAIN },
    Program { name: "curl::two_on_one_connection", says: "the pagethe page",
        command: &["curl", "-sS", "--fail", "http://{host}/page", "http://{host}/page"], ..PLAIN },
    Program { name: "curl::literal", grant: "{address}", command: &["curl", "-sS", "--fail", "http://{address}/page"], ..PLAIN },
    Program { name: "curl::literal_https", grant: "{address}", command: &["curl", "-sS", "--cacert", "{ca}", "https://{address}/page"], ..PLAIN },
    Program { name: "curl::post", says: "token-", command: &["curl", "-sS", "--cacert", "{ca}", "-d", "a=b", "https://{host}/form"], ..PLAIN },
    Program { name: "curl::trailing_dot", needs_dns: true, command: &["curl", "-sS", "--fail", "http://{host}./page"], ..PLAIN },
    Program { name: "curl::upload", says: "20000000 bytes", flags: &["--exec", "head", "--exec", "curl"],
        command: &["sh", "-c", "head -c 20000000 /dev/zero | curl -sS --fail --data-binary @- http://{host}/length"], ..PLAIN },
    Program { name: "curl::upload_in_chunks", says: "20000000 bytes", flags: &["--exec", "head", "--exec", "curl"],
        command: &["sh", "-c", "head -c 20000000 /dev/zero | curl -sS --fail -T - http://{host}/length"], ..PLAIN },
    Program { name: "curl::upload_over_tls", says: "20000000 bytes", flags: &["--exec", "head", "--exec", "curl"],
        command: &["sh", "-c", "head -c 20000000 /dev/zero | curl -sS --fail --cacert {ca} -T - https://{host}/length"], ..PLAIN },
    Program { name: "curl::download", says: "all there", flags: &["--exec", "sha256sum", "--exec", "curl"],
        command: &["sh", "-c", "for url in http://{host}/big https://{host}/big; do curl -sS --fail --cacert {ca} $url | sha256sum; done | \
            { read a; read b; [ \"$a\" = \"$b\" ] && [ \"${a%% *}\" = {sum} ] && echo all there; }"], ..PLAIN },
    Program { name: "curl::many_beside_each_other", says: "all 60", flags: &["--exec", "seq", "--exec", "curl", "--exec", "wc"],
        command: &["sh", "-c", "[ $(curl -s --fail --cacert {ca} --parallel --parallel-max 60 --parallel-immediate $(seq -f 'https://{host}/page?%.0f' 60) | wc -c) = 480 ] && echo all 60"], ..PLAIN },
    Program { name: "git::clone", says: "hello from far", flags: &["--exec", "git", "--exec", "cat"], variables: &["GIT_SSL_CAINFO={ca}", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1"],
        command: &["sh", "-c", "git clone -q https://{host}/git/repo.git copy && cat copy/a.txt"], ..PLAIN },
    Program { name: "git::ls_remote", says: "refs/heads/main", variables: &["GIT_SSL_CAINFO={ca}", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1"],
        command: &["git", "ls-remote", "https://{host}/git/repo.git"], ..PLAIN },
    Program { name: "python::urllib", variables: &["SSL_CERT_FILE={ca}"], command: &["python3", "-c", URLLIB, "https://{host}/page"], ..PLAIN },
    Program { name: "python::requests", variables: &["REQUESTS_CA_BUNDLE={ca}"], command: &["python3", "-c", REQUESTS, "https://{host}/page"], ..PLAIN },
    Program { name: "node::fetch", variables: &["NODE_EXTRA_CA_CERTS={ca}"], command: &["node", "-e", FETCH, "https://{host}/page"], ..PLAIN },
    Program { name: "node::https", variables: &["NODE_EXTRA_CA_CERTS={ca}"], command: &["node", "-e", NODE_HTTPS, "https://{host}/page"], ..PLAIN },
    Program { name: "pip::download", says: "Successfully downloaded tiny",
        command: &["pip", "download", "--no-deps", "--retries", "0", "--disable-pip-version-check", "--no-cache-dir", "--cert", "{ca}",
            "--index-url", "https://{host}/simple/", "-d", "{work}/wheels", "tiny"], ..PLAIN },
    Program { name: "cargo::build_from_a_registry", says: "built from far", toolchain: true,
        flags: &["--exec", "cc", "--exec", "sh", "--exec", "{work}/built", "--limit", "cpu=50s"],
        variables: &["CARGO_HTTP_CAINFO={ca}", "CARGO_NET_RETRY=0", "CARGO_HOME={work}/cargo-home", "CARGO_TARGET_DIR={work}/built",
            "CARGO_REGISTRIES_FAR_INDEX=sparse+https://{host}/index/"],
        command: &["cargo", "run", "-q", "--manifest-path", "{work}/Cargo.toml"], ..PLAIN },
    Program { name: "busybox::wget", command: &["busybox", "wget", "-q", "-O", "-", "http://{host}/page"], ..PLAIN },
    Program { name: "busybox::nslookup", says: "198.18.", asks_only: true, needs_dns: true, command: &["busybox", "nslookup", "{host}"], ..PLAIN },
];

impl Program {
    /// What the far ends serve to it.
    pub(crate) fn pages(&self, work: &Work<'_>) -> Pages {
        let mut pages = Pages::default();
        pages.files.insert("/page".to_owned(), b"the page".to_vec());
        if self.name == "curl::download" {
            pages.files.insert("/big".to_owned(), big());
        }
        match self.name.split("::").next() {
            Some("git") => pages.git = Some(package::repository(work)),
            Some("pip") => package::wheel(work, &mut pages),
            Some("cargo") => package::registry(work, &mut pages),
            _ => {}
        }
        pages
    }

    /// With the name granted it works, and is told of.
    pub(crate) fn works(&self, ends: &Ends<'_>) -> Result<(), String> {
        let address = ends.near.address.to_string();
        let ran = self.run(ends, NEAR, &address)?;
        ran.must(self.says)?;
        ends.other_untouched()?;
        if self.asks_only {
            return ends.near.untouched(); // a question is no connection
        }
        ran.tells(if self.grant == "{host}" { NEAR } else { &address }, "done")?;
        if ends.near.connections() == 0 { Err("the far end saw nothing".to_owned()) } else { Ok(()) }
    }

    /// With another name granted it fails, is told of, and nothing arrives.
    pub(crate) fn fails(&self, ends: &Ends<'_>) -> Result<(), String> {
        let address = ends.other.address.to_string();
        let ran = self.run(ends, OTHER, &address)?;
        if ran.code == Some(0) || ran.stdout.contains(self.says) || ran.stdout.contains(&ends.token) {
            return Err(format!("it got through: {ran:?}"));
        }
        ends.untouched()?;
        ran.tells(if self.grant == "{host}" { OTHER } else { &address }, "refused")
    }

    /// Without a sandbox the other name works, or its failing inside says nothing.
    pub(crate) fn escapes(&self, ends: &Ends<'_>) -> Result<(), String> {
        let address = ends.other.address.to_string();
        let filled =
            |words: &[&str]| words.iter().map(|word| fill(word, OTHER, &address)).collect::<Vec<_>>();
        let variables = filled(self.variables);
        let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
        let ended = ends.unconfined(&variables, &filled(self.command), &self.path(&ends.work)?);
        ended.must(0, self.says)?;
        if ends.other.connections() == 0 { Err("the far end saw nothing".to_owned()) } else { Ok(()) }
    }

    /// Whether it can be tried without a sandbox.
    pub(crate) fn can_escape(&self) -> bool {
        !self.needs_dns
    }

    /// Only the near end is ever granted; the program goes where it is told.
    fn run(&self, ends: &Ends<'_>, host: &str, address: &str) -> Result<Ran, String> {
        let filled = |words: &[&str]| words.iter().map(|word| fill(word, host, address)).collect::<Vec<_>>();
        let grant = fill(self.grant, NEAR, &ends.near.address.to_string());
        let mut flags = vec!["--private".to_owned(), NEAR.into(), "--private".into(), OTHER.into()];
        flags.extend(filled(self.flags));
        for variable in filled(self.variables) {
            flags.extend(["--env".to_owned(), variable]);
        }
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        Ok(ends.run_with(&[&grant], &flags, &filled(self.command), &self.path(&ends.work)?))
    }

    fn path(&self, work: &Work<'_>) -> Result<String, String> {
        if self.toolchain {
            return Ok(format!("{}:{PATH}", cargo::toolchain(work)?.display()));
        }
        Ok(PATH.to_owned())
    }
}

fn fill(word: &str, host: &str, address: &str) -> String {
    word.replace("{host}", host).replace("{address}", address).replace("{sum}", SUM)
}

/// A page of 20 MB in which no part is like another, so that one that is lost or doubled is missed.
fn big() -> Vec<u8> {
    (0..2_500_000_u64).flat_map(u64::to_be_bytes).collect()
}

/// The checksum of [`big`].
const SUM: &str = "863cd2c978296dc335f09aae5de92a46d59d8f57f4cd8a133d4e526b057cdb3e";
