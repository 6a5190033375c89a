// What the scripts of this directory share: the massgen of a directory that serves panels of the models of model.mjs,
// and a browser on its page.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';
import axe from 'axe-core';
import { serveModel } from './model.mjs';

const token = 'page-0123456789abcdef';

// patience is how many seconds a busy machine may take for what ends a test otherwise.
const patience = 300;

// drive starts a program and a browser. faults are what nobody expects on the page, such as errors on its console.
export async function drive(work, browserPath) {
  const model = await serveModel();
  const backend = name => `backend: {type: openai, model: ${name}, base_url: "${model.address}", api_key: none}`;
  const panel = ids => 'agents:\n' + ids.map(id => `  - {id: ${id}, ${backend(id)}}\n`).join('');
  const numbered = count => Array.from({ length: count }, (_, i) => `agent-${String(i + 1).padStart(2, '0')}`);
  const configs = {
    panel: 'agents:\n' + ['researcher', 'analyst', 'critic'].map(id => `  - {id: ${id}, backend: {type: demo}}\n`).join(''),
    writer: `agents:
  - id: writer
    backend: {type: openai, model: m, base_url: "${model.address}", api_key: none, cwd: "${work}/files"}
permissions:
  rules:
    - {action: ask, tool: write_file}
`,
    slow: panel(['researcher', 'analyst', 'critic']), ailing: panel(['researcher', 'critic', 'tester-broken']), broken: panel(['broken-1', 'broken-2']),
    five: panel(numbered(5)), twenty: panel(numbered(20)),
  };
  for (const name in configs) fs.writeFileSync(path.join(work, name + '.yaml'), configs[name] + `providers: {openai: {idle_timeout_seconds: ${patience}}}\n`);
  fs.mkdirSync(path.join(work, 'pictures'), { recursive: true });

  // serve starts the program and returns its address. What else it says is in said.
  async function serve(secret = token) {
    const program = spawn(path.join(work, 'massgen'), [
      'serve', ...Object.keys(configs).flatMap(name => ['--config', name + '.yaml']), '--listen', '127.0.0.1:0', '--state-dir', path.join(work, 'state'),
    ], { cwd: work, env: { ...process.env, MASSGEN_TOKEN: secret, HOME: work } });
    process.on('exit', () => program.kill()); // also after a failure
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

  const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] });
  const faults = [];
  const desk = { model, browser, faults, open, judge, server: await serve() };
  desk.restart = async secret => { await desk.server.stop(); desk.server = await serve(secret); };
  desk.close = async () => { await browser.close(); model.close(); await desk.server.stop(); };
  return desk;

  // open opens the page in a window of its own and logs in.
  async function open(options = {}, hash = '', needsToken = true) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(patience * 1000);
    page.on('console', message => {
      const expected = /401/.test(message.text()); // the page asks before it has the token
      if (['error', 'warning'].includes(message.type()) && !expected) faults.push(`console: ${message.text()}`);
    });
    page.on('pageerror', error => faults.push(`page: ${error}`));
    page.on('request', request => {
      if (!request.url().startsWith(desk.server.address) && !request.url().startsWith('blob:')) faults.push(`a request to ${request.url()}`);
    });
    await page.goto(desk.server.address + '/' + hash);
    if (needsToken) {
      await page.getByLabel('Token', { exact: true }).fill(token);
      await page.getByRole('button', { name: 'Go on' }).click();
    }
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
}

// ask asks a model a question on a page.
export async function ask(page, question, modelID) {
  await page.getByLabel('Model', { exact: true }).selectOption(modelID);
  await page.getByLabel('Question', { exact: true }).fill(question);
  await page.getByRole('button', { name: 'Ask', exact: true }).click();
}
