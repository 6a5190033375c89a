// The page of massgen serve. It has no library and no build step: the browser has all that it
// needs. What agents, tools and people say becomes text of the page and never markup.
'use strict';

const by = id => document.getElementById(id);
const make = (name, text = '', className = '') => {
  const e = document.createElement(name);
  e.textContent = text;
  if (className) e.className = className;
  return e;
};

// api asks the server. A server that wants a token gets one from the person.
async function api(path, { method = 'GET', body, headers = {}, signal, raw = false } = {}) {
  const token = sessionStorage.getItem('token');
  const response = await fetch(path, {
    method, signal,
    headers: {
      ...headers,
      ...(token ? { Authorization: 'Bearer ' + token } : {}),
      ...(body ? { 'Content-Type': 'application/json' } : {}),
    },
    body: body && JSON.stringify(body),
  });
  if (response.ok) return raw ? response : response.status === 204 ? null : response.json();
  let error = { message: response.statusText, code: '' };
  try { error = (await response.json()).error; } catch { /* it is no JSON: the status says enough */ }
  if (error.code === 'invalid_api_key') {
    await login();
    return api(path, { method, body, headers, signal, raw });
  }
  throw new Error(error.message);
}

let loggingIn = null;
// login asks for a token, once for all requests that wait for it.
function login() {
  loggingIn ??= new Promise(done => {
    const dialog = by('login');
    by('token').value = '';
    dialog.onclose = () => {
      sessionStorage.setItem('token', by('token').value);
      loggingIn = null;
      done();
    };
    dialog.oncancel = event => event.preventDefault();
    dialog.showModal();
  });
  return loggingIn;
}

const say = text => { by('news').textContent = text; };
const fail = error => { if (error.name !== 'AbortError') by('error').textContent = error.message; };
// tried runs what a person has asked for and shows what goes wrong with it.
const tried = action => async event => {
  event?.preventDefault();
  by('error').textContent = '';
  try { await action(event); } catch (error) { fail(error); }
};

// The session that is shown is the one that the address names, so a reload shows it again.
const shownID = () => decodeURIComponent(location.hash.replace(/^#s=/, ''));
const addressOf = id => '#s=' + encodeURIComponent(id);
const pathOf = id => '/sessions/' + encodeURIComponent(id);

const money = usage => {
  const cost = usage?.cost_usd == null ? 'cost unknown' : '$' + usage.cost_usd.toFixed(4).replace(/\.?0+$/, '');
  const tokens = (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
  return `${usage?.calls ?? 0} calls · ${tokens.toLocaleString('en')} tokens · ${cost}`;
};

// events yields the events of a turn, and goes on after a break where it was.
async function* events(path, signal) {
  let last = '';
  for (let pause = 500; ; pause = Math.min(pause * 2, 10000)) {
    try {
      const response = await api(path + '/events', { headers: last ? { 'Last-Event-ID': last } : {}, signal, raw: true });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let held = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        held += value;
        const whole = held.split('\n\n');
        held = whole.pop();
        for (const block of whole) {
          const event = { name: 'message', data: '' };
          for (const line of block.split('\n')) {
            if (line.startsWith('id: ')) last = line.slice(4);
            if (line.startsWith('event: ')) event.name = line.slice(7);
            if (line.startsWith('data: ')) event.data += line.slice(6);
          }
          if (event.name === 'end') return;
          if (event.data) { pause = 500; yield { name: event.name, ...JSON.parse(event.data) }; }
        }
      }
    } catch (error) {
      if (signal.aborted || !(error instanceof TypeError)) throw error; // a TypeError is the network's
    }
    await new Promise(done => setTimeout(done, pause));
  }
}

// TurnView shows one turn.
class TurnView {
  constructor(session, number, question) {
    this.path = `${pathOf(session)}/turns/${number}`;
    this.agents = new Map();
    this.answers = new Map(); // by label
    this.isLive = false;
    this.round = 0;
    this.element = by('turn').content.firstElementChild.cloneNode(true);
    this.element.querySelector('h2').textContent = `Turn ${number}`;
    this.find('.question').textContent = question;
    this.find('.pause').onclick = tried(() => this.act(this.isPaused ? 'resume' : 'pause'));
    this.find('.cancel').onclick = tried(() => this.act('cancel'));
    this.find('.note').onsubmit = tried(() => this.note());
    this.find('.load').onclick = tried(() => this.showInputs());
    this.find('details').ontoggle = tried(() => this.find('details').open && this.follow());
    for (const select of this.element.querySelectorAll('.compare select')) select.onchange = () => this.compare();
  }

  find(selector) { return this.element.querySelector(selector); }
  act(action, body) { return api(`${this.path}/${action}`, { method: 'POST', body }); }

  async note() {
    const input = this.find('.note input');
    await this.act('notes', { text: input.value });
    input.value = '';
    say('The note is added');
  }

  // follow shows the events of the turn, once.
  follow(signal) {
    this.following ??= this.read(signal ?? view.signal).catch(fail);
    return this.following;
  }

  async read(signal) {
    for await (const event of events(this.path, signal)) {
      if (event.name === 'permissions') askPermission(this, event.permissions);
      else this.take(event);
    }
    this.over();
    await this.showTimeline(signal);
  }

  live() {
    this.isLive = true;
    this.find('.controls').hidden = false;
    this.find('details').open = true;
    this.find('.state').textContent = 'The agents are at work';
    return this.follow(view.signal);
  }

  over() {
    this.find('.controls').hidden = true;
    askPermission(this, []);
    for (const a of this.agents.values()) a.box.classList.remove('busy');
  }

  // agent returns the place of an agent, which its first step makes.
  agent(id) {
    let a = this.agents.get(id);
    if (!a) {
      const box = by('agent').content.firstElementChild.cloneNode(true);
      box.querySelector('h4').textContent = id;
      box.querySelector('.text').setAttribute('aria-label', 'What ' + id + ' says');
      a = { box, doing: box.querySelector('.doing'), text: box.querySelector('.text') };
      this.agents.set(id, a);
      this.find('.agents').append(box);
    }
    return a;
  }

  line(text, className = '') { this.find('.rounds').append(make('li', text, className)); }

  take(event) {
    const show = this.shows[event.kind];
    if (show) show.call(this, event);
  }

  end(event, doing, text) {
    const a = this.agent(event.agent);
    a.box.classList.remove('busy');
    a.doing.textContent = doing;
    if (text) a.text.textContent = text;
  }

  announce(text, className) {
    this.line(text, className);
    if (this.isLive) say(text);
  }

  shows = {
    step_started(event) {
      const a = this.agent(event.agent);
      a.box.classList.add('busy');
      a.isNew = true;
      a.doing.textContent = event.round ? `at work, round ${event.round}` : 'at work';
      if (event.round > this.round) {
        this.round = event.round;
        this.announce(`Round ${event.round} begins`);
      }
    },
    text(event) {
      const a = this.agents.get(event.agent);
      if (!a) return; // a call that belongs to no agent
      if (a.isNew) { a.text.textContent = ''; a.isNew = false; }
      a.text.append(event.text);
      a.text.scrollTop = a.text.scrollHeight;
    },
    tool_started(event) { this.agent(event.agent).doing.textContent = `runs ${event.tool.name}`; },
    tool_ended(event) { this.line(`${event.agent} called ${event.tool.name}: ${event.tool.state}`); },
    answered(event) {
      this.end(event, `answered, ${money(event.usage)}`, event.content);
      this.answers.set(event.label || event.agent, event.content ?? '');
      this.announce(`${event.agent} answered${event.label ? ': ' + event.label : ''}${event.void ? ` (does not count: ${event.void})` : ''}`, event.void ? 'void' : '');
      this.fillCompare();
    },
    voted(event) {
      this.end(event, `voted for ${event.label}`);
      this.announce(`${event.agent} voted for ${event.label}${event.void ? ` (does not count: ${event.void})` : ''}: ${event.text ?? ''}`, event.void ? 'void' : '');
    },
    abstained(event) { this.end(event, 'abstained'); this.announce(`${event.agent} abstained: ${event.text ?? ''}`, 'void'); },
    failed(event) { this.end(event, 'failed'); this.announce(`${event.agent} failed: ${event.text ?? ''}`, 'bad'); },
    cancelled(event) { this.end(event, 'cancelled'); this.line(`${event.agent} was cancelled`, 'void'); },
    presented(event) { this.end(event, 'presented the answer'); this.line(`${event.agent} presented the answer`); },
    retrying(event) { this.agent(event.agent).doing.textContent = `tries again: ${event.text}`; },
    noted(event) { this.line(`You added: ${event.text}`); },
    paused() { this.setPaused(true); },
    unpaused() { this.setPaused(false); },
    ended(event) { this.find('.state').textContent = `${event.text} · ${money(event.usage)}`; },
  };

  setPaused(isPaused) {
    this.isPaused = isPaused;
    this.find('.pause').textContent = isPaused ? 'Go on' : 'Pause';
    this.announce(isPaused ? 'The turn is paused' : 'The turn goes on');
  }

  // result shows how the turn ended.
  result(turn) {
    this.find('.state').textContent = turn.usage ? `${turn.status} · ${money(turn.usage)}` : turn.status;
    this.find('.answer').hidden = !turn.winner;
    this.find('.answer h3').textContent = `Answer of ${turn.winner}`;
    this.find('.answer div').textContent = turn.answer;
    this.winner = turn.winner;
    this.agents.get(turn.winner)?.box.classList.add('wins');
  }

  async showTimeline(signal) {
    this.agents.get(this.winner)?.box.classList.add('wins');
    const response = await api(this.path + '/timeline.svg', { raw: true, signal }).catch(() => null); // a branch has none
    if (!response) return;
    const image = this.find('.timeline');
    image.src = URL.createObjectURL(await response.blob());
    image.onload = () => URL.revokeObjectURL(image.src);
    image.hidden = false;
  }

  fillCompare() {
    if (this.answers.size < 2) return;
    this.find('.compare').hidden = false;
    [...this.element.querySelectorAll('.compare select')].forEach((select, i) => {
      const was = select.value;
      select.replaceChildren(...[...this.answers.keys()].map(label => new Option(label)));
      select.value = this.answers.has(was) ? was : [...this.answers.keys()][i];
    });
    this.compare();
  }

  compare() {
    for (const side of this.find('.pair').children) {
      side.querySelector('.prose').textContent = this.answers.get(side.querySelector('select').value);
    }
  }

  async showInputs() {
    const { inputs } = await api(this.path + '/inputs');
    this.find('.inputs').replaceChildren(...inputs.map(call => {
      const item = make('li', `${call.name} · ${call.characters.total.toLocaleString('en')} characters `);
      const input = make('button', 'Input');
      input.type = 'button';
      input.setAttribute('aria-label', 'Input of ' + call.name);
      input.onclick = tried(async () => this.show((await (await api(`${this.path}/inputs/${call.number}?as=text`, { raw: true })).text())));
      const difference = make('button', 'Difference');
      difference.type = 'button';
      difference.setAttribute('aria-label', 'Difference of ' + call.name + ' from the call before it');
      difference.onclick = tried(async () => {
        const { diff } = await api(`${this.path}/inputs/${call.number}/diff`);
        this.show(diff || 'This is the first call of its agent.', true);
      });
      item.append(input, ' ', difference);
      return item;
    }));
    this.find('.load').textContent = 'Read the list again';
  }

  show(text, isDifference = false) {
    const pre = this.find('.input');
    pre.hidden = false;
    pre.replaceChildren(...text.split('\n').map(line => {
      const sign = isDifference && line[0];
      return make('span', line + '\n', sign === '+' ? 'plus' : sign === '-' ? 'minus' : '');
    }));
    pre.focus();
  }
}

// askPermission puts the first tool call that waits to the person, and takes back one that does not
// wait any more.
let asked = null;
function askPermission(turn, list) {
  const dialog = by('permission');
  if (asked && asked.turn === turn && !list.some(p => p.id === asked.id)) { asked = null; dialog.close(); }
  if (asked || list.length === 0) return;
  const call = list[0];
  asked = { turn, id: call.id };
  by('asks').textContent = `${call.agent} wants to run ${call.tool}`;
  by('why').textContent = call.why;
  by('arguments').textContent = call.arguments;
  by('reason').value = '';
  dialog.returnValue = '';
  dialog.oncancel = event => event.preventDefault(); // an answer has to be clear
  dialog.onclose = tried(async () => {
    if (!asked) return;
    const { id } = asked;
    asked = null;
    await turn.act('permissions', { id, decision: dialog.returnValue === 'allow' ? 'allow' : 'deny', reason: by('reason').value });
  });
  dialog.showModal();
}

// view is what the page shows: its signal ends what was begun for it.
let view = new AbortController();

async function showSession() {
  view.abort();
  view = new AbortController();
  const { signal } = view;
  const id = location.hash ? shownID() : '';
  if (asked) { asked = null; by('permission').close(); } // it waits with its turn
  by('turns').replaceChildren();
  by('title').textContent = id ? '' : 'a new session';
  markCurrent();
  if (!id) return;
  const session = await api(pathOf(id), { signal });
  by('title').textContent = `${session.title || session.id} · ${money(session.usage)}`;
  if ([...by('model').options].some(o => o.value === session.model)) by('model').value = session.model;
  const views = session.turns.map(turn => {
    const shown = new TurnView(id, turn.number, turn.question);
    shown.result(turn);
    by('turns').append(shown.element);
    return shown;
  });
  const last = views.at(-1);
  if (session.state === 'running') finish(id, last);
  else if (session.state === 'interrupted') offerToFinish(id, last);
  else if (last) last.find('details').open = true;
}

// finish shows a turn that runs to its end, and then what it came to.
async function finish(id, turn) {
  const { signal } = view;
  await turn.live();
  if (signal.aborted) return;
  try {
    turn.result(await api(turn.path, { signal }));
    say(turn.winner ? `The answer of ${turn.winner} is there` : 'There is no answer');
    const session = await api(pathOf(id), { signal });
    by('title').textContent = `${session.title || session.id} · ${money(session.usage)}`;
    await listSessions();
  } catch (error) { fail(error); }
}

function offerToFinish(id, turn) {
  turn.find('.state').textContent = 'The process that played this turn is gone.';
  const button = make('button', 'Finish the turn');
  button.type = 'button';
  button.onclick = tried(async () => {
    await api(`${pathOf(id)}/continue`, { method: 'POST', body: { background: true } });
    await showSession();
  });
  turn.find('.state').after(button);
}

// encoded reads a file of the person as the server takes it.
const encoded = file => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done({ filename: file.name, file_data: reader.result });
  reader.onerror = () => failed(new Error(`${file.name} cannot be read: ${reader.error.message}`));
  reader.readAsDataURL(file);
});

async function ask() {
  const question = by('question');
  const id = location.hash ? shownID() : '';
  const files = await Promise.all([...by('files').files].map(encoded));
  const body = { model: by('model').value, question: question.value, background: true, files };
  const begun = await api(id ? `${pathOf(id)}/turns` : '/sessions', { method: 'POST', body });
  question.value = by('files').value = '';
  say('The question is asked');
  if (!id) {
    history.pushState(null, '', addressOf(begun.session_id));
    by('turns').replaceChildren();
    by('title').textContent = body.question;
  }
  const turn = new TurnView(begun.session_id, begun.turn, body.question);
  by('turns').append(turn.element);
  turn.element.scrollIntoView({ block: 'nearest' });
  listSessions().catch(fail);
  finish(begun.session_id, turn);
}

let next = '';
async function listSessions(goOn = false) {
  const words = by('words').value.trim();
  const query = words ? 'q=' + encodeURIComponent(words) : 'limit=30' + (goOn ? '&before=' + encodeURIComponent(next) : '');
  const list = await api('/sessions?' + query);
  const entries = words
    ? list.hits.map(hit => [hit.session, hit.title || hit.session, hit.turn ? `turn ${hit.turn}: ${hit.snippet}` : ''])
    : list.sessions.map(s => [s.id, s.title || s.id, s.state === 'idle' ? money(s.usage) : s.state]);
  if (!goOn) by('sessions').replaceChildren();
  by('sessions').append(...entries.map(([id, title, about]) => {
    const link = make('a', title);
    link.href = addressOf(id);
    link.append(make('small', about));
    const item = make('li');
    item.append(link);
    return item;
  }));
  next = list.next ?? '';
  by('more').hidden = !next;
  if (words) say(`${entries.length} places found`);
  markCurrent();
}

function markCurrent() {
  for (const link of by('sessions').querySelectorAll('a')) {
    if (link.hash === location.hash) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

async function start() {
  const { data } = await api('/v1/models');
  by('model').replaceChildren(...data.map(m => new Option(m.id)));
  await Promise.all([listSessions(), showSession()]);
}

by('ask').onsubmit = tried(ask);
by('ask').ondragover = event => event.preventDefault(); // else the browser would open a file that is dropped
by('ask').ondrop = event => {
  event.preventDefault();
  if (event.dataTransfer.files.length > 0) by('files').files = event.dataTransfer.files;
};
by('question').onkeydown = event => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) by('ask').requestSubmit(); };
by('new').onclick = tried(() => { history.pushState(null, '', '/'); by('question').focus(); return showSession(); });
by('more').onclick = tried(() => listSessions(true));
by('search').onsubmit = tried(() => listSessions());
let typing = 0;
by('words').oninput = () => { clearTimeout(typing); typing = setTimeout(tried(() => listSessions()), 200); };
addEventListener('hashchange', tried(showSession));
addEventListener('popstate', tried(showSession));
start().catch(fail);
