// Many reasons to read something, few readings.

/**
 * A function that calls `read` after a short while; calls within that time become one. `now()` reads at once.
 * During a reading, a call makes one more afterwards, so that the last reading began after the last call.
 */
export function coalesced(read, delayMs = 150) {
  let timer = null;
  let running = null;
  let next = null;
  const now = () => {
    if (running) {
      next ??= running.then(() => {
        next = null;
        return now();
      });
      return next;
    }
    running = Promise.resolve(read()).finally(() => {
      running = null;
    });
    return running;
  };
  const later = () => {
    timer ??= setTimeout(() => {
      timer = null;
      now();
    }, delayMs);
  };
  later.now = now;
  later.cancel = () => {
    clearTimeout(timer);
    timer = null;
  };
  return later;
}
