import { describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { pod, pool } from '../../test/builders/consolidation.js';
import type { NodeView } from '../candidates/candidates.js';
import { consolidatableAt, idleSince, settlesAt, unsettledSince, whyNotConsolidatable } from './consolidatable.js';

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
  ])('with %s a node never becomes consolidatable, and the blocker says so', (_, options, why) => {
    const view = viewOf(options);
    expect([Number.isFinite(consolidatableAt(view)), whyNotConsolidatable(view, at('00:00:00'))]).toEqual([false, why]);
  });

  test('has not begun for a claim without status', () => {
    const { pool: own } = viewOf({});
    const claim = { metadata: { name: 'c' } } as unknown as NodeClaim;
    expect([idleSince({ claim }), settlesAt({ claim, pool: own })]).toEqual([undefined, -Infinity]);
  });
});

// The last pod event was at 00:10:00, and consolidateAfter is 30 seconds.
describe('pods that keep restarting consolidateAfter (consolidation/rolling-updates)', () => {
  const rolls = ' (a rolling update counts, also when its pods return to the node)';
  const owned = (kind: string, name: string, hash?: string): Pod['metadata'] => ({
    ownerReferences: [{ apiVersion: 'apps/v1', kind, name, uid: name, controller: true }],
    labels: hash === undefined ? {} : { 'pod-template-hash': hash },
  });
  const bound = (time: string): Pod['status'] => ({
    phase: 'Running',
    conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: `2026-01-01T${time}Z` }],
  });
  const came = (metadata: Pod['metadata'], time = '00:10:00'): Pod =>
    pod('p', 'n', 1, { metadata, status: bound(time) });
  const leaves = (metadata: Pod['metadata'], time: string): Pod =>
    pod('p', 'n', 1, {
      metadata: { ...metadata, deletionTimestamp: `2026-01-01T${time}Z`, deletionGracePeriodSeconds: 60 },
      status: bound('00:00:00'),
    });
  const ended = (metadata: Pod['metadata'], time: string): Pod =>
    pod('p', 'n', 1, {
      metadata,
      status: {
        phase: 'Succeeded',
        conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: `2026-01-01T${time}Z` }],
      },
    });
  const web = (hash: string): Pod['metadata'] => owned('ReplicaSet', `web-${hash}`, hash);
  const job = owned('Job', 'report');

  test.each<[string, Pod[], string]>([
    [
      'a rolling update',
      [came(web('b')), leaves(web('a'), '00:11:00')],
      `: pods of Deployment default/web came or left${rolls}`,
    ],
    ['a StatefulSet', [came(owned('StatefulSet', 'db'))], `: pods of StatefulSet default/db came or left${rolls}`],
    [
      'a ReplicaSet of no Deployment',
      [came(owned('ReplicaSet', 'web-b'))],
      ': pods of ReplicaSet default/web-b came or left',
    ],
    ['a Job that ended', [ended(job, '00:09:50')], ': pods of Job default/report came or left'],
    ['a pod without an owner', [came({})], ': pods of Pod default/p came or left'],
    [
      'several, the one with the most pods first',
      [came(job), came(web('b')), came(web('b'), '00:09:40')],
      `: pods of Deployment default/web and of 1 other workload came or left${rolls}`,
    ],
    [
      'none that changed within consolidateAfter',
      [came(job, '00:09:29'), leaves(job, '00:10:29'), ended(job, '00:09:29')],
      '',
    ],
    ['a DaemonSet, which does not restart it', [came(owned('DaemonSet', 'agent'))], ''],
  ])('are named: %s', (_, pods, says) => {
    const view = { ...viewOf({ event: '00:10:00' }), pods };
    expect(whyNotConsolidatable(view, at('00:10:10'))).toBe(`consolidateAfter holds until 2026-01-01T00:10:30Z${says}`);
    expect(whyNotConsolidatable(view, at('00:10:30'))).toBeUndefined();
  });

  const unsettledFrom = (time: string, options: ViewOptions = {}): NodeView => {
    const view = viewOf({ event: '00:10:00', ...options });
    view.claim.status!.conditions!.push({
      ...{ type: 'Unsettled', status: 'True', reason: '', message: '' },
      lastTransitionTime: `2026-01-01T${time}Z`,
    });
    return { ...view, pods: [came(web('b'))] };
  };

  test.each<[string, string, ViewOptions, boolean]>([
    ['ten minutes', '00:00:10', {}, true],
    ['less', '00:00:11', {}, false],
    ['less than five times consolidateAfter', '00:00:10', { consolidateAfter: '3m' }, false],
    ['any time with consolidateAfter: Never', '00:00:10', { consolidateAfter: 'Never' }, false],
    ['any time, and has come to rest since', '00:00:00', { event: '00:09:00' }, false],
  ])('for %s: whether the blocker mentions it', (_, from, options, isSaid) => {
    expect(unsettledSince(unsettledFrom(from, options), at('00:10:10'))).toBe(isSaid ? at(from) : undefined);
  });

  test('for long: the blocker gives the time since then instead of a time until, which each pod event would change', () => {
    expect(whyNotConsolidatable(unsettledFrom('00:00:00'), at('00:10:10'))).toBe(
      `consolidateAfter: 30s has not passed without a pod event since 2026-01-01T00:00:00Z: pods of Deployment default/web came or left${rolls}`,
    );
  });
});
