// The states of a turn that the tests of coordinator/report draw: the outputs of the command show in a file of
// testdata/state, as the JSON of report.State.
import fs from 'node:fs';

export function statesOf(file) {
  const states = [];
  for (const part of fs.readFileSync(file, 'utf8').split('\n\n')) {
    const [command, output] = part.split('\n----\n');
    if (command.trim() !== 'show' || !output) continue;
    const state = { agents: [], rounds: [], acts: [], news: [] };
    for (const line of output.trimEnd().split('\n')) {
      const [, what, json] = line.match(/^ *(\w+) (.*)$/);
      const value = JSON.parse(json);
      if (what === 'piece') state.agents.at(-1).text.push(value);
      else if (what === 'agent') state.agents.push({ ...value, text: [] });
      else if (what === 'turn') Object.assign(state, { ...value, ...state });
      else state[{ round: 'rounds', act: 'acts', news: 'news' }[what]].push(value);
    }
    states.push(state);
  }
  return states;
}
