import { describe, expect, jest, test } from '@jest/globals';
import { node, packingInput, pod } from '../../test/builders/packing-fixtures.js';
import { placingOf } from '../../test/builders/placing.js';
import { spreads } from '../../test/builders/topology.js';
import { Journal, JournaledAssigner, JournaledTopologyCounts } from './journal.js';

describe('the journal of a trial', () => {
  test('undoes the last change first, back to its mark', () => {
    const journal = new Journal();
    const done = jest.fn();
    const note = (name: string) => journal.note({ undo: () => done(name), redo: () => done(`again ${name}`) });
    note('a');
    const mark = journal.mark();
    note('b');
    note('c');
    journal.rollback(mark);
    expect(done.mock.calls.flat()).toEqual(['c', 'b']);
    journal.rollback();
    expect(done.mock.calls.flat()).toEqual(['c', 'b', 'a']);
    expect(journal.mark()).toBe(0);
  });

  test('makes what it undid again, the first change first, and undoes it once more', () => {
    const journal = new Journal();
    const done = jest.fn();
    for (const name of ['a', 'b']) journal.note({ undo: () => done(name), redo: () => done(`again ${name}`) });
    journal.replay(journal.rollback());
    expect(done.mock.calls.flat()).toEqual(['b', 'a', 'again a', 'again b']);
    journal.rollback();
    expect(done.mock.calls.flat().slice(4)).toEqual(['b', 'a']);
  });

  test('undoes nothing after it is cleared', () => {
    const journal = new Journal();
    const done = jest.fn();
    journal.note({ undo: done, redo: done });
    journal.clear();
    journal.rollback();
    expect(done).not.toHaveBeenCalled();
    expect(journal.mark()).toBe(0);
  });
});

test('journaled topology counts are undone and made again', () => {
  const own = pod('p', { labels: { app: 'web' }, ...spreads() });
  const { compiled, nodes, rulesOf } = placingOf(packingInput({ pods: [own] }));
  const journal = new Journal();
  const counts = new JournaledTopologyCounts(journal, compiled, nodes);
  const group = rulesOf(own).spread[0]!;
  const outcome = () => [counts.count(group, 'a'), counts.owners(group, 'a'), counts.meetsHostAffinity(group, 'a')];
  counts.addSelected(group, 'a', 2);
  counts.addSelected(group, 'b', 1);
  counts.addOwner(group, 'a', 2);
  const before = outcome();
  expect(before).toEqual([2, 2, false]);
  journal.clear();
  counts.addSelected(group, 'a', 3);
  counts.addOwner(group, 'a', 4);
  counts.addFree(group, 'a', 1);
  const after = outcome();
  expect(after).toEqual([5, 6, true]);
  const changes = journal.rollback();
  expect(outcome()).toEqual(before);
  journal.replay(changes);
  expect(outcome()).toEqual(after);
});

test('pods, ports and volumes placed on a node are undone and made again', () => {
  const driver = 'csi';
  const own = pod('p', {
    labels: { app: 'web' },
    ...spreads(),
    containers: [{ name: 'main', ports: [{ hostPort: 80 }], resources: { requests: { cpu: '1' } } }],
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
  });
  const { compiled, feasibility, nodes, book, topologyCounts, targetOf } = placingOf(
    packingInput({
      pods: [own],
      nodes: [node('n')],
      storageClasses: [
        {
          apiVersion: 'storage.k8s.io/v1',
          kind: 'StorageClass',
          metadata: { name: 's' },
          provisioner: driver,
          volumeBindingMode: 'WaitForFirstConsumer',
        },
      ],
      persistentVolumeClaims: [
        {
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          metadata: { name: 'c', namespace: 'default' },
          spec: { storageClassName: 's' },
        },
      ],
    }),
  );
  const attached = new Map([[driver, new Set(['old'])]]);
  const state = { ...nodes[0]!, attach: { limits: new Map([[driver, 9]]), attached } };
  const journal = new Journal();
  const assigner = new JournaledAssigner(journal, compiled, feasibility, [state], book, topologyCounts);
  const { podClass, rules } = targetOf(own);
  const outcome = () => ({
    free: [...state.free],
    pods: [...state.pods],
    placed: state.placed!.length,
    ruled: state.placedWithRules!.length,
    ports: [...state.ports],
    attached: [...attached].map(([name, volumes]) => [name, [...volumes]]),
    placements: assigner.placements.length,
  });
  assigner.putOn(state, podClass, rules, [own]);
  const before = outcome();
  expect(before).toMatchObject({ pods: [own], placed: 1, ruled: 1, placements: 1 });
  journal.clear();
  attached.get(driver)!.delete('old');
  const late = outcome();
  assigner.putOn(state, podClass, rules, [own, own]);
  expect(outcome()).toMatchObject({ placed: 3, ruled: 3, placements: 2 });
  expect(assigner.placements.at(-1)).toEqual({ node: state, podClass, pods: [own, own] });
  const after = outcome();
  const changes = journal.rollback();
  expect(outcome()).toEqual(late);
  journal.replay(changes);
  expect(outcome()).toEqual(after);
  journal.rollback();
  const { index, view, free, kind, ports, pods, host } = state;
  const bare = { index, view, free, kind, ports, pods, host, attach: undefined };
  journal.clear();
  assigner.putOn(bare, podClass, rules, [own]);
  expect(bare.pods).toHaveLength(2);
  journal.rollback();
  expect(bare.pods).toHaveLength(1);
});
