import { describe, expect, test } from '@jest/globals';
import { input, node, od, pod, type } from '../../test/builders/consolidation.js';
import { alikeFirst } from './filling.js';
import { Trial } from './trial.js';

const lean = type('lean', 4, 8, od(0.15));
const even = type('even', 4, 16, od(0.2));
const rich = type('rich', 4, 32, od(0.25));
const nodes = [node('n0', rich), node('n1', even), node('n2', lean)];
// Pods of both makes, so that CPU and memory are both worth something.
const waiting = [
  pod('cpu', '', 2, { spec: { nodeName: undefined } }),
  pod('memory', '', 1, {
    spec: {
      nodeName: undefined,
      containers: [{ name: 'main', image: 'i', resources: { requests: { cpu: '1', memory: '7Gi' } } }],
    },
  }),
];
const trial = new Trial(input({ nodes, pods: waiting, types: [lean, even, rich] }), new Map());
const free = (name: string): Float64Array => trial.nodes.find(({ view }) => view.name === name)!.free;

describe('dissimilarity of two resource amounts', () => {
  test('is 0 for multiples, and grows with the worth of the differing resource', () => {
    const { worth } = trial;
    const half = free('n2').map((amount) => amount / 2);
    expect(worth.dissimilarity(half, free('n2'))).toBeCloseTo(0, 9);
    const near = worth.dissimilarity(free('n2'), free('n1'));
    expect(near).toBeGreaterThan(0);
    expect(worth.dissimilarity(free('n2'), free('n0'))).toBeGreaterThan(near);
  });

  test('is 2 where one amount is worth nothing', () => {
    expect(trial.worth.dissimilarity(free('n0'), new Float64Array(free('n0').length))).toBe(2);
  });
});

test('nodes whose free room resembles the request come first, and those without room are left out', () => {
  const names = (demand: Float64Array): string[] =>
    alikeFirst(trial.worth)(trial.nodes, demand).map(({ view }) => view.name);
  const quarter = (name: string): Float64Array => free(name).map((amount) => amount / 4);
  expect(names(quarter('n2'))).toEqual(['n2', 'n1', 'n0']);
  expect(names(quarter('n0'))).toEqual(['n0', 'n1', 'n2']);
  expect(names(free('n1'))).toEqual(['n1', 'n0']);
});
