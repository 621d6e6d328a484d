"""A well-behaved MCP server with what the official conformance suite looks for, on the Python SDK 2.x: both eras, and the same
over stdio and over streamable HTTP.

    fixture.py               stdio
    fixture.py modern        stdio, the stateless era only
    fixture.py http PORT     http://127.0.0.1:PORT/mcp
"""
import asyncio
import json
import os
import sys
import threading
import warnings

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import Message
from mcp.shared.exceptions import MCPError
from mcp_types import (
    AudioContent,
    CallToolResult,
    Completion,
    EmbeddedResource,
    EmptyResult,
    ImageContent,
    InputRequiredResult,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    Tool,
    UnsubscribeRequestParams,
)

warnings.simplefilter("ignore")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
RICH = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                          "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


class Fixture(MCPServer):
    """With one tool whose schema no function could have."""

    async def list_tools(self):
        rich = Tool(name="json_schema_2020_12_tool", description="Tool with JSON Schema 2020-12 features", input_schema=RICH)
        return [*await super().list_tools(), rich]


server = Fixture("fixture", version="1.0.0")


async def fine(ctx, params):
    return EmptyResult()


# What the era of sessions had, and the SDK leaves to whoever still wants it.
for method, params in (("logging/setLevel", SetLevelRequestParams), ("resources/subscribe", SubscribeRequestParams),
                       ("resources/unsubscribe", UnsubscribeRequestParams)):
    server._lowlevel_server.add_request_handler(method, params, fine)


def text(value):
    return TextContent(type="text", text=value)


def resource(uri):
    contents = TextResourceContents(uri=uri, mime_type="text/plain", text="This is an embedded resource content.")
    return EmbeddedResource(type="resource", resource=contents)


@server.tool(structured_output=False)
def test_simple_text() -> str:
    """Answers with text."""
    return "This is a simple text response for testing."


@server.tool(structured_output=False)
def test_image_content() -> list:
    """Answers with an image."""
    return [ImageContent(type="image", data=PIXEL, mime_type="image/png")]


@server.tool(structured_output=False)
def test_audio_content() -> list:
    """Answers with a sound."""
    return [AudioContent(type="audio", data=SOUND, mime_type="audio/wav")]


@server.tool(structured_output=False)
def test_embedded_resource() -> list:
    """Answers with a resource."""
    return [resource("test://embedded-resource")]


@server.tool(structured_output=False)
def test_multiple_content_types() -> list:
    """Answers with text, an image and a resource."""
    image = ImageContent(type="image", data=PIXEL, mime_type="image/png")
    return [text("Multiple content types test:"), image, resource("test://mixed-content-resource")]


@server.tool(structured_output=False)
def test_error_handling() -> CallToolResult:
    """Fails."""
    return CallToolResult(content=[text("This tool intentionally returns an error for testing")], is_error=True)


@server.tool(structured_output=False)
async def test_tool_with_logging(ctx: Context) -> str:
    """Logs three lines."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.info(line)
        await asyncio.sleep(0.05)
    return "Tool execution completed with logging"


@server.tool(structured_output=False)
async def test_logging_tool(ctx: Context) -> str:
    """Logs one line."""
    await ctx.info("One line")
    return "logged"


@server.tool(structured_output=False)
async def test_tool_with_progress(ctx: Context) -> str:
    """Tells its progress."""
    for step in (0, 50, 100):
        await ctx.report_progress(step, 100, f"Completed step {step} of 100")
        await asyncio.sleep(0.05)
    return "done"


@server.tool(structured_output=False)
async def test_sampling(prompt: str, ctx: Context) -> str:
    """Asks the client for a completion."""
    message = SamplingMessage(role="user", content=text(prompt))
    answer = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
    return f"LLM response: {answer.content.text}"


async def ask(ctx, message, properties, required):
    schema = {"type": "object", "properties": properties, "required": required}
    answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return f"User response: action={answer.action}, content={answer.content}"


@server.tool(structured_output=False)
async def test_elicitation(message: str, ctx: Context) -> str:
    """Asks the person."""
    properties = {"username": {"type": "string", "description": "User's response"},
                  "email": {"type": "string", "description": "User's email address"}}
    return await ask(ctx, message, properties, ["username", "email"])


@server.tool(structured_output=False)
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Asks with defaults."""
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await ask(ctx, "Please review and update the form fields with defaults", properties, [])


@server.tool(structured_output=False)
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Asks for choices."""
    plain = ["option1", "option2", "option3"]
    titled = [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)]
    properties = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await ask(ctx, "Please select options from the enum fields", properties, [])


@server.tool(structured_output=False)
async def test_missing_capability(ctx: Context) -> str:
    """Needs a client that samples."""
    if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
        raise MCPError(-32021, "Missing required client capability", {"requiredCapabilities": {"sampling": {}}})
    return "the client samples"


@server.tool(structured_output=False)
async def test_reconnection(ctx: Context) -> str:
    """Answers after a while, on the stream that it was asked on."""
    await asyncio.sleep(0.1)
    return "Reconnection test completed successfully."


@server.tool(structured_output=False)
async def test_trigger_tool_change(ctx: Context) -> str:
    """Says that the tools changed, though they did not."""
    await ctx.notify_tools_changed()
    return "told"


@server.tool(structured_output=False)
async def test_trigger_prompt_change(ctx: Context) -> str:
    """Says that the prompts changed, though they did not."""
    await ctx.notify_prompts_changed()
    return "told"


def form(message, name, kind="string"):
    schema = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def sample(question):
    said = [{"role": "user", "content": {"type": "text", "text": question}}]
    return {"method": "sampling/createMessage", "params": {"messages": said, "maxTokens": 100}}


ROOTS = {"method": "roots/list", "params": {}}


def required(ctx, requests, state=None):
    """The requests that nobody has answered yet; only those that the client has the capability for."""
    can = ctx.client_capabilities
    has = {"elicitation/create": can and can.elicitation, "sampling/createMessage": can and can.sampling, "roots/list": can and can.roots}
    asked = {key: value for key, value in requests.items() if has[value["method"]] is not None}
    if not asked:
        raise MCPError(-32021, "Missing required client capability", {"requiredCapabilities": {"elicitation": {}}})
    value = {"resultType": "input_required", "inputRequests": asked}
    if state:
        value["requestState"] = state
    return InputRequiredResult.model_validate(value)


def fits(answer, request):
    """Whether an answer has the fields that were required; other requests take what they get."""
    schema = request["params"].get("requestedSchema")
    if schema is None:
        return True
    content = getattr(answer, "content", None) or {}
    kinds = {"string": str, "boolean": bool}
    return answer.action != "accept" or all(
        isinstance(content.get(name), kinds[schema["properties"][name]["type"]]) for name in schema["required"])


def flow(name, description, requests, state=None, said="done"):
    """A tool that asks once, and again as long as an answer is missing or does not fit."""

    async def tool(ctx: Context) -> InputRequiredResult | str:
        given = ctx.input_responses or {}
        if state and given and ctx.request_state != state:
            raise MCPError(-32602, "Invalid requestState")
        asked = required(ctx, requests, state)
        if all(key in given and fits(given[key], requests[key]) for key in asked.input_requests):
            return said
        return asked

    tool.__name__ = name
    tool.__doc__ = description
    server.tool(structured_output=False)(tool)


NAME = form("What is your name?", "name")
flow("test_input_required_result_elicitation", "Asks for a name.", {"user_name": NAME}, said="Hello")
flow("test_streaming_elicitation", "Asks for a name, too.", {"user_name": NAME}, said="Hello")
flow("test_input_required_result_sampling", "Asks for a capital.", {"capital_question": sample("What is the capital of France?")})
flow("test_input_required_result_list_roots", "Asks for roots.", {"client_roots": ROOTS})
flow("test_input_required_result_request_state", "Asks and remembers.", {"confirm": form("Please confirm", "ok", "boolean")},
     state="asked", said="state-ok")
flow("test_input_required_result_tampered_state", "Asks and remembers well.", {"confirm": form("Please confirm", "ok", "boolean")},
     state="asked", said="state-ok")
flow("test_input_required_result_multiple_inputs", "Asks for three things.",
     {"user_name": NAME, "greeting": sample("Generate a greeting"), "client_roots": ROOTS}, state="asked")
flow("test_input_required_result_capabilities", "Asks for what the client has.",
     {"user_name": NAME, "capital_question": sample("What is the capital of France?")})


@server.tool(structured_output=False)
async def test_input_required_result_multi_round(ctx: Context) -> InputRequiredResult | str:
    """Asks twice."""
    given = ctx.input_responses or {}
    if ctx.request_state == "second" and "step2" in given:
        return "both steps done"
    if ctx.request_state == "first" and "step1" in given:
        return required(ctx, {"step2": form("Step 2: What is your favorite color?", "color")}, "second")
    return required(ctx, {"step1": form("Step 1: What is your name?", "name")}, "first")


@server.resource("test://static-text", name="static-text", mime_type="text/plain")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", name="static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """An image."""
    import base64

    return base64.b64decode(PIXEL)


@server.resource("test://watched-resource", name="watched-resource", mime_type="text/plain")
def watched() -> str:
    """A text that is watched."""
    return "Watched resource content."


@server.resource("test://template/{id}/data", name="template", mime_type="application/json")
def template(id: str) -> str:
    """Some data."""
    return f'{{"id": "{id}", "templateTest": true, "data": "Data for ID: {id}"}}'


@server.prompt()
def test_simple_prompt() -> str:
    """Says something."""
    return "This is a simple prompt for testing."


@server.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Says something with arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:
    """Says something with a resource."""
    return [Message(content=resource(resourceUri), role="user"), Message(content=text("Please process it."), role="user")]


@server.prompt()
def test_prompt_with_image() -> list[Message]:
    """Says something with an image."""
    image = ImageContent(type="image", data=PIXEL, mime_type="image/png")
    return [Message(content=image, role="user"), Message(content=text("Please look at it."), role="user")]


@server.prompt()
async def test_input_required_result_prompt(ctx: Context) -> InputRequiredResult | str:
    """Asks before it says something."""
    requests = {"user_context": form("What context should the prompt use?", "context")}
    if "user_context" in (ctx.input_responses or {}):
        return "With that context."
    return required(ctx, requests)


@server.completion()
async def complete(ref, argument, context):
    return Completion(values=[word for word in ("paris", "park", "party") if word.startswith(argument.value)], has_more=False)


def stateless():
    """Knows nothing of the era of sessions: the SDK, which knows it, never sees an `initialize`."""
    source, (read, write) = os.fdopen(os.dup(0), "rb"), os.pipe()

    def pass_on():
        for line in source:
            frame = json.loads(line)
            if frame.get("method") == "initialize":
                error = {"code": -32601, "message": "Method not found"}
                os.write(1, json.dumps({"jsonrpc": "2.0", "id": frame["id"], "error": error}).encode() + b"\n")
            else:
                os.write(write, line)
        os.close(write)

    threading.Thread(target=pass_on, daemon=True).start()
    os.dup2(read, 0)


if sys.argv[1:2] == ["modern"]:
    stateless()
if sys.argv[1:2] == ["http"]:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
else:
    server.run("stdio")
