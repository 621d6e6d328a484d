// A tool in JavaScript: a URL in, its parts out. It touches nothing.

const DECLARATION = JSON.stringify({
  name: 'url_parts',
  title: 'URL parts',
  description: 'Take a URL apart',
  input: {
    type: 'object',
    properties: { url: { type: 'string', maxLength: 2000 } },
    required: ['url'],
    additionalProperties: false,
  },
  output: {
    type: 'object',
    properties: {
      scheme: { type: 'string' },
      host: { type: 'string' },
      path: { type: 'string' },
      query: { type: 'object', additionalProperties: { type: 'string' } },
    },
    required: ['scheme', 'host', 'path', 'query'],
  },
  class: 'read',
  capabilities: {},
});

export function declaration() {
  return DECLARATION;
}

export function call(text) {
  const { url } = JSON.parse(text);
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    // What is thrown is the failure of the world: a record, not an Error.
    throw { message: `\`${url}\` is no URL`, again: false };
  }
  return JSON.stringify({
    scheme: parsed.protocol.slice(0, -1),
    host: parsed.host,
    path: parsed.pathname,
    query: Object.fromEntries(parsed.searchParams),
  });
}
