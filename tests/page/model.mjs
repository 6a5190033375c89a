// A service of models in the form of OpenAI's API, on a free port of this machine. Its models wait
// for the gate in the middle of what they say, those of a panel in the middle of their answers. Alone
// they call the tool write_file if they are asked to; in a panel they answer and vote for the first
// answer.
import http from 'node:http';

// An answer in Markdown with all that the page shows, and with what a hostile model would try.
export const markdown = `## Heat pumps

A **heat pump** moves *heat*; its COP is \`Q / W\`, see [a report](https://reports.example/heat?a=1&b=2).

| Source | COP | Cost |
| --- | ---: | :---: |
| Air | 3.5 | low |
| Ground | 4.6 | high |

1. Measure the heat load.
2. Choose a source:
   - air
   - ground

- [x] insulated
- [ ] sized

\`\`\`go
// cop returns the coefficient of performance.
func cop(heat, work float64) float64 { return heat / work }
\`\`\`

> Insulate first.

[one](javascript:alert(1)) [two](JaVaScRiPt:alert(1)) [three](data:text/html,<script>alert(1)</script>) [four](vbscript:x)
[five](/sessions) [six](//evil.example/x) [seven](file:///etc/passwd) <javascript:alert(1)> <https://evil.example/"onmouseover=alert(1)>

![a picture](https://evil.example/track.png) ![b](data:image/svg+xml,<svg/onload=alert(1)>) [![c](https://evil.example/c.png)](https://evil.example)

<img src=x onerror=alert(1)> <svg onload=alert(1)> <script>alert(1)</script> <iframe src="https://evil.example"></iframe>

<style>body { display: none }</style>

<a href="javascript:alert(1)" style="position:fixed">html</a> &lt;script&gt; &#106;avascript:alert(1)

[eight]: javascript:alert(1)

[eight]

\`\`\`<script>alert(1)</script>
<img src=x onerror=alert(1)>
\`\`\`

The end.
`;

const harmless = markdown.slice(0, markdown.indexOf('[one]'));

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
    const isPanelOfMarkdown = JSON.stringify(messages ?? '').includes('Explain heat pumps');
    if (may('vote') && JSON.stringify(messages).includes('<agent1>')) {
      await call('vote', { agent_id: 'agent1', reason: 'It is clear.' });
    } else if (may('new_answer')) {
      send({ content: `${model} has read the question and ` });
      await call('new_answer', { content: isPanelOfMarkdown ? harmless : `An answer by ${model}.` }, gate.wait);
    } else if (!told && asks && may('write_file')) {
      await call('write_file', { path: 'notes.txt', content: '<b>not markup</b>' });
    } else if (JSON.stringify(messages).includes('Show Markdown')) {
      for (let i = 0; i < markdown.length; i += 9) send({ content: markdown.slice(i, i + 9) });
      send({}, 'stop');
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
