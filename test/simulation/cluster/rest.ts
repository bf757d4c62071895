import type { Invariants } from './invariants.js';
import type { SimulationPlan } from './stage.js';
import type { VirtualTime } from './virtual-time.js';

/** How often is looked whether everything is at rest, milliseconds. */
const lookMs = 60_000;

/**
 * Holds a cluster in which nothing goes wrong any more to come to rest within `healMs`, and to change nothing for `restMs` from then on
 * (invariants/eventually-stable). In the second half of that nothing is written, tried again or warned of. Goes on as soon as it has.
 */
export async function expectToRest(
  time: VirtualTime,
  invariants: Invariants,
  { healMs, restMs }: Pick<SimulationPlan, 'healMs' | 'restMs'>,
  isBroken: () => boolean,
): Promise<void> {
  const until = time.now + healMs;
  let before = invariants.fingerprint();
  let restsSince = time.now;
  let isListening = false;
  while (!isBroken() && time.now - restsSince < restMs) {
    if (!isListening && time.now - restsSince >= restMs / 2) {
      isListening = true;
      invariants.quiet.begin();
    }
    await time.advance(Math.min(time.now + lookMs, restsSince + restMs), isBroken);
    const isAtRest = invariants.unrest().length === 0;
    const after = invariants.fingerprint();
    if (isAtRest && after === before) continue;
    if (time.now >= until) {
      invariants.expectRest();
      if (isAtRest) invariants.expectUnchanged(before);
      return;
    }
    before = after;
    restsSince = time.now;
    isListening = false;
  }
  if (!isBroken()) for (const problem of invariants.quiet.heard()) invariants.broken(problem);
}
