import { hierarchy, treemap, treemapSquarify } from 'd3-hierarchy';
import type { PageNode } from '../snapshot.js';
import type { View } from './view.js';

/** Pixels. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface PodBox extends Box {
  /** Index into the snapshot's workloads; -1 for DaemonSet pods. */
  readonly workload: number;
}

export interface NodeBox extends Box {
  readonly node: PageNode;
  readonly pods: readonly PodBox[];
}

export interface GroupBox extends Box {
  readonly name: string;
  readonly nodes: readonly NodeBox[];
}

const index = { cpu: 0, memory: 1, gpu: 2 } as const;
const header = 22;
/** What a node of at least this size has above its pods: its type and marks. */
export const strip = 18;
export const hasStrip = ({ width, height }: Box): boolean => width >= 64 && height >= 44;

interface Item {
  readonly name?: string;
  readonly node?: PageNode;
  readonly size?: number;
  readonly children?: readonly Item[];
}

/** Groups, and in them the nodes: the area of each is what it can hold of the resource. */
export function layout(
  nodes: readonly PageNode[],
  { group, resource }: Pick<View, 'group' | 'resource'>,
  width: number,
  height: number,
): readonly GroupBox[] {
  const groups = new Map<string, PageNode[]>();
  for (const node of nodes) {
    const key = node[group] === '' ? 'unknown' : node[group];
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [node]);
    else known.push(node);
  }
  const d = index[resource];
  // What has nothing of the resource stays visible.
  const least = Math.max(1, ...nodes.map(({ allocatable }) => allocatable[d])) / 50;
  const items = [...groups].map(([name, own]) => ({
    name,
    children: own.map((node) => ({ node, size: Math.max(least, node.allocatable[d]) })),
  }));
  const root = hierarchy<Item>({ children: items })
    .sum(({ size = 0 }) => size)
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0) || nameOf(a.data).localeCompare(nameOf(b.data)));
  const tree = treemap<Item>()
    .size([width, height])
    .tile(treemapSquarify.ratio(1.3))
    .round(true)
    .paddingInner((each) => (each.depth === 0 ? 8 : nodes.length > 200 ? 2 : 4))
    .paddingTop((each) => (each.depth === 1 ? header : 0))(root);
  return (tree.children ?? []).map((each) => ({
    ...boxOf(each),
    name: each.data.name ?? '',
    nodes: (each.children ?? []).map((leaf) => {
      const box = boxOf(leaf);
      return { ...box, node: leaf.data.node!, pods: podBoxes(leaf.data.node!, d, box) };
    }),
  }));
}

const nameOf = ({ name, node }: Item): string => name ?? node?.name ?? '';

const boxOf = ({ x0, y0, x1, y1 }: { x0: number; y0: number; x1: number; y1: number }): Box => ({
  ...{ x: x0, y: y0 },
  ...{ width: x1 - x0, height: y1 - y0 },
});

/** Pods fill their node from the bottom: the area above them is free. */
function podBoxes(node: PageNode, d: number, box: Box): PodBox[] {
  const { x, y, width, height } = box;
  const total = Math.max(node.allocatable[d]!, 1);
  const top = hasStrip(box) ? strip : 1;
  const inner = { x: x + 1, y: y + top, width: Math.max(0, width - 2), height: Math.max(0, height - top - 1) };
  const used = node.daemons[d]! + node.pods.reduce((sum, [, count, ...size]) => sum + count * size[d]!, 0);
  const filled = Math.min(1, used / total) * inner.height;
  if (filled < 1 || inner.width < 2) return [];
  const leaves = [
    ...(node.daemons[d]! > 0 ? [{ workload: -1, size: node.daemons[d]! }] : []),
    ...node.pods.flatMap(([workload, count, ...size]) =>
      Array.from({ length: count }, () => ({ workload, size: size[d]! })),
    ),
  ];
  const root = hierarchy<{ workload?: number; size?: number; children?: object[] }>({ children: leaves })
    .sum(({ size = 0 }) => size)
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  const tree = treemap<{ workload?: number }>().size([inner.width, filled]).paddingInner(1)(root);
  return (tree.children ?? []).map((leaf) => ({
    x: inner.x + leaf.x0,
    y: inner.y + inner.height - filled + leaf.y0,
    width: leaf.x1 - leaf.x0,
    height: leaf.y1 - leaf.y0,
    workload: leaf.data.workload ?? -1,
  }));
}

/** The node at a point. */
export function nodeAt(groups: readonly GroupBox[], x: number, y: number): NodeBox | undefined {
  const isIn = (box: Box): boolean => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height;
  return groups.find(isIn)?.nodes.find(isIn);
}
