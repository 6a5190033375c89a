// A service of models in the form of OpenAI's API, on a free port of this machine. Its models wait
// for the gate in the middle of what they say, those of a panel in the middle of their answers. Alone
// they call the tool write_file if they are asked to; in a panel they answer and vote for the first
// answer, at once or, if they are asked to vote slowly, when the gate of votes opens. Those that are broken refuse.
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

// What the models say to a question that begins with "Show " and one of these words.
const shows = {
  Markdown: markdown,
  length: Array.from({ length: 40 }, (_, i) => `${i % 8 ? '' : `## Part ${i / 8 + 1}\n\n`}Paragraph ${i + 1} is about heat pumps, which move heat from where it is cold to where it is warm. They take power for it, and less of it the smaller the difference is.\n\n`).join(''),
  table: '| Source | COP at 2 °C | COP at 7 °C | Cost of a well or a fan | Noise | Permit | Remarks |\n| --- | ---: | ---: | :---: | --- | --- | --- |\n'
    + ['Air', 'Ground', 'Water', 'Waste heat'].map((s, i) => `| ${s} | ${i + 3}.1 | ${i + 3}.6 | ${i * 4000 + 2000} € | ${40 - i} dB | ${i ? 'yes' : 'no'} | depends on the house and on how well it is insulated |\n`).join(''),
  code: '```go\n// cop returns the coefficient of performance.\nfunc cop(heat, work float64) float64 {\n\tif work == 0 {\n\t\treturn 0 // a pump that is off\n\t}\n\treturn heat / work\n}\n```\n\nIn Python:\n\n```python\ndef cop(heat: float, work: float) -> float:\n    """Returns the coefficient of performance of a heat pump, which is the heat that it moves by the work that it takes."""\n    return heat / work if work else 0.0\n```\n',
  CJK: '## 热泵\n\n**热泵**把热量从低温处搬到高温处。性能系数是 `Q / W`。\n\n| 热源 | 性能系数 |\n| --- | ---: |\n| 空气 | 3.5 |\n| 地下 | 4.6 |\n\n日本語では「ヒートポンプ」といいます。소음이 적습니다. 🌡️\n',
};

export async function serveModel() {
  let go;
  let vote;
  const gate = {
    wait: Promise.resolve(), close() { gate.wait = new Promise(done => { go = done; }); }, open() { go?.(); },
    votes: new Promise(done => { vote = done; }), openVotes() { vote(); },
  };
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const { model, messages, tools = [] } = JSON.parse(body || '{}');
    if (/broken/.test(model)) {
      response.writeHead(401, { 'Content-Type': 'application/json' });
      return response.end(JSON.stringify({ error: { message: 'The key is wrong.', type: 'invalid_request_error', code: 'invalid_api_key' } }));
    }
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
    const [, shown] = JSON.stringify(messages ?? '').match(/.*Show (\w+)/) ?? [];
    if (may('vote') && JSON.stringify(messages).includes('<agent1>')) {
      const votes = JSON.stringify(messages).includes('Vote slowly') && gate.votes;
      await call('vote', { agent_id: 'agent1', reason: 'It is clear.' }, votes);
    } else if (may('new_answer')) {
      send({ content: `${model} has read the question and ` });
      await call('new_answer', { content: isPanelOfMarkdown ? harmless : `An answer by ${model}.` }, gate.wait);
    } else if (!told && asks && may('write_file')) {
      await call('write_file', { path: 'notes.txt', content: '<b>not markup</b>' });
    } else if (shows[shown]) {
      for (let i = 0; i < shows[shown].length; i += 9) send({ content: shows[shown].slice(i, i + 9) });
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
