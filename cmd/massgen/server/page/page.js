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
  const { calls = 0, unknown_calls: unknown = 0, input_tokens: input = 0, output_tokens: output = 0, cost_usd: cost } = usage ?? {};
  const counted = n => `${n} ${n === 1 ? 'call' : 'calls'}`;
  return [
    counted(calls),
    (unknown < calls || !calls) && `${(input + output).toLocaleString('en')} tokens`,
    unknown && `tokens of ${counted(unknown)} unknown`,
    cost == null ? 'cost unknown' : '$' + cost.toFixed(4).replace(/\.?0+$/, ''),
  ].filter(Boolean).join(' · ');
};

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
  else if (last) last.find('.how').open = true;
}

// finish shows a turn that runs to its end, and then what it came to.
async function finish(id, turn) {
  const { signal } = view;
  await turn.live();
  if (signal.aborted) return;
  try {
    const result = await api(turn.path, { signal });
    turn.result(result);
    say(result.winner ? `The answer of ${result.winner} is there` : 'There is no answer');
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
