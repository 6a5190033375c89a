// Markdown on the page. markdown-it reads it, and only elements that are made here show it: no text becomes markup, and
// nothing is loaded. A picture is a link.
import markdownit from './vendor/markdown-it.js';
import { copyButton, make } from './base.js';

const reader = markdownit({ html: false, linkify: true, breaks: true });
reader.validateLink = url => /^(https?|mailto):/i.test(url);

const blockTags = ['p', 'ul', 'ol', 'li', 'blockquote', 'table', 'thead', 'tbody', 'tr', 'th', 'td'];
const inlineTags = ['strong', 'em', 's'];

const link = (address, text) =>
  Object.assign(make('a', text), { href: address, target: '_blank', rel: 'noopener noreferrer', title: address });

// boxed makes a box of the mark before a task.
const boxed = text => text.replace(/^\[( |x)\] /i, (_, mark) => mark === ' ' ? '☐ ' : '☑ ');

// drawInline adds the parts of a line to an element.
function drawInline(parts, parent) {
  const open = [parent];
  for (const t of parts) {
    const to = open.at(-1);
    if (t.nesting < 0) open.pop();
    else if (t.nesting > 0) {
      const e = t.type === 'link_open' ? link(t.attrGet('href'), '') : make(inlineTags.includes(t.tag) ? t.tag : 'span');
      to.append(e);
      open.push(e);
    } else if (t.type.endsWith('break')) to.append(make('br'));
    else if (t.type === 'text') to.append(to.closest('li') && t === parts[0] ? boxed(t.content) : t.content);
    else if (t.type === 'code_inline') to.append(make('code', t.content));
    else if (t.type !== 'image') to.append(t.content);
    else if (to.closest('a')) to.append(`[picture: ${t.content}]`);
    else to.append(link(t.attrGet('src'), `[picture: ${t.content || t.attrGet('src')}]`));
  }
}

const keywords = new Set(`and as async await bool break case catch char class const continue def default defer del do double elif else end
enum except export extends false finally float fn for from func function go if impl implements import in int interface is lambda let map
match mut namespace new nil none None not null or package pass private protected pub public raise range return self select static string
struct super switch this throw throws trait true True False try type typeof union use using var void where while with yield SELECT FROM
WHERE INSERT INTO UPDATE DELETE CREATE TABLE JOIN ON GROUP ORDER BY LIMIT then fi done echo esac`.split(/\s+/));
const isSlashed = /^(go|c|cpp|c\+\+|java|js|javascript|ts|typescript|rust|rs|swift|kotlin|php|cs|csharp|scala)$/;
const isPlain = /^(|text|txt|md|markdown|html|xml|css)$/;
const parts = `("(?:[^"\\\\\\n]|\\\\.){0,999}"|'(?:[^'\\\\\\n]|\\\\.){0,999}')|(\\b\\d[\\w.]*)|([\\p{L}_][\\p{L}\\p{N}_]*)`;
const mostCode = 50000; // characters of code that is highlighted

// drawCode adds code to an element, with its comments, texts, numbers and keywords. It knows no language in full.
function drawCode(code, language, parent) {
  if (isPlain.test(language) || code.length > mostCode) return parent.append(code);
  const comment = isSlashed.test(language) ? '//.*|/\\*[^]*?(?:\\*/|$)' : /^(sql|lua|haskell)$/.test(language) ? '--.*' : '#.*';
  let end = 0;
  for (const m of code.matchAll(new RegExp(`(${comment})|${parts}`, 'gu'))) {
    const kind = m[1] ? 'comment' : m[2] ? 'quoted' : m[3] ? 'number' : keywords.has(m[4]) && 'keyword';
    if (!kind) continue;
    parent.append(code.slice(end, m.index), make('span', m[0], kind));
    end = m.index + m[0].length;
  }
  parent.append(code.slice(end));
}

function codeBlock({ info, content }, isOpen) {
  const language = info.trim().split(/\s+/)[0].toLowerCase();
  const code = make('code');
  drawCode(content, isOpen ? '' : language, code);
  const pre = Object.assign(make('pre', '', '', code), { tabIndex: 0 }); // it scrolls
  return make('div', '', 'code', make('div', language, 'row', copyButton(() => content, 'Copy this code')), pre);
}

// drawBlocks adds blocks to an element. isOpen reports that they may grow.
function drawBlocks(tokens, parent, level, isOpen) {
  const open = [parent];
  for (const t of tokens) {
    const to = open.at(-1);
    if (t.hidden) continue;
    if (t.nesting < 0) open.pop();
    else if (t.type === 'inline') drawInline(t.children, to);
    else if (t.nesting === 0) to.append(t.type === 'hr' ? make('hr') : codeBlock(t, isOpen));
    else {
      const e = t.type === 'heading_open' ? make('h' + level, '', t.tag) : make(blockTags.includes(t.tag) ? t.tag : 'div');
      if (t.attrGet('start')) e.start = t.attrGet('start');
      if (t.attrGet('style')) e.className = t.attrGet('style').replace('text-align:', 'to-');
      to.append(t.tag === 'table' ? make('div', '', 'wide', e) : e);
      if (t.tag === 'table') e.parentElement.tabIndex = 0; // it scrolls
      open.push(e);
    }
  }
}

// lineOf returns an element with a line of Markdown.
export const lineOf = (text, e = make('span')) => (drawInline(reader.parseInline(text, {})[0].children, e), e);

// Up to smallRest characters the last block is drawn anew with each piece of text; a longer one whenever it has grown by
// a sixteenth, so that the work grows with the text and not with its square. Meanwhile new text follows as it is.
const smallRest = 2000;
const mostBlocks = 32; // that are put together

// Prose shows Markdown that comes in pieces. A block that another one follows is drawn once and stays.
export class Prose {
  constructor(element, level = 4) {
    Object.assign(this, { element, level });
    element.classList.add('markdown');
    this.clear();
  }

  clear() {
    // The text from the beginning of the last block, how much of it is not drawn as Markdown, and the index of the block's
    // element; the addresses of links that the text has defined.
    Object.assign(this, { rest: '', fresh: 0, last: 0, folded: 0, known: {}, isOpen: false });
    this.element.replaceChildren();
  }

  append(text) {
    if (!text) return;
    const from = this.rest.length;
    this.take(text);
    this.fresh += text.length;
    if (this.rest.length < smallRest || this.fresh * 16 > this.rest.length) this.draw(true);
    else this.appendRaw(this.rest.slice(from));
  }

  // take adds a text to the rest. Browsers hang on thousands of accents on one letter, so a ◌ has every 64th.
  take(text) {
    const end = this.rest.slice(-200);
    this.rest += (end + text.replaceAll('\r', '')).replace(/(\p{M}{64})(?=\p{M})/gu, '$1\u25cc').slice(end.length);
  }

  // show shows a whole text.
  show(text) {
    this.clear();
    this.take(text);
    this.draw(false);
  }

  // finish draws what is left when no more text comes.
  finish() { if (this.isOpen) this.draw(false); }

  appendRaw(text) {
    let to = this.element;
    while (to.lastChild?.nodeType === Node.ELEMENT_NODE && !['BR', 'HR'].includes(to.lastChild.tagName)) to = to.lastChild;
    to.append(text);
  }

  draw(isOpen) {
    const tokens = reader.parse(this.rest, this.known);
    const first = tokens.findLastIndex(t => t.level === 0 && t.nesting >= 0); // of the last block
    while (this.element.childNodes.length > this.last) this.element.lastChild.remove();
    const made = new DocumentFragment(); // so that the direction of the text is found once, and not at each part
    drawBlocks(tokens.slice(0, first), made, this.level, false);
    this.last += made.childNodes.length;
    drawBlocks(tokens.slice(first), made, this.level, isOpen);
    this.element.append(made);
    Object.assign(this, { fresh: 0, isOpen, rest: this.rest.split('\n').slice(tokens[first]?.map[0] ?? 0).join('\n') });
    if (isOpen && this.last - this.folded > 2 * mostBlocks) this.fold();
  }

  // fold puts blocks together that the browser passes over at once while they are out of sight.
  fold() {
    const blocks = [...this.element.children].slice(this.folded, this.folded + mostBlocks + 1);
    const next = blocks.pop();
    const height = next.offsetTop - blocks[0].offsetTop;
    next.before(make('div', '', 'past', ...blocks));
    next.previousSibling.style.containIntrinsicBlockSize = `auto ${height}px`;
    this.folded++;
    this.last -= mostBlocks - 1;
  }
}
