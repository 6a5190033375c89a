// A service of models in the form of OpenAI's API, on a free port of this machine. Its models wait
// for the gate in the middle of what they say, those of a panel in the middle of their answers. Alone
// they call the tool write_file if they are asked to; in a panel they answer and vote for the first
// answer.
import http from 'node:http';

export async function serveModel() {
  let go;
  const gate = { wait: Promise.resolve(), close() { gate.wait = new Promise(done => { go = done; }); }, open() { go?.(); } };
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const { model, messages, tools = [] } = JSON.parse(body || '{}');
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const send = (delta, finish = null) => response.write('data: ' + JSON.stringify({
      id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }],
    }) + '\n\n');
    const call = async (name, args, halfway) => {
      const text = JSON.stringify(args);
      const half = halfway ? Math.floor(text.length / 2) : text.length;
      send({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: text.slice(0, half) } }] });
      await halfway;
      if (halfway) send({ tool_calls: [{ index: 0, function: { arguments: text.slice(half) } }] });
      send({}, 'tool_calls');
    };
    const may = name => tools.some(t => t.function.name === name);
    const told = messages?.at(-1)?.role === 'tool';
    const asks = JSON.stringify(messages ?? '').includes('Write a file');
    if (may('vote') && JSON.stringify(messages).includes('<agent1>')) {
      await call('vote', { agent_id: 'agent1', reason: 'It is clear.' });
    } else if (may('new_answer')) {
      send({ content: `${model} has read the question and ` });
      await call('new_answer', { content: `An answer by ${model}.` }, gate.wait);
    } else if (!told && asks && may('write_file')) {
      await call('write_file', { path: 'notes.txt', content: '<b>not markup</b>' });
    } else {
      send({ content: 'It begins slowly' });
      await gate.wait;
      const pictures = messages.flatMap(m => Array.isArray(m.content) ? m.content : []).filter(p => p.type === 'image_url');
      if (pictures.length > 0) send({ content: ` with ${pictures.map(p => p.image_url.url).join(' and ')}` });
      send({ content: ' and ends: <img src=x onerror=alert(1)>' + (told ? ' ' + messages.at(-1).content : '') });
      send({}, 'stop');
    }
    response.end('data: [DONE]\n\n');
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return { address: `http://127.0.0.1:${server.address().port}/v1`, gate, close: () => server.close() };
}
