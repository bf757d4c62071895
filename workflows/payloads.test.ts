import { describe, expect, test } from '@jest/globals';
import * as messages from './messages.js';
import { malformed, orderSignals, payloadShapes } from './payloads.js';

const claim = { name: 'c', uid: 'u' };

/** Of each signal, what is well formed. */
const wellFormed: Readonly<Record<string, readonly unknown[]>> = {
  podsPending: [undefined],
  deletingNodes: [{ nodes: ['n'], until: 0, marks: [{ kind: 'Node', name: 'n', resourceVersion: '1' }] }],
  replace: [{ id: 'i', nodes: [], replyTo: 'w', reason: 'expired', holdMs: 1 }],
  replacementsPlanned: [{ id: 'i', claims: [claim], unplaced: 0 }],
  nodeChanged: [undefined],
  stopLaunch: [{}, { replyTo: 'w' }],
  launchStopped: [{}, { providerId: 'p' }],
  launchEnded: [{ uid: 'u', outcome: 'initialized' }],
  interruption: [{ kind: 'spot', instanceId: 'i', at: 1, messageId: 'm' }],
  offeringsRefused: [[], [{ capacityType: 'spot', instanceType: 't', zone: 'z', reason: 'r', until: 5 }]],
  offeringSucceeded: [{ capacityType: 'spot', instanceType: 't', zone: 'z' }],
  clusterChanged: [undefined],
  replicasChanged: [undefined],
  rolloutChanged: [undefined],
  withdraw: [{ why: 'w' }],
}; // prettier-ignore

/** No signal with a payload takes any of these. */
const nonsense: readonly unknown[] = [7, 'text', true, [7], [null], { nodes: 7 }, { claims: null, id: {} }];
const withoutPayload = Object.keys(wellFormed).filter((name) => wellFormed[name]![0] === undefined);

const signals = (Object.values(messages) as readonly object[])
  .map((each) => each as { readonly type?: string; readonly name?: string })
  .flatMap(({ type, name }) => (type === 'signal' && name !== undefined ? [name] : []));

test('each signal has a schema, or is an order of a person', () => {
  expect([...new Set(signals)].sort()).toEqual([...payloadShapes.keys(), ...orderSignals].sort());
  expect(Object.keys(wellFormed).sort()).toEqual([...payloadShapes.keys()].sort());
});

describe.each(Object.keys(wellFormed))('the payload of %s', (name) => {
  test('is accepted with unknown fields', () => {
    for (const payload of wellFormed[name]!) {
      expect(malformed(name, payload)).toBeUndefined();
      if (typeof payload !== 'object' || Array.isArray(payload)) continue;
      expect(malformed(name, { ...payload, another: 1 })).toBeUndefined();
    }
  });

  test('is refused with the field, what was found and what is allowed', () => {
    if (withoutPayload.includes(name)) return;
    const bad = [undefined, null, ...nonsense];
    for (const payload of bad.filter((each) => !isFine(name, each))) {
      expect([payload, malformed(name, payload)]).toEqual([payload, expect.stringMatching(/ is .+: (give|allowed)/)]);
    }
  });

  test('is refused with a field of another type', () => {
    for (const payload of wellFormed[name]!) {
      if (typeof payload !== 'object' || payload === null) continue;
      for (const field of Object.keys(Array.isArray(payload) ? {} : payload)) {
        expect(malformed(name, { ...payload, [field]: { odd: true } })).toContain(field);
      }
    }
  });
});

/** Numbers that no date or timer can be made of, and ids that no server takes. */
test.each([
  ['deletingNodes', { nodes: [], until: 1e300, marks: [] }, 'until'],
  [
    'deletingNodes',
    { nodes: [], until: 0, marks: [{ kind: 'Pod', name: 'p', resourceVersion: '1' }] },
    'marks[0].kind',
  ],
  ['replace', { id: 'i', nodes: [], replyTo: '', reason: 'expired', holdMs: 1 }, 'replyTo'],
  ['replace', { id: 'i', nodes: [], replyTo: 'w', reason: 'expired', holdMs: 1e300 }, 'holdMs'],
  ['stopLaunch', { replyTo: '' }, 'replyTo'],
  ['interruption', { kind: 'spot', instanceId: 'i', at: -1e300, messageId: 'm' }, 'at'],
  [
    'offeringsRefused',
    [{ capacityType: 'spot', instanceType: 't', zone: 'z', reason: 'r', until: 1e300 }],
    '[0].until',
  ],
  ['stopLaunch', { replyTo: 'w'.repeat(1001) }, 'replyTo'],
] as const)('%s refuses %j, naming %s', (name, payload, field) => {
  expect(malformed(name, payload)).toMatch(`${field} is `);
});

test('ids in payloads may be of any script, and times as late as an expiration', () => {
  expect(malformed('stopLaunch', { replyTo: 'kü/terminate/1' })).toBeUndefined();
  const until = Date.parse('2300-01-01T00:00:00Z');
  expect(malformed('deletingNodes', { nodes: [], until, marks: [] })).toBeUndefined();
  expect(malformed('deletingNodes', { nodes: [], until: 1e300, marks: [] })).toMatch('until is ');
});

/** Signals of optional fields alone take any object. */
const isFine = (name: string, payload: unknown): boolean =>
  ['stopLaunch', 'launchStopped'].includes(name) &&
  typeof payload === 'object' &&
  payload !== null &&
  !Array.isArray(payload);
