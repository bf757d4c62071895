import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { annotations, labels, readOfOthers, taints } from './labels.js';

// Rule `labels/what-is-believed`. That nothing else is read, the types of Node and Pod hold.
test('SECURITY.md says of every key that is read of Nodes and Pods what it makes Stowage do', () => {
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
