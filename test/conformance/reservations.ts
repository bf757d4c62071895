import { labels } from '../../api/labels.js';
import { offering } from '../cases/catalogues.js';
import type { CatalogueEntry } from '../checker/types.js';
import { plans, type Expected } from './plans.js';
import { about, notApplicable, same, type Check, type ConformanceCase } from './conformance-case.js';
import { antiAffinity } from './topology-terms.js';
import { oneOf, pod, pods, type, zone1, type PodOptions } from './world.js';

const reservation = 'karpenter.k8s.aws/capacity-reservation-id';

/** A type of which so many instances are reserved, beside what can be bought. */
function reserved(name: string, cpu: number, count: number): CatalogueEntry {
  const entry = type(name, { cpu, memory: 2 * cpu, pods: 5 * cpu });
  const made = offering(zone1, 'reserved', cpu / 1_000_000);
  const own = {
    ...made,
    ReservationCapacity: count,
    Requirements: [...made.Requirements, oneOf(reservation, `r-${name}`)],
  };
  return { ...entry, offerings: [...entry.offerings, own] };
}
const catalogue = [reserved('small', 2, 3), reserved('medium', 4, 2), reserved('large', 8, 1)];
const on = (name: string, more: PodOptions = {}): PodOptions => ({
  needs: [oneOf(labels.instanceType, name)],
  ...more,
});
const alone = (name: string): PodOptions => on(name, { labels: { app: 'x' }, ...antiAffinity('x', labels.hostname) });

/** How many pods are on reserved nodes; of those that are not, where they are is not asked. */
function holds(objects: Parameters<typeof plans>[0]['objects'], count: number, more: Expected = {}): Check {
  const check = plans({ catalogue, objects }, { ...more, by: { [labels.capacityType]: {} } });
  const read = (value: unknown): unknown => {
    const { by, ...rest } = value as { by: Record<string, Record<string, number>> };
    return { ...rest, reserved: by[labels.capacityType]?.['reserved'] };
  };
  return { outcome: () => read(check.outcome()), expected: { violations: [], left: [], ...more, reserved: count } };
}
const bookkeeping = 'the books of a scheduler that revises each choice; a plan is held against the counts as a whole';

/** pkg/controllers/provisioning/scheduling/reservationmanager_test.go */
export const reservationCases: readonly ConformanceCase[] = about('reserved capacity of a pass', [
  same([109, 162], 'a node uses it', holds([pod('p', on('large', { cpu: '4' }))], 1, { nodes: 1 })),
  same(
    [114, 134, 168],
    'pods of one node use one instance of it',
    holds(pods(2, on('large', { cpu: '3' })), 2, { nodes: 1 }),
  ),
  same(124, 'one reserved instance is used by one of two nodes', holds(pods(2, alone('large')), 1, { nodes: 2 })),
  notApplicable(
    [144, 228],
    'a reservation that there is not',
    'a mistake of the caller in Go; reservations are those of the catalogue here',
  ),
  same(
    178,
    'three reserved instances are used by three of four nodes',
    holds(pods(4, alone('small')), 3, { nodes: 4 }),
  ),
  same(
    [191, 199],
    'several reservations are used',
    holds([...pods(2, alone('small'), 's'), ...pods(2, alone('medium'), 'm')], 4, { nodes: 4 }),
  ),
  notApplicable(216, 'a mistake that takes more than is reserved', bookkeeping),
  same(
    [246, 273, 285, 299],
    'what a tentative node gives up is left for others',
    holds(
      [
        pod('any', { cpu: '1', labels: { app: 'x' }, ...antiAffinity('x', labels.hostname) }),
        ...pods(2, alone('medium'), 'm'),
        pod('l', alone('large')),
      ],
      4,
      { nodes: 4 },
    ),
  ),
  notApplicable([256, 263], 'giving back what was not taken', bookkeeping),
  notApplicable([315, 328, 347], 'taking and giving back in turn', bookkeeping),
]);
