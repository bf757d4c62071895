import type { LimiterClock } from '../../kube/limiter.js';
import { counted } from '../../core/text.js';
import { failed, okCheck, skipped, warning, type Check, type CheckOutcome } from './check.js';

/** Karpenter's lease may be this far in the future. */
const noticeableMs = 5000;
/** A lease is held for at most a minute, and AWS refuses requests that are five minutes off. */
const wrongMs = 60_000;
/** Servers report their clock in whole seconds. */
const resolutionMs = 1000;

export interface OtherClock {
  /** Such as `kubernetes`: the check's name is `clock-kubernetes`, and it depends on `needs`. */
  readonly of: string;
  readonly needs: string;
  /** Milliseconds since the epoch. */
  readonly time: () => Promise<number | undefined>;
}

/** Whether the local clock agrees with that of a server. */
export function clockCheck({ of, needs, time }: OtherClock, clock: Pick<LimiterClock, 'now'>): Check {
  return {
    name: `clock-${of}`,
    needs: [needs],
    unanswered: `see ${needs}, and the network`,
    run: async () => {
      const asked = clock.now();
      const other = await time();
      return other === undefined ? skipped('the answer names no time') : clockOutcome(of, asked, other, clock.now());
    },
  };
}

/**
 * `other` was read between `asked` and `answered`: only the difference beyond network latency and resolution counts.
 */
function clockOutcome(of: string, asked: number, other: number, answered: number): CheckOutcome {
  const ahead = asked - (other + resolutionMs);
  const behind = other - answered;
  const off = Math.max(ahead, behind, 0);
  if (off <= noticeableMs) return okCheck(`agrees with that of ${of}`);
  const found = `this clock is ${counted(Math.round(off / 1000), 'second')} ${ahead > 0 ? 'ahead of' : 'behind'} that of ${of}`;
  const mend = 'synchronise the clocks of the nodes (chrony, the Amazon Time Sync Service)';
  return off <= wrongMs ? warning(found, mend) : failed(found, mend);
}
