import { describe, expect, test } from '@jest/globals';
import type { Node, Taint } from '../../api/kubernetes.js';
import { labels, taints } from '../../api/labels.js';
import { viewNodes } from './nodes.js';

const node = (initialized: boolean, present: Taint[]): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name: 'a',
    labels: { [labels.nodePool]: 'default', ...(initialized ? { [labels.initialized]: 'true' } : {}) },
  },
  spec: { taints: present },
});

describe('taints of a node as packing sees them', () => {
  const soft: Taint = { key: 'batch', effect: 'PreferNoSchedule' };

  test.each([true, false])('what steers pods during a drain is none (initialized: %s)', (initialized) => {
    const views = viewNodes({ nodes: [node(initialized, [soft, taints.steer])], pods: [], nodePools: [] }, undefined);

    expect(views.map((view) => view.taints)).toEqual([[soft]]);
  });
});
