// Two themes by the reader's own preference, one column on a phone, and no address of any other file.

#include "tenon/watch/report_page.h"

namespace tenon::watch {

std::string_view report_style() {
  return R"css(
:root { color-scheme: light dark;
  --page: #f6f7f9; --panel: #ffffff; --edge: #e3e6ea; --text: #1c2128; --quiet: #68717d; --grid: #eceef1; --axis: #c3c8cf;
  --blue: #2f6fde; --orange: #d9730d; --green: #21875a; --violet: #7a55c7; --red: #d13438; --teal: #1b7f93; }
@media (prefers-color-scheme: dark) { :root {
  --page: #0e1116; --panel: #161a21; --edge: #272d37; --text: #e4e7eb; --quiet: #8f99a6; --grid: #212731; --axis: #414a57;
  --blue: #6ea4ff; --orange: #f2a14b; --green: #56c28d; --violet: #b196f3; --red: #ff6b6b; --teal: #4fbfd4; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto,
  "Noto Sans", "DejaVu Sans", sans-serif; font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%; }
.page { max-width: 1180px; margin: 0 auto; padding: 28px 20px 48px; }
h1 { font-size: 22px; line-height: 1.25; font-weight: 650; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 15px; font-weight: 650; margin: 32px 0 10px; }
.subtitle, footer { color: var(--quiet); margin: 4px 0 0; overflow-wrap: anywhere; }
footer { margin-top: 36px; font-size: 12px; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(168px, 1fr)); gap: 10px; margin: 20px 0 0; }
.figures div { background: var(--panel); border: 1px solid var(--edge); border-radius: 8px; padding: 10px 14px; min-width: 0; }
.figures dt { color: var(--quiet); font-size: 12px; }
.figures dd { margin: 0; font-size: 18px; font-weight: 600; overflow-wrap: anywhere; line-height: 1.35; }
.figures small { font-size: 12px; font-weight: 400; color: var(--quiet); white-space: nowrap; }
.switch { position: absolute; opacity: 0; pointer-events: none; }
.switches { display: flex; justify-content: flex-end; align-items: center; gap: 0; margin: 22px 0 8px; font-size: 12px;
  color: var(--quiet); }
.switches label { border: 1px solid var(--edge); background: var(--panel); padding: 2px 10px; cursor: pointer; }
.switches label:first-of-type { border-radius: 6px 0 0 6px; margin-left: 8px; }
.switches label:last-of-type { border-radius: 0 6px 6px 0; border-left: 0; }
#even:checked ~ main label[for=even], #log:checked ~ main label[for=log] { color: var(--text); font-weight: 600; }
#even:focus-visible ~ main label[for=even], #log:focus-visible ~ main label[for=log] { outline: 2px solid var(--blue); }
#even:checked ~ main .log, #log:checked ~ main .even { display: none; }
.charts { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 12px; }
.chart { margin: 0; background: var(--panel); border: 1px solid var(--edge); border-radius: 8px; padding: 12px 10px 8px 12px; }
.chart.large { grid-column: 1 / -1; }
.chart figcaption { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 16px; font-size: 13px; }
.chart b { font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: 0 14px; padding-right: 12px; color: var(--quiet); font-size: 12px; }
.key::before { content: ""; display: inline-block; width: 14px; height: 0; border-top: 3px solid var(--own); border-radius: 2px;
  margin-right: 6px; vertical-align: 3px; }
.key.resumed::before { border-top: 1px dashed var(--quiet); }
.plot { height: 210px; position: relative; touch-action: pan-y; cursor: crosshair; }
.large .plot { height: 340px; }
.area { position: absolute; inset: 10px 14px 26px 48px; }
.area svg { position: absolute; width: 100%; height: 100%; display: block; overflow: visible; clip-path: inset(0 -4px -1px); }
.area span { position: absolute; color: var(--quiet); font-size: 11px; line-height: 1; white-space: nowrap; }
.area .y { right: 100%; margin-right: 8px; transform: translateY(-50%); }
.area .x { top: 100%; margin-top: 8px; transform: translateX(-50%); }
.area .unit { right: 100%; top: 100%; margin: 8px 17px 0 0; opacity: .75; }
.area path { fill: none; vector-effect: non-scaling-stroke; }
.grid { stroke: var(--grid); stroke-width: 1px; }
.axis { stroke: var(--axis); stroke-width: 1px; }
.curve { stroke: var(--own); stroke-width: 1.75px; stroke-linejoin: round; stroke-linecap: round; }
.dots { stroke: var(--own); stroke-width: 5px; stroke-linecap: round; }
.curve.pale { stroke-width: 1px; opacity: .3; }
path.resumed { stroke: var(--quiet); stroke-width: 1px; stroke-dasharray: 3 4; }
path.broken { stroke: var(--red); stroke-width: 2px; }
.train { --own: var(--blue); } .validation { --own: var(--orange); } .lr { --own: var(--violet); }
.speed { --own: var(--green); } .norm { --own: var(--teal); } .memory { --own: var(--quiet); } .broken { --own: var(--red); }
.hair, .dot, .tip { position: absolute; pointer-events: none; display: none; }
.hair { top: 0; bottom: 0; width: 1px; background: var(--axis); }
.dot { width: 7px; height: 7px; margin: -3.5px; border-radius: 50%; background: var(--own); box-shadow: 0 0 0 1.5px var(--panel); }
.tip { top: 4px; background: var(--panel); border: 1px solid var(--edge); border-radius: 6px; padding: 5px 9px; font-size: 12px;
  line-height: 1.5; box-shadow: 0 2px 8px rgb(0 0 0 / .14); white-space: nowrap; z-index: 1; }
.pointed .hair, .pointed .dot, .pointed .tip { display: block; }
.pointed .dot.off { display: none; }
details { background: var(--panel); border: 1px solid var(--edge); border-radius: 8px; margin: 0 0 8px; }
summary { padding: 8px 14px; cursor: pointer; font-weight: 600; font-size: 13px; }
summary small { font-weight: 400; color: var(--quiet); margin-left: 8px; }
details img { display: block; margin: 4px 14px; max-width: calc(100% - 28px); image-rendering: pixelated; }
pre { margin: 0; padding: 4px 14px 14px; font: 12.5px/1.6 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono",
  monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; font-size: 13px; }
td { padding: 5px 14px; border-top: 1px solid var(--grid); overflow-wrap: anywhere; vertical-align: top; }
td:first-child { color: var(--quiet); width: 34%; }
.empty { color: var(--quiet); padding: 40px 0; text-align: center; }
@media (max-width: 720px) { .page { padding: 18px 12px 32px; } .charts { grid-template-columns: minmax(0, 1fr); }
  .large .plot { height: 260px; } .figures { grid-template-columns: repeat(auto-fill, minmax(128px, 1fr)); gap: 8px; }
  .chart { padding: 10px 6px 6px 6px; } .area { left: 44px; } }
@media print { :root { --page: #fff; } .switches { display: none; } .chart, .figures div { break-inside: avoid; } }
)css";
}

std::string_view report_script() {
  return R"js(
const unitOf = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];
const shown = value => {
  const size = Math.abs(value), unit = size >= 1e4 && unitOf.find(each => size >= each[0]);
  return unit ? (value / unit[0]).toPrecision(4) + unit[1] : String(Number(value.toPrecision(4)));
};
const add = (parent, style) => parent.appendChild(Object.assign(document.createElement('div'), { className: style }));

// The points of a curve, from its path: pieces "Mx yl dx dy dx dy ...".
const pointsOf = path => {
  const points = [];
  for (const piece of path.getAttribute('d').split('M').slice(1)) {
    const numbers = piece.split(/[l ]+/).map(Number);
    let [x, y] = numbers;
    for (let i = 2; i + 1 < numbers.length; i += 2) points.push([x += numbers[i], y += numbers[i + 1]]);
  }
  return points;
};
const nearest = (points, x) => {
  let low = 0, high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < x) low = middle + 1; else high = middle;
  }
  return low > 0 && x - points[low - 1][0] < points[low][0] - x ? points[low - 1] : points[low];
};

const areas = [...document.querySelectorAll('.area')].map(element => {
  const { x0, x1, y0, y1 } = element.dataset, isLog = element.classList.contains('log');
  const stepAt = share => isLog ? x0 * Math.pow(x1 / x0, share) : +x0 + share * (x1 - x0);
  const valueAt = share => +y1 - share * (y1 - y0);
  const hair = add(element, 'hair'), tip = add(element, 'tip');
  let curves;
  const point = share => {
    curves ||= [...element.querySelectorAll('.curve')].map(path => ({ name: path.dataset.name, points: pointsOf(path),
      dot: add(element, 'dot ' + path.getAttribute('class').replace(/curve|pale/g, '')) })).filter(c => c.points.length);
    if (!curves.length) return;
    const at = nearest(curves[0].points, share * 1e6)[0];
    element.classList.add('pointed');
    hair.style.left = at / 1e4 + '%';
    const lines = [element.dataset.unit + ' ' + Math.round(stepAt(at / 1e6)).toLocaleString('en')];
    for (const { name, points, dot } of curves) {
      const [x, y] = nearest(points, at);
      dot.style.left = x / 1e4 + '%';
      dot.style.top = y / 1e4 + '%';
      dot.classList.toggle('off', y < 0 || y > 1e6);
      lines.push(name + ' ' + (y < -9e5 ? 'beyond ' : '') + shown(valueAt(y / 1e6)));
    }
    tip.innerText = lines.join('\n');
    const isRight = at > 5e5;
    tip.style.left = isRight ? 'auto' : 'calc(' + at / 1e4 + '% + 10px)';
    tip.style.right = isRight ? 'calc(' + (100 - at / 1e4) + '% + 10px)' : 'auto';
  };
  return { element, isLog, point };
});

for (const { element, isLog } of areas) {
  const share = event => {
    const box = element.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const move = event => { for (const area of areas) if (area.isLog === isLog) area.point(share(event)); };
  const leave = () => { for (const area of areas) area.element.classList.remove('pointed'); };
  element.addEventListener('pointermove', move);
  element.addEventListener('pointerdown', move);
  element.addEventListener('pointerleave', leave);
}
)js";
}

}  // namespace tenon::watch
