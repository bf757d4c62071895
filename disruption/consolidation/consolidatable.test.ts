import { describe, expect, test } from 'vitest';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { labels } from '../../api/labels.js';
import { pool } from '../../test/builders/consolidation.js';
import type { NodeView } from '../candidates/candidates.js';
import { consolidatableAt, idleSince, settlesAt, whyNeverConsolidatable } from './consolidatable.js';

const at = (text: string): number => Date.parse(`2026-01-01T${text}Z`);
type ViewOptions = {
  event?: string;
  initialized?: string;
  consolidateAfter?: string;
  replicas?: number;
  isPoolGone?: boolean;
  isStandalone?: boolean;
};

function viewOf({
  event,
  initialized = '00:00:00',
  consolidateAfter = '30s',
  replicas,
  isPoolGone = false,
  isStandalone = false,
}: ViewOptions): NodeView {
  const status = initialized === 'never' ? 'False' : 'True';
  const lastTransitionTime = initialized === 'never' ? '2026-01-01T00:00:00Z' : `2026-01-01T${initialized}Z`;
  const claim = {
    metadata: { name: 'c', labels: isStandalone ? {} : { [labels.nodePool]: 'p' } },
    status: {
      conditions: [{ type: 'Initialized', status, lastTransitionTime, reason: '', message: '' }],
      ...(event === undefined ? {} : { lastPodEventTime: `2026-01-01T${event}Z` }),
    },
  } as unknown as NodeClaim;
  const own = pool('p', { disruption: { consolidateAfter }, ...(replicas === undefined ? {} : { replicas }) });
  return { claim, node: undefined, pool: isPoolGone || isStandalone ? undefined : own, pods: [], pricePerHour: 1 };
}

describe('consolidateAfter (consolidation/consolidate-after)', () => {
  test.each<[string, ViewOptions, number | undefined, number, number]>([
    ['counts from initialization on', {}, at('00:00:00'), at('00:00:30'), at('00:00:30')],
    ['counts from the last event of a pod on', { event: '00:10:00' }, at('00:10:00'), at('00:10:30'), at('00:10:30')],
    [
      'does not count before initialization',
      { initialized: 'never', event: '00:10:00' },
      undefined,
      Infinity,
      -Infinity,
    ],
    ['never ends', { consolidateAfter: 'Never' }, at('00:00:00'), Infinity, -Infinity],
    ['is none of a static NodePool', { replicas: 2 }, at('00:00:00'), Infinity, at('00:00:30')],
    ['is none where the NodePool is gone', { isPoolGone: true }, at('00:00:00'), Infinity, -Infinity],
  ])('%s', (_, options, idle, consolidatable, settled) => {
    const view = viewOf(options);
    expect([idleSince(view), consolidatableAt(view), settlesAt(view)]).toEqual([idle, consolidatable, settled]);
  });

  test.each<[string, ViewOptions, string]>([
    ['no NodePool', { isStandalone: true }, 'it has no NodePool label'],
    ['a NodePool that is gone', { isPoolGone: true }, 'its NodePool does not exist'],
    ['a static NodePool', { replicas: 2 }, 'its NodePool is static'],
    ['consolidateAfter: Never', { consolidateAfter: 'Never' }, 'its NodePool has consolidateAfter: Never'],
    ['an initialization to come', { initialized: 'never' }, 'it is not initialized'],
    ['a time that is none', { event: 'soon' }, 'its NodeClaim has no valid time from which consolidateAfter counts'],
  ])('never passes with %s, which is what is said', (_, options, why) => {
    const view = viewOf(options);
    expect([Number.isFinite(consolidatableAt(view)), whyNeverConsolidatable(view)]).toEqual([false, why]);
  });

  test('of a claim without status has not begun', () => {
    const { pool: own } = viewOf({});
    const claim = { metadata: { name: 'c' } } as unknown as NodeClaim;
    expect([idleSince({ claim }), settlesAt({ claim, pool: own })]).toEqual([undefined, -Infinity]);
  });
});
