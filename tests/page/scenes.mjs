// scenes.mjs WORK BROWSER GOLDEN [pictures|update] draws each screen of a turn in a window of 1280 and of 390 pixels and
// compares its text with a file, which "update" writes anew. "pictures" also keeps pictures of them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ask, drive } from './drive.mjs';

const [work, browserPath, golden, mode] = process.argv.slice(2);
const desk = await drive(work, browserPath);
const { model, judge } = desk;
const sizes = { wide: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
const page = await desk.open({ viewport: sizes.wide, colorScheme: 'dark' });
const turn = page.locator('.turn').last();
const texts = [];

// textOf returns what an element shows, in an order and with numbers that no clock changes, and only the chosen model.
async function textOf(element) {
  const others = await page.evaluate(() => {
    for (const list of document.querySelectorAll('.acts, .sentences')) { // agents at work at the same time end in any order
      list.append(...[...list.children].sort((a, b) => (a.textContent < b.textContent ? -1 : 1)));
    }
    return [...document.querySelectorAll('#model option:not(:checked)')].map(option => option.text);
  });
  const lines = (await element.innerText()).split('\n').filter(line => !others.includes(line));
  return lines.join('\n').replace(/\d+(\.\d+)? s\b/g, 'N s').replace(/\d\d:\d\d(:\d\d)?/g, 'TIME').replace(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replace(/\b[0-9a-f-]{36}\b/g, 'ID').replace(/\n{2,}/g, '\n').trim();
}

// scene draws what the window shows of an element, and again on a phone. open is what a person does before it is seen.
async function scene(name, { of = page.locator('main'), toSee = null, open = {} } = {}) {
  for (const size in sizes) {
    await page.setViewportSize(sizes[size]);
    await open[size]?.();
    await toSee?.scrollIntoViewIfNeeded();
    if (mode === 'pictures') {
      for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: path.join(work, 'pictures', `${name}-${size}-${colorScheme}.png`) });
      }
    }
    await judge(page, `${name}, ${size}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${name}, ${size}: it is ${wide} pixels too wide`);
    texts.push(`== ${name}, ${size}\n${await textOf(of)}\n`);
  }
  await page.setViewportSize(sizes.wide);
  console.log(`drawn: ${name}`);
}

const begin = () => page.getByRole('button', { name: 'New session' }).click();
const answered = () => turn.locator('.answer').filter({ visible: true }).waitFor();
const halves = (count, of = '.piece[data-kind=answer]') => turn.locator(of).nth(count - 1).waitFor();
// hold asks a panel a question and stops all its agents in the middle of their answers.
async function hold(question, panel, count) {
  await begin();
  model.gate.close();
  await ask(page, question, panel);
  await halves(count);
}

await scene('begin');

await hold('What is a heat pump?', 'slow', 3);
await scene('streaming');
model.gate.open();
await answered();
await scene('end');

await begin();
await ask(page, 'What is best? Vote slowly.', 'slow');
await turn.locator('.rounds').filter({ hasText: 'Round 2' }).waitFor();
await scene('second-round');
model.gate.openVotes();
await answered();

await begin();
await ask(page, 'Write a file', 'writer');
await page.getByRole('dialog').waitFor();
await scene('permission', { of: page.getByRole('dialog') });
await page.getByRole('button', { name: 'Deny' }).click();
await answered();

for (const [name, panel] of [['failure-of-one', 'ailing'], ['failure-of-all', 'broken']]) {
  await begin();
  await ask(page, 'What is best?', panel);
  await turn.locator('.actions').filter({ visible: true }).waitFor();
  await scene(name);
}

for (const [name, question] of [['long-answer', 'Show length'], ['table', 'Show table'], ['code', 'Show code'], ['cjk', 'Show CJK']]) {
  await begin();
  await ask(page, question, 'writer');
  await answered();
  await scene(name);
}

for (const [name, count] of [['five', 5], ['twenty', 20]]) {
  await hold('Who is it?', name, count);
  await scene(name + '-agents');
  model.gate.open();
  await answered();
}

await begin();
await ask(page, 'Explain heat pumps', 'slow');
await answered();
await turn.getByRole('button', { name: 'Compare answers' }).click();
await turn.locator('.compare .prose table').first().waitFor();
await scene('comparison', { of: turn.locator('.compare'), toSee: turn.locator('.compare') });

await begin();
await scene('picker', { of: page.locator('#side'), open: { phone: () => page.getByRole('button', { name: 'Sessions' }).click() } });

await desk.close();
assert.deepEqual(desk.faults, []);
const drawn = texts.join('\n');
if (mode === 'update') fs.writeFileSync(golden, drawn);
else assert.equal(spawnSync('diff', ['-u', golden, '-'], { input: drawn, encoding: 'utf8' }).stdout, '');
