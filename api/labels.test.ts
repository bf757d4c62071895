import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import type { Node, Pod } from './kubernetes.js';
import { annotations, labels, readOfOthers, taints } from './labels.js';

// Rule `labels/what-is-believed`.
test('SECURITY.md describes the effect of every label and annotation read from Nodes and Pods', () => {
  const page = readFileSync(new URL('../SECURITY.md', import.meta.url), 'utf8');
  const rowsOf = (object: string): string =>
    page
      .split('\n')
      .filter((line) => line.startsWith(`| ${object} `))
      .join('\n');
  const { Node, Pod } = readOfOthers;
  const expected = {
    Node: [
      ...Node.annotations.map((name) => annotations[name]),
      ...Node.labels.map((name) => labels[name]),
      ...Node.taints.map((name) => taints[name].key),
    ],
    Pod: Pod.annotations.map((name) => annotations[name]),
  };

  for (const [object, keys] of Object.entries(expected))
    expect([...new Set(rowsOf(object).match(/[a-z.]+\.(sh|io|dev)\/[a-z-]+/g))].sort()).toEqual([...keys].sort());
});

test('the types of Node and Pod lack annotations that are read from NodeClaims alone', () => {
  const read = (node: Node, pod: Pod): readonly unknown[] => [
    // @ts-expect-error what a Node says of an interruption is nothing to parse
    node.metadata.annotations?.[annotations.interruption]?.length,
    // @ts-expect-error nor what it says of its owner
    node.metadata.annotations?.[annotations.disruptionOwner]?.length,
    // @ts-expect-error nor what a Pod says of a deadline
    pod.metadata.annotations?.[annotations.terminationTimestamp]?.length,
    node.metadata.annotations?.[annotations.doNotDisrupt]?.length,
  ];
  const object = { apiVersion: 'v1', metadata: {} };
  expect(read({ ...object, kind: 'Node' }, { ...object, kind: 'Pod', spec: { containers: [] } })).toHaveLength(4);
});
