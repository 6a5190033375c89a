// The state of a turn as the server sends it: a snapshot, and then changes. The page adds nothing to it and knows no events.
import { api, by, fail } from './base.js';

// messages yields the messages about the state of a turn. After a break, which it shows, it begins with a snapshot again.
export async function* messages(path, signal) {
  for (let pause = 500; ; pause = Math.min(pause * 2, 10000)) {
    try {
      const response = await api(path + '/state', { signal, raw: true });
      by('error').textContent = '';
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let held = '';
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        held += value;
        const whole = held.split('\n\n');
        held = whole.pop();
        for (const block of whole) {
          const { event: name, data } = Object.fromEntries(block.split('\n').map(line => line.split(/: (.*)/, 2)));
          if (name === 'end') return;
          if (data) yield { name, data: JSON.parse(data) };
          pause = 500;
        }
      }
    } catch (error) {
      if (signal.aborted || !(error instanceof TypeError)) throw error; // a TypeError is the network's
      fail(error);
    }
    await new Promise(done => setTimeout(done, pause));
  }
}

// withFields returns an object with changed fields, without those that are null.
const withFields = (object, fields) =>
  Object.fromEntries(Object.entries({ ...object, ...fields }).filter(([, value]) => value !== null));

// spliced returns a list with a change of its end. Items that stay are the same objects.
function spliced(list, tail) {
  if (!tail) return list;
  const { drop = 0, keep, grow = '', add } = tail;
  const kept = list.slice(drop, drop + keep);
  if (grow) kept.push((last => ({ ...last, text: (last.text ?? '') + grow }))(kept.pop()));
  return kept.concat(add);
}

// changed returns the state after a change.
export function changed(state, { fields, agents = [], ...lists }) {
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
