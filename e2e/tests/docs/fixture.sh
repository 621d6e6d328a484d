# What pages need before their commands: `<!-- docs-test: fixture=NAME -->` calls `fixture_NAME`, in the session of the page.
# A fixture that fails fails the page.

# The examples, as in a clone of the repository; the page goes on there.
fixture_clone() {
  mkdir -p ~/clone && cp -r ~/ringfence/examples ~/clone/ && cd ~/clone
}

# An empty folder, in which the page goes on.
fixture_folder() {
  local folder
  folder=$(mktemp -d ~/XXXXXX) && cd "$folder"
}

# Something to build: `src` and `build.py`, which reads one and writes the other.
fixture_build() {
  mkdir -p src out && echo 'fn main() {}' >src/main.rs && echo 'The workshop is on Thursday.' >notes.txt &&
    echo 'open("out/built", "w").write(open("src/main.rs").read())' >build.py
}

# The Python package index is served, from what script/mcp-servers has installed.
fixture_packages() {
  [ -d /home/.packages/mcp ]
}

# Components of guest/, from script/wasm-guests.
fixture_component() {
  cp /home/.guests/slug.wasm .
}

# A client that has these servers in `mcp.json`, as somebody wrote it before there was a fence.
fixture_configuration() {
  git init -q ~/notes && mkdir -p "$(dirname "${1:-mcp.json}")" && cat >"${1:-mcp.json}" <<JSON
{
  "mcpServers": {
    "git": { "command": "uvx", "args": ["mcp-server-git", "--repository", "$HOME/notes"] },
    "time": { "command": "uvx", "args": ["mcp-server-time", "--local-timezone", "UTC"], "env": { "API_TOKEN": "made-up-4711" } },
    "far": { "url": "https://api.example.com/mcp" }
  }
}
JSON
}

# The client starts every server of its configuration once, asks for the tools, and ends.
fixture_client() {
  /usr/bin/python3 ~/ringfence/e2e/tests/docs/client.py "${1:-mcp.json}"
}

# Stand-ins for programs that a page names.
fixture_program() {
  printf '#!/bin/sh\ncat >/dev/null\n' >~/.local/bin/"$1" && chmod +x ~/.local/bin/"$1"
}

# A folder on another machine, to which checkpoints are pushed.
fixture_write_once() {
  mkdir -p /mnt/write-once
}

# The clerk's toolbox, with people in front of notes.
fixture_stricter() {
  sed 's/expires = "30m", /expires = "30m", write = "human", /' ringfence.toml >stricter.toml && ! cmp -s ringfence.toml stricter.toml
}

# The program of a bank.
fixture_pay_invoice() {
  fixture_program pay-invoice
}

# Two calls that were killed in the middle: the tool had begun, and nobody knows what became of it.
fixture_doubt() {
  local number call
  sed 's/echo \\"note/while :; do :; done; echo \\"note/' ringfence.toml >slow.toml
  for number in 9 10; do
    ringfence --policy slow.toml call --idempotency-key letter-$number note "{\"text\": \"sent letter $number\"}" >/dev/null 2>&1 &
    call=$!
    until ringfence idempotency list 2>/dev/null | grep -q "letter-$number *executing"; do
      kill -0 $call || return 1
      sleep 0.1
    done
    kill -KILL $call
    wait $call
  done
  return 0
}

# The clerk's toolbox alone.
fixture_clerk() {
  fixture_clone && cd examples/clerk && mkdir -p ledger
}

# A repository with a toolbox, whose manifest is on `origin/main`.
fixture_first_hour() {
  fixture_folder && echo 'print(open("notes.txt").read())' >build.py && echo one >notes.txt
}
fixture_history() {
  fixture_folder && git init -q . && echo one >notes.txt && git add notes.txt &&
    git -c user.name=Ada -c user.email=ada@example.com commit -qm "Begin"
}

fixture_repository() {
  fixture_folder && git init -q -b main . && git config user.email ada@example.org && git config user.name Ada || return 1
  cat >ringfence.toml <<TOML
[personality]
id = "researcher"
network = { allow = ["*.example.com"] }

[[tool]]
name = "fetch"
description = "Fetch a page"
builtin = "fetch_url"
capabilities = { network = { allowedHosts = ["api.example.com"] } }
TOML
}

# Two manifests, of which the second reaches further.
fixture_locks() {
  cp ringfence.lock.json old.lock.json && sed -i 's/"api.example.com"/"*.example.com"/' ringfence.toml || return 1
  mv ringfence.lock.json kept && ringfence manifest && mv ringfence.lock.json new.lock.json && mv kept ringfence.lock.json
}

# The toolbox reaches further than its manifest says.
fixture_wider() {
  ! ringfence manifest verify --against ringfence.lock.json
}

# What was agreed to is on `origin/main`.
fixture_merged() {
  git add . && (git diff --cached --quiet || git commit -q -m "Agree") && git update-ref refs/remotes/origin/main HEAD
}

# A package with one tool that does what it declares.
fixture_crate() {
  fixture_folder && mkdir src || return 1
  cat >Cargo.toml <<TOML
[package]
name = "demo"
version = "0.1.0"
edition = "2024"

[[package.metadata.ringfence.tool]]
name = "count"
entry = "count"
capabilities = {}

TOML
  echo 'pub fn count(text: &str) -> usize { text.len() }' >src/lib.rs
  cat >ringfence.toml <<TOML
[personality]
id = "researcher"

[[tool]]
name = "count"
description = "Count the letters of a text"
command = ["wc", "-c"]
input = { type = "object" }
output = { type = "string" }
capabilities = { process = { allowedBinaries = ["wc"] } }
TOML
  cargo generate-lockfile --quiet
}

# A tool that starts a program through a closure in another module.
fixture_search() {
  printf 'pub mod search;\npub mod tools;\npub fn count(text: &str) -> usize { text.len() }\n' >src/lib.rs
  cat >src/tools.rs <<'RUST'
//! Tools.

pub fn grep(pattern: &str) -> Option<String> {
    crate::search::in_folder(pattern)
}
RUST
  cat >src/search.rs <<'RUST'
use std::process::Command;

pub fn in_folder(pattern: &str) -> Option<String> {
    let look = |pattern: &str| Command::new("rg").arg(pattern).output();
    String::from_utf8(look(pattern).ok()?.stdout).ok()
}
RUST
}

# The source of a server in Python, and its entry.
fixture_server_source() {
  mkdir -p path/to/server/git_server && cat >path/to/server/pyproject.toml <<TOML || return 1
[project]
name = "git-server"
version = "1.0"
TOML
  cat >path/to/server/git_server/__init__.py <<'PYTHON'
import subprocess


def log():
    return subprocess.run(["git", "log"], capture_output=True)
PYTHON
  cat >ringfence.toml <<TOML
[personality]
id = "desk"
process = { allow = ["git"] }

[[server]]
name = "git"
capabilities = { process = { allowedBinaries = ["git"] } }
TOML
}

# A list of tools, as a server sends it, and a toolbox with one of them.
fixture_tools() {
  fixture_folder || return 1
  cat >tools.json <<'JSON'
{"tools": [{"name": "read_file", "description": "Read a file of the workspace", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}]}
JSON
  cat >ringfence.toml <<'TOML'
[personality]
id = "researcher"
fs_reach = { read = ["${workspace}"] }

[[tool]]
name = "read_file"
description = "Read a file of the workspace"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }
TOML
}

# A database server on `db.example`, whose certificate the authority of these pages signed.
fixture_postgres() {
  local bin data=/srv/postgres
  bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -n 1)")
  [ -x "$bin/initdb" ] || bin=$(dirname "$(command -v initdb)")
  mkdir -p $data /etc/ringfence && cp /home/.world/authority.pem /etc/ringfence/ca.pem && echo secret >/srv/password &&
    cp /home/.world/far.pem /home/.world/far.key /srv/ && chmod 600 /srv/far.key && chown postgres $data /srv/password /srv/far.* || return 1
  as() { setpriv --reuid=postgres --regid="$(id -g postgres)" --init-groups env HOME=/nonexistent "$@" </dev/null; }
  as "$bin/initdb" --pgdata $data/data --username gateway --pwfile /srv/password --auth scram-sha-256 --no-instructions --no-sync >/dev/null &&
    echo "unix_socket_directories = '$data'
ssl = on
ssl_cert_file = '/srv/far.pem'
ssl_key_file = '/srv/far.key'" >>$data/data/postgresql.conf &&
    as "$bin/pg_ctl" --silent --wait --pgdata $data/data --log $data/log start >/dev/null &&
    PGPASSWORD=secret "$bin/createdb" --host 127.0.0.1 --username gateway ringfence
}

# A file to be copied, and an empty database for it.
fixture_another_database() {
  local bin
  bin=$(dirname "$(ls /usr/lib/postgresql/*/bin/createdb 2>/dev/null | tail -n 1)")
  [ -x "$bin/createdb" ] || bin=$(dirname "$(command -v createdb)")
  ringfence --policy ringfence.toml call --store ringfence.db note '{"text": "sent letter 1"}' &&
    PGPASSWORD=secret "$bin/createdb" --host 127.0.0.1 --username gateway another &&
    export RINGFENCE_STORE='postgres://gateway:secret@db.example/another?sslrootcert=/etc/ringfence/ca.pem'
}

# An engine's folders are this page's own, and one image is at it: what `podman build` or `pull` would bring.
fixture_engine() {
  mkdir -p /var/lib/containers /run/podman && mount -t tmpfs containers /var/lib/containers && mkdir -p /etc/containers || return 1
  printf '[containers]\nbase_hosts_file = "none"\n[engine]\nlock_type = "file"\ncgroup_manager = "cgroupfs"\n' >/etc/containers/containers.conf
  grep -q '^containers:' /etc/subuid || echo containers:1879048192:1048576 >>/etc/subuid
  grep -q '^containers:' /etc/subgid || echo containers:1879048192:1048576 >>/etc/subgid
  local tree=/srv/tree applet
  mkdir -p $tree/{bin,dev,etc,proc,run,sys,tmp,usr/bin,var/tmp} && cp /bin/busybox $tree/bin/ &&
    for applet in cat ls sh wc; do ln -sf busybox $tree/bin/$applet; done
  tar -C $tree -c . | podman --storage-driver vfs --runtime runc import --quiet - localhost/tools
}

# The engine is up when its socket answers.
fixture_engine_answers() {
  for _ in $(seq 100); do
    if curl --silent --fail --max-time 5 --unix-socket /run/podman/podman.sock http://engine/_ping >/dev/null; then return 0; fi
    sleep 0.1
  done
  return 1
}

# Three lines to count.
fixture_notes() {
  fixture_folder && printf 'one\ntwo\nthree\n' >notes.txt
}

# A client's own configuration.
fixture_client_configuration() {
  fixture_configuration ~/.config/client/mcp.json && mkdir -p ~/fence
}

# The client is used once under the policy that the page shows, in its repository; what the server sends is for a person to accept.
fixture_first_session() {
  sed 's/^accept = "clean"/accept = "review"/' desk.toml >~/fence/ringfence.toml &&
    (cd ~/notes && /usr/bin/python3 ~/ringfence/e2e/tests/docs/client.py ~/.config/client/mcp.json git)
}

# Most of what the component needs is compiled already, by script/wasm-guests; cargo knows it again where the crates are at their old place.
fixture_compiled() {
  cp -a /home/.guests/rust target && export CARGO_HOME=$crates
}

# A toolbox called `tools.toml`.
fixture_toolbox() {
  cp examples/clerk/ringfence.toml tools.toml
}

# An engine with an image, whose digest is in `image`.
fixture_image() {
  fixture_engine || return 1
  podman --storage-driver vfs --runtime runc system service --time=0 unix:///run/podman/podman.sock &
  fixture_engine_answers && image=$(podman --storage-driver vfs image inspect --format '{{index .RepoDigests 0}}' localhost/tools)
}

# Beside the toolbox of the README: something to read, questions, a list of tools, and a package that the lint looks at.
fixture_readme() {
  echo '{"id": 1, "tool": "read_file", "want": {"read": "notes.txt"}}' >questions.jsonl &&
    (fixture_tools && cp tools.json ~/clone/) && (fixture_crate && cp -r Cargo.toml Cargo.lock ~/clone/ && cp src/lib.rs ~/clone/src/) &&
    rm -f src/main.rs && git init -q -b main . && git config user.email ada@example.org && git config user.name Ada
}

# An editor's list of servers.
fixture_vscode() {
  fixture_folder && mkdir .vscode && cat >.vscode/mcp.json <<JSON
{ "servers": { "time": { "type": "stdio", "command": "uvx", "args": ["mcp-server-time"] } } }
JSON
}

# The log of a client that starts a server without any grant, which needs one: it does not come up.
fixture_complaint() {
  cat >needy.json <<'JSON'
{ "mcpServers": { "git": { "command": "ringfence", "args": ["wrap", "--accept", "clean", "--", "uvx", "mcp-server-git"] } } }
JSON
  ! /usr/bin/python3 ~/ringfence/e2e/tests/docs/client.py needy.json 2>&1
}
