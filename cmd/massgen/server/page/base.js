// What all parts of the page share: elements, requests, and what a person is told.

export const by = id => document.getElementById(id);

// make returns an element with a text. What agents, tools and people say becomes text of the page and never markup.
export function make(name, text = '', className = '', ...children) {
  const e = document.createElement(name);
  e.append(...(text === '' ? [] : [text]), ...children);
  if (className) e.className = className;
  return e;
}

export const button = (text, action, label = text) =>
  Object.assign(make('button', text), { type: 'button', onclick: tried(action), ariaLabel: label });

// api asks the server. A server that wants a token gets one from the person.
export async function api(path, { method = 'GET', body, signal, raw = false } = {}) {
  const token = sessionStorage.getItem('token') ?? localStorage.getItem('key');
  const headers = { ...(token && { Authorization: 'Bearer ' + token }), ...(body && { 'Content-Type': 'application/json' }) };
  const response = await fetch(path, { method, signal, headers, body: body && JSON.stringify(body) });
  if (response.ok) return raw ? response : response.status === 204 ? null : response.json();
  const { error } = await response.json().catch(() => ({ error: { message: `The server answers ${response.status}`, code: '' } }));
  if (error.code !== 'invalid_api_key') throw Object.assign(new Error(error.message), { code: error.code });
  await login();
  return api(path, { method, body, signal, raw });
}

// choice opens a dialog and returns the value of the button that closes it. Escape closes only a dialog that can be left.
export function choice(dialog, canLeave = true) {
  dialog.returnValue = '';
  dialog.oncancel = event => { if (!canLeave) event.preventDefault(); };
  dialog.showModal();
  return new Promise(done => {
    dialog.onclose = () => {
      if (dialog.open) return; // the event of an earlier choice, which was taken back, comes late
      const before = document.activeElement; // Chromium gives it the focus back, but no caret
      const isNothing = before === document.body || dialog.contains(before); // as on a page that opens with a dialog
      const focused = isNothing ? by('question') : before;
      focused.blur();
      focused.focus();
      done(dialog.returnValue);
    };
  });
}

let loggingIn = null;
// login asks for a token, once for all requests that wait for it.
async function login() {
  await (loggingIn ??= choice(by('login'), false));
  loggingIn = null;
  sessionStorage.setItem('token', by('token').value);
}

// say tells the users of screen readers something.
export const say = text => { by('news').textContent = text; };

// fail shows an error at the top, until something else is tried. Requests that the page has given up are no errors.
export function fail(error) {
  if (error.name === 'AbortError') return;
  by('error').textContent = error instanceof TypeError ? 'The server does not answer. Does massgen serve still run?' : error.message;
}

// tried runs what a person has asked for and shows what goes wrong with it.
export const tried = action => async event => {
  event?.preventDefault();
  by('error').textContent = '';
  try { await action(event); } catch (error) { fail(error); }
};

// copyButton copies the text that a function returns. Without TLS, pages from other machines have no navigator.clipboard.
export function copyButton(textOf, label) {
  const e = button('Copy', () => {
    document.oncopy = event => { event.preventDefault(); event.clipboardData.setData('text/plain', textOf()); };
    const isCopied = document.execCommand('copy');
    document.oncopy = null;
    if (!isCopied) throw new Error('The browser does not let the page copy: select the text.');
    say(e.textContent = e.ariaLabel = 'Copied');
    setTimeout(() => { [e.textContent, e.ariaLabel] = ['Copy', label]; }, 1500);
  }, label);
  return e;
}

export const pathOf = session => '/sessions/' + encodeURIComponent(session);
// readable returns a question with the names of its files and its piped text, without the marks around them. Search cuts some.
export const readable = text => text.replace(/^(<\/?|…)stdin(>|…|$)\n?/gm, '').replace(/(\s*)[[…]Attached: ([^\n\]]*)\]?/g,
  (_, before, files) => `${before && ' · '}attached: ${files.replace(/ \([^;()]*(\)|$)(?=;|…|$)/g, '')}`);
export const all = (...parts) => parts.filter(Boolean).join(' · ');
export const words = name => name.replaceAll('_', ' ');
export const clock = time => new Date(time).toLocaleTimeString('en-GB');
export const seconds = nanoseconds => (nanoseconds / 1e9).toFixed(1) + ' s';

export function money({ calls = 0, unknown_calls: unknown = 0, input_tokens: input = 0, output_tokens: output = 0, cost_usd: cost } = {}) {
  const counted = n => `${n} ${n === 1 ? 'call' : 'calls'}`;
  return all(counted(calls), (unknown < calls || !calls) && `${(input + output).toLocaleString('en')} tokens`,
    unknown && `tokens of ${counted(unknown)} unknown`, cost == null ? 'cost unknown' : '$' + cost.toFixed(4).replace(/\.?0+$/, ''));
}

// Each agent has a sign and a colour, by its place in the panel: the same everywhere, and on the timeline.
const signs = ['●', '▲', '■', '◆', '▼', '★', '⬟', '✚'];

// colourOf returns the class of an agent's colour, and who a text about an agent with the agent's sign and colour.
export const colourOf = (order, agent) => order.includes(agent) ? 'c' + order.indexOf(agent) % signs.length : 'nobody';
export function who(order, agent, text = agent) {
  const sign = make('span', order.includes(agent) ? signs[order.indexOf(agent) % signs.length] + ' ' : '');
  sign.ariaHidden = 'true';
  return make('span', '', 'who ' + colourOf(order, agent), sign, text);
}
