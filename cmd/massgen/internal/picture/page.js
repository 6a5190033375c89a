'use strict';
const bar = document.createElement('p');
for (const open of [true, false]) {
  const button = document.createElement('button');
  button.textContent = open ? 'Unfold all' : 'Fold all';
  button.addEventListener('click', () => {
    for (const part of document.querySelectorAll('details')) part.open = open;
  });
  bar.append(button, ' ');
}
document.querySelector('header').append(bar);
const show = () => {
  const part = location.hash.startsWith('#call-') && document.getElementById(location.hash.slice(1));
  if (part) { part.open = true; part.scrollIntoView(); }
};
addEventListener('hashchange', show);
show();
