"""The Python SDK of the sessions' era as a client: `sdk1.py COMMAND...` or `sdk1.py http://...`; prints what it saw as one line."""
import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


async def use(streams):
    async with ClientSession(streams[0], streams[1]) as session:
        hello = await session.initialize()
        names = [tool.name for tool in (await session.list_tools()).tools]
        echo = next(name for name in names if name.endswith("echo"))
        called = await session.call_tool(echo, {"message": "hello from the SDK"})
        prompts = [prompt.name for prompt in (await session.list_prompts()).prompts]
        resources = [str(resource.uri) for resource in (await session.list_resources()).resources]
        # Servers say something late now and then; this SDK minds when its session is closed by then.
        await asyncio.sleep(0.5)
        print(json.dumps({"version": hello.protocolVersion, "server": hello.serverInfo.name, "tools": names, "prompts": prompts,
                          "resources": resources, "echo": called.content[0].text}))


async def main():
    if sys.argv[1].startswith("http"):
        headers = {"Authorization": f"Bearer {sys.argv[2]}"} if sys.argv[2:] else None
        async with streamablehttp_client(sys.argv[1], headers=headers) as streams:
            await use(streams)
    else:
        async with stdio_client(StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])) as streams:
            await use(streams)


asyncio.run(asyncio.wait_for(main(), 60))
