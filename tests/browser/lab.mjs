// The page of the lab (edubba-load lab celebrity --html): all of its tables can be read, on a screen and on a phone.

/** Of each view: what a check can look at. */
const look = (page) => page.evaluate(() => ({
  width: document.documentElement.scrollWidth,
  text: document.body.innerText,
  hidden: [...document.querySelectorAll('.scroll')].map((place) => place.scrollWidth - place.clientWidth),
  changes: document.querySelectorAll('.chart circle').length,
  cells: document.querySelectorAll('rect[data-tip]').length,
}));

/** Names of rows stay where they are while the figures beside them are moved. */
const namesStay = (page) => page.evaluate(() => {
  const place = document.querySelector('.scroll');
  place.scrollLeft = place.scrollWidth;
  return place.scrollLeft > 0 && place.querySelector('tbody td').getBoundingClientRect().left >= place.getBoundingClientRect().left - 1;
});

/** How high tablets are drawn whose first rows have bytes that do not print. */
const heights = (page) => page.evaluate(() => {
  const starts = ['', 'a\\x00', 'a1', 'a\\xff', 'b'];
  const map = starts.map((start, i) => ({ tablet: i + 1, start, end: starts[i + 1] ?? '', server: 1 }));
  const drawn = heat_map({ maps: [map], moments: [{ map: 0, from_s: 0, to_s: 1, by_tablet: starts.map(() => 1) }] }, String, 400);
  return [...drawn.matchAll(/<rect [^>]*height="([^"]*)"/g)].map(([, height]) => Number(height));
});

/** What a chart of servers says on the way through it by arrows; then it is left. */
async function walk(page) {
  const said = [];
  await page.locator('.chart:has(svg[aria-label^="Share"])').first().focus();
  for (const arrow of ['ArrowRight', 'ArrowRight', 'ArrowRight']) {
    await page.keyboard.press(arrow);
    said.push(await page.textContent('#tip'));
  }
  await page.keyboard.press('Tab');
  return said;
}

export async function lookAtLab(browser, address, check, shot) {
  const said = [];
  const open = async (options) => {
    const page = await browser.newPage({ colorScheme: 'light', deviceScaleFactor: 1, ...options });
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(error.message));
    page.on('request', (request) => { if (request.url() !== address) said.push(`asked elsewhere: ${request.url()}`); });
    await page.goto(address);
    return page;
  };

  const wide = await open({ viewport: { width: 1280, height: 860 } });
  const screen = await look(wide);
  check('lab: each table is there', screen.hidden.length === 2, screen.hidden);
  check('lab: on a screen all columns of a table are seen', screen.hidden.every((pixels) => pixels <= 0), screen.hidden);
  check('lab: the chart says what it counts', screen.text.includes('Writes over time, events a second'));
  check('lab: and what its dots are, where there are any', screen.text.includes('● a tablet was split') === screen.changes > 0, screen.changes);
  check('lab: charts are drawn', screen.cells > 20, screen.cells);
  const drawn = await heights(wide);
  check('lab: tablets stand in the order of their rows, whatever bytes these have', drawn.length === 5 && drawn.every((height) => height > 0), drawn);
  const large = await wide.evaluate(() => {
    const map = Array.from({ length: 500 }, (_, i) => ({ tablet: i + 1, start: i ? String(i).padStart(4, '0') : '', end: '', server: 1 }));
    return heat_map({ maps: [map], moments: Array.from({ length: 400 }, (_, i) => ({ map: 0, from_s: i, to_s: i + 1, by_tablet: map.map(() => 1) })) }, String, 400).length;
  });
  check('lab: a run of 500 tablets and 400 moments is drawn', large > 0, large);
  check('lab: what is wrong with the schema is said', screen.text.includes('are about one user, u000042'), screen.text.slice(0, 600));
  const figures = await walk(wide);
  check('lab: arrows go from figure to figure', figures.every((text) => text) && new Set(figures).size === figures.length, figures);
  check('lab: and what is left says nothing more', await wide.isHidden('#tip'));
  const names = await wide.evaluate(() => [...document.querySelectorAll('.scroll, .chart, th')].filter((place) => !(place.getAttribute('aria-label') || place.textContent)).length);
  check('lab: charts, tables and columns have names', names === 0, names);
  await shot(wide, 'lab');
  await wide.close();

  const phone = await open({ viewport: { width: 360, height: 780 }, hasTouch: true, isMobile: true, colorScheme: 'dark' });
  const { width } = await look(phone);
  check('lab: the page is no wider than the phone', width <= 360, width);
  check('lab: on a phone names stay beside their figures', await namesStay(phone));
  await shot(phone, 'phone-lab');
  await phone.close();
  check('lab: nothing is said in the log of the browser', said.length === 0, said);
}
