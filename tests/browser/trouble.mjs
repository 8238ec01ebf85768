// What the console says of a master that stands by, that refuses, and that is silent; what stays while it is made anew.

const answer = (status, body) => ({ status, contentType: 'application/json', body: JSON.stringify(body) });
const untilSaid = (page, words) => page.waitForFunction((text) => document.body.innerText.includes(text), words);

/** { browser, base, check } and, of console.mjs, how it opens a page of the known history. */
export async function lookAtTrouble({ browser, base, check, open, heatOf, window_ }) {
  await lookAtStandby(browser, base, check);
  await lookAtSilence(browser, base, check);
  await lookAtZoom(check, open, heatOf, window_);
}

async function lookAtStandby(browser, base, check) {
  for (const hash of ['#/', '#/tables', '#/servers', '#/events', '#/diagnostics']) {
    const page = await browser.newPage();
    page.setDefaultTimeout(60000);
    await page.route('**/api/v1/**', (route) => {
      const path = new URL(route.request().url()).pathname;
      if (path.endsWith('/cluster')) return route.fulfill(answer(200, { role: 'standby', cluster: '1', active: 'tcp://10.0.0.2:7000', alarms: [] }));
      if (path.endsWith('/load')) return route.fulfill(answer(200, { now_us: 1, servers: [], tablets: [] }));
      return route.fulfill(answer(503, { error: { status: 'UNAVAILABLE', text: 'stands by' } }));
    });
    await page.goto(`${base}/${hash}`);
    await untilSaid(page, 'the active one is tcp://10.0.0.2:7000');
    const text = await page.innerText('main');
    check(`${hash} of a standby names the active master, and says nothing of tables and servers`, !/There are no tables yet|No tablet server has come|Nothing was decided|No tablet has anything/.test(text), text);
    await page.close();
  }
}

async function lookAtSilence(browser, base, check) {
  const page = await browser.newPage({ viewport: { width: 360, height: 700 } });
  page.setDefaultTimeout(60000);
  await page.goto(`${base}/#/servers`);
  await page.waitForSelector('.scroll td');
  await page.evaluate(() => { const region = document.querySelector('.scroll'); region.dataset.old = 'yes'; region.scrollLeft = 120; region.focus(); });
  await page.waitForFunction(() => document.querySelector('.scroll') && !document.querySelector('.scroll').dataset.old);
  const stays = await page.evaluate(() => [document.querySelector('.scroll').scrollLeft, document.activeElement.className]);
  check('what is made anew stays scrolled, and has the focus', stays[0] === 120 && stays[1] === 'scroll', stays);
  await page.route('**/api/v1/**', (route) => route.fulfill(answer(503, { error: { status: 'UNAVAILABLE', text: 'too busy just now' } })));
  await untilSaid(page, 'too busy just now');
  check('a refusal is said, and of when the figures are', /What is shown is of/.test(await page.innerText('#trouble')), await page.innerText('#trouble'));
  await page.unroute('**/api/v1/**');
  await page.waitForFunction(() => document.getElementById('trouble').textContent === '');
  await page.route('**/api/v1/**', (route) => route.abort());
  await untilSaid(page, 'The master does not answer.');
  check('nothing is live then', await page.getAttribute('#pulse', 'data-state') === 'lost');
  await page.close();
}

async function lookAtZoom(check, open, heatOf, window_) {
  const page = await open(`#/table/USERS?${window_}&start=user2000&end=user3000`);
  await heatOf(page);
  await page.selectOption('#metric', 'reads');
  await page.waitForFunction(() => location.hash.includes('metric=reads'));
  await heatOf(page);
  await page.click('#back');
  await page.waitForFunction(() => !location.hash.includes('start='));
  check('from an address that was sent, zooming out shows the whole table, by the same metric', /metric=reads/.test(await page.evaluate(() => location.hash)), await page.evaluate(() => location.hash));
  await page.close();
}
