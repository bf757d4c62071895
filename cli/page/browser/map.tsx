import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { PageCommand, PageNode } from '../snapshot.js';
import { type Colours, coloursOf } from './colours.js';
import { cores, gibibytes, perHour, podsOn, used } from './format.js';
import { type Box, type GroupBox, layout, nodeAt, type NodeBox } from './layout.js';
import { found, hovered, show, snapshot, view } from './state.js';

/** Distinguishable with colour blindness (Okabe and Ito). */
const capacityColours: Readonly<Record<string, string>> = {
  spot: '#e69f00',
  'on-demand': '#0072b2',
  reserved: '#009e73',
};

const ghostHeight = 44;

/** The cluster drawn on a canvas: a box for each node, filled by its pods. */
export function Map() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const { group, resource, node: selected, command: commandId, theme } = view.value;
  const nodes = found.value;
  const command = snapshot.value?.commands.find(({ workflowId }) => workflowId === commandId);

  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      const { width, height } = entry!.contentRect;
      setSize({ width: Math.floor(width), height: Math.floor(height) });
    });
    observer.observe(frame.current!);
    return () => observer.disconnect();
  }, []);

  const below = command === undefined || command.launches.length === 0 ? 0 : ghostHeight;
  const groups = useMemo(
    () => (size.width === 0 ? [] : layout(nodes, { group, resource }, size.width, size.height - below)),
    [nodes, group, resource, size, below],
  );

  /** All but what changes while the pointer moves, drawn once. */
  const picture = useMemo(
    () => (size.width === 0 || frame.current === null ? undefined : drawn(groups, size, coloursOf(frame.current))),
    [groups, size, theme],
  );

  useEffect(() => {
    const { current: element } = canvas;
    if (element === null || picture === undefined) return;
    const context = element.getContext('2d')!;
    const ratio = devicePixelRatio;
    element.width = size.width * ratio;
    element.height = size.height * ratio;
    context.drawImage(picture, 0, 0);
    context.scale(ratio, ratio);
    const colours = coloursOf(frame.current!);
    const at = (name: string): NodeBox | undefined => {
      for (const each of groups) for (const box of each.nodes) if (box.node.name === name) return box;
      return undefined;
    };
    for (const [name, width] of [
      [hovered.value, 1.5],
      [selected, 3],
    ] as const) {
      const box = at(name);
      if (box === undefined) continue;
      context.strokeStyle = colours.accent;
      context.lineWidth = width;
      context.strokeRect(box.x, box.y, box.width, box.height);
    }
    if (command !== undefined) drawMoves(context, command, at, size, colours);
  }, [picture, hovered.value, selected, command]);

  const boxAt = (event: MouseEvent): NodeBox | undefined => {
    const { left, top } = canvas.current!.getBoundingClientRect();
    return nodeAt(groups, event.clientX - left, event.clientY - top);
  };
  const over = nodes.find(({ name }) => name === hovered.value);
  return (
    <div class="map" ref={frame}>
      <canvas
        ref={canvas}
        style={{ width: `${size.width}px`, height: `${size.height}px` }}
        role="img"
        aria-label={`${nodes.length} nodes; the table view has the same as text`}
        onMouseMove={(event) => (hovered.value = boxAt(event)?.node.name ?? '')}
        onMouseLeave={() => (hovered.value = '')}
        onClick={(event) => show({ node: boxAt(event)?.node.name ?? '' })}
      />
      {over === undefined ? null : <Hint node={over} />}
    </div>
  );
}

function Hint({ node }: { readonly node: PageNode }) {
  const [cpu, memory] = used(node);
  return (
    <div class="hint" role="status">
      <b>{node.name}</b> {node.type} {node.capacityType} in {node.zone}, {perHour(node.pricePerHour)}, {node.state}
      <br />
      {podsOn(node)} pods; CPU {cores(cpu)} of {cores(node.allocatable[0])}, memory {gibibytes(memory)} of{' '}
      {gibibytes(node.allocatable[1])}
      {node.waits === undefined ? null : (
        <>
          <br />
          {node.waits}
        </>
      )}
    </div>
  );
}

/** Hues by workload: the same in every node and at every visit. */
function hueOf(name: string): number {
  let hash = 7;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) % 3600;
  return hash / 10;
}

function drawn(groups: readonly GroupBox[], { width, height }: { width: number; height: number }, colours: Colours) {
  const ratio = devicePixelRatio;
  const picture = document.createElement('canvas');
  picture.width = Math.max(1, width * ratio);
  picture.height = Math.max(1, height * ratio);
  const context = picture.getContext('2d')!;
  context.scale(ratio, ratio);
  const workloads = snapshot.value?.workloads ?? [];
  const fills = workloads.map((name) => `hsl(${hueOf(name)} 45% 62%)`);
  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'middle';
  for (const group of groups) {
    context.fillStyle = colours.text;
    const price = group.nodes.reduce((sum, { node }) => sum + node.pricePerHour, 0);
    write(
      context,
      `${group.name}  ${group.nodes.length} nodes, ${perHour(price)}`,
      group.x + 4,
      group.y + 10,
      group.width - 8,
    );
    for (const box of group.nodes) drawNode(context, box, fills, colours);
  }
  return picture;
}

function drawNode(context: CanvasRenderingContext2D, box: NodeBox, fills: readonly string[], colours: Colours): void {
  const { node, pods, x, y, width, height } = box;
  context.fillStyle = colours.node;
  context.fillRect(x, y, width, height);
  context.globalAlpha = node.state === 'draining' ? 0.45 : 1;
  for (const pod of pods) {
    context.fillStyle = pod.workload < 0 ? colours.daemon : (fills[pod.workload] ?? colours.muted);
    context.fillRect(pod.x, pod.y, Math.max(0.5, pod.width), Math.max(0.5, pod.height));
  }
  context.globalAlpha = 1;
  context.fillStyle = capacityColours[node.capacityType] ?? colours.muted;
  context.fillRect(x, y, width, Math.min(3, height));
  markNode(context, box, colours);
  if (width > 70 && height > 26) {
    context.fillStyle = colours.text;
    write(context, node.type, x + 4, y + 12, width - 8);
  }
}

/** Dashes for a node that starts or goes, a red edge for one that is not ready, a dot for one that a disruption concerns. */
function markNode(
  context: CanvasRenderingContext2D,
  { node, x, y, width, height }: Box & { node: PageNode },
  colours: Colours,
): void {
  const isOdd = node.state !== 'ready';
  context.strokeStyle = node.state === 'not ready' ? colours.alarm : colours.line;
  context.lineWidth = isOdd ? 1.5 : 1;
  context.setLineDash(isOdd && node.state !== 'not ready' ? [4, 3] : []);
  context.strokeRect(x + 0.5, y + 0.5, Math.max(0, width - 1), Math.max(0, height - 1));
  context.setLineDash([]);
  if (node.marks.length === 0 || width < 10 || height < 10) return;
  context.fillStyle = node.marks.includes('drifted') ? colours.alarm : colours.accent;
  context.beginPath();
  context.arc(x + width - 6, y + 8, 3, 0, 2 * Math.PI);
  context.fill();
}

function write(context: CanvasRenderingContext2D, text: string, x: number, y: number, width: number): void {
  if (width < 20) return;
  let shown = text;
  while (shown.length > 1 && context.measureText(shown).width > width) shown = `${shown.slice(0, -2)}…`;
  context.fillText(shown, x, y);
}

/** New nodes as dashed boxes at the bottom, and an arrow for each pod that moves. */
function drawMoves(
  context: CanvasRenderingContext2D,
  { nodes, launches, moves }: PageCommand,
  at: (name: string) => NodeBox | undefined,
  { width, height }: { width: number; height: number },
  colours: Colours,
): void {
  const ghosts = new globalThis.Map<string, Box>();
  launches.forEach(({ name, type, pods, pricePerHour }, i) => {
    const each = Math.min(220, width / launches.length);
    const box = { x: i * each + 2, y: height - ghostHeight + 4, width: each - 4, height: ghostHeight - 6 };
    ghosts.set(name, box);
    context.setLineDash([5, 4]);
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.strokeRect(box.x, box.y, box.width, box.height);
    context.setLineDash([]);
    context.fillStyle = colours.text;
    write(context, `${name}: ${type}`, box.x + 6, box.y + 12, box.width - 12);
    write(context, `${pods} pods, ${perHour(pricePerHour)}`, box.x + 6, box.y + 28, box.width - 12);
  });
  const centre = (box: Box): readonly [number, number] => [box.x + box.width / 2, box.y + box.height / 2];
  for (const box of nodes.map(at)) {
    if (box === undefined) continue;
    context.strokeStyle = colours.alarm;
    context.lineWidth = 2.5;
    context.strokeRect(box.x, box.y, box.width, box.height);
  }
  for (const { from, to } of moves) {
    const source = at(from);
    const target = ghosts.get(to) ?? at(to);
    if (source !== undefined && target !== undefined) arrow(context, centre(source), centre(target), colours.accent);
  }
}

function arrow(
  context: CanvasRenderingContext2D,
  [x0, y0]: readonly [number, number],
  [x1, y1]: readonly [number, number],
  colour: string,
): void {
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.globalAlpha = 0.7;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x0, y0);
  context.quadraticCurveTo((x0 + x1) / 2, (y0 + y1) / 2 - 30, x1, y1);
  context.stroke();
  const angle = Math.atan2(y1 - ((y0 + y1) / 2 - 30), x1 - (x0 + x1) / 2);
  context.beginPath();
  context.moveTo(x1, y1);
  for (const turn of [0.4, -0.4]) context.lineTo(x1 - 9 * Math.cos(angle + turn), y1 - 9 * Math.sin(angle + turn));
  context.fill();
  context.globalAlpha = 1;
}
