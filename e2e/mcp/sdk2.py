"""The Python SDK of the stateless era as a client: `sdk2.py MODE COMMAND...` or `sdk2.py MODE http://...`; prints what it saw."""
import asyncio
import json
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    mode, first, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    target = first if first.startswith("http") else stdio_client(StdioServerParameters(command=first, args=rest))
    async with Client(target, mode=mode) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        echo = next(name for name in names if name.endswith("echo"))
        called = await client.call_tool(echo, {"message": "hello from the SDK"})
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        resources = [str(resource.uri) for resource in (await client.list_resources()).resources]
        print(json.dumps({"version": client.protocol_version, "server": client.server_info.name, "tools": names, "prompts": prompts,
                          "resources": resources, "echo": called.content[0].text}))


asyncio.run(asyncio.wait_for(main(), 60))
