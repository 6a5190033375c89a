// page.mjs WORK BROWSER [pictures] has a browser use the page of the massgen in WORK.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';
import axe from 'axe-core';
import { serveModel } from './model.mjs';
import { statesOf } from './states.mjs';

const [work, browserPath, mode] = process.argv.slice(2);
const token = 'page-0123456789abcdef';
const model = await serveModel();
fs.writeFileSync(path.join(work, 'writer.yaml'), `agents:
  - id: writer
    backend: {type: openai, model: m, base_url: "${model.address}", api_key: none, cwd: "${work}/files"}
permissions:
  rules:
    - {action: ask, tool: write_file}
`);
fs.writeFileSync(path.join(work, 'panel.yaml'), `agents:
  - {id: researcher, backend: {type: demo}}
  - {id: analyst, backend: {type: demo}}
  - {id: critic, backend: {type: demo}}
`);
fs.writeFileSync(path.join(work, 'slow.yaml'), 'agents:\n' + ['researcher', 'analyst', 'critic'].map(id => `  - id: ${id}
    backend: {type: openai, model: ${id}, base_url: "${model.address}", api_key: none}
`).join(''));
fs.mkdirSync(path.join(work, 'pictures'), { recursive: true });

// serve starts the program and returns its address.
async function serve() {
  const program = spawn(path.join(work, 'massgen'), [
    'serve', '--config', 'panel.yaml', '--config', 'writer.yaml', '--config', 'slow.yaml', '--listen', '127.0.0.1:0', '--state-dir', path.join(work, 'state'),
  ], { cwd: work, env: { ...process.env, MASSGEN_TOKEN: token, HOME: work } });
  let said = '';
  const address = await new Promise((done, fail) => {
    program.stderr.on('data', data => {
      said += data;
      const found = said.match(/listening on (http:\/\/[^/]+)/);
      if (found) done(found[1]);
    });
    program.on('exit', status => fail(new Error(`massgen serve has ended with ${status}: ${said}`)));
  });
  const ended = new Promise(done => program.on('exit', done));
  return { address, stop: () => { program.kill('SIGTERM'); return ended; }, said: () => said };
}

const server = await serve();
const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
const faults = [];

// open opens the page in a window of its own and logs in.
async function open(options = {}, hash = '') {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15000);
  page.on('console', message => {
    const expected = /401/.test(message.text()); // the page asks before it has the token
    if (['error', 'warning'].includes(message.type()) && !expected) faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', error => faults.push(`page: ${error}`));
  page.on('request', request => {
    if (!request.url().startsWith(server.address) && !request.url().startsWith('blob:')) faults.push(`a request to ${request.url()}`);
  });
  await page.goto(server.address + '/' + hash);
  await page.getByLabel('Token', { exact: true }).fill(token);
  await page.getByRole('button', { name: 'Go on' }).click();
  await page.getByLabel('Model', { exact: true }).locator('option').first().waitFor({ state: 'attached' });
  return page;
}

// judge has axe look at the page.
async function judge(page, where) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  for (const v of violations.filter(v => ['serious', 'critical', 'moderate'].includes(v.impact))) {
    faults.push(`axe, ${where}: ${v.id}: ${v.help}: ${v.nodes.map(n => n.html.slice(0, 160)).join(' | ')}`);
  }
}

const picture = (page, name) => page.screenshot({ path: path.join(work, 'pictures', name + '.png') });
let last; // page that was looked at
const step = async (name, run) => {
  try { await run(); } catch (error) {
    await last?.screenshot({ path: new URL('failed.png', import.meta.url).pathname }); // in .cache/page
    throw new Error(`${name}: ${error.message}\n${faults.join('\n')}`, { cause: error });
  }
  console.log(`ok: ${name}`);
};

const page = await open();
last = page;
const turn = page.locator('.turn');
const ask = async (where, question, modelID) => {
  await where.getByLabel('Model', { exact: true }).selectOption(modelID);
  await where.getByLabel('Question', { exact: true }).fill(question);
  await where.getByRole('button', { name: 'Ask' }).click();
};

await step('a question is asked, and the agents stream side by side', async () => {
  await judge(page, 'at the beginning');
  model.gate.close();
  await ask(page, 'What is Go?', 'slow');
  for (const id of ['researcher', 'analyst', 'critic']) {
    const text = page.getByRole('group', { name: `What ${id} says` });
    await text.filter({ hasText: `${id} has read the question` }).waitFor();
    await text.locator('[data-kind=answer]').filter({ hasText: /^An a[nswer]*$/ }).waitFor(); // half of it: the gate is closed
  }
  const boxes = await page.locator('.agent').evaluateAll(list => list.map(e => e.getBoundingClientRect().top));
  assert.equal(new Set(boxes).size, 1, 'the agents do not stand side by side');
  await judge(page, 'while a turn runs');
  await picture(page, 'page-running');
  model.gate.open();
  await turn.locator('.answer').filter({ hasText: 'An answer by analyst.' }).waitFor();
  await turn.locator('.sentences li').filter({ hasText: 'critic voted for analyst.1: It is clear.' }).waitFor();
  await turn.locator('.state').filter({ hasText: 'completed · 6 calls · tokens of 6 calls unknown · cost unknown' }).waitFor();
});

await step('rounds and votes are shown, and the answer', async () => {
  await page.getByRole('button', { name: 'New session' }).click();
  await ask(page, 'What is a heat pump?', 'panel');
  await turn.locator('.answer').filter({ hasText: 'On second thoughts' }).waitFor();
  const lines = await turn.locator('.sentences li').allTextContents();
  assert.ok(lines.some(l => /^round 2: .* writing/.test(l)) && lines.filter(l => / voted for critic\.2: /.test(l)).length >= 2, lines.join('\n'));
  const acts = await turn.locator('.acts li').allTextContents();
  assert.ok(acts.includes('Round 2') && acts.filter(l => / voted · critic\.2 · /.test(l)).length >= 2, acts.join('\n'));
  await turn.locator('img.timeline').waitFor();
  assert.ok(await turn.locator('img.timeline').evaluate(async i => { await i.decode(); return i.naturalWidth > 100; }), 'the timeline is not drawn');
  assert.match(await turn.locator('.state').textContent(), /completed · \d+ calls · .* tokens · \$0/);
  assert.match(await page.locator('#news').textContent(), /The answer of critic is there/);
  assert.equal(await turn.locator('.controls').isVisible(), false);
  await judge(page, 'with an answer');
  await picture(page, 'page');
});

await step('the sentences are those of "sessions show"', async () => {
  const id = decodeURIComponent(new URL(page.url()).hash.replace('#s=', ''));
  const shown = spawnSync(path.join(work, 'massgen'), ['sessions', 'show', id, '--state-dir', path.join(work, 'state')], { cwd: work, env: { ...process.env, HOME: work }, encoding: 'utf8' });
  const sentences = shown.stdout.match(/(researcher|analyst|critic) (answered|voted)[^\n]* tokens/g) ?? [];
  assert.ok(sentences.length >= 6, shown.stdout + shown.stderr);
  const lines = await turn.locator('.sentences li').allTextContents();
  for (const sentence of sentences) assert.ok(lines.includes(sentence), `the page lacks "${sentence}" in\n${lines.join('\n')}`);
});

await step('answers are compared', async () => {
  await turn.getByRole('combobox', { name: 'Left' }).selectOption('researcher.1');
  await turn.getByRole('combobox', { name: 'Right' }).selectOption('critic.2');
  assert.match(await turn.getByRole('group', { name: 'Right answer' }).textContent(), /On second thoughts/);
  assert.doesNotMatch(await turn.getByRole('group', { name: 'Left answer' }).textContent(), /On second thoughts/);
});

await step('inputs are shown, and how they differ', async () => {
  await turn.getByRole('button', { name: 'Show what each call was sent' }).click();
  await turn.getByRole('button', { name: 'Input of turn-001/critic/call-002' }).click();
  const input = turn.getByRole('group', { name: 'Input' });
  await input.filter({ hasText: '<ORIGINAL MESSAGE>' }).waitFor();
  await turn.getByRole('button', { name: /Difference of turn-001\/critic\/call-002/ }).click();
  await input.locator('.plus').first().waitFor();
  assert.ok((await input.locator('.plus').allTextContents()).every(line => line.startsWith('+')));
  await judge(page, 'with a difference');
});

// shownOf returns what the page shows of a journal. Text beside tools is in no journal.
const journaled = [...['answer', 'vote', 'step'].map(kind => `.piece[data-kind=${kind}]`), '.agent .doing', '.acts li', '.sentences li'];
const shownOf = async where => Promise.all(journaled.map(what => where.locator(what).allTextContents()));

await step('a reload shows the session again, as it was', async () => {
  const live = await shownOf(turn);
  await page.reload();
  await turn.locator('.answer').filter({ hasText: 'On second thoughts' }).waitFor();
  await turn.locator('.sentences li').filter({ hasText: 'voted for critic.2' }).first().waitFor();
  assert.equal(await page.locator('.agent').count(), 3);
  assert.deepEqual(await shownOf(turn), live, 'changes have come to another state than the journal');
});

await step('every phase, mark and void text is shown, and a change of each', async () => {
  const [early, late] = ['trouble', 'panel'].map(name => statesOf(new URL(`../../coordinator/report/testdata/state/${name}`, import.meta.url)).at(name === 'panel' ? -1 : 0));
  const phases = ['idle', 'waiting', 'thinking', 'writing', 'calling_tool', 'asking_person', 'answered', 'voted', 'abstained', 'late', 'cancelled', 'dismissed', 'failed'];
  const [ada] = early.agents;
  const marks = { json: true, fallback: 'two/b', retrying: 'busy', retry_at: early.began, held_up: 'no budget', summarizing: true, checked: true, context: 'at_limit' };
  const agents = [...early.agents, ...phases.map(phase => ({ ...ada, id: `who is ${phase}`, phase, doing: `does ${phase}`, detail: '', marks: {}, text: [] }))];
  agents.at(-1).marks = marks;
  agents.at(-1).detail = 'the key is wrong';
  const change = {
    fields: { paused: true },
    agents: [
      { id: 'bob', text: { drop: 1, keep: 0, add: [{ kind: 'said', call: 'c', text: 'It ' }] }, fields: { dropped: 1 } },
      { id: 'eve', fields: { phase: 'idle', doing: 'idle', usage: ada.usage, marks: {} }, text: { keep: 0, add: [] } },
    ],
    news: { drop: 1, keep: 1, add: [{ number: 3, kind: 'paused', text: 'a new sentence', tone: 'warning' }] },
  };
  const second = { fields: { awaited: null }, agents: [{ id: 'bob', text: { keep: 1, grow: 'rains.', add: [] } }] };
  const stream = list => list.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join('');
  const draw = async list => {
    await page.route('**/state', route => route.fulfill({ contentType: 'text/event-stream', body: stream([...list, ['end', {}]]) }));
    await page.reload();
    await turn.locator('.agent').last().waitFor();
    await page.unroute('**/state');
  };
  await draw([['snapshot', { ...early, agents }]]);
  for (const phase of phases) await turn.locator(`.agent[data-phase=${phase}]`).filter({ hasText: `does ${phase}` }).waitFor();
  const failed = await turn.locator('.agent').last().textContent();
  for (const [name, value] of Object.entries(marks)) {
    assert.ok(failed.includes(name.replaceAll('_', ' ')) && (value === true || name === 'retry_at' || failed.includes(value)), `${name} is missing in ${failed}`);
  }
  assert.match(failed, /does failed: the key is wrong/);
  assert.match(await turn.locator('.waits').textContent(), /^The turn waits for ada, cyd, .* until \d\d:05:18/);
  assert.equal(await turn.getByRole('group', { name: 'What bob says' }).textContent(), 'Rain (void: the turn goes on without it)');
  assert.equal(await turn.locator('.agent del').first().textContent(), 'Rain');
  assert.deepEqual(await turn.locator('[data-kind=tool] summary').allTextContents(), ['find · 9 of 9 · 100 %', 'run · waits for a person: run: ask']);
  await judge(page, 'with every phase');
  await draw([['snapshot', early], ['change', change], ['change', second]]);
  assert.equal(await turn.getByRole('group', { name: 'What bob says' }).textContent(), 'It rains.');
  assert.ok(await turn.locator('.agent').nth(1).locator('.dropped').isVisible());
  assert.equal(await turn.locator('.agent').count(), early.agents.length + 1);
  assert.deepEqual(await turn.locator('.sentences li').allTextContents(), [early.news[1].text, 'a new sentence']);
  assert.equal(await turn.locator('.waits').isVisible(), false);
  await draw([['snapshot', late]]);
  const votes = await turn.locator('.acts li').filter({ hasText: 'voted' }).allTextContents();
  assert.ok(votes.length > 0 && votes.every(v => /\(void: a newer answer was accepted\)/.test(v)), votes.join('\n'));
  await page.reload();
});

await step('a reload in the middle of a turn goes on with it, and nothing is markup', async () => {
  model.gate.close();
  await page.getByRole('button', { name: 'New session' }).click();
  await ask(page, 'Say <script>alert(1)</script>', 'writer');
  const text = page.getByRole('group', { name: 'What writer says' });
  await text.filter({ hasText: 'It begins' }).waitFor();
  await page.reload();
  await text.filter({ hasText: 'It begins' }).waitFor();
  await page.getByLabel('Add to the question').fill('in winter');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await turn.locator('.sentences li').filter({ hasText: 'note: in winter' }).waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await turn.locator('.sentences li').filter({ hasText: 'the turn is paused: no call begins' }).waitFor();
  await page.getByRole('button', { name: 'Go on' }).click();
  await turn.locator('.sentences li').filter({ hasText: 'the turn was paused, and goes on' }).waitFor();
  await turn.locator('.notes li').filter({ hasText: 'in winter (no agent has seen it yet)' }).waitFor();
  model.gate.open();
  await turn.locator('.answer').filter({ hasText: 'and ends: <img src=x onerror=alert(1)>' }).waitFor();
  assert.equal(await page.locator('main .prose img, main .prose script').count(), 0);
  assert.equal((await text.textContent()).match(/It begins/g).length, 1, 'pieces come twice');
});

await step('files are attached, chosen or dropped', async () => {
  const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  await page.getByRole('button', { name: 'New session' }).click();
  await page.getByLabel('Files', { exact: true }).setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(dot, 'base64') });
  await ask(page, 'What is on the picture?', 'writer');
  await turn.locator('.answer').filter({ hasText: `with data:image/png;base64,${dot} and ends` }).waitFor();
  assert.equal(await page.getByLabel('Files', { exact: true }).inputValue(), '', 'the next question would have the file again');
  await page.reload();
  await turn.locator('.question').filter({ hasText: 'dot.png' }).waitFor();
  await page.locator('#ask').evaluate((form, text) => {
    const dropped = new DataTransfer();
    dropped.items.add(new File([text], 'notes.txt', { type: 'text/plain' }));
    form.dispatchEvent(new DragEvent('drop', { dataTransfer: dropped, cancelable: true }));
  }, 'dropped words');
  assert.match(await page.getByLabel('Files', { exact: true }).inputValue(), /notes\.txt$/);
});

await step('a turn is ended', async () => {
  model.gate.close();
  await ask(page, 'Say more', 'writer');
  await page.getByRole('group', { name: 'What writer says' }).last().filter({ hasText: 'It begins' }).waitFor();
  await page.getByRole('button', { name: 'End with the best answer so far' }).last().click();
  await turn.last().locator('.state').filter({ hasText: 'interrupted' }).waitFor();
  model.gate.open();
});

for (const [decision, sentence, state] of [['Allow', 'writer ran write_file', 'ran'], ['Deny', 'writer was denied write_file', 'denied']]) {
  await step(`a tool call waits for a person: ${decision}`, async () => {
    await page.getByRole('button', { name: 'New session' }).click();
    await ask(page, 'Write a file', 'writer');
    const dialog = page.getByRole('dialog', { name: 'writer wants to run write_file' });
    await dialog.waitFor();
    assert.match(await dialog.getByRole('group', { name: 'Arguments' }).textContent(), /<b>not markup<\/b>/);
    await page.keyboard.press('Escape'); // decides nothing
    assert.ok(await dialog.isVisible());
    await judge(page, 'with a permission');
    if (decision === 'Allow') await picture(page, 'page-permission');
    await dialog.getByRole('button', { name: decision }).click();
    await turn.locator('.answer').waitFor();
    await turn.locator('.sentences li').filter({ hasText: sentence }).waitFor();
    await turn.locator('[data-kind=tool] summary').filter({ hasText: `write_file · ${state}` }).waitFor();
    const written = fs.readdirSync(path.join(work, 'files'), { recursive: true }).filter(name => path.basename(name) === 'notes.txt');
    assert.equal(written.length, 1, 'the call that was allowed has written a file, and no other');
  });
}

await step('sessions are searched, by the keyboard', async () => {
  await page.getByLabel('Search sessions').focus();
  await page.keyboard.type('heat');
  const found = page.locator('#sessions a').filter({ hasText: 'turn 1' });
  await found.first().waitFor();
  while (!(await found.first().evaluate(e => e === document.activeElement))) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await turn.locator('.answer').filter({ hasText: 'On second thoughts' }).waitFor();
  await page.locator('#sessions a[aria-current=page]').first().waitFor();
});

for (const [name, options] of [['dark', { colorScheme: 'dark' }], ['phone', { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }]]) {
  await step(`the page is as good: ${name}`, async () => {
    const other = await open(options, new URL(page.url()).hash);
    last = other;
    await other.locator('.answer').filter({ hasText: 'On second thoughts' }).waitFor();
    await other.locator('img.timeline').waitFor();
    await judge(other, name);
    const wide = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `it is ${wide} pixels too wide`);
    await picture(other, 'page-' + name);
    await other.context().close();
  });
}

await browser.close();
model.close();
await server.stop();
assert.deepEqual(faults, []);
console.log('ok: no error, no request to another host, nothing that axe objects to');
if (mode !== 'pictures') fs.rmSync(path.join(work, 'pictures'), { recursive: true });
