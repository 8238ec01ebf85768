// As long as a view is there, it is made anew.

const REFRESH_MS = 2000;

/** Ask, draw, wait, as long as the view is there. */
export function repeat(signal, draw) {
  let timer = 0;
  const run = async () => {
    try {
      await draw();
    } catch (error) {
      if (error.name === 'AbortError') return;
    }
    if (!signal.aborted) timer = setTimeout(run, document.hidden ? 5 * REFRESH_MS : REFRESH_MS);
  };
  signal.addEventListener('abort', () => clearTimeout(timer));
  run();
}
