// The style sheet and the script of a profile's page. Colours are variables of the two themes, which the script reads
// when it draws.

#include "tenon/watch/profile_section.h"

namespace tenon::watch {

std::string_view profile_style() {
  return R"css(
:root { --c-forward: #2f6fde; --c-backward: #d9730d; --c-optimizer: #21875a; --c-transfer: #7a55c7; --c-engine: #8a94a2;
  --c-own: #b9c1cb; --c-wait: #dfe3e8; --c-data: #c2416b; --c-note: #d13438; --m-weights: #2f6fde; --m-moments: #6c9bea;
  --m-gradients: #d9730d; --m-kept: #21875a; --m-scratch: #6bb898; --m-values: #7a55c7; --m-reserve: #c9ced6; --m-pool: #e3e6ea;
  --m-peak: #d13438; --on: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --c-forward: #4f83dd; --c-backward: #c9762b; --c-optimizer: #3a9b6c;
  --c-transfer: #8e70d6; --c-engine: #66717f; --c-own: #47515e; --c-wait: #2a313b; --c-data: #c55880; --c-note: #ff6b6b;
  --m-weights: #4f83dd; --m-moments: #2f5596; --m-gradients: #c9762b; --m-kept: #3a9b6c; --m-scratch: #27684a;
  --m-values: #8e70d6; --m-reserve: #3a424d; --m-pool: #272d37; --m-peak: #ff6b6b; --on: #ffffff; } }
h3 { font-size: 13px; font-weight: 650; margin: 22px 0 8px; }
.panel { background: var(--panel); border: 1px solid var(--edge); border-radius: 8px; padding: 10px 12px; min-width: 0; }
.advice { margin: 0; padding: 0; list-style: none; counter-reset: advice; }
.advice li { background: var(--panel); border: 1px solid var(--edge); border-left: 3px solid var(--orange); border-radius: 8px;
  padding: 9px 14px 9px 40px; margin: 0 0 8px; position: relative; counter-increment: advice; }
.advice li::before { content: counter(advice); position: absolute; left: 16px; color: var(--quiet); font-weight: 650; }
.advice p { margin: 0; overflow-wrap: anywhere; }
.advice .subtitle { font-size: 12px; margin-top: 2px; }
.tools { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; margin: 0 0 8px; }
.tools button { font: inherit; font-size: 13px; color: var(--text); background: var(--page); border: 1px solid var(--edge);
  border-radius: 6px; min-width: 32px; padding: 2px 8px; cursor: pointer; }
.tools .legend { margin-left: auto; }
.profile .key::before { border-top: 0; width: 10px; height: 10px; background: var(--own); vertical-align: -1px; }
.profile .key.m-peak::before { height: 2px; vertical-align: 3px; }
.c-forward { --own: var(--c-forward); } .c-backward { --own: var(--c-backward); } .c-optimizer { --own: var(--c-optimizer); }
.c-transfer { --own: var(--c-transfer); } .c-engine { --own: var(--c-engine); } .c-own { --own: var(--c-own); }
.c-wait { --own: var(--c-wait); } .c-data { --own: var(--c-data); }
.m-weights { --own: var(--m-weights); } .m-moments { --own: var(--m-moments); } .m-gradients { --own: var(--m-gradients); }
.m-kept { --own: var(--m-kept); } .m-scratch { --own: var(--m-scratch); } .m-values { --own: var(--m-values); }
.m-reserve { --own: var(--m-reserve); } .m-pool { --own: var(--m-pool); } .m-peak { --own: var(--m-peak); }
.lanes { position: relative; cursor: grab; touch-action: pan-y; user-select: none; -webkit-user-select: none; border-radius: 4px; }
.lanes:active { cursor: grabbing; }
.lanes canvas, .courses canvas { display: block; width: 100%; }
.lanes:focus-visible, .profile button:focus-visible { outline: 2px solid var(--blue); outline-offset: 1px; }
.picked { color: var(--quiet); font-size: 12px; margin: 6px 0 0; min-height: 18px; overflow-wrap: anywhere; }
.flame { margin: 0 0 6px; display: flex; }
.frame { flex-basis: 0; min-width: 0; }
.frame > button { display: block; width: 100%; height: 20px; line-height: 18px; font-family: inherit; font-size: 11px; text-align: left; padding: 0 4px;
  border: 0; border-right: 1px solid var(--panel); border-bottom: 1px solid var(--panel); border-radius: 2px; background: var(--own);
  color: var(--on); overflow: hidden; white-space: nowrap; text-overflow: clip; cursor: pointer; }
.frame small { opacity: .75; font-size: 10px; }
.inner { display: flex; min-width: 0; }
.inner .inner button { filter: brightness(1.07); }
.rest { flex-basis: 0; min-width: 0; }
.flames.zoomed .aside { display: none; }
.flames.zoomed .over > button { opacity: .6; }
.scrolls { overflow-x: auto; padding: 0; }
.kernels { min-width: 760px; font-size: 12px; }
.kernels th { text-align: right; padding: 0; position: sticky; top: 0; background: var(--panel); }
.kernels th:first-child, .kernels td:first-child { text-align: left; width: 40%; color: var(--text); }
.kernels th:last-child, .kernels td:last-child, .kernels th:nth-child(2), .kernels td:nth-child(2) { text-align: left; color: var(--quiet); }
.kernels td { text-align: right; padding: 4px 10px; white-space: nowrap; }
.kernels td:first-child { white-space: normal; }
.kernels th button { font: inherit; font-size: 12px; color: var(--quiet); background: none; border: 0; padding: 7px 10px; cursor: pointer;
  white-space: nowrap; }
.kernels th[aria-sort] button { color: var(--text); font-weight: 600; }
.kernels th[aria-sort=descending] button::after { content: " \2193"; } .kernels th[aria-sort=ascending] button::after { content: " \2191"; }
@media (max-width: 720px) { .tools .legend { margin-left: 0; width: 100%; } .frame > button { height: 24px; line-height: 22px; }
  .tools button { min-width: 40px; padding: 5px 10px; } }
)css";
}

std::string_view profile_script() {
  return R"js(
(() => {
const colours = ['forward', 'backward', 'optimizer', 'transfer', 'engine', 'own', 'wait', 'data', 'note'];
const holders = ['weights', 'moments', 'gradients', 'kept', 'scratch', 'values', 'reserve', 'pool'];
const holderNames = ['weights', 'moments', 'gradients', 'kept activations', 'scratch', 'other tensors', 'rest of the arena', 'pool'];
const kRow = 19, kTitle = 17, kAxis = 20;
const duration = ns => ns >= 1e9 ? (ns / 1e9).toPrecision(4) + ' s' : ns >= 1e6 ? (ns / 1e6).toPrecision(4) + ' ms'
  : ns >= 1e3 ? (ns / 1e3).toPrecision(4) + ' us' : Math.round(ns) + ' ns';
const size = bytes => bytes >= 1073741824 ? (bytes / 1073741824).toFixed(2) + ' GiB' : bytes >= 1048576 ? (bytes / 1048576).toFixed(1) + ' MiB'
  : (bytes / 1024).toFixed(1) + ' KiB';
const tickOf = span => {
  const power = Math.pow(10, Math.floor(Math.log10(span)));
  return [1, 2, 5, 10].map(each => each * power).find(each => each >= span);
};

for (const section of document.querySelectorAll('.profile')) {
  const data = JSON.parse(section.querySelector('.profile-data').textContent);
  const variable = name => getComputedStyle(section).getPropertyValue('--' + name).trim();

  // Events by row; each lies one level below those that it is within.
  const rows = data.rows.map(name => ({ name, events: [], ends: [] }));
  for (let i = 0; i + 5 < data.events.length; i += 6) {
    const [row, name, detail, colour, begin, length] = data.events.slice(i, i + 6), to = rows[row];
    let level = to.ends.findIndex(end => end <= begin);
    if (level < 0) level = to.ends.length;
    to.ends[level] = Math.max(begin + length, begin + 1);
    to.events.push({ row: to, name: data.texts[name], detail: data.texts[detail], colour, begin, length, level });
  }
  let height = kAxis;
  for (const row of rows) {
    row.top = height;
    row.levels = Math.max(1, row.ends.length);
    height += kTitle + row.levels * kRow + 5;
  }
  const all = rows.flatMap(row => row.events).sort((a, b) => a.begin - b.begin);

  const lanes = section.querySelector('.lanes'), told = lanes.parentElement.querySelector('.picked');
  const canvas = lanes.appendChild(document.createElement('canvas'));
  let from = 0, until = Math.max(1, data.wall), picked = null, waiting = false;
  const draws = [];
  const redraw = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; for (const draw of draws) draw(); });
  };
  const prepare = (element, high) => {
    const width = element.parentElement.clientWidth, scale = window.devicePixelRatio || 1, pen = element.getContext('2d');
    element.style.height = high + 'px';
    if (element.width !== Math.round(width * scale) || element.height !== Math.round(high * scale)) {
      element.width = Math.round(width * scale);
      element.height = Math.round(high * scale);
    }
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, high);
    pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
    pen.textBaseline = 'middle';
    return { pen, width, x: time => (time - from) / (until - from) * width };
  };
  const drawAxis = ({ pen, width, x }, high, top) => {
    const step = tickOf((until - from) / Math.max(2, width / 110));
    const [unit, name] = until >= 1e9 ? [1e9, ' s'] : until >= 1e6 ? [1e6, ' ms'] : [1e3, ' us'];
    const digits = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
    pen.lineWidth = 1;
    for (let time = Math.ceil(from / step) * step; time <= until; time += step) {
      pen.strokeStyle = variable('grid');
      pen.beginPath(); pen.moveTo(Math.round(x(time)) + .5, top); pen.lineTo(Math.round(x(time)) + .5, high); pen.stroke();
      pen.fillStyle = variable('quiet');
      const text = (time / unit).toFixed(digits) + name;
      if (top > 0 && x(time) + pen.measureText(text).width + 4 < width) pen.fillText(text, x(time) + 3, top / 2);
    }
  };

  draws.push(() => {
    const to = prepare(canvas, height), { pen, width, x } = to;
    drawAxis(to, height, kAxis);
    const fills = colours.map(name => variable('c-' + name)), light = variable('on'), dark = variable('text'), quiet = variable('quiet');
    for (const row of rows) {
      pen.fillStyle = quiet;
      pen.fillText(row.name, 2, row.top + kTitle / 2);
      const last = [];  // where the last event of a level ended, so that a pixel is filled once
      for (const event of row.events) {
        const left = x(event.begin), right = x(event.begin + event.length);
        if (right < 0 || left > width) continue;
        const wide = Math.max(right - left, event.colour === 8 ? 2 : 1);
        if (left + wide < (last[event.level] || -1) + .5 && event !== picked) continue;
        last[event.level] = left + wide;
        const top = row.top + kTitle + event.level * kRow;
        pen.fillStyle = fills[event.colour];
        pen.fillRect(left, top, Math.max(wide - (wide > 3 ? .7 : 0), .7), kRow - 2);
        if (event === picked) { pen.strokeStyle = dark; pen.lineWidth = 2; pen.strokeRect(left, top, wide, kRow - 2); }
        const shown = Math.min(right, width) - Math.max(left, 0);
        if (shown < 24) continue;
        pen.save();
        pen.beginPath(); pen.rect(Math.max(left, 0), top, shown - 3, kRow); pen.clip();
        pen.fillStyle = event.colour === 5 || event.colour === 6 ? dark : light;
        pen.fillText(event.name, Math.max(left, 0) + 4, top + kRow / 2 - .5);
        pen.restore();
      }
    }
  });

  const courses = section.querySelector('.courses');
  for (const course of courses ? data.memory : []) {
    const high = 170, note = courses.parentElement.querySelector('.picked');
    const chart = courses.appendChild(document.createElement('canvas'));
    const totals = course.bytes.map(each => each.reduce((sum, bytes) => sum + bytes, 0));
    const most = Math.max(1, ...totals, ...course.peak) * 1.06;
    let pointed = -1;
    draws.push(() => {
      const to = prepare(chart, high), { pen, width, x } = to, y = bytes => high - bytes / most * (high - kAxis);
      drawAxis(to, high, 0);
      let first = 0;
      while (first + 1 < course.at.length && course.at[first + 1] <= from) ++first;
      const floor = course.at.map(() => 0);
      const stairs = (values, close) => {
        pen.beginPath();
        let before = 0;
        for (let i = first; i < course.at.length && course.at[i] <= until; ++i) {
          const left = i === first ? 0 : x(course.at[i]);
          i === first ? pen.moveTo(left, y(values[i])) : (pen.lineTo(left, y(values[before])), pen.lineTo(left, y(values[i])));
          before = i;
        }
        pen.lineTo(width, y(values[before]));
        if (!close) return pen.stroke();
        for (let i = before, right = width; i >= first; --i) {
          pen.lineTo(right, y(close[i]));
          right = i === first ? 0 : x(course.at[i]);
          pen.lineTo(right, y(close[i]));
        }
        pen.fill();
      };
      holders.forEach((name, holder) => {
        const top = floor.map((bytes, i) => bytes + course.bytes[i][holder]);
        pen.fillStyle = variable('m-' + name);
        stairs(top, floor.slice());
        top.forEach((bytes, i) => { floor[i] = bytes; });
      });
      pen.strokeStyle = variable('m-peak');
      pen.lineWidth = 1.5;
      pen.setLineDash([5, 3]);
      stairs(course.peak);
      pen.setLineDash([]);
      pen.fillStyle = variable('text');
      pen.fillText(course.device + ', at most ' + size(Math.max(...totals)), 4, kAxis / 2);
      if (pointed >= 0) {
        pen.strokeStyle = variable('axis');
        pen.lineWidth = 1;
        pen.beginPath(); pen.moveTo(x(pointed), kAxis); pen.lineTo(x(pointed), high); pen.stroke();
      }
    });
    chart.addEventListener('pointermove', event => {
      const box = chart.getBoundingClientRect();
      pointed = from + (event.clientX - box.left) / box.width * (until - from);
      let i = 0;
      while (i + 1 < course.at.length && course.at[i + 1] <= pointed) ++i;
      if (course.at.length)
        note.textContent = duration(pointed) + ': ' + size(totals[i]) + ', of that ' + course.bytes[i].map((bytes, holder) =>
          bytes > 0 ? holderNames[holder] + ' ' + size(bytes) : '').filter(text => text).join(', ') + '; planned peak ' + size(course.peak[i]);
      redraw();
    });
    chart.addEventListener('pointerleave', () => { pointed = -1; redraw(); });
  }

  const show = (low, high) => {
    const span = Math.min(Math.max(high - low, 500), Math.max(data.wall, 500));
    from = Math.min(Math.max(0, low), Math.max(0, data.wall - span));
    until = from + span;
    redraw();
  };
  const zoom = (factor, share = .5) => {
    const at = from + share * (until - from), span = (until - from) * factor;
    show(at - share * span, at + (1 - share) * span);
  };
  const move = share => show(from + share * (until - from), until + share * (until - from));
  const acts = { in: () => zoom(.5), out: () => zoom(2), left: () => move(-.3), right: () => move(.3), whole: () => show(0, data.wall) };
  for (const button of section.querySelectorAll('[data-do]')) button.addEventListener('click', () => acts[button.dataset.do]());

  const pick = event => {
    picked = event;
    told.textContent = event ? event.row.name + ': ' + event.detail + (event.detail.startsWith(event.name) ? '' : ' (' + event.name + ')') +
      ', ' + duration(event.length) + ' at ' + duration(event.begin) : '';
    redraw();
  };
  const at = event => {
    const box = canvas.getBoundingClientRect(), time = from + (event.clientX - box.left) / box.width * (until - from);
    const slack = 2 * (until - from) / box.width, y = event.clientY - box.top;
    const row = rows.find(each => y >= each.top + kTitle && y < each.top + kTitle + each.levels * kRow);
    if (!row) return null;
    const level = Math.floor((y - row.top - kTitle) / kRow);
    return row.events.find(each => each.level === level && each.begin <= time && each.begin + each.length >= time) ||
      row.events.find(each => each.level === level && each.begin - slack <= time && each.begin + each.length + slack >= time) || null;
  };
  const down = new Map();
  let moved = 0;
  lanes.addEventListener('pointerdown', event => { down.set(event.pointerId, event.clientX); moved = 0; lanes.setPointerCapture(event.pointerId); });
  lanes.addEventListener('pointermove', event => {
    if (!down.has(event.pointerId)) {
      const over = at(event);
      lanes.title = over ? over.detail + ', ' + duration(over.length) : '';
      return;
    }
    const width = canvas.clientWidth, before = down.get(event.pointerId);
    if (down.size === 2) {
      const other = [...down].find(([id]) => id !== event.pointerId)[1];
      const old = Math.max(10, Math.abs(before - other)), now = Math.max(10, Math.abs(event.clientX - other));
      zoom(old / now, (other - canvas.getBoundingClientRect().left) / width);
    } else if (down.size === 1) {
      move((before - event.clientX) / width);
    }
    moved += Math.abs(event.clientX - before);
    down.set(event.pointerId, event.clientX);
  });
  const up = event => {
    if (down.delete(event.pointerId) && event.type === 'pointerup' && moved < 4) pick(at(event));
  };
  lanes.addEventListener('pointerup', up);
  lanes.addEventListener('pointercancel', up);
  lanes.addEventListener('wheel', event => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!event.ctrlKey && !event.metaKey && !sideways) return;  // the page scrolls
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    sideways ? move(event.deltaX / box.width) : zoom(Math.exp(event.deltaY * .004), (event.clientX - box.left) / box.width);
  }, { passive: false });
  lanes.addEventListener('dblclick', event => {
    const found = at(event);
    if (found) show(found.begin - .1 * found.length, found.begin + 1.1 * found.length);
  });
  const go = step => {
    if (!all.length) return;
    const found = picked ? all.indexOf(picked) + step : all.findIndex(each => each.begin >= from);
    const next = all[Math.min(Math.max(found, 0), all.length - 1)];
    if (next.begin + next.length < from || next.begin > until) show(next.begin - (until - from) / 2, next.begin + (until - from) / 2);
    pick(next);
  };
  const keys = { ArrowLeft: acts.left, ArrowRight: acts.right, '+': acts.in, '=': acts.in, '-': acts.out, Home: acts.whole,
    '.': () => go(1), ',': () => go(-1), Escape: () => pick(null) };
  lanes.addEventListener('keydown', event => {
    const act = !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  new ResizeObserver(redraw).observe(lanes);
  redraw();

  // The flame graph: a frame alone, with those around it above.
  const flames = section.querySelector('.flames');
  let alone = null;
  if (flames) flames.addEventListener('click', event => {
    const frame = event.target.closest('.frame');
    if (!frame) return;
    for (const each of flames.querySelectorAll('.aside, .over')) each.classList.remove('aside', 'over');
    alone = frame === alone ? null : frame;
    flames.classList.toggle('zoomed', alone !== null);
    for (let each = alone; each && each !== flames; each = each.parentElement) {
      if (each !== alone && each.classList.contains('frame')) each.classList.add('over');
      for (const other of each.parentElement.children)
        if (other !== each && (other.matches('.frame, .rest, .flame'))) other.classList.add('aside');
    }
  });

  const table = section.querySelector('.kernels');
  if (table) for (const button of table.querySelectorAll('th button')) button.addEventListener('click', () => {
    const title = button.parentElement, column = [...title.parentElement.children].indexOf(title);
    const isDown = title.getAttribute('aria-sort') !== 'descending', body = table.tBodies[0];
    for (const each of title.parentElement.children) each.removeAttribute('aria-sort');
    title.setAttribute('aria-sort', isDown ? 'descending' : 'ascending');
    const value = row => {
      const cell = row.children[column];
      return cell.dataset.value === undefined ? cell.textContent : +cell.dataset.value;
    };
    const sorted = [...body.rows].sort((a, b) => {
      const x = value(a), y = value(b), order = typeof x === 'string' ? x.localeCompare(y) : x - y;
      return isDown ? -order : order;
    });
    body.append(...sorted);
  });
}
})();
)js";
}

}  // namespace tenon::watch
