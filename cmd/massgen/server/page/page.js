// The page of massgen serve: the turns of the session that is shown, the question box, and the list of sessions.
import { all, api, button, by, choice, fail, make, money, pathOf, readable, say, tried, who } from './base.js';
import { TurnView, forgetPermission } from './turn.js';

// What the page shows. The address names the session, so a reload shows it again.
const shown = {
  id: '', title: '', turns: [],
  running: null, // the TurnView of the turn that runs
  editing: null, // the TurnView whose question is in the box
  files: [], // for the next question
  isFollowing: true, top: 0, // the reader has not scrolled away from what is new; where the view was before it scrolled
  stop: new AbortController(), // ends what was begun for this session
};
const models = new Map(); // the agents of each model, in the order of its panel
const view = by('view');
const addressOf = (id, turn) => '#s=' + encodeURIComponent(id) + (turn ? '/' + turn : '');

async function showSession() {
  shown.stop.abort();
  const [, key] = location.hash.match(/^#key=(\w+)$/) ?? []; // from the address that massgen serve prints
  if (key) localStorage.setItem('key', key), sessionStorage.removeItem('token'), history.replaceState(null, '', '/');
  const [named = '', turn] = location.hash.match(/^#s=(.*)/)?.[1].split('/') ?? [];
  const id = decodeURIComponent(named);
  Object.assign(shown, { id, title: '', turns: [], running: null, editing: null, isFollowing: true, stop: new AbortController() });
  forgetPermission();
  by('turns').replaceChildren();
  by('figures').textContent = '';
  drawHead();
  drawBox();
  markCurrent();
  toggleSide(false);
  if (!id) return;
  const session = await api(pathOf(id), { signal: shown.stop.signal });
  drawHead(session);
  if (models.has(session.model)) by('model').value = session.model;
  await Promise.all(session.turns.map(t => addTurn(t, session.model).end(t)));
  const last = shown.turns.at(-1);
  if (session.state === 'running') last.ended = finish(last);
  else if (session.state === 'interrupted') offerToFinish(last);
  drawBox();
  shown.isFollowing = Boolean(shown.running);
  showFrom(shown.turns[turn - 1] ?? last);
}

function addTurn(turn, model) {
  const added = new TurnView(shown.id, turn, { order: models.get(model) ?? [], signal: shown.stop.signal, again: askAgain, edit });
  shown.turns.push(added);
  by('turns').append(added.element);
  return added;
}
// finish shows a turn that runs to its end, and then what it came to.
async function finish(turn) {
  const { signal } = shown.stop;
  shown.running = turn;
  drawBox();
  drawHead();
  try {
    await turn.live();
    const [result, session] = await Promise.all([api(turn.path, { signal }), api(pathOf(shown.id), { signal })]);
    shown.running = null;
    await turn.end(result);
    turn.find('.how').open = false;
    if (session.state === 'interrupted') offerToFinish(turn);
    say(result.winner ? `The answer of ${result.winner} is there` : 'There is no answer');
    if (shown.isFollowing) showFrom(turn);
    shown.isFollowing = false; // until the reader is at the end
    drawHead(session);
    drawBox();
    await listSessions();
  } catch (error) { fail(error); }
}

function offerToFinish(turn) {
  const goOn = () => api(`${pathOf(shown.id)}/continue`, { method: 'POST', body: { background: true } }).then(showSession);
  turn.find('.state').replaceChildren('The process that played this turn is gone. ', button('Finish the turn', goOn));
}
// showFrom scrolls the view to the beginning of a turn, or to its end.
function showFrom(turn) {
  view.scrollTop = turn ? turn.element.offsetTop - 12 : view.scrollHeight;
  shown.top = view.scrollTop;
}
// besides returns the turn that runs if its agents stand side by side: then each has its own end, and the view stays.
const besides = () => (shown.running?.find('.large') ? null : shown.running);
new ResizeObserver(() => shown.running && shown.isFollowing && showFrom(besides())).observe(by('turns'));
view.onscroll = () => {
  const moved = view.scrollTop - shown.top;
  const isAtEnd = view.scrollHeight - view.scrollTop - view.clientHeight < 40;
  if (isAtEnd && !besides()) shown.isFollowing = true;
  else if (moved > 1 || moved < -1 && !isAtEnd) shown.isFollowing = false; // the reader's doing
  shown.top = view.scrollTop;
};

// drawHead shows the title of the session, also as the tab's, and what the session has cost.
function drawHead(session) {
  if (session) [shown.title, by('figures').textContent] = [session.title || session.id, money(session.usage)];
  by('title').textContent = readable(shown.title) || (shown.id ? '' : 'New session');
  document.title = (shown.running ? '… ' : '') + (shown.title ? shown.title + ' · massgen' : 'massgen');
  by('rename').hidden = by('delete').hidden = !shown.id;
  by('welcome').hidden = Boolean(shown.id);
}

by('rename').onclick = tried(async () => {
  by('name').value = shown.title;
  if (await choice(by('renaming')) !== 'ok') return;
  drawHead(await api(pathOf(shown.id), { method: 'PATCH', body: { title: by('name').value } }));
  await listSessions();
});
by('delete').onclick = tried(async () => {
  by('gone').textContent = `“${shown.title}” and all its answers are gone then.`;
  if (await choice(by('deleting')) !== 'ok') return;
  await api(pathOf(shown.id), { method: 'DELETE' });
  say('The session is deleted');
  await Promise.all([begin(), listSessions()]);
});

// begin shows the box for the first question of a new session.
function begin() {
  history.pushState(null, '', '/');
  by('question').focus();
  return showSession();
}
// drawBox shows what the box is for: a question, another form of one, or an addition to the one that is at work.
function drawBox() {
  const { running, editing, files, turns } = shown;
  by('purpose').textContent = running ? 'Add to the question' : 'Question';
  by('question').placeholder = running ? 'Add to the question' : turns.length ? 'Ask a follow-up question' : 'Ask a question';
  by('send').textContent = running ? 'Add' : 'Ask';
  by('pause').hidden = by('stop').hidden = !running;
  by('model').disabled = by('files').disabled = Boolean(running);
  by('editing').hidden = !editing;
  const leave = button('Leave it', () => { shown.editing = null; by('question').value = ''; drawBox(); });
  by('editing').replaceChildren(`You edit question ${editing?.number}. `, leave);
  by('chosen').hidden = files.length === 0;
  by('chosen').replaceChildren(...files.map(file => {
    const remove = () => { shown.files = shown.files.filter(f => f !== file); drawBox(); };
    return make('li', file.name, '', button('×', remove, 'Leave out ' + file.name));
  }));
}
// encoded reads a file of the person as the server takes it.
const encoded = file => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done({ filename: file.name, file_data: reader.result });
  reader.onerror = () => failed(new Error(`${file.name} cannot be read: ${reader.error.message}`));
  reader.readAsDataURL(file);
});

// submit sends what is in the box.
async function submit() {
  const text = by('question').value;
  if (!text.trim()) throw new Error('The question is empty: write one into the box.');
  const { running, editing, files } = shown;
  if (running && await running.add(text)) by('question').value = '';
  else {
    if (editing) await goBefore(editing);
    await send(text, files);
  }
}

async function send(question, files) {
  const { id, stop } = shown;
  const model = by('model').value;
  const body = { model, question, background: true, files: await Promise.all(files.map(encoded)) };
  const begun = await api(id ? `${pathOf(id)}/turns` : '/sessions', { method: 'POST', body });
  if (by('question').value === question) by('question').value = ''; // else it is a draft
  if (shown.files === files) shown.files = [];
  if (shown.stop !== stop) return listSessions(); // the person has gone to another session
  const title = shown.title || question.trim().split('\n')[0];
  Object.assign(shown, { id: begun.session_id, title, editing: null, isFollowing: true });
  if (!id) history.pushState(null, '', addressOf(shown.id));
  const names = files.length ? `\n\n[Attached: ${files.map(f => f.name).join('; ')}]` : '';
  const turn = addTurn({ number: begun.turn, question: question + names }, model);
  turn.sent = files;
  listSessions().catch(fail);
  turn.ended = finish(turn);
}
// goBefore shows the session as it was before a turn: a copy, so that nothing is lost. A turn without an answer may stay.
async function goBefore(turn) {
  if (!turn.result?.winner) return;
  if (turn.number === 1) return begin();
  const { id } = await api(`${pathOf(shown.id)}/branch`, { method: 'POST', body: { turn: turn.number - 1 } });
  history.pushState(null, '', addressOf(id));
  await showSession();
}
// askAgain asks the question of a turn once more.
async function askAgain(turn) {
  if (turn.sent.length < turn.files.length) return edit(turn);
  await goBefore(turn);
  return send(turn.question, turn.sent);
}

// edit puts the question of a turn into the box.
function edit(turn) {
  by('question').value = turn.question;
  Object.assign(shown, { editing: turn, files: [...turn.sent] });
  drawBox();
  by('question').focus();
  if (shown.files.length < turn.files.length) throw new Error(`Choose ${turn.files.join(', ')} again: the page does not keep files.`);
}

const kinds = 'png, jpeg, webp, gif, pdf and text in UTF-8 or UTF-16';
// faultOf returns why a file cannot be attached. What is in doubt is for the server to say.
async function faultOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes.length === 0 || bytes.length > 20 << 20) return bytes.length === 0 ? 'it is empty' : 'it is larger than 20 MiB';
  const isKnown = /^(\x89PNG|\xff\xd8\xff|GIF8|RIFF[^]{4}WEBP|%PDF-|\xff\xfe|\xfe\xff)/.test(String.fromCharCode(...bytes.subarray(0, 12)));
  if (isKnown || bytes.filter(b => b === 0).length > bytes.length / 3) return ''; // so many zeros may be UTF-16
  try { return new TextDecoder('utf-8', { fatal: true }).decode(bytes) && ''; } catch { return `it is none of ${kinds}`; }
}

async function attach(list) {
  const files = [...list]; // the browser empties the list
  if (list.length > 0 && shown.running) throw new Error('Files go with a question: wait for the end of this turn.');
  const faults = await Promise.all(files.map(file => faultOf(file).catch(error => error.message)));
  shown.files.push(...files.filter((_, i) => !faults[i]));
  drawBox();
  by('question').focus();
  const refused = files.flatMap((file, i) => faults[i] ? `${file.name} cannot be attached: ${faults[i]}` : []);
  if (refused.length > 0) throw new Error(refused.join('; '));
}

let sending = null;
by('ask').onsubmit = tried(() => sending ??= submit().finally(() => { sending = null; })); // a second Enter sends nothing more
by('question').onkeydown = event => {
  if (event.key !== 'Enter' || event.shiftKey || event.altKey || event.isComposing) return;
  event.preventDefault();
  by('ask').requestSubmit();
};
by('question').onpaste = event => {
  if (event.clipboardData.files.length > 0) tried(() => attach(event.clipboardData.files))(event);
};
by('files').onchange = tried(() => attach(by('files').files).finally(() => { by('files').value = ''; }));
document.ondragover = event => {
  event.preventDefault(); // else the browser would open a file that is dropped
  document.body.classList.toggle('drop', event.dataTransfer.types.includes('Files'));
};
document.ondragleave = document.ondragend = () => document.body.classList.remove('drop');
document.ondrop = tried(event => { document.ondragend(); return attach(event.dataTransfer.files); });
by('stop').onclick = tried(() => shown.running.act('cancel'));
by('pause').onclick = tried(() => shown.running.act(shown.running.state.paused ? 'resume' : 'pause'));
by('new').onclick = tried(begin);

// dayOf returns the heading of a day in the list, and the form of a time below it.
function dayOf(time) {
  const midnight = at => new Date(at).setHours(0, 0, 0, 0);
  const days = Math.round((midnight(Date.now()) - midnight(time)) / 86400e3);
  if (days < 2) return [days < 1 ? 'Today' : 'Yesterday', { timeStyle: 'short' }];
  const month = new Date(time).toLocaleDateString('en-GB', { month: 'long', year: 'numeric' });
  return [days < 7 ? 'The last 7 days' : month, { weekday: 'short', day: 'numeric', month: 'short' }];
}

let next = '';
async function listSessions(goOn = false) {
  const sought = by('words').value.trim();
  const query = (sought ? 'q=' + encodeURIComponent(sought) : 'limit=30') + (goOn ? '&before=' + encodeURIComponent(next) : '');
  const list = await api('/sessions?' + query);
  if (sought !== by('words').value.trim()) return; // the person has gone on typing
  const entries = sought
    ? list.hits.map(h => ({ ...h, id: h.session, about: h.turn && `turn ${h.turn}: ${readable(h.snippet).replace(/[#*`|]+/g, '')}` }))
    : list.sessions.map(s => ({ ...s, about: s.state !== 'idle' && s.state }));
  if (!goOn) by('sessions').replaceChildren();
  for (const entry of entries) addEntry(entry);
  const none = sought ? `Nothing has “${sought}” in it.` : 'There are no sessions yet.';
  if (entries.length === 0 && !goOn) by('sessions').append(make('p', none));
  next = list.next ?? '';
  by('more').hidden = !next;
  if (sought) say(`${entries.length}${next ? ' or more' : ''} places found`);
  markCurrent();
}

function addEntry({ id, turn, title, updated, about }) {
  const [heading, form] = dayOf(updated);
  const last = [...by('sessions').querySelectorAll('h2')].at(-1);
  if (last?.textContent !== heading) by('sessions').append(make('h2', heading), make('ul'));
  const when = new Date(updated).toLocaleString('en-GB', form);
  const link = make('a', '', '', make('span', readable(title || id)), make('small', all(when, about)));
  Object.assign(link, { href: './' + addressOf(id, turn), dir: 'auto' }); // with #, axe takes it for a skip link
  by('sessions').lastElementChild.append(make('li', '', '', link));
}

function markCurrent() {
  for (const link of by('sessions').querySelectorAll('a')) {
    link.ariaCurrent = shown.id && [addressOf(shown.id), location.hash].includes(link.hash) ? 'page' : null;
  }
}

// toggleSide shows or hides the list on a small screen.
function toggleSide(isOpen) {
  document.body.classList.toggle('side', isOpen);
  by('menu').ariaExpanded = isOpen;
  if (isOpen) by('words').focus();
}

by('more').onclick = tried(() => listSessions(true));
by('search').onsubmit = tried(() => listSessions());
let typing = 0;
by('words').oninput = () => { clearTimeout(typing); typing = setTimeout(tried(() => listSessions()), 200); };
by('menu').onclick = () => toggleSide(!document.body.classList.contains('side'));
by('side').onkeydown = event => { if (event.key === 'Escape') toggleSide(false); };

// listModels offers the panels, also with each of their presets, and each of their agents alone.
async function listModels() {
  const ids = (await api('/v1/models')).data.map(m => m.id);
  const panels = ids.filter(id => !ids.some(other => id.startsWith(other + '/') || id.startsWith(other + ':')));
  by('model').replaceChildren(...panels.map(panel => {
    const agents = ids.filter(id => id.startsWith(panel + '/')).map(id => id.slice(panel.length + 1));
    models.set(panel, agents);
    for (const agent of agents) models.set(panel + '/' + agent, [agent]);
    const presets = ids.filter(id => id.startsWith(panel + ':'));
    for (const id of presets) models.set(id, agents);
    if (agents.length + presets.length === 0) return new Option(panel);
    const others = presets.map(id => new Option(`decided by ${id.slice(panel.length + 1)}`, id));
    const alone = agents.map(agent => new Option(`${agent} alone`, panel + '/' + agent));
    const together = new Option(agents.length ? `${panel}, ${agents.length} agents` : panel, panel);
    return Object.assign(make('optgroup', '', '', together, ...others, ...alone), { label: panel });
  }));
  drawPanel();
}

// drawPanel names the agents that a new question goes to.
function drawPanel() { by('panel').replaceChildren(...(models.get(by('model').value) ?? []).map((a, _, agents) => who(agents, a))); }
by('model').onchange = drawPanel;

addEventListener('popstate', tried(showSession));
tried(async () => {
  await listModels();
  await Promise.all([listSessions(), showSession()]);
})();
