// The official TypeScript client against the program's MCP server. Its arguments: the folder
// of the SDK, and a URL or the words of a command. It fails if a result is not what it must be.
import assert from 'node:assert/strict';

const [sdk, ...server] = process.argv.slice(2);
const { Client } = await import(`${sdk}/client/index.js`);
const transport = server[0].startsWith('http')
  ? new (await import(`${sdk}/client/streamableHttp.js`)).StreamableHTTPClientTransport(new URL(server[0]))
  : new (await import(`${sdk}/client/stdio.js`)).StdioClientTransport({ command: server[0], args: server.slice(1), env: process.env });
const client = new Client({ name: 'test', version: '1' });
await client.connect(transport);
assert.match(client.getInstructions(), /panel/);

const { tools } = await client.listTools(); // the client compiles the schemas, by which it checks results
assert.deepEqual(tools.map((t) => t.name).sort(), ['ask_panel', 'get_session', 'list_panels']);
const call = async (name, args, options) => {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  assert(!result.isError, JSON.stringify(result));
  return result.structuredContent;
};

const { panels } = await call('list_panels', {});
assert(panels.length > 1);
const told = [];
const first = await call('ask_panel', { question: 'What is Go?', panel: panels[0].name }, { onprogress: (p) => told.push(p), resetTimeoutOnProgress: true });
assert.equal(first.status, 'completed');
assert.equal(first.votes.length, panels[0].agents.length);
assert(told.some((p) => /voted for/.test(p.message)), JSON.stringify(told));
const second = await call('ask_panel', { question: 'And C?', session: first.session });
assert.equal(second.session, first.session);
const { turns } = await call('get_session', { session: first.session });
assert.deepEqual(turns.map((t) => t.answer), [first.answer, second.answer]);

const wrong = await client.callTool({ name: 'ask_panel', arguments: { question: '?', panel: 'nobody' } });
assert(wrong.isError && !wrong.content[0].text.includes('\n'), JSON.stringify(wrong));

const cancel = new AbortController();
await assert.rejects(client.callTool({ name: 'ask_panel', arguments: { question: 'Cancel this.' } }, undefined, {
  signal: cancel.signal, onprogress: () => cancel.abort('enough'),
}), /enough/);
await call('list_panels', {}); // the server goes on
if (transport.terminateSession) await transport.terminateSession();
await client.close();
console.log('ok');
