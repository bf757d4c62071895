import { timestamp } from '../../../core/conditions.js';
import { consolidatableAt } from '../../../disruption/consolidation/consolidatable.js';
import type { Flag } from './clock.js';
import type { World } from './world.js';

/** An event within so long after the one that was written waits until then (as the operator does it). */
const dedupeMs = 10_000;

/** Writes lastPodEventTime (consolidation/last-pod-event), and rings when a node has become consolidatable. */
export function watchPodEvents(world: World, changed: Flag): void {
  const { cache, clock, kube } = world;
  const waiting = new Set<string>();
  const note = async (nodeName: string): Promise<void> => {
    const providerId = cache.get('Node', { name: nodeName })?.spec?.providerID ?? '';
    const name = cache.nodeClaimByProviderId(providerId)?.metadata.name;
    if (name === undefined || waiting.has(name)) return;
    waiting.add(name);
    const last = Date.parse(cache.get('NodeClaim', { name })?.status?.lastPodEventTime ?? '');
    if (last + dedupeMs > clock.now) await clock.sleep(last + dedupeMs - clock.now);
    waiting.delete(name);
    const status = { lastPodEventTime: timestamp(clock.now) };
    await kube.patch('NodeClaim', { name }, { status }, { subresource: 'status' });
  };
  cache.on('Pod', ({ type, object, previous }) => {
    const isBound = previous !== undefined && (previous.spec.nodeName ?? '') === '';
    const nodeName = object.spec.nodeName ?? '';
    if (nodeName !== '' && (type === 'deleted' || isBound)) void note(nodeName);
  });
  cache.on('NodeClaim', ({ type, object, previous }) => {
    if (type === 'deleted' || previous?.status?.lastPodEventTime === object.status?.lastPodEventTime) return;
    const pool = cache.all('NodePool')[0];
    const at = consolidatableAt({ claim: object, pool, pods: [], pricePerHour: 0 });
    if (Number.isFinite(at)) void clock.sleep(at + 50 - clock.now).then(() => changed.set());
  });
}
