// long.mjs WORK BROWSER [SECONDS] has twenty agents write at 200 tokens a second, each, and one agent a million characters.
// It judges what the page of the massgen in WORK shows, how often it changes, and what that costs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { chromium } from 'playwright-core';

const [work, browserPath, length] = process.argv.slice(2);
const seconds = Number(length || 105);
const rate = 200; // tokens a second
const million = 1e6; // characters
const agents = Array.from({ length: 20 }, (_, i) => `a${String(i + 1).padStart(2, '0')}`);

// token returns the token of an agent's answer. Sixty of them are a paragraph, without markup.
const token = (agent, i) => `${agent}w${i}${i % 60 === 59 ? '\n\n' : ' '}`;
const answer = (agent, count) => Array.from({ length: count }, (_, i) => token(agent, i)).join('');

const sent = new Map(); // tokens of each agent
async function reply(request, response) {
  let body = '';
  for await (const part of request) body += part;
  const { model, tools = [] } = JSON.parse(body || '{}');
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  const send = (delta, finish = null) => response.write('data: ' + JSON.stringify({
    id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: finish }],
  }) + '\n\n');
  const call = (name, text) => send({ tool_calls: [{ index: 0, ...(name && { id: 'call_1', type: 'function' }), function: { ...(name && { name }), arguments: text } }] });
  if (body.includes('<agent1>') && tools.some(t => t.function.name === 'vote')) call('vote', '{"agent_id":"agent1","reason":"It is long."}');
  else if (model === 'million') {
    for (let i = 0, n = 0; n < million; i++) {
      const text = token('m', i);
      n += text.length;
      send({ content: text });
      if (i % 500 === 0) await new Promise(done => setTimeout(done, 10));
      sent.set(model, i + 1);
    }
  } else {
    call('new_answer', '{"content":"');
    for (const began = Date.now(); Date.now() < began + seconds * 1000;) {
      await new Promise(done => setTimeout(done, 50));
      const due = Math.floor((Date.now() - began) / 1000 * rate);
      for (let i = sent.get(model) ?? 0; i < due; i++) call('', JSON.stringify(token(model, i)).slice(1, -1));
      sent.set(model, due);
    }
    call('', '"}');
  }
  send({}, model === 'million' ? 'stop' : 'tool_calls');
  response.end('data: [DONE]\n\n');
}
const service = http.createServer(reply);
await new Promise(done => service.listen(0, '127.0.0.1', done));
const backend = model => `backend: {type: openai, model: ${model}, base_url: "http://127.0.0.1:${service.address().port}/v1", api_key: none}`;
fs.writeFileSync(path.join(work, 'twenty.yaml'), 'agents:\n' + agents.map(a => `  - {id: ${a}, ${backend(a)}}\n`).join(''));
fs.writeFileSync(path.join(work, 'million.yaml'), `agents:\n  - {id: million, ${backend('million')}}\n`);
const program = spawn(path.join(work, 'massgen'), ['serve', '--config', 'twenty.yaml', '--config', 'million.yaml', '--listen', '127.0.0.1:0',
  '--state-dir', path.join(work, 'state')], { cwd: work, env: { ...process.env, HOME: work } });
process.on('exit', () => program.kill()); // also after a failure
const address = await new Promise(done => {
  let said = '';
  program.stderr.on('data', data => { said += data; said.match(/the web page is (\S+)/) && done(said.match(/the web page is (\S+)/)[1]); });
});
const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
const system = await browser.newBrowserCDPSession();
// used returns the processor time of the browser's renderers, and of the server, in seconds.
const used = async () => {
  const { processInfo } = await system.send('SystemInfo.getProcessInfo');
  const [user, kernel] = fs.readFileSync(`/proc/${program.pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13);
  return { page: processInfo.filter(p => p.type === 'renderer').reduce((sum, p) => sum + p.cpuTime, 0), server: (Number(user) + Number(kernel)) / 100 };
};

const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
page.setDefaultTimeout(300000);
page.on('pageerror', error => { throw error; });
await page.goto(address);
await page.evaluate(() => {
  globalThis.changes = [];
  new MutationObserver(() => changes.push(performance.now())).observe(document.body, { childList: true, characterData: true, subtree: true });
});
const ask = async model => {
  await page.getByLabel('Model', { exact: true }).selectOption(model);
  await page.getByLabel('Question', { exact: true }).fill(`A question to ${model}`);
  await page.keyboard.press('Enter');
};
// shown returns the answer that an element shows in paragraphs.
const shown = element => element.evaluate(e => [...e.querySelectorAll('p')].map(p => p.textContent).join('\n\n'));

await ask('twenty');
await page.locator('.agent .piece').nth(19).waitFor();
const spent = [await used()];
await page.evaluate(() => { changes.length = 0; });
for (const began = Date.now(); spent.length * 10 < seconds;) {
  await new Promise(done => setTimeout(done, began + spent.length * 10000 - Date.now()));
  spent.push(await used());
}
const each = of => spent.slice(1).map((s, i) => (s[of] - spent[i][of]).toFixed(2));
console.log(`processor time of each 10 s: page ${each('page').join(' ')}; server ${each('server').join(' ')}`);
const times = await page.evaluate(() => changes);
const most = Math.max(...times.map((at, i) => times.findLastIndex(t => t < at + 1000) - i + 1));
console.log(`${times.length} changes, at most ${most} in a second`);
await page.locator('.answer').filter({ visible: true }).waitFor();
for (const [i, agent] of agents.entries()) {
  const text = await shown(page.locator('.agent').nth(i).locator('.piece[data-kind=answer] .words'));
  assert.equal(text, answer(agent, sent.get(agent)).trim(), `a text of ${agent} is lost`);
}
console.log(`ok: ${sent.get('a01')} tokens of each of twenty agents are shown`);

await page.getByRole('button', { name: 'New session' }).click();
await ask('million');
await page.locator('.answer').filter({ visible: true }).waitFor();
assert.equal(await shown(page.locator('.answer .prose')), answer('m', sent.get('million')).trim(), 'a text is lost');
const before = await used();
const gaps = await page.evaluate(async () => {
  const view = document.getElementById('view');
  const gaps = [];
  for (let i = 0, last = performance.now(); i <= 100; i++) {
    view.scrollTop = view.scrollHeight * i / 100;
    await new Promise(done => requestAnimationFrame(done));
    gaps.push(performance.now() - last);
    last = performance.now();
  }
  return { slowest: Math.round(Math.max(...gaps)), end: Math.round(view.scrollHeight - view.scrollTop - view.clientHeight) };
});
console.log(`ok: a million characters scroll: ${JSON.stringify(gaps)} ms, ${((await used()).page - before.page).toFixed(2)} s of processor time for 100 steps`);
await browser.close();
service.close();
program.kill();
assert.ok(gaps.end < 2 && gaps.slowest < 1000, 'it does not scroll');
assert.ok(most <= 15, `the page changes ${most} times in a second`);
if (spent.length > 10) for (const of of ['page', 'server']) assert.ok(each(of)[9] <= 1.3 * each(of)[1], `the work of the ${of} grows with the text`);
