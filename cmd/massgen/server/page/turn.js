// A turn on the page: the state that the server sends, and its drawing. The page adds nothing to the
// state and knows no events.
'use strict';

// messages yields the messages about the state of a turn. After a break it begins with a snapshot again.
async function* messages(path, signal) {
  for (let pause = 500; ; pause = Math.min(pause * 2, 10000)) {
    try {
      const response = await api(path + '/state', { signal, raw: true });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let held = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        held += value;
        const whole = held.split('\n\n');
        held = whole.pop();
        for (const block of whole) {
          const message = {};
          for (const line of block.split('\n')) {
            if (line.startsWith('event: ')) message.name = line.slice(7);
            if (line.startsWith('data: ')) message.data = JSON.parse(line.slice(6));
          }
          if (message.name === 'end') return;
          if (message.data) { pause = 500; yield message; }
        }
      }
    } catch (error) {
      if (signal.aborted || !(error instanceof TypeError)) throw error; // a TypeError is the network's
    }
    await new Promise(done => setTimeout(done, pause));
  }
}

// withFields returns an object with changed fields, without those that are null.
function withFields(object, fields = {}) {
  const next = { ...object, ...fields };
  for (const name in fields) if (fields[name] === null) delete next[name];
  return next;
}

// spliced returns a list with a change of its end. Items that stay are the same objects.
function spliced(list, tail) {
  if (!tail) return list;
  const { drop = 0, keep, grow = '', add } = tail;
  const kept = list.slice(drop, drop + keep);
  if (grow) kept.push((last => ({ ...last, text: (last.text ?? '') + grow }))(kept.pop()));
  return kept.concat(add);
}

// changed returns the state after a change.
function changed(state, { fields, agents = [], ...lists }) {
  const next = withFields(state, fields);
  for (const name in lists) next[name] = spliced(state[name], lists[name]);
  next.agents = [...state.agents];
  for (const change of agents) {
    const known = next.agents.findIndex(a => a.id === change.id);
    const agent = next.agents[known] ?? { text: [] };
    next.agents[known < 0 ? next.agents.length : known] = { ...withFields(agent, change.fields), text: spliced(agent.text, change.text) };
  }
  return next;
}

// What the children of lists and texts were drawn from.
const drawn = new WeakMap();

// drawList has parent show a child for each item.
function drawList(parent, items, draw) {
  items.forEach((item, i) => {
    const child = parent.children[i];
    if (child && drawn.get(child) === item) return;
    const fresh = draw(item);
    drawn.set(fresh, item);
    if (child) child.replaceWith(fresh);
    else parent.append(fresh);
  });
  while (parent.children.length > items.length) parent.lastElementChild.remove();
}

// blocksOf joins the pieces of an agent's text that belong together.
function blocksOf(pieces) {
  const blocks = [];
  for (const { kind, call = '', void: why = '', text = '', tool } of pieces) {
    const key = [kind, tool ? tool.call : call, why].join('\n');
    if (!tool && blocks.at(-1)?.key === key) blocks.at(-1).texts.push(text);
    else blocks.push({ key, kind, why, tool, texts: [text] });
  }
  return blocks;
}

const kindsInWords = { thought: 'Thoughts', vote: 'Vote ' };

// frameOf makes the element of a block. Its text comes into the element of the class words.
function frameOf({ key, kind, why, tool }) {
  const frame = make(kind === 'thought' || tool ? 'details' : kind === 'step' ? 'h5' : 'div', '', 'piece');
  frame.dataset.kind = kind;
  if (kindsInWords[kind] || tool) frame.append(make(frame.tagName === 'DETAILS' ? 'summary' : 'b', kindsInWords[kind]));
  frame.append(tool ? make('pre', '', 'arguments') : make(why ? 'del' : 'span', '', 'words'));
  if (tool) frame.append(make('pre', '', 'result'));
  if (why) frame.append(make('small', ` (void: ${why})`, 'why'));
  drawn.set(frame, key);
  return frame;
}

// drawTexts has an element show texts, one behind the other.
function drawTexts(element, texts) {
  texts.forEach((text, i) => {
    const node = element.childNodes[i];
    if (!node) element.append(document.createTextNode(text));
    else if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
    else node.data = text;
  });
  while (element.childNodes.length > texts.length) element.lastChild.remove();
}

function drawTool(frame, tool) {
  const outcome = tool.is_over ? tool.state : tool.began ? tool.progress || 'runs' : tool.asked ? `waits for a person: ${tool.asked}` : tool.state;
  const share = !tool.is_over && tool.fraction ? `${Math.round(tool.fraction * 100)} %` : '';
  frame.querySelector('summary').textContent = [tool.name, outcome + (tool.error ? ', failed' : ''), share, tool.took && seconds(tool.took)].filter(Boolean).join(' · ');
  frame.querySelector('.arguments').textContent = tool.arguments;
  frame.querySelector('.result').textContent = tool.result;
  frame.querySelector('.result').hidden = !tool.result;
}

// drawPieces has an element show what an agent has written and done.
function drawPieces(element, pieces) {
  const wasAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 9;
  const blocks = blocksOf(pieces);
  blocks.forEach((block, i) => {
    let frame = element.children[i];
    if (!frame || drawn.get(frame) !== block.key) {
      const fresh = frameOf(block);
      if (frame) frame.replaceWith(fresh);
      else element.append(fresh);
      frame = fresh;
    }
    if (block.tool) drawTool(frame, block.tool);
    else drawTexts(frame.querySelector('.words'), block.texts);
  });
  while (element.children.length > blocks.length) element.lastElementChild.remove();
  if (wasAtEnd) element.scrollTop = element.scrollHeight;
}

const busy = ['waiting', 'thinking', 'writing', 'calling_tool', 'asking_person'];
const words = name => name.replaceAll('_', ' ');
const clock = time => new Date(time).toLocaleTimeString('en-GB');
const seconds = nanoseconds => (nanoseconds / 1e9).toFixed(1) + ' s';
const all = (...parts) => parts.filter(Boolean).join(' · ');

// marksOf returns what is unusual about an agent.
const marksOf = marks => Object.entries(marks).map(([name, value]) =>
  value === true ? words(name) : `${words(name)}: ${name.endsWith('_at') ? clock(value) : value}`);

// TurnView shows one turn.
class TurnView {
  constructor(session, number, question) {
    this.path = `${pathOf(session)}/turns/${number}`;
    this.state = { agents: [], rounds: [], acts: [], notes: [], sidecalls: [], news: [] };
    this.element = by('turn').content.firstElementChild.cloneNode(true);
    this.element.querySelector('h2').textContent = `Turn ${number}`;
    this.find('.question').textContent = question;
    this.find('.pause').onclick = tried(() => this.act(this.state.paused ? 'resume' : 'pause'));
    this.find('.cancel').onclick = tried(() => this.act('cancel'));
    this.find('.note').onsubmit = tried(() => this.note());
    this.find('.load').onclick = tried(() => this.showInputs());
    this.find('.how').ontoggle = tried(() => this.find('.how').open && this.follow());
    for (const select of this.element.querySelectorAll('.compare select')) select.onchange = () => this.compare();
  }

  find(selector) { return this.element.querySelector(selector); }
  act(action, body) { return api(`${this.path}/${action}`, { method: 'POST', body }); }
  isLive() { return !this.find('.controls').hidden; }

  async note() {
    const input = this.find('.note input');
    await this.act('notes', { text: input.value });
    input.value = '';
    say('The note is added');
  }

  // follow draws the state of the turn, and goes on while the turn runs. It does so once.
  follow(signal) {
    this.following ??= this.read(signal ?? view.signal).catch(fail);
    return this.following;
  }

  async read(signal) {
    for await (const { name, data } of messages(this.path, signal)) {
      if (name === 'permissions') { askPermission(this, data.permissions); continue; }
      this.state = name === 'snapshot' ? data : changed(this.state, data);
      this.draw();
    }
    this.find('.controls').hidden = true;
    askPermission(this, []);
    await this.showTimeline(signal);
  }

  live() {
    this.find('.controls').hidden = false;
    this.find('.how').open = true;
    this.find('.state').textContent = 'The turn begins';
    return this.follow(view.signal);
  }

  draw() {
    const { state } = this;
    this.drawState(state);
    drawList(this.find('.agents'), state.agents.map(a => a.id), id => this.newAgent(id));
    state.agents.forEach((a, i) => this.drawAgent(this.find('.agents').children[i], a));
    this.find('.notes').hidden = state.notes.length === 0;
    drawList(this.find('.notes ul'), state.notes, n => make('li', `${n.text} (${n.seen_by.length ? 'seen by ' + n.seen_by.join(', ') : 'no agent has seen it yet'})`));
    this.drawActs(state);
    this.drawNews(state.news);
  }

  // drawState shows what the turn is at, and for whom it waits.
  drawState({ agents, rounds, sidecalls, status, stage, paused, awaited, usage }) {
    if (status || this.isLive()) {
      const at = stage === 'final' ? 'The final answer' : rounds.length && agents.length > 1 ? `Round ${rounds.at(-1).number}` : 'At work';
      this.find('.state').textContent = all(status || at, paused && 'paused', usage.calls && money(usage));
    }
    this.find('.pause').textContent = paused ? 'Go on' : 'Pause';
    const waits = awaited && agents.filter(a => busy.includes(a.phase)).map(a => a.id).join(', ');
    const beside = sidecalls.filter(c => !c.ended_at).map(c => words(c.purpose)).join(', ');
    this.find('.waits').textContent = all(waits && `The turn waits for ${waits} until ${clock(awaited)}`, beside && `Beside the agents: ${beside}`);
    this.find('.waits').hidden = !this.find('.waits').textContent;
  }

  newAgent(id) {
    const box = by('agent').content.firstElementChild.cloneNode(true);
    box.querySelector('h4').textContent = id;
    box.querySelector('.text').setAttribute('aria-label', 'What ' + id + ' says');
    return box;
  }

  drawAgent(box, a) {
    const { text } = a;
    box.dataset.phase = a.phase;
    box.classList.toggle('busy', busy.includes(a.phase));
    box.querySelector('.doing').textContent = all(a.round && this.state.agents.length > 1 && `round ${a.round}`,
      a.detail && !a.doing.includes(a.detail) ? `${a.doing}: ${a.detail}` : a.doing, a.took && seconds(a.took), a.usage.calls && money(a.usage));
    box.querySelector('.marks').textContent = marksOf(a.marks).join(' · ');
    box.querySelector('.dropped').hidden = !a.dropped;
    if (drawn.get(box.querySelector('.text')) === text) return;
    drawn.set(box.querySelector('.text'), text);
    drawPieces(box.querySelector('.text'), text);
  }

  // drawActs shows the rounds, with the fate of their answers and votes.
  drawActs({ agents, rounds, acts }) {
    if (drawn.get(this.find('.acts')) === acts && this.find('.acts').children.length === rounds.length + acts.length) return;
    drawn.set(this.find('.acts'), acts);
    this.find('.rounds').hidden = agents.length < 2 || rounds.length === 0;
    const roundOf = act => rounds.find(r => r.number === act.round && !r.final === !act.final) ?? rounds.findLast(r => new Date(r.began) <= new Date(act.at)) ?? rounds[0];
    drawList(this.find('.acts'), rounds.flatMap(r => [r, ...acts.filter(act => roundOf(act) === r)]), item => {
      if (item.number) return make('li', item.final ? 'The final answer' : `Round ${item.number}`, 'round');
      const line = make('li');
      line.append(make('b', item.agent), ' ', make(item.void ? 'del' : 'span', all(words(item.phase), item.label, item.reason)));
      if (item.void) line.append(make('small', ` (void: ${item.void})`));
      return line;
    });
    this.fillCompare();
  }

  // drawNews shows the sentences, and says the newest one that matters.
  drawNews(news) {
    const list = this.find('.sentences');
    const last = news.findLast(n => n.tone !== 'aside');
    if (last && this.isLive() && drawn.get(list) !== last) say(last.text);
    drawn.set(list, last);
    drawList(list, news, n => {
      const line = make('li', n.text, n.tone);
      if (n.figures) line.append(make('small', ' · ' + n.figures));
      return line;
    });
  }

  // result shows how the turn ended.
  result(turn) {
    this.find('.state').textContent = turn.usage ? all(turn.status, money(turn.usage)) : turn.status;
    this.find('.answer').hidden = !turn.winner;
    this.find('.answer h3').textContent = `Answer of ${turn.winner}`;
    this.find('.answer div').textContent = turn.answer;
    this.element.dataset.winner = turn.winner;
    this.markWinner();
  }

  markWinner() {
    for (const box of this.find('.agents').children) box.classList.toggle('wins', box.querySelector('h4').textContent === this.element.dataset.winner);
  }

  async showTimeline(signal) {
    this.markWinner();
    const response = await api(this.path + '/timeline.svg', { raw: true, signal }).catch(() => null); // a branch has none
    if (!response) return;
    const image = this.find('.timeline');
    image.src = URL.createObjectURL(await response.blob());
    image.onload = () => URL.revokeObjectURL(image.src);
    image.hidden = false;
  }

  // answers returns the texts of the answers by their labels.
  answers() {
    const found = new Map();
    for (const act of this.state.acts) {
      const pieces = this.state.agents.find(a => a.id === act.agent).text
        .filter(p => p.kind === 'answer' && p.call?.startsWith(`${act.agent}.${act.round}.`) && (p.void ?? '') === (act.void ?? ''));
      if (act.label && pieces.length && act.phase !== 'voted') found.set(act.label, pieces.map(p => p.text).join(''));
    }
    return found;
  }

  fillCompare() {
    const labels = [...this.answers().keys()];
    if (labels.length < 2) return;
    this.find('.compare').hidden = false;
    [...this.element.querySelectorAll('.compare select')].forEach((select, i) => {
      const was = select.value;
      select.replaceChildren(...labels.map(label => new Option(label)));
      select.value = labels.includes(was) ? was : labels[i];
    });
    this.compare();
  }

  compare() {
    const answers = this.answers();
    for (const side of this.find('.pair').children) {
      side.querySelector('.prose').textContent = answers.get(side.querySelector('select').value);
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
