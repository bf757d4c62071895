import { describe, expect, test } from '@jest/globals';
import { plan } from '../packing/plan.js';
import type { PackingInput, Plan } from '../packing/types.js';
import { instanceType, packingInput, pod, podsOf } from '../test/builders/packing-fixtures.js';
import { Assembly, answerPartsOf } from './answers.js';
import { SnapshotReceiver, SnapshotSender, type SnapshotMessage } from './snapshots.js';

const types = Array.from({ length: 60 }, (_, n) => instanceType(`m${n}`, { cpu: 1 + n, price: (1 + n) / 10 }));
const pods = podsOf(700, 'p', { cpu: '900m' });
const input = packingInput({ pods }, { types });

/** A sender and a keeper with a structured clone between them, as between threads. */
function connect() {
  const keeper = new SnapshotReceiver();
  const messages: SnapshotMessage[] = [];
  let turns = 0;
  const sender = new SnapshotSender(
    (message) => {
      messages.push(message);
      keeper.take(structuredClone(message));
    },
    () => {
      turns++;
      return Promise.resolve();
    },
  );
  const send = async (next: PackingInput): Promise<PackingInput> =>
    keeper.restore(structuredClone(await sender.send(next)));
  const objectsIn = (list: readonly SnapshotMessage[]): number =>
    list.reduce((sum, message) => sum + (message.kind === 'objects' ? message.objects.length : 0), 0);
  return { keeper, messages, send, objectsIn, turns: () => turns };
}

describe('snapshots sent to a packing thread', () => {
  test('give it the cluster that was sent', async () => {
    const { send } = connect();
    expect(await send(input)).toEqual(input);
  });

  test('send nothing again that it has, as the same object', async () => {
    const { send, messages } = connect();
    const first = await send(input);
    const before = messages.length;
    const second = await send({ ...input, now: 5 });
    expect(messages).toHaveLength(before);
    expect(second.now).toBe(5);
    expect(second.objects.pods[3]).toBe(first.objects.pods[3]);
    expect([...second.catalogues.values()][0]).toBe([...first.catalogues.values()][0]);
  });

  test('send only the changed pod', async () => {
    const { send, messages, objectsIn } = connect();
    await send(input);
    const before = messages.length;
    const changed = { ...input, objects: { ...input.objects, pods: [pod('new'), ...pods.slice(1)] } };
    expect(await send(changed)).toEqual(changed);
    expect(objectsIn(messages.slice(before))).toBe(1);
  });

  test('drop what is gone, catalogues too', async () => {
    const { send, keeper, messages } = connect();
    await send(input);
    const few = packingInput({ pods: pods.slice(0, 10) }, { types: types.slice(0, 1) });
    expect(await send(few)).toEqual(few);
    expect(keeper.size).toBeLessThan(20);
    expect(messages.at(-1)).toMatchObject({ kind: 'drop', catalogues: [expect.any(Number)] });
    expect(await send(input)).toEqual(input);
  });

  test('are sent in small messages, with a turn of the event loop after each', async () => {
    const { send, messages, turns } = connect();
    await send(input);
    const sizes = messages.map((message) => (message.kind === 'objects' ? message.objects.length : 0));
    expect(Math.max(...sizes)).toBe(200);
    expect(turns()).toBeGreaterThanOrEqual(Math.floor(700 / 200));
  });
});

describe('answers of a packing thread', () => {
  const assembled = (result: Plan): unknown => {
    const assembly = new Assembly();
    let whole: { readonly result: unknown } | undefined;
    for (const part of answerPartsOf('plan', result)) whole = assembly.take('plan', structuredClone(part));
    return whole?.result;
  };

  test('return the whole plan', () => {
    const unschedulable = [...podsOf(30, 'large', { cpu: '999' }), ...podsOf(30, 'larger', { cpu: '9999' })];
    const settings = { explainTypes: true };
    const result = plan(packingInput({ pods: [...pods, ...unschedulable] }, { types: types.slice(0, 3), settings }));
    expect(result.explanations).toHaveLength(2);
    expect(result.newNodeClaims.length).toBeGreaterThan(100);
    expect(result.unschedulable).toHaveLength(60);
    expect(assembled(result)).toEqual(result);
  });

  test('send pods that are unschedulable for one reason with that reason once', () => {
    const result = plan(packingInput({ pods: podsOf(3000, 'large', { cpu: '999' }) }, { types }));
    const parts = [...answerPartsOf('plan', result)];
    expect(parts.map(({ kind }) => kind)).toEqual(['unschedulable', 'unschedulable', 'result']);
    expect(assembled(result)).toEqual(result);
  });
});
