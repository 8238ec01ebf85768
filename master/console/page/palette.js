// Colours of heat: from the colour of paper to that of fire.  Of each set the lightness only rises (dark) or only
// falls (light), so that it reads without colours, too.

const DARK = ['#15181d', '#1b2140', '#3b2467', '#6d2a7d', '#a3347a', '#d5486a', '#f2724d', '#fca63c', '#fde080', '#fffbe6'];
const LIGHT = ['#f4efe4', '#fbe6b4', '#fccf7d', '#faa94f', '#ef7d3a', '#d9532f', '#b3333c', '#84224c', '#541b52', '#2a1240'];

export const isDark = () => {
  const said = document.documentElement.dataset.theme;
  return said ? said === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
};

function parse(text) {
  return [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
}

/** 256 colours as little-endian RGBA, for ImageData. */
export function palette(dark = isDark()) {
  const stops = (dark ? DARK : LIGHT).map(parse);
  const colours = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    const [r, g, b] = [0, 1, 2].map((c) => Math.round(stops[low][c] + (stops[low + 1][c] - stops[low][c]) * (at - low)));
    colours[i] = (255 << 24) | (b << 16) | (g << 8) | r;
  }
  return colours;
}

export function setGround() {
  document.documentElement.style.setProperty('--heat-0', (isDark() ? DARK : LIGHT)[0]);
}

export const BANDS_LIGHT = ['#a8481f', '#23539f', '#2f7d4f', '#8a5a00', '#7a3d8f', '#0f7480'];
export const BANDS_DARK = ['#e58a5c', '#82aef2', '#6fc795', '#e0a84a', '#c792dc', '#63c3cf'];
