// page.mjs WORK BROWSER [pictures] has a browser use the page of the massgen in WORK.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ask, drive } from './drive.mjs';
import { statesOf } from './states.mjs';

const [work, browserPath, mode] = process.argv.slice(2);
const desk = await drive(work, browserPath);
const { faults, judge, model, open } = desk;

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
const box = page.locator('textarea').first();
// unfold shows how a panel came to its answer.
const unfold = async of => {
  await of.locator('.answer').waitFor();
  assert.equal(await of.locator('.how').evaluate(e => e.open), false, 'the deliberation is not folded');
  await of.locator('.how > summary').click();
  await of.locator('.sentences li').first().waitFor();
};
const begin = where => where.getByRole('button', { name: 'New session' }).click();
// isInSight reports whether an element is in the window, whole or by its beginning.
const isInSight = (element, isWhole = true) => element.evaluate((e, isWhole) => {
  const { top, bottom } = e.getBoundingClientRect();
  return top >= 0 && top < innerHeight && (!isWhole || bottom <= innerHeight);
}, isWhole);

await step('a question is asked by Enter, and the agents stream side by side', async () => {
  await judge(page, 'at the beginning');
  await page.waitForFunction(() => document.activeElement === document.querySelector('textarea'));
  await picture(page, 'page-welcome');
  model.gate.close();
  await page.getByLabel('Model', { exact: true }).selectOption('slow');
  await box.focus();
  await page.keyboard.type('What is Go?');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('Be brief.');
  assert.equal(await box.inputValue(), 'What is Go?\nBe brief.');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter'); // a second one sends nothing
  for (const id of ['researcher', 'analyst', 'critic']) {
    const text = page.getByRole('group', { name: `What ${id} says` });
    await text.filter({ hasText: `${id} has read the question` }).waitFor();
    await text.locator('[data-kind=answer]').filter({ hasText: /^An a[nswer]*$/ }).waitFor(); // half of it: the gate is closed
  }
  assert.equal(await box.inputValue(), '');
  const boxes = await page.locator('.agent').evaluateAll(list => list.map(e => e.getBoundingClientRect().top));
  assert.equal(new Set(boxes).size, 1, 'the agents do not stand side by side');
  const entry = page.locator('#sessions a[aria-current=page]'); // with a title and a date, while the first turn runs
  assert.match(await entry.textContent(), /^What is Go\?\d\d:\d\d · running$/);
  assert.equal(await page.locator('#sessions a').count(), 1);
  assert.match(await page.title(), /^… What is Go\?/);
  await judge(page, 'while a turn runs');
  model.gate.open();
  await turn.locator('.answer').filter({ hasText: 'An answer by analyst.' }).waitFor();
  await unfold(turn);
  await turn.locator('.sentences li').filter({ hasText: 'critic voted for analyst.1: It is clear.' }).waitFor();
  await turn.locator('.state').filter({ hasText: 'completed · 6 calls · tokens of 6 calls unknown · cost unknown' }).waitFor();
  assert.match(await page.title(), /^What is Go\?.* · massgen$/);
});

await step('a follow-up question is asked, and the box is always in sight', async () => {
  await ask(page, 'And Rust?', 'panel');
  await turn.nth(1).locator('.answer').waitFor();
  assert.ok(await isInSight(turn.nth(1).locator('.question')) && await isInSight(turn.nth(1).locator('.answer'), false), 'the answer is not shown from its beginning');
  assert.ok(await isInSight(box), 'the box is out of sight');
  const colours = await page.locator('.turn .answer .who').evaluateAll(list => list.map(e => e.className));
  assert.ok(colours[0].endsWith('c1') && colours[1].endsWith('c2'), 'agents have the colours of their places: ' + colours);
});

await step('rounds and votes are shown, and the answer', async () => {
  await begin(page);
  await ask(page, 'What is a heat pump?', 'panel');
  await turn.locator('.answer').filter({ hasText: 'On second thoughts' }).waitFor();
  assert.match(await turn.locator('.state').textContent(), /completed · \d+ calls · .* tokens · \$0 · .* s$/);
  assert.match(await turn.locator('.waits').textContent(), /^critic\.2 has \d of \d votes$/);
  await unfold(turn);
  const lines = await turn.locator('.sentences li').allTextContents();
  assert.ok(lines.some(l => /^round 2: .* writing/.test(l)) && lines.filter(l => / voted for critic\.2: /.test(l)).length >= 2, lines.join('\n'));
  const acts = await turn.locator('.acts li').allTextContents();
  assert.ok(acts.includes('Round 2') && acts.filter(l => / voted · ■ critic\.2 · /.test(l)).length >= 2, acts.join('\n'));
  await turn.locator('img.timeline').waitFor();
  assert.ok(await turn.locator('img.timeline').evaluate(async i => { await i.decode(); return i.naturalWidth > 100; }), 'the timeline is not drawn');
  assert.match(await page.locator('#news').textContent(), /The answer of critic is there/);
  assert.equal(await page.locator('#stop').isVisible(), false);
  await judge(page, 'with an answer');
});

await step('a panel writes Markdown', async () => {
  const other = await open({ viewport: { width: 1280, height: 800 } });
  last = other;
  model.gate.close();
  await ask(other, 'Explain heat pumps', 'slow');
  await other.locator('.agent').filter({ has: other.locator('table') }).nth(2).waitFor(); // half of each answer
  assert.ok(await isInSight(other.locator('.agents')) && await isInSight(other.locator('.turn .state')), 'the agents are not in sight');
  await picture(other, 'page-running');
  model.gate.open();
  await other.locator('.answer blockquote').waitFor();
  await picture(other, 'page');
  await unfold(other.locator('.turn'));
  await other.locator('img.timeline').waitFor();
  assert.ok(await isInSight(other.locator('.how > summary')), 'what is unfolded takes the view away');
  await other.locator('.rounds').scrollIntoViewIfNeeded();
  await picture(other, 'page-how');
  await other.context().close();
  last = page;
});

await step('the view follows what is new until the reader scrolls', async () => {
  const other = await open({ viewport: { width: 900, height: 420 } });
  last = other;
  const top = () => other.locator('#view').evaluate(e => e.scrollTop);
  const toEnd = () => other.locator('#view').evaluate(e => e.scrollHeight - e.clientHeight - e.scrollTop);
  for (const [i, question] of ['One', 'Two'].entries()) {
    await ask(other, question, 'writer');
    await other.locator('.turn').nth(i).locator('.answer').waitFor();
  }
  for (const [i, isReading] of [false, true].entries()) {
    model.gate.close();
    await ask(other, 'Three', 'writer');
    const newest = other.locator('.turn').nth(2 + i);
    await other.getByRole('group', { name: 'What writer says' }).filter({ hasText: 'It begins' }).waitFor();
    await other.waitForFunction(() => { const e = document.getElementById('view'); return e.scrollHeight - e.clientHeight - e.scrollTop < 2; });
    if (isReading) await other.locator('#view').evaluate(e => { e.scrollTop = 30; });
    model.gate.open();
    await newest.locator('.answer').waitFor();
    if (isReading) assert.equal(await top(), 30, 'the view was taken away from the reader');
    else assert.ok(await toEnd() < 2 || await isInSight(newest.locator('.question')), 'the answer is out of sight');
  }
  await other.context().close();
  last = page;
});

await step('the sentences are those of "sessions show"', async () => {
  const id = decodeURIComponent(new URL(page.url()).hash.replace('#s=', ''));
  const shown = spawnSync(path.join(work, 'massgen'), ['sessions', 'show', id, '--state-dir', path.join(work, 'state')], { cwd: work, env: { ...process.env, HOME: work }, encoding: 'utf8' });
  const sentences = shown.stdout.match(/(researcher|analyst|critic) (answered|voted)[^\n]* tokens/g) ?? [];
  assert.ok(sentences.length >= 6, shown.stdout + shown.stderr);
  const lines = await turn.locator('.sentences li').allTextContents();
  for (const sentence of sentences) assert.ok(lines.includes(sentence), `the page lacks "${sentence}" in\n${lines.join('\n')}`);
});

await step('an older turn shows its votes at once, and unfolding it moves nothing', async () => {
  await page.reload();
  await turn.locator('.waits').filter({ hasText: /^critic\.2 has \d of \d votes$/ }).waitFor();
  const again = turn.getByRole('button', { name: 'Ask again', exact: true });
  const before = await again.boundingBox();
  await unfold(turn);
  await turn.locator('.sentences li').filter({ hasText: 'voted for critic.2' }).first().waitFor();
  assert.deepEqual(await again.boundingBox(), before, 'the actions have moved');
});

await step('answers are compared', async () => {
  await turn.locator('.how > summary').click(); // fold
  await turn.getByRole('button', { name: 'Compare answers' }).click();
  assert.ok(await isInSight(turn.locator('.compare'), false), 'the comparison is out of sight');
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
  await unfold(turn);
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
    await unfold(turn);
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
  await begin(page);
  await ask(page, 'Say <script>alert(1)</script>', 'writer');
  const text = page.getByRole('group', { name: 'What writer says' });
  await text.filter({ hasText: 'It begins' }).waitFor();
  await page.reload();
  await text.filter({ hasText: 'It begins' }).waitFor();
  await page.getByLabel('Add to the question').fill('in winter');
  await page.keyboard.press('Enter');
  await turn.locator('.sentences li').filter({ hasText: 'note: in winter' }).waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await turn.locator('.sentences li').filter({ hasText: 'the turn is paused: no call begins' }).waitFor();
  await page.getByRole('button', { name: 'Go on' }).click();
  await turn.locator('.sentences li').filter({ hasText: 'the turn was paused, and goes on' }).waitFor();
  await turn.locator('.notes li').filter({ hasText: 'in winter (no agent has seen it yet)' }).waitFor();
  model.gate.open();
  await turn.locator('.answer').filter({ hasText: 'and ends: <img src=x onerror=alert(1)>' }).waitFor();
  assert.equal(await page.locator('.prose img, .words img, .prose script').count(), 0);
  await unfold(turn);
  assert.equal((await text.textContent()).match(/It begins/g).length, 1, 'pieces come twice');
});

await step('files are attached, chosen or dropped', async () => {
  const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  await begin(page);
  await page.getByLabel('Files', { exact: true }).setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(dot, 'base64') });
  await ask(page, 'What is on the picture?', 'writer');
  await turn.locator('.answer').filter({ hasText: `with data:image/png;base64,${dot} and ends` }).waitFor();
  assert.equal(await page.locator('#chosen').isVisible(), false, 'the next question would have the file again');
  assert.equal(await turn.locator('.question').textContent(), 'What is on the picture?');
  await page.reload();
  await turn.locator('.files').filter({ hasText: 'dot.png' }).waitFor();
  await turn.getByRole('button', { name: 'Ask again', exact: true }).click(); // the page has no file any more
  await page.getByRole('alert').filter({ hasText: 'Choose dot.png again' }).waitFor();
  assert.equal(await box.inputValue(), 'What is on the picture?');
  for (const [kind, name] of [['drop', 'notes.txt'], ['paste', 'more.txt']]) {
    await box.evaluate((box, [kind, name]) => {
      const files = new DataTransfer();
      files.items.add(new File(['words'], name, { type: 'text/plain' }));
      box.dispatchEvent(kind === 'drop' ? new DragEvent(kind, { dataTransfer: files, bubbles: true, cancelable: true })
        : new ClipboardEvent(kind, { clipboardData: files, bubbles: true, cancelable: true }));
    }, [kind, name]);
    await page.locator('#chosen li').filter({ hasText: name }).waitFor();
  }
  await judge(page, 'with files');
  const zip = Buffer.from('PK\x03\x04\xff\xfe\x80 no text', 'latin1');
  await page.locator('#files').setInputFiles({ name: 'x.zip', mimeType: 'application/zip', buffer: zip });
  await page.getByRole('alert').filter({ hasText: 'x.zip cannot be attached' }).waitFor();
  await page.getByRole('button', { name: 'Leave out notes.txt' }).click();
  assert.equal(await page.locator('#chosen li').count(), 1);
});

await step('a turn is ended', async () => {
  model.gate.close();
  await begin(page);
  await ask(page, 'Say more', 'writer');
  await page.getByRole('group', { name: 'What writer says' }).filter({ hasText: 'It begins' }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await turn.locator('.state').filter({ hasText: 'interrupted' }).waitFor();
  model.gate.open();
});

await step('an answer is copied, and a question asked again, and in another form', async () => {
  await page.context().grantPermissions(['clipboard-read']);
  await begin(page);
  for (const [i, question] of ['The first', 'The second'].entries()) {
    await ask(page, question, 'writer');
    await turn.nth(i).locator('.answer').waitFor();
  }
  await turn.last().getByRole('button', { name: 'Copy the answer' }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'It begins slowly and ends: <img src=x onerror=alert(1)>');
  const first = new URL(page.url()).hash;
  await turn.last().getByRole('button', { name: 'Ask again', exact: true }).click();
  await page.waitForFunction(hash => location.hash !== hash, first); // in a copy: nothing is lost
  await turn.nth(1).locator('.answer').waitFor();
  assert.deepEqual(await turn.locator('.question').allTextContents(), ['The first', 'The second']);
  await turn.last().getByRole('button', { name: 'Edit and ask again' }).click();
  assert.equal(await box.inputValue(), 'The second');
  await box.fill('The second, in other words');
  await page.keyboard.press('Enter');
  await turn.locator('.question').filter({ hasText: 'in other words' }).waitFor();
  await turn.nth(1).locator('.answer').waitFor();
  assert.deepEqual(await turn.locator('.question').allTextContents(), ['The first', 'The second, in other words']);
});

await step('Markdown is drawn, and nothing in it runs or is loaded', async () => {
  await begin(page);
  await ask(page, 'Show Markdown', 'writer');
  const answer = turn.locator('.answer .prose');
  await answer.filter({ hasText: 'The end.' }).waitFor();
  const shown = await answer.evaluate(e => ({
    tags: [...new Set([...e.querySelectorAll('*')].map(c => c.tagName.toLowerCase()))].sort(),
    attributes: [...new Set([...e.querySelectorAll('*')].flatMap(c => c.getAttributeNames()))].sort(),
    links: [...e.querySelectorAll('a')].map(a => a.href),
    live: document.querySelector('.agent .text .words').innerHTML, whole: e.innerHTML,
  }));
  assert.deepEqual(shown.tags, ['a', 'blockquote', 'br', 'button', 'code', 'div', 'em', 'h4', 'li', 'ol', 'p', 'pre', 'span', 'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul']);
  assert.deepEqual(shown.attributes, ['aria-label', 'class', 'href', 'rel', 'tabindex', 'target', 'title', 'type']);
  assert.deepEqual(shown.links.filter(l => !/^https:\/\/(reports|evil)\.example\//.test(l)), []);
  assert.ok(shown.whole.includes('&lt;script&gt;alert(1)&lt;/script&gt;') && shown.whole.includes('[one](javascript:alert(1))'), shown.whole);
  assert.equal(shown.live.replaceAll('h5', 'h4'), shown.whole, 'pieces make another text than the whole');
  assert.equal(await answer.locator('td').nth(1).evaluate(e => getComputedStyle(e).textAlign), 'right');
  assert.equal(await answer.locator('.keyword').first().textContent(), 'func');
  await answer.getByRole('button', { name: 'Copy this code' }).first().click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^\/\/ cop returns .*\nfunc cop/);
  await judge(page, 'with Markdown');
  await picture(page, 'page-markdown');
});

await step('no Markdown holds the tab up', async () => {
  const size = 1 << 20;
  const texts = {
    brackets: '['.repeat(size), stars: '*'.repeat(size), pictures: '!['.repeat(size / 4), links: '[a]('.repeat(size / 4), code: '`a '.repeat(size / 8),
    addresses: 'http://'.repeat(size / 16), quotes: 'x\n' + '> '.repeat(10000), lists: 'x\n' + '- '.repeat(10000), accents: 'a' + '\u0301'.repeat(size),
    comments: ('```go\n' + '/*'.repeat(24000) + '\n```\n').repeat(20), quoted: ('```go\n' + '\\"'.repeat(24000) + '\n```\n').repeat(20),
    table: `${'|a'.repeat(20000)}|\n${'|-'.repeat(20000)}|\n${'|x|\n'.repeat(2000)}`, rows: '|a|\n|-|\n' + '|x|\n'.repeat(20000),
  };
  const system = await desk.browser.newBrowserCDPSession();
  const used = async () => (await system.send('SystemInfo.getProcessInfo')).processInfo.reduce((sum, p) => sum + (p.type === 'renderer' ? p.cpuTime : 0), 0);
  for (const name in texts) {
    const before = await used();
    const shown = await page.evaluate(async text => {
      const { Prose } = await import('/markdown.js');
      const element = document.querySelector('.prose').cloneNode();
      document.getElementById('turns').append(element);
      new Prose(element).show(text);
      const { height } = element.getBoundingClientRect();
      element.remove();
      return height;
    }, texts[name]);
    const took = await used() - before;
    assert.ok(took < 10 && shown > 0, `${name}: ${shown} pixels after ${took} s of processor time`);
  }
});

await step('the work for a text in pieces grows as the text does', async () => {
  const made = await page.evaluate(async () => {
    const { Prose } = await import('/markdown.js');
    const create = document.createElement;
    const count = (block, size) => {
      let made = 0;
      document.createElement = function (...of) { made++; return create.apply(document, of); };
      const prose = new Prose(create.call(document, 'div'));
      const text = block.repeat(size / block.length);
      for (let i = 0; i < text.length; i += 20) prose.append(text.slice(i, i + 20));
      prose.finish();
      document.createElement = create;
      const shown = prose.element.textContent.replace(/\s/g, '').length;
      return { made, lost: text.replace(/[\s*]/g, '').length - shown };
    };
    return ['A **bold** word in a sentence.\n\n', 'One **long** paragraph. ', '* item\n'].map(block => [20000, 40000].map(size => count(block, size)));
  });
  for (const [half, whole] of made) {
    assert.ok(whole.made < 2.5 * half.made, JSON.stringify(made));
    assert.equal(whole.lost, 0, JSON.stringify(made));
  }
});

for (const [decision, sentence, state] of [['Allow', 'writer ran write_file', 'ran'], ['Deny', 'writer was denied write_file', 'denied']]) {
  await step(`a tool call waits for a person: ${decision}`, async () => {
    await begin(page);
    await ask(page, 'Write a file', 'writer');
    const dialog = page.getByRole('dialog', { name: 'writer wants to run write_file' });
    await dialog.waitFor();
    assert.match(await dialog.getByRole('group', { name: 'Arguments' }).textContent(), /<b>not markup<\/b>/);
    await page.keyboard.press('Escape'); // decides nothing
    assert.ok(await dialog.isVisible());
    await judge(page, 'with a permission');
    if (decision === 'Allow') await picture(page, 'page-permission');
    await dialog.getByRole('button', { name: decision }).click();
    await unfold(turn);
    await turn.locator('.sentences li').filter({ hasText: sentence }).waitFor();
    await turn.locator('[data-kind=tool] summary').filter({ hasText: `write_file · ${state}` }).waitFor();
    const written = fs.readdirSync(path.join(work, 'files'), { recursive: true }).filter(name => path.basename(name) === 'notes.txt');
    assert.equal(written.length, 1, 'the call that was allowed has written a file, and no other');
  });
}

await step('a call that waits no more makes room for the next one, which a person decides', async () => {
  const answer = await page.evaluate(async () => {
    const { by, choice } = await import('/base.js');
    const dialog = by('permission');
    choice(dialog, false);
    const closed = new Promise(done => dialog.addEventListener('close', done, { once: true }));
    dialog.close();
    const next = choice(dialog, false);
    await closed;
    const answer = await Promise.race([next, Promise.resolve('waits')]);
    dialog.close('gone');
    return answer;
  });
  assert.equal(answer, 'waits');
});

await step('a question that is sent while a person goes to another session stays in its own, and no draft is lost', async () => {
  await begin(page);
  await ask(page, 'The other session', 'writer');
  await turn.locator('.answer').waitFor();
  await begin(page);
  await ask(page, 'This session', 'writer');
  await turn.locator('.answer').waitFor();
  let release;
  const held = new Promise(done => { release = done; });
  await page.route('**/turns', async route => { await held; await route.continue(); });
  await ask(page, 'A late question', 'writer');
  await page.locator('#sessions a').filter({ hasText: 'The other session' }).click();
  await turn.filter({ hasText: 'The other session' }).waitFor();
  await box.fill('a draft');
  const sent = page.waitForResponse('**/turns');
  const listed = page.waitForResponse('**/sessions?*');
  release();
  await sent;
  await listed;
  await page.unroute('**/turns');
  assert.deepEqual(await turn.locator('.question').allTextContents(), ['The other session']);
  await turn.getByRole('button', { name: 'Ask again', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'The other session' }).waitFor();
  await turn.locator('.answer').waitFor();
  assert.equal(await box.inputValue(), 'a draft');
  await box.fill('');
});

await step('a session is renamed and deleted, and an error says its cause', async () => {
  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByLabel('Title').fill('A new name');
  await page.keyboard.press('Enter');
  await page.locator('#sessions a').filter({ hasText: 'A new name' }).waitFor();
  assert.match(await page.title(), /^A new name · massgen$/);
  assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'A new name');
  await page.getByRole('button', { name: 'Delete' }).click();
  await judge(page, 'before a deletion');
  await page.keyboard.press('Escape'); // deletes nothing
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.locator('#welcome').waitFor();
  await page.locator('#sessions a').filter({ hasText: 'A new name' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Enter');
  assert.ok(await isInSight(page.getByRole('alert').filter({ hasText: 'The question is empty' })));
});

await step('sessions are searched, by the keyboard', async () => {
  await page.getByLabel('Search sessions').focus();
  await page.keyboard.type('heat');
  const found = page.locator('#sessions a').filter({ hasText: /turn 1[^]*On second thoughts/ });
  await found.first().waitFor();
  while (!(await found.first().evaluate(e => e === document.activeElement))) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await turn.locator('.answer').filter({ hasText: 'On second thoughts' }).waitFor();
  await page.locator('#sessions a[aria-current=page]').first().waitFor();
});

for (const [name, options] of [['dark', { colorScheme: 'dark' }], ['phone', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }]]) {
  await step(`the page is as good: ${name}`, async () => {
    const other = await open(options, new URL(page.url()).hash);
    last = other;
    await other.locator('.answer').filter({ hasText: 'On second thoughts' }).waitFor();
    await picture(other, 'page-' + name);
    await unfold(other.locator('.turn'));
    await other.locator('img.timeline').waitFor();
    await judge(other, name);
    const wide = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `it is ${wide} pixels too wide`);
    assert.ok(await isInSight(other.locator('textarea').first()), 'the box is out of sight');
    if (name === 'phone') {
      await other.getByRole('button', { name: 'Sessions' }).click();
      await judge(other, 'phone, with the sessions');
      await picture(other, 'page-sessions');
      await other.locator('#sessions a').filter({ hasText: 'What is Go?' }).click();
      await other.getByRole('heading', { level: 1, name: 'What is Go?' }).waitFor();
      assert.equal(await other.locator('#side').isVisible(), false);
    }
    await other.context().close();
  });
}

await step('a dialog that opened before anything had the focus leaves it to the box', async () => {
  const other = await open();
  last = other;
  await other.evaluate(async () => {
    const { choice } = await import('/base.js');
    const dialog = document.getElementById('login');
    document.activeElement.blur();
    const closed = choice(dialog);
    dialog.close('');
    await closed;
  });
  assert.equal(await other.evaluate(() => document.activeElement.id), 'question');
  await other.context().close();
});

await step('without a token, the address that the server prints lets a person delete', async () => {
  await desk.restart('');
  const other = await open({}, '', false);
  last = other;
  await other.locator('#sessions a').first().click();
  const remove = async () => {
    await other.getByRole('button', { name: 'Delete' }).click();
    await other.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  };
  await remove();
  await other.getByRole('alert').filter({ hasText: 'open the page at the address that massgen serve has printed' }).waitFor();
  const hash = new URL(other.url()).hash;
  await other.goto(desk.server.said().match(/the web page is (\S+)/)[1]);
  await other.locator('#welcome').waitFor();
  assert.equal(new URL(other.url()).hash, '', 'the key stays in the address');
  await other.goto(desk.server.address + '/' + hash);
  await remove();
  await other.locator('#welcome').waitFor();
});

await desk.close();
assert.deepEqual(faults, []);
console.log('ok: no error, no request to another host, nothing that axe objects to');
if (mode !== 'pictures') fs.rmSync(path.join(work, 'pictures'), { recursive: true });
