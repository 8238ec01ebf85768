// console.mjs URL KNOWN LAB: what the console shows of a history of load that is known (heat_fixture.c), and LAB, a page
// of the lab (lab.mjs).
// Prints a line for each thing that is wrong, then "N passed, N failed".

import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { lookAtLab } from './lab.mjs';
import { lookAtTrouble } from './trouble.mjs';

const [, , base, knownText, lab] = process.argv;
const known = JSON.parse(knownText);
const shots = process.env.SHOTS;
let passed = 0, failed = 0;

function check(what, good, seen = '') {
  if (good) passed += 1;
  else { failed += 1; console.log(`FAILED: ${what}${seen === '' ? '' : `: ${JSON.stringify(seen)}`}`); }
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
const said = [];

process.on('uncaughtException', async (error) => {
  console.log(`FAILED: ${String(error.stack).slice(0, 600)}`);
  console.log(`${passed} passed, ${failed + 1} failed`);
  process.exit(1);
});

async function open(hash, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, colorScheme: 'light', deviceScaleFactor: 1, timezoneId: 'UTC', ...options });
  page.setDefaultTimeout(60000);
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) said.push(`${hash}: ${message.text()}`); });
  page.on('pageerror', (error) => said.push(`${hash}: ${error.message}`));
  page.on('request', (request) => { if (!request.url().startsWith(base) && !request.url().startsWith('data:')) said.push(`asked elsewhere: ${request.url()}`); });
  await page.goto(`${base}/${hash}`);
  return page;
}

async function shot(page, name) {
  if (shots) { mkdirSync(shots, { recursive: true }); await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true }); }
}

/** The heat map of all that is known, and as many columns as minutes, about. */
const window_ = `from=${known.begin_us}&to=${known.end_us}`;
// The picture is there, and where it stands when all has its place: two frames later, however slow these are.
const heatOf = async (page) => {
  await page.waitForSelector('.heat .bands button');
  await page.waitForTimeout(150);
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
};

/** Lightness, 0 to 255, of the picture at x and y from 0 to 1. */
const lightness = (page, points) => page.evaluate((all) => {
  const shown = document.querySelector('.picture canvas');
  const canvas = Object.assign(document.createElement('canvas'), { width: shown.width, height: shown.height });
  const context = canvas.getContext('2d', { willReadFrequently: true }); // a copy to read from, else the browser complains
  context.drawImage(shown, 0, 0);
  return all.map(([x, y]) => {
    const [r, g, b] = context.getImageData(Math.round(x * (canvas.width - 1)), Math.round(y * (canvas.height - 1)), 1, 1).data;
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  });
}, points);

/** Where the rows of a prefix are in the picture, 0 to 1: asked of the API, placed as the page does. */
async function rowsOf(page, from, to) {
  return page.evaluate(async ([start, end, window_, height]) => {
    const { placeRows } = await import('/scale.js');
    const parameters = new URLSearchParams(window_);
    const rows = Math.max(60, Math.min(400, Math.floor(height / 2)));
    const columns = Math.max(30, Math.min(600, Math.floor(document.querySelector('.picture').clientWidth / 3)));
    const heat = await (await fetch(`/api/v1/heat?table=USERS&from_us=${parameters.get('from')}&to_us=${parameters.get('to')}&rows=${rows}&columns=${columns}`)).json();
    const edges = placeRows(heat, 'size');
    const first = heat.keys.findIndex((key) => key >= start);
    const last = heat.keys.findLastIndex((key) => key < end);
    return { top: edges[first], bottom: edges[last + 1], start_us: heat.start_us, whole_us: heat.columns * heat.step_us };
  }, [from, to, window_, await page.evaluate(() => document.querySelector('.picture').clientHeight)]);
}

const middle = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

// --- the API -------------------------------------------------------------------------------------------------------

{
  const heat = await (await fetch(`${base}/api/v1/heat?table=USERS&from_us=${known.begin_us}&to_us=${known.end_us}&rows=100&columns=60`)).json();
  check('all operations are there, none twice', Math.abs(heat.total - known.operations) < 1, [heat.total, known.operations]);
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  check('totals of rows', Math.abs(sum(heat.row_totals) - heat.total) < heat.rows, sum(heat.row_totals));
  check('totals of columns', Math.abs(sum(heat.column_totals) - heat.total) < heat.columns);
  for (const [path, code] of [['heat?table=NOWHERE', 404], ['heat?table=USERS&rows=0', 400], ['heat?table=USERS&rows=1001', 400], ['heat?table=USERS&colour=red', 400], ['heat?table=USERS&start=%5Cq', 400], ['heat?table=USERS&metric=x', 400], ['heat?table=USERS&from_us=9&to_us=9', 400], ['tablets', 400], ['tablets?table=NOWHERE', 404], ['nothing', 404], ['load?count=0', 400], ['advice', 400]]) {
    const answer = await fetch(`${base}/api/v1/${path}`);
    check(`${path} is ${code}`, answer.status === code, answer.status);
  }
  const tablets = await (await fetch(`${base}/api/v1/tablets?table=USERS&count=7`)).json();
  check('a page of tablets', tablets.tablets.length === 7 && tablets.next === 'user3500', tablets.next);
  const posted = await fetch(`${base}/api/v1/cluster`, { method: 'POST' });
  check('nothing can be posted', posted.status === 405 && Boolean((await posted.json()).error.text), posted.status);
  const page = await fetch(`${base}/`);
  check('a strict policy', /default-src 'none'/.test(page.headers.get('content-security-policy') ?? ''));
  const again = await fetch(`${base}/`, { headers: { 'If-None-Match': page.headers.get('etag') } });
  check('the page is kept by its tag', again.status === 304, again.status);
}

// --- the picture, pixel by pixel ------------------------------------------------------------------------------------

for (const colorScheme of ['light', 'dark']) {
  const page = await open(`#/table/USERS?${window_}`, { colorScheme });
  await heatOf(page);
  const hot = await rowsOf(page, 'user2000', 'user2500');
  const at = (us) => (us - hot.start_us) / hot.whole_us;
  const span = known.hot_end_us - known.hot_begin_us;
  const inside = [], beside = [], before = [], after = [];
  for (let i = 1; i < 10; i++) {
    for (let j = 1; j < 10; j++) {
      const x = at(known.hot_begin_us + (span * i) / 10), y = hot.top + ((hot.bottom - hot.top) * j) / 10;
      inside.push([x, y]);
      beside.push([x, 0.55 + j * 0.04]);
      before.push([at(known.begin_us + (span * i) / 14), y]);
      after.push([at(known.hot_end_us + span * 0.05 + (span * i) / 12), y]);
    }
  }
  const fire = await lightness(page, inside);
  const cold = [await lightness(page, beside), await lightness(page, before), await lightness(page, after)];
  const far = (values) => colorScheme === 'dark' ? Math.min(...fire) - middle(values) : middle(values) - Math.max(...fire);
  cold.forEach((values, i) => check(`${colorScheme}: the hot range stands out from ${['other keys', 'the time before', 'the time after'][i]}`, far(values) > 50, [Math.min(...fire), Math.max(...fire), middle(values)]));
  await shot(page, `heat-${colorScheme}`);
  await page.close();
}

// --- tooltip, pins, zoom, keyboard ------------------------------------------------------------------------------------

{
  const page = await open(`#/table/USERS?${window_}`);
  await heatOf(page);
  const hot = await rowsOf(page, 'user2000', 'user2500');
  const box = await page.locator('.picture').boundingBox();
  const x = box.x + box.width * ((known.hot_begin_us + known.hot_end_us) / 2 - hot.start_us) / hot.whole_us;
  const y = box.y + (box.height * (hot.top + hot.bottom)) / 2;
  await page.mouse.move(x, y);
  const tip = await page.locator('.tip').innerText();
  const rate = Number((tip.match(/([\d.,]+) ops\/s/) ?? [])[1]?.replace(',', ''));
  const range = tip.match(/(user\d+)\s*…\s*(user\d+)/);
  check('the tooltip names keys of the hot range', range && range[1] >= 'user2000' && range[2] <= 'user2500', tip);
  const users = range ? Number(range[2].slice(4)) - Number(range[1].slice(4)) : 0;
  check('and what they had: 2 560 reads/s over 500 users', Math.abs(rate - (2560 * users) / 500) < 0.35 * ((2560 * users) / 500) + 1, [rate, users]);
  await shot(page, 'tooltip');
  check('and what part of the table that was', tip.includes('of the table then'), tip);
  await page.mouse.click(x, y);
  check('a click pins it', await page.locator('.pins li').count() === 1);
  check('with the same figures', (await page.locator('.pins li').innerText()).includes(range?.[1] ?? 'nothing'));

  const part = box.height * (hot.bottom - hot.top) * 0.35;
  await page.mouse.move(x - 60, y - part);
  await page.mouse.down();
  await page.mouse.move(x + 60, y + part, { steps: 5 });
  await shot(page, 'rubber');
  await page.mouse.up();
  await page.waitForFunction(() => location.hash.includes('start='));
  await heatOf(page);
  const zoomed = new URLSearchParams((await page.evaluate(() => location.hash)).split('?')[1]);
  check('what is pinned stays', await page.locator('.pins li').count() === 1);
  await page.mouse.move(x + 5, y + 5);
  const near = await page.locator('.tip').innerText();
  check('of a part of the keys shares are of that part', near.includes('of these keys then') && !near.includes('of the table'), near);
  check('a drag zooms into keys and time', zoomed.get('start') >= 'user2000' && zoomed.get('end') <= 'user2500' && Number(zoomed.get('from')) > known.begin_us, String(zoomed));
  await shot(page, 'zoomed');
  await page.mouse.dblclick(x, y);
  await page.waitForFunction(() => !location.hash.includes('start='));
  check('a double click goes back, and pins nothing', await page.locator('.pins li').count() === 1, await page.locator('.pins li').count());
  await page.goto(`${base}/#/table/USERS?${window_}&start=user2000&end=user2500`);
  await heatOf(page);
  await page.locator('#whole').click();
  await page.waitForFunction(() => !location.hash.includes('start='));
  const sorted = await page.evaluate(async () => {
    const { inOrder } = await import('/format.js');
    const keys = ['', '\\x00', '\\x1f', 'A', 'A\\x00', 'Z', '\\\\', 'a', '\\x7f', '\\xff'];
    return keys.every((key, i) => i === 0 || inOrder(keys[i - 1]) < inOrder(key));
  });
  check('keys of any bytes are in their order', sorted);
  const shorter = await page.evaluate(async () => {
    const { key } = await import('/format.js');
    return [key('', 'first'), key('a\\\\b\\x00', ''), key('k'.repeat(96), '') === 'k'.repeat(96), key('\\x00'.repeat(4096), '')];
  });
  check('of long keys beginning and end are told', JSON.stringify(shorter) === JSON.stringify(['first', 'a\\\\b\\x00', true, `${'\\x00'.repeat(64)}…${'\\x00'.repeat(24)}`]), shorter);

  await page.goto(`${base}/#/table/USERS?${window_}`);
  await heatOf(page);
  await page.locator('.picture').focus();
  await page.keyboard.press('Home');
  const heard = await page.locator('#live').innerText();
  check('the keyboard finds the hottest', /user2[0-4]/.test(heard), heard);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  check('and moves', (await page.locator('#live').innerText()) !== heard);
  await page.keyboard.press('Enter');
  check('and pins', await page.locator('.pins li').count() >= 1);
  await page.keyboard.press('+');
  await page.waitForFunction(() => location.hash.includes('end='));
  await heatOf(page);
  check('and zooms', (await page.evaluate(() => location.hash)).includes('end='));
  check('and has the focus still', await page.evaluate(() => document.activeElement.classList.contains('picture')));
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => !location.hash.includes('end='));
  check('and comes back', true);

  await heatOf(page);
  await page.locator('.bands button', { hasText: 'user3' }).first().click();
  await page.waitForFunction(() => location.hash.includes('start=user3'));
  check('a prefix can be looked at alone', (await page.evaluate(() => location.hash)).includes('end=user4'), await page.evaluate(() => location.hash));

  await page.goto(`${base}/#/table/USERS?${window_}`);
  await heatOf(page);
  await page.locator('details summary', { hasText: 'The same as a table' }).click();
  const cells = await page.locator('details table tbody tr').first().innerText();
  check('the picture as a table names the hot range first', /user2[0-4]\d\d/.test(cells), cells);
  await page.selectOption('#metric', 'writes');
  await page.waitForFunction(() => location.hash.includes('metric=writes'));
  await page.waitForSelector('.picture[aria-label*="Writes of USERS"]');
  check('another metric', true);
  await page.close();
}

// --- where the address names no window: what is known -----------------------------------------------------------------

{
  const page = await open('#/servers');
  const spans = [];
  await page.route('**/api/v1/heat?**', async (route) => {
    const answer = await route.fetch();
    const heat = await answer.json();
    spans.push(new URL(route.request().url()).searchParams.get('last_s'));
    heat.column_totals = heat.column_totals.map((_, i) => (i + 3 < heat.columns ? 0 : 1)); // as if all else had been quiet
    await route.fulfill({ response: answer, json: heat });
  });
  await page.goto(`${base}/#/table/USERS`);
  await heatOf(page);
  check('of 15 minutes only what is known is shown', spans.slice(0, 2).join() === '900,120', spans);
  check('and the list says so', (await page.locator('#last option:checked').innerText()) === 'up to 15 min');
  await page.close();
}

// --- other views, phone, names for readers ----------------------------------------------------------------------------

/** What a reader who cannot see the page goes by. */
async function readable(page, name) {
  const nameless = await page.evaluate(() => [...document.querySelectorAll('a, button, input, select, [tabindex="0"]')].filter((element) => !(element.getAttribute('aria-label') || element.innerText?.trim() || element.closest('label')?.innerText.trim() || element.title)).map((element) => element.outerHTML.slice(0, 80)));
  check(`${name}: all that has the focus has a name`, nameless.length === 0, nameless);
  const headless = await page.evaluate(() => [...document.querySelectorAll('th')].filter((cell) => cell.textContent === '').length);
  check(`${name}: each column has a name`, headless === 0, headless);
}

for (const [name, hash, words] of [['overview', '#/', 'USERS'], ['tables', '#/tables', 'QUIET'], ['servers', '#/servers', 'alive'], ['diagnostics', '#/diagnostics', 'Busy tablets'], ['tablets', '#/table/USERS/tablets', 'serving'], ['quiet', '#/table/QUIET', 'No load was seen'], ['nope', '#/table/NOPE', 'There is no table NOPE'], ['begin', `#/table/USERS?${window_}`, 'These keys begin with user']]) {
  const page = await open(hash);
  const shown = await page.waitForFunction((text) => document.querySelector('main').innerText.includes(text), words, { timeout: 60000 }).then(() => true, () => false);
  check(`${name} shows ${words}`, shown, shown ? '' : await page.locator('main').innerText());
  await page.waitForTimeout(400);
  await shot(page, name);
  await readable(page, name);
  if (name === 'quiet') check('without a picture there is no scale of it', !(await page.locator('.legend').isVisible()));
  await page.close();
}
// What is decided depends on how fast this machine is; so the events are made up.
for (const [name, decided, words] of [
  ['no events', [], ['Nothing was decided']],
  ['events', [
    { kind: 'split', outcome: 'done', text: 'split at <b>user2250</b>', why: '', name: 'USERS', start: 'user2000', end: 'user2500' },
    { kind: 'move', outcome: 'under_way', text: 'moved', why: '', name: '', start: '', end: 'user0500', from: '1', to: '77' },
    { kind: 'refuse', outcome: 'refused', text: 'one key has it all', why: 'popular_key', name: 'USERS', start: 'user9500', end: '' },
    { kind: 'merge', outcome: 'done', text: 'both are cold', why: '', name: 'USERS', start: 'k'.repeat(4096), end: '' },
  ], ['Split', 'done', 'split at <b>user2250</b>', 'user2000 … user2500', 'under way', 'first key … user0500', '→ 77', 'Refused', 'popular_key', 'user9500 … last key', `${'k'.repeat(64)}…${'k'.repeat(24)} … last key`]],
]) {
  const page = await open('#/');
  await page.route('**/api/v1/events?**', (route) => route.fulfill({
    json: { events: decided.map((event, i) => ({ change: i + 1, number: String(i + 1), time_us: known.end_us, ended_us: 0, table: '99', from: '0', to: '0', ...event })), next: 0 },
  }));
  await page.goto(`${base}/#/events`);
  const missing = await page.waitForFunction((all) => all.every((text) => document.querySelector('main').innerText.includes(text)), words, { timeout: 60000 }).then(() => '', () => page.locator('main').innerText());
  check(`${name}: each is shown, with its words`, missing === '', missing);
  if (decided.length > 0) check('the title has all of a long key', await page.locator(`[title="${'k'.repeat(4096)} … last key"]`).count() === 1);
  await shot(page, name);
  await readable(page, name);
  await page.close();
}
// What is read on a colour that is mixed of its own: 4.5 : 1 is the least that is asked for.
for (const colorScheme of ['light', 'dark']) {
  const page = await open('#/', { colorScheme });
  await page.waitForSelector('table');
  const least = await page.evaluate(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const painted = (...colours) => { for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); } return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
    const light = (rgb) => rgb.map((value) => value / 255).map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)).reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
    const card = getComputedStyle(document.querySelector('.card')).backgroundColor;
    return ['good', 'warn', 'bad'].map((kind) => {
      const chip = document.createElement('span');
      chip.className = `chip ${kind}`;
      document.querySelector('.card').append(chip);
      const { color, backgroundColor } = getComputedStyle(chip);
      const [a, b] = [light(painted(card, backgroundColor)), light(painted(card, color))];
      chip.remove();
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    });
  });
  check(`${colorScheme}: states can be read`, least.every((contrast) => contrast >= 4.5), least);
  await page.close();
}
for (const [name, hash] of [['phone-overview', '#/'], ['phone-heat', `#/table/USERS?${window_}`], ['phone-servers', '#/servers'], ['phone-diagnostics', '#/diagnostics'], ['phone-tablets', '#/table/USERS/tablets']]) {
  const page = await open(hash, { viewport: { width: 360, height: 780 }, hasTouch: true, isMobile: true });
  await page.waitForTimeout(1200);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  check(`${name} is no wider than the phone`, wide <= 360, wide);
  const cut = await page.evaluate(() => [...document.querySelectorAll('.bars .name')].filter((name) => name.scrollWidth > name.clientWidth).length);
  check(`${name} on a phone: servers have their whole names`, cut === 0, cut);
  await shot(page, name);
  if (name === 'phone-heat') {
    await page.locator('.picture').tap();
    check('a tap pins', await page.locator('.pins li').count() === 1);
  }
  await page.close();
}
{
  const page = await open('#/');
  const dark = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const before = await dark();
  await page.locator('#theme').click();
  await page.locator('#theme').click();
  check('the switch makes it dark', (await dark()) !== before);
  await page.reload();
  check('and it stays so', (await dark()) !== before);
  await page.close();
}

await lookAtTrouble({ browser, base, check, open, heatOf, window_ });

// --- said in the browser's log: a table without load is not found, which is how it is told --------------------------------

const wrong = said.filter((text) => !/Failed to load resource: .*404/.test(text));
check('nothing is said in the log of the browser', wrong.length === 0, wrong);
await lookAtLab(browser, lab, check, shot);
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
