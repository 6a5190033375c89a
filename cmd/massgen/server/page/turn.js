// A turn on the page. TurnView draws the state that the server sends, and keeps nothing else of the turn but its result.
import { all, api, button, by, choice, clock, copyButton, fail, make, money, pathOf, say, seconds, tried, words } from './base.js';
import { colourOf, readable, who } from './base.js';
import { Prose, lineOf } from './markdown.js';
import { changed, messages } from './state.js';

const drawEvery = 66; // milliseconds: a turn is drawn at most 15 times a second
const isBusy = agent => ['waiting', 'thinking', 'writing', 'calling_tool', 'asking_person'].includes(agent.phase);
const attached = /\n\n\[Attached: ([^\n]*)\]$/;

// What the children of lists, and agents, were drawn from.
const drawn = new WeakMap();

// drawList has parent show a child for each item.
function drawList(parent, items, draw) {
  items.forEach((item, i) => {
    const child = parent.children[i] ?? parent.appendChild(make('li'));
    if (drawn.get(child) === item) return;
    const fresh = draw(item);
    drawn.set(fresh, item);
    child.replaceWith(fresh);
  });
  while (parent.children.length > items.length) parent.lastElementChild.remove();
}

// atEnd calls draw with elements that scroll. Those that showed their end before show it then.
function atEnd(elements, draw) {
  const atTheirEnd = elements.filter(e => e.scrollHeight - e.scrollTop - e.clientHeight < 9);
  draw();
  for (const e of atTheirEnd) e.scrollTop = e.scrollHeight;
}

// causesOf returns why agents failed, each cause once.
const causesOf = failed => [...Map.groupBy(failed, f => f.error)].map(([error, of]) => `${of.map(f => f.agent).join(', ')}: ${error}`);
const joined = pieces => pieces.map(p => p.text ?? '').join('');

// PieceBlock shows pieces of an agent's text that belong together, or a tool call.
class PieceBlock {
  constructor(head) {
    const { kind, void: why, tool } = head;
    const place = make(why ? 'del' : 'div', '', 'words');
    const parts = tool ? [make('pre', '', 'arguments'), make('pre', '', 'result')] : [place];
    if (why) parts.push(make('small', ` (void: ${why})`, 'why'));
    if (kind === 'thought' || tool) parts.unshift(make('summary', 'thought'));
    this.frame = make(kind === 'thought' || tool ? 'details' : 'div', '', 'piece', ...parts);
    this.frame.dataset.kind = kind;
    Object.assign(this, { head, seen: [], text: tool ? null : new Prose(place, 5) });
  }
  isOf({ kind, call = '', void: why = '', tool }) {
    const { head } = this;
    const isSame = tool ? head.tool?.call === tool.call : !head.tool && (head.call ?? '') === call;
    return isSame && head.kind === kind && (head.void ?? '') === why;
  }
  show(pieces) {
    const { seen, text } = this;
    if (!text) return this.showTool(pieces[0].tool);
    let same = 0;
    while (same < seen.length && seen[same] === pieces[same]) same++;
    let fresh = joined(pieces.slice(same));
    if (same === seen.length - 1 && fresh.startsWith(seen[same].text)) fresh = fresh.slice(seen[same].text.length);
    else if (same < seen.length) {
      text.clear();
      fresh = joined(pieces);
    }
    text.append(fresh);
    this.seen = pieces;
  }
  showTool(tool) {
    if (this.seen === tool) return;
    this.seen = tool;
    const asked = tool.asked && `waits for a person: ${tool.asked}`;
    const outcome = tool.is_over ? tool.state : tool.began ? tool.progress || 'runs' : asked || tool.state;
    const share = !tool.is_over && tool.fraction ? `${Math.round(tool.fraction * 100)} %` : '';
    const [summary, input, result] = this.frame.children;
    summary.textContent = all(tool.name, outcome + (tool.error ? ', failed' : ''), share, tool.took && seconds(tool.took));
    input.textContent = tool.arguments;
    result.textContent = tool.result;
    result.hidden = !tool.result;
  }
}

// AgentView shows one agent: what it does, and what it has written and done.
class AgentView {
  constructor(order, id) {
    this.element = by('agent').content.firstElementChild.cloneNode(true);
    this.blocks = [];
    this.element.classList.add(colourOf(order, id));
    this.find('h4').append(who(order, id));
    this.find('.text').ariaLabel = `What ${id} says`;
  }
  find(selector) { return this.element.querySelector(selector); }
  draw(a, isAlone) {
    const doing = a.detail && !a.doing.includes(a.detail) ? `${a.doing}: ${a.detail}` : a.doing;
    this.element.dataset.phase = a.phase;
    this.element.classList.toggle('busy', isBusy(a));
    this.element.classList.toggle('large', isAlone || ['presentation', 'synthesis'].includes(a.purpose));
    this.find('.doing').textContent = all(a.round && !isAlone && `round ${a.round}`, doing, a.took && seconds(a.took));
    this.find('.figures').textContent = all(a.model, a.usage.calls && money(a.usage));
    this.find('.marks').textContent = all(...Object.entries(a.marks).map(([name, value]) =>
      words(name) + (value === true ? '' : ': ' + (name.endsWith('_at') ? clock(value) : value)))); // what is unusual
    this.find('.dropped').hidden = !a.dropped;
    this.drawText(a.text, isBusy(a));
  }
  drawText(pieces, mayGrow) {
    const { blocks } = this;
    let count = 0;
    for (let i = 0, end; i < pieces.length; i = end, count++) {
      if (!blocks[count]?.isOf(pieces[i])) {
        for (const block of blocks.splice(count)) block.frame.remove();
        blocks.push(new PieceBlock(pieces[i]));
        this.find('.text').append(blocks[count].frame);
      }
      for (end = i + 1; end < pieces.length && !pieces[end].tool && blocks[count].isOf(pieces[end]);) end++;
      blocks[count].show(pieces.slice(i, end));
      if (end < pieces.length || !mayGrow) blocks[count].text?.finish();
    }
    for (const block of blocks.splice(count)) block.frame.remove();
  }
}

// TurnView shows one turn.
export class TurnView {
  // order has the panel's agents, if they are known. signal ends what the view has begun; again and edit ask the turn's
  // question once more.
  constructor(session, { number, question }, { order, signal, again, edit }) {
    Object.assign(this, { number, order, signal, path: `${pathOf(session)}/turns/${number}`, views: new Map(), isLive: false, sent: [] });
    this.state = { agents: [], rounds: [], acts: [], notes: [], sidecalls: [], news: [] };
    this.question = question.replace(attached, '');
    this.files = (question.match(attached)?.[1].split('; ') ?? []).map(file => file.replace(/ \(.*\)$/, '')); // without type and size
    this.element = by('turn').content.firstElementChild.cloneNode(true);
    this.answer = new Prose(this.find('.answer .prose'));
    this.sides = [...this.element.querySelectorAll('.compare label')].map(label =>
      ({ select: label.firstElementChild, text: new Prose(label.nextElementSibling) }));
    this.find('h2').textContent = `Turn ${number}`;
    this.find('.question').textContent = readable(this.question);
    this.find('.files').append(...this.files.map(name => make('li', name)));
    this.find('.actions').append(copyButton(() => this.result.answer, 'Copy the answer'), button('Ask again', () => again(this)),
      button('Edit and ask again', () => edit(this)), button('Compare answers', () => this.openCompare()));
    this.find('.load').onclick = tried(() => this.showInputs());
    this.find('.how').ontoggle = tried(() => this.find('.how').open && this.follow());
  }
  find(selector) { return this.element.querySelector(selector); }
  act(action, body) { return api(`${this.path}/${action}`, { method: 'POST', body }); }
  // add adds a text to the question. It reports false if the turn is over by now.
  async add(text) {
    const error = await this.act('notes', { text }).catch(error => error);
    if (error && !['turn_over', 'not_running'].includes(error.code)) throw error;
    if (error) await this.ended;
    return !error;
  }

  async openCompare() {
    this.find('.how').open = true;
    await this.follow();
    if (this.find('.compare').hidden) throw new Error('There are no two answers to compare.');
    this.find('.compare').scrollIntoView();
    this.sides[0].select.focus({ preventScroll: true });
  }
  // follow draws the state of the turn, and goes on while the turn runs. It does so once.
  follow() { return this.following ??= this.read().catch(fail); }

  async read() {
    const tick = setInterval(() => this.drawState(), 1000);
    try {
      for await (const { name, data } of messages(this.path, this.signal)) {
        if (name === 'permissions') { askPermission(this, data.permissions); continue; }
        this.state = name === 'snapshot' ? data : changed(this.state, data);
        this.due ??= setTimeout(() => this.draw(), drawEvery);
      }
    } finally { clearInterval(tick); }
    askPermission(this, []);
    this.isLive = false;
    this.draw();
    this.fillCompare();
    const picture = await api(this.path + '/timeline.svg', { raw: true, signal: this.signal }).catch(() => null);
    this.find('.timeline').hidden = !picture; // a branch has none
    if (picture) this.find('.timeline').src = URL.createObjectURL(await picture.blob());
  }
  // live shows the turn while it runs.
  live() {
    this.isLive = this.find('.how').open = true;
    this.find('summary').textContent = 'The work so far';
    this.element.classList.add('live');
    return this.follow();
  }
  draw() {
    this.due = clearTimeout(this.due);
    const { agents } = this.state;
    if (agents.length > 0) this.order = agents.map(a => a.id);
    for (const { id } of agents.filter(a => !this.views.has(a.id))) {
      this.views.set(id, new AgentView(this.order, id));
      this.find('.agents').append(this.views.get(id).element);
    }
    const panes = agents.filter(isBusy).map(a => this.views.get(a.id).find('.text'));
    atEnd([...panes, this.find('.acts'), this.find('.sentences')], () => this.drawParts(this.state));
    this.markWinner();
  }
  drawParts({ agents, notes, news, usage }) {
    this.drawState();
    this.find('.total').textContent = this.isBare && usage?.calls ? money(usage) : '';
    for (const a of agents) {
      const view = this.views.get(a.id);
      if (drawn.get(view) !== a) view.draw(a, agents.length === 1);
      drawn.set(view, a);
    }
    this.find('.agents').classList.toggle('many', agents.length > 4);
    this.find('.notes').hidden = notes.length === 0;
    drawList(this.find('.notes ul'), notes, n =>
      make('li', `${n.text} (${n.seen_by.length ? 'seen by ' + n.seen_by.join(', ') : 'no agent has seen it yet'})`));
    this.drawActs();
    this.drawNews(news);
    this.drawAnalysis(this.result?.analysis ?? this.state.analysis);
  }

  // drawAnalysis shows what a judge has found in the answers: each item with who says it, and quotations that are made up.
  drawAnalysis(a) {
    const list = this.find('.analysis');
    list.hidden = !a;
    if (!a || drawn.get(list) === a) return;
    drawn.set(list, a);
    const name = label => who(this.order, label.replace(/\.\d+$/, ''), label);
    const quote = q => make('blockquote', '', '', name(q.answer), ` “${q.text}”`, make('strong', q.found ? '' : ' (not found)'));
    const names = labels => labels.flatMap((label, i) => [i ? ', ' : '', name(label)]);
    const claim = c => make('li', '', '', ...names(c.answers), ': ' + c.claim, ...c.quotes.map(quote));
    const point = c => make('li', c.about, '', make('ul', '', '', ...c.sides.map(claim)));
    const draws = { consensus: claim, partial: claim, unique: claim, contradictions: point, blind_spots: text => make('li', text) };
    const found = Object.keys(draws).filter(kind => a[kind].length).map(kind => [kind, `${words(kind)} (${a[kind].length})`]);
    list.replaceChildren(make('summary', 'Analysis: ' + found.map(([, heading]) => heading).join(', ')),
      make('p', '', '', name(a.best), ' is best' + (a.why && ': ' + a.why)),
      ...found.flatMap(([kind, heading]) => [make('h4', heading), make('ul', '', '', ...a[kind].map(draws[kind]))]));
  }
  // drawState shows what the turn is at, who leads and for whom it waits. end has shown this of a turn that is over.
  drawState() {
    const { agents, rounds, lead, sidecalls, status, stage, cascade, paused, awaited, usage, began } = this.state;
    if (!this.isLive && (status || agents.length === 0)) return;
    const open = agents.filter(isBusy).map(a => a.id);
    if (this.isLive) {
      const round = rounds.length && agents.length > 1 && `Round ${rounds.at(-1).number}`;
      const at = stage === 'final' ? 'The final answer' : cascade || round || 'At work';
      const done = agents.length > 1 && `${agents.length - open.length} of ${agents.length} done`;
      const time = began && `${Math.max(0, Math.round((Date.now() - new Date(began)) / 1000))} s`;
      this.find('.state').textContent = all(words(status || at), paused && 'paused', done, time, usage?.calls && money(usage));
      by('pause').textContent = paused ? 'Go on' : 'Pause';
    }
    const failed = agents.filter(a => a.phase === 'failed').map(a => ({ agent: a.id, error: a.detail }));
    const beside = sidecalls.filter(c => !c.ended_at).map(c => words(c.purpose)).join(', ');
    const leads = lead && `${lead.labels.join(' and ')} ${lead.labels[1] ? 'have' : 'has'} ${lead.votes} of ${lead.all} votes`;
    this.find('.waits').textContent = all(awaited && open.length && `The turn waits for ${open.join(', ')} until ${clock(awaited)}`,
      beside && `Beside the agents: ${beside}`, leads, ...causesOf(failed).map(c => 'Failed: ' + c));
  }
  // drawActs shows the rounds, with the fate of their answers and votes.
  drawActs() {
    const { agents, rounds, acts } = this.state;
    const list = this.find('.acts');
    if (drawn.get(list) === acts && list.children.length === rounds.length + acts.length) return;
    drawn.set(list, acts);
    this.find('.rounds').hidden = agents.length < 2 || rounds.length === 0;
    const roundOf = act => rounds.find(r => r.number === act.round && !r.final === !act.final)
      ?? rounds.findLast(r => new Date(r.began) <= new Date(act.at)) ?? rounds[0];
    drawList(list, rounds.flatMap(r => [r, ...acts.filter(act => roundOf(act) === r)]), item => {
      if (item.number) return make('li', item.final ? 'The final answer' : `Round ${item.number}`, 'round');
      const act = make(item.void ? 'del' : 'span', words(item.phase));
      if (item.label) act.append(' · ', who(this.order, item.label.replace(/\.\d+$/, ''), item.label));
      if (item.reason) act.append(lineOf(' · ' + item.reason));
      return make('li', '', '', who(this.order, item.agent), ' ', act, make('small', item.void ? ` (void: ${item.void})` : ''));
    });
  }
  // drawNews shows the sentences, and says the newest one that matters.
  drawNews(news) {
    const list = this.find('.sentences');
    const last = news.findLast(n => n.tone !== 'aside');
    if (last && this.isLive && drawn.get(list) !== last) say(last.text);
    drawn.set(list, last);
    drawList(list, news, ({ text, tone, figures }) => {
      const [sentence, reason = ''] = text.split(/(?<=^\S+ voted for \S+: )/);
      return make('li', sentence, tone, lineOf(reason), make('small', figures ? ' · ' + figures : ''));
    });
  }
  markWinner() { for (const [id, view] of this.views) view.element.classList.toggle('wins', id === this.result?.winner); }
  // end shows how the turn ended: the answer, or why there is none.
  async end(result) {
    const isOver = result.status !== 'running';
    if (isOver && !this.order.includes(result.winner)) { // the whole result has the causes, and the agents in their order
      result = await api(this.path, { signal: this.signal });
      if (result.agents.length > 0) this.order = result.agents.map(a => a.id);
    }
    this.result = result;
    this.isBare = isOver && !result.usage;
    this.find('.failure').hidden = Boolean(result.winner) || !isOver;
    const failed = result.winner && result.failed ? causesOf(result.failed) : [];
    this.find('.waits').textContent = all(this.order.length > 1 && verdictOf(result), ...failed.map(c => 'Failed: ' + c));
    this.find('summary').textContent = 'How this answer came about';
    this.element.classList.remove('live');
    const took = result.duration_ms && seconds(result.duration_ms * 1e6);
    this.find('.state').textContent = all(words(result.status), result.saved, result.usage && money(result.usage), took);
    this.find('.answer').hidden = !result.winner;
    this.find('.answer').classList.add(colourOf(this.order, result.winner));
    this.find('.answer h3').replaceChildren('Answer of ', who(this.order, result.winner));
    if (result.winner) this.answer.show(result.answer);
    const lines = result.failed?.length ? causesOf(result.failed) : ['The turn ended before an agent had answered.'];
    this.find('.failure ul').replaceChildren(...lines.map(line => make('li', line)));
    this.find('.actions').hidden = !isOver;
    this.find('.actions').firstElementChild.hidden = !result.winner;
    this.find('.actions').lastElementChild.hidden = this.order.length < 2 || !result.winner;
    this.markWinner();
    this.drawAnalysis(result.analysis);
    this.fillCompare();
  }
  // answers returns the texts of the answers by their labels.
  answers() {
    const found = new Map();
    for (const act of this.state.acts.toSorted((a, b) => this.order.indexOf(a.agent) - this.order.indexOf(b.agent))) {
      const pieces = this.state.agents.find(a => a.id === act.agent).text
        .filter(p => p.kind === 'answer' && p.call?.startsWith(`${act.agent}.${act.round}.`) && (p.void ?? '') === (act.void ?? ''));
      if (act.label && pieces.length && act.phase !== 'voted') found.set(act.label, joined(pieces));
    }
    return found;
  }
  // fillCompare offers the answers: on the left first the winner's, on the right the next one with another text.
  fillCompare() {
    const answers = this.answers();
    const labels = [...answers.keys()];
    const best = labels.findLast(label => label.replace(/\.\d+$/, '') === this.result?.winner) ?? labels[0];
    const after = [...labels.slice(labels.indexOf(best) + 1), ...labels];
    const chosen = [best, after.find(label => answers.get(label) !== answers.get(best)) ?? after[0]];
    this.find('.compare').hidden = answers.size < 2;
    this.sides.forEach(({ select, text }, i) => {
      select.replaceChildren(...labels.map(label => new Option(label)));
      select.value = chosen[i];
      select.onchange = () => text.show(answers.get(select.value) ?? '');
      select.onchange();
    });
  }

  async showInputs() {
    const { inputs } = await api(this.path + '/inputs');
    const signs = { '+': 'plus', '-': 'minus' };
    this.find('.load').textContent = 'Read the list again';
    this.find('.inputs').replaceChildren(...inputs.map(({ name, number, characters }) => {
      const path = `${this.path}/inputs/${number}`;
      const show = async () => this.showInput(await (await api(path + '?as=text', { raw: true })).text());
      const compare = async () => this.showInput((await api(path + '/diff')).diff || 'This is the first call of its agent.', signs);
      return make('li', `${name} · ${characters.total.toLocaleString('en')} characters `, '',
        button('Input', show, 'Input of ' + name), ' ', button('Difference', compare, `Difference of ${name} from the call before it`));
    }));
  }
  showInput(text, kinds = {}) {
    const pre = this.find('.input');
    pre.hidden = false;
    pre.replaceChildren(...text.split('\n').map(line => make('span', line + '\n', kinds[line[0]])));
    pre.focus();
  }
}

// leadOf names the answer with most of the votes.
function leadOf(votes) {
  const counts = [...Map.groupBy(votes, a => a.label)].map(([label, of]) => ({ label, count: of.length }));
  const most = Math.max(...counts.map(c => c.count));
  const leaders = counts.filter(c => c.count === most).map(c => c.label);
  return leaders.length && `${leaders.join(' and ')} ${leaders[1] ? 'have' : 'has'} ${most} of ${votes.length} votes`;
}

// verdictOf says how the answer of a result was chosen, "" if its record is not here.
function verdictOf({ status, winner, answers, votes }) {
  if (votes?.length || !winner || !answers?.length) return leadOf(votes ?? []);
  const why = answers.length > 1 ? 'all answers are the same text' : 'the only answer that is left';
  return status === 'completed' ? `without a vote: ${why}` : 'best so far, without a vote: the newest answer';
}

// askPermission puts the first tool call that waits to the person, and takes back one that does not wait any more.
let asked = null;
async function askPermission(turn, list) {
  if (asked?.turn === turn && !list.some(p => p.id === asked.id)) forgetPermission();
  if (asked || list.length === 0) return;
  const [call] = list;
  const mine = asked = { turn, id: call.id };
  by('asks').textContent = `${call.agent} wants to run ${call.tool}`;
  by('why').textContent = call.why;
  by('arguments').textContent = call.arguments;
  by('reason').value = '';
  const decision = await choice(by('permission'), false); // an answer has to be clear
  if (asked !== mine) return;
  asked = null;
  await turn.act('permissions', { id: mine.id, decision, reason: by('reason').value }).catch(fail);
}

// forgetPermission closes the dialog about a call that no longer waits, or whose turn is no longer shown.
export function forgetPermission() {
  if (!asked) return;
  asked = null;
  by('permission').close();
}
