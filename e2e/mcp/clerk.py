"""An MCP server for the console's tests, over stdio: `describe` is described by the first line of a file, `echo` gives text back.

Standard library only. The argument is the file with the description.
"""
import json
import sys


def description():
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return "Describes something."


def tools():
    text = {"type": "object", "properties": {"text": {"type": "string"}}}
    return [
        {"name": "describe", "description": description(), "inputSchema": {"type": "object", "properties": {}}},
        {"name": "echo", "description": "Gives a text back.", "inputSchema": text},
    ]


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request or "method" not in request:
        continue
    params = request.get("params") or {}
    match request["method"]:
        case "initialize":
            result = {
                "protocolVersion": params.get("protocolVersion"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "clerk", "version": "1"},
            }
        case "tools/list":
            result = {"tools": tools()}
        case "tools/call":
            said = params.get("arguments", {}).get("text", "") if params["name"] == "echo" else "described"
            result = {"content": [{"type": "text", "text": said}]}
        case _:
            result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
