"""A client of MCP servers that starts every server of a configuration, lists its tools, and ends.

usage: client.py CONFIGURATION [SERVER]

Prints a line for each server: its name and the names of its tools.
"""

import json
import os
import subprocess
import sys

with open(sys.argv[1]) as file:
    read = json.load(file)
for name, entry in (read.get("mcpServers") or read["servers"]).items():
    if "command" not in entry or sys.argv[2:] not in ([], [name]):
        continue
    started = subprocess.Popen(
        [entry["command"], *entry.get("args", [])],
        env={**os.environ, **entry.get("env", {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def say(message):
        started.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        started.stdin.flush()

    def answer(wanted):
        for line in started.stdout:
            heard = json.loads(line)
            if heard.get("id") == wanted and "method" not in heard:
                return heard.get("result") or sys.exit(f"`{name}` answers {heard}")
        sys.exit(f"`{name}` ended before it answered")

    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "pages", "version": "1"}}
    say({"id": 1, "method": "initialize", "params": about})
    answer(1)
    say({"method": "notifications/initialized"})
    say({"id": 2, "method": "tools/list", "params": {}})
    tools = [tool["name"] for tool in answer(2)["tools"]]
    print(f"{name}: {' '.join(tools)}")
    started.stdin.close()
    if started.wait(timeout=20) != 0:
        sys.exit(f"`{name}` ended with {started.returncode}")
