import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { PageCommand, PageNode } from '../snapshot.js';
import { type Colours, coloursOf } from './colours.js';
import { cores, count, gibibytes, perHour, podsOn, used } from './format.js';
import { type Box, type GroupBox, hasStrip, layout, nodeAt, type NodeBox, strip } from './layout.js';
import { found, hovered, hoveredCommand, show, snapshot, view } from './state.js';

/** Hue and saturation, distinguishable with colour blindness (Okabe and Ito). */
const capacityHues: Readonly<Record<string, readonly [number, number]>> = {
  spot: [38, 88],
  'on-demand': [205, 70],
  reserved: [163, 60],
};
const otherHue = [260, 8] as const;

/** `shade` from 0 to 1: pods of one workload have the same. */
const capacityColour = (capacityType: string, shade = 0.5): string => {
  const [hue, saturation] = capacityHues[capacityType] ?? otherHue;
  return `hsl(${hue} ${saturation}% ${Math.round(46 + shade * 22)}%)`;
};

/** New nodes of a command lie over the top of the map, nearest to what describes them. */
const ghostTop = 30;
const ghostHeight = 50;

/** The cluster drawn on a canvas: a box for each node, filled by its pods. */
export function Map() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const { group, resource, node: selected, command: pinned, theme } = view.value;
  const commandId = hoveredCommand.value || pinned;
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

  const groups = useMemo(
    () => (size.width === 0 ? [] : layout(nodes, { group, resource }, size.width, size.height)),
    [nodes, group, resource, size],
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
    if (command !== undefined) veil(context, size, colours);
    const at = (name: string): NodeBox | undefined => boxOf(groups, name);
    const chosen = at(selected);
    if (chosen !== undefined) outline(context, chosen, colours.accent, 3);
    if (command !== undefined) drawMoves(context, command, at, size.width, colours);
  }, [picture, selected, command]);

  const boxAt = (event: MouseEvent): NodeBox | undefined => {
    const { left, top } = canvas.current!.getBoundingClientRect();
    return nodeAt(groups, event.clientX - left, event.clientY - top);
  };
  return (
    <div class="map" ref={frame}>
      <canvas
        ref={canvas}
        style={{ width: `${size.width}px`, height: `${size.height}px` }}
        role="img"
        aria-label={`map of ${count(nodes.length, 'node')}: choose table under “as” to read them`}
        onMouseMove={(event) => (hovered.value = boxAt(event)?.node.name ?? '')}
        onMouseLeave={() => (hovered.value = '')}
        onClick={(event) => show({ node: boxAt(event)?.node.name ?? '', pod: '' })}
      />
      <Hovered groups={groups} />
    </div>
  );
}

function boxOf(groups: readonly GroupBox[], name: string): NodeBox | undefined {
  if (name === '') return undefined;
  for (const each of groups) for (const box of each.nodes) if (box.node.name === name) return box;
  return undefined;
}

/** Of the node under the pointer: nothing else is drawn again while it moves. */
function Hovered({ groups }: { readonly groups: readonly GroupBox[] }) {
  const box = boxOf(groups, hovered.value);
  if (box === undefined) return null;
  const { node, x, y, width, height } = box;
  return (
    <>
      <div class="over" style={{ left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` }} />
      <Hint node={node} />
    </>
  );
}

function Hint({ node }: { readonly node: PageNode }) {
  const [cpu, memory] = used(node);
  return (
    <div class="hint">
      <b>{node.name}</b> {node.type} {node.capacityType} in {node.zone}, {perHour(node.pricePerHour)},{' '}
      {[node.state, ...node.marks].join(', ')}
      <br />
      {count(podsOn(node), 'pod')}; CPU {cores(cpu)} of {cores(node.allocatable[0])}, memory {gibibytes(memory)} of{' '}
      {gibibytes(node.allocatable[1])}
      {node.waits === undefined ? null : (
        <>
          <br />
          waits: {node.waits}
        </>
      )}
    </div>
  );
}

/** What the colours and marks mean, of those that are there. */
export function Legend() {
  const nodes = found.value;
  const types = [...new Set(nodes.map(({ capacityType }) => capacityType))].sort();
  const has = (is: (node: PageNode) => boolean): boolean => nodes.some(is);
  return (
    <p class="legend">
      {types.map((type) => (
        <span key={type}>
          <i style={{ background: capacityColour(type) }} /> {type || 'unknown'}
        </span>
      ))}
      <span>
        <i class="daemon" /> DaemonSets
      </span>
      <span>
        <i class="free" /> free
      </span>
      {has(isStarting) ? (
        <span>
          <i class="starting" /> starting
        </span>
      ) : null}
      {has(({ state }) => state === 'draining') ? (
        <span>
          <i class="draining" /> draining
        </span>
      ) : null}
      {has(({ state }) => state === 'not ready') ? (
        <span>
          <i class="not-ready" /> not ready
        </span>
      ) : null}
      {shownMarks
        .filter((mark) => has(({ marks }) => marks.includes(mark)))
        .map((mark) => (
          <span key={mark}>
            <i class="badge" aria-hidden="true">
              {markLetters[mark]}
            </i>{' '}
            {mark}
          </span>
        ))}
    </p>
  );
}

const isStarting = ({ state }: PageNode): boolean => state !== 'ready' && state !== 'not ready' && state !== 'draining';

/** By urgency: a node shows the first that it has. What is reserved has its colour. */
const markLetters = {
  ...{ interrupted: 'I', drifted: 'D', tainted: 'T', waiting: 'W', paused: 'P' },
  'do-not-disrupt': 'N',
} as const satisfies Partial<Record<PageNode['marks'][number], string>>;
const shownMarks = Object.keys(markLetters) as (keyof typeof markLetters)[];

/** From 0 to 1 by workload: the same in every node and at every visit. */
function shadeOf(name: string): number {
  let hash = 7;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) % 3600;
  return (hash % 7) / 6;
}

function drawn(groups: readonly GroupBox[], { width, height }: { width: number; height: number }, colours: Colours) {
  const ratio = devicePixelRatio;
  const picture = document.createElement('canvas');
  picture.width = Math.max(1, width * ratio);
  picture.height = Math.max(1, height * ratio);
  const context = picture.getContext('2d')!;
  context.scale(ratio, ratio);
  const shades = (snapshot.value?.workloads ?? []).map(shadeOf);
  context.textBaseline = 'middle';
  for (const group of groups) {
    const price = group.nodes.reduce((sum, { node }) => sum + node.pricePerHour, 0);
    context.font = '600 13px system-ui, sans-serif';
    context.fillStyle = colours.text;
    const end = write(context, group.name, group.x + 1, group.y + 10, group.width * 0.6);
    context.font = '12px system-ui, sans-serif';
    context.fillStyle = colours.muted;
    const rest = `${count(group.nodes.length, 'node')}, ${perHour(price)}`;
    write(context, rest, end + 8, group.y + 10, group.x + group.width - end - 10);
    for (const box of group.nodes) drawNode(context, box, shades, colours);
  }
  return picture;
}

function drawNode(context: CanvasRenderingContext2D, box: NodeBox, shades: readonly number[], colours: Colours): void {
  const { node, pods, x, y, width, height } = box;
  context.fillStyle = colours.node;
  context.fillRect(x, y, width, height);
  for (const pod of pods) {
    context.fillStyle = pod.workload < 0 ? colours.daemon : capacityColour(node.capacityType, shades[pod.workload]);
    context.fillRect(pod.x, pod.y, Math.max(0.5, pod.width), Math.max(0.5, pod.height));
  }
  if (node.state === 'draining') hatch(context, box, colours.card);
  markNode(context, box, colours);
}

/** Dashes for a node that starts, a red edge for one that is not ready, a letter for what a disruption concerns. */
function markNode(context: CanvasRenderingContext2D, { node, ...box }: NodeBox, colours: Colours): void {
  const { x, y, width, height } = box;
  if (isStarting(node)) {
    context.setLineDash([4, 3]);
    outline(context, box, colours.muted, 1.5);
    context.setLineDash([]);
  } else if (node.state === 'not ready') outline(context, box, colours.alarm, 2);
  const mark = shownMarks.find((one) => node.marks.includes(one));
  if (mark !== undefined && width >= 16 && height >= 16) {
    context.fillStyle = colours.card;
    context.strokeStyle = colours.text;
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(x + width - 9, y + 9, 6.5, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
    context.fillStyle = colours.text;
    context.font = '700 9px system-ui, sans-serif';
    context.textAlign = 'center';
    context.fillText(markLetters[mark], x + width - 9, y + 9.5);
    context.textAlign = 'left';
  }
  if (!hasStrip(box)) return;
  context.fillStyle = colours.muted;
  context.font = '11px system-ui, sans-serif';
  const state = [mark ?? '', node.state === 'ready' ? '' : node.state].find((text) => text !== '') ?? '';
  const label = [node.type, width > 220 ? node.name : '', width > 120 ? state : ''].filter((text) => text !== '');
  write(context, label.join('  ·  '), x + 5, y + strip / 2 + 1, width - (mark === undefined ? 10 : 24));
}

function outline(context: CanvasRenderingContext2D, box: Box, colour: string, lineWidth: number): void {
  context.strokeStyle = colour;
  context.lineWidth = lineWidth;
  const half = lineWidth / 2;
  context.strokeRect(
    box.x + half,
    box.y + half,
    Math.max(0, box.width - lineWidth),
    Math.max(0, box.height - lineWidth),
  );
}

function hatch(context: CanvasRenderingContext2D, { x, y, width, height }: Box, colour: string): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 3;
  context.beginPath();
  for (let at = -height; at < width; at += 9) {
    context.moveTo(x + at, y + height);
    context.lineTo(x + at + height, y);
  }
  context.stroke();
  context.restore();
}

/** Writes as much of the text as fits, and gives where it ends. */
function write(context: CanvasRenderingContext2D, text: string, x: number, y: number, width: number): number {
  if (width < 20) return x;
  // No letter is narrower than two pixels: long names are not measured letter by letter.
  let shown = text.length > width / 2 ? `${text.slice(0, width / 2)}…` : text;
  while (shown.length > 1 && context.measureText(shown).width > width) shown = `${shown.slice(0, -2)}…`;
  context.fillText(shown, x, y);
  return x + context.measureText(shown).width;
}

/** Fades all that a command does not concern. */
function veil(
  context: CanvasRenderingContext2D,
  { width, height }: { width: number; height: number },
  { card }: Colours,
) {
  context.globalAlpha = 0.55;
  context.fillStyle = card;
  context.fillRect(0, 0, width, height);
  context.globalAlpha = 1;
}

/** New nodes as dashed boxes over the map, and an arrow for each pod that moves. */
function drawMoves(
  context: CanvasRenderingContext2D,
  { nodes, launches, moves }: PageCommand,
  at: (name: string) => NodeBox | undefined,
  width: number,
  colours: Colours,
): void {
  const ghosts = new globalThis.Map<string, Box>();
  launches.forEach(({ name, type, pods, capacityType, pricePerHour }, i) => {
    const each = Math.min(230, width / launches.length);
    const box = { x: i * each + 6, y: ghostTop, width: each - 8, height: ghostHeight };
    ghosts.set(name, box);
    context.fillStyle = colours.card;
    context.fillRect(box.x, box.y, box.width, box.height);
    context.setLineDash([5, 4]);
    outline(context, box, colours.accent, 2);
    context.setLineDash([]);
    context.fillStyle = colours.text;
    context.font = '600 12px system-ui, sans-serif';
    write(context, `${name}: ${type}`, box.x + 8, box.y + 16, box.width - 16);
    context.font = '12px system-ui, sans-serif';
    write(
      context,
      `${count(pods, 'pod')}, ${capacityType}, ${perHour(pricePerHour)}`,
      ...([box.x + 8, box.y + 34, box.width - 16] as const),
    );
  });
  for (const box of nodes.map(at)) {
    if (box !== undefined) outline(context, box, colours.alarm, 2.5);
  }
  moves.forEach(({ from, to }, i) => {
    const source = at(from);
    const ghost = ghosts.get(to);
    const target = ghost ?? at(to);
    if (source === undefined || target === undefined) return;
    // Beside each other, so that pods with the same way are still several.
    const aside = ((i % 9) - 4) * 5;
    const start = [source.x + source.width / 2, source.y + source.height / 2 + aside] as const;
    const end = [
      target.x + target.width / 2 + aside,
      target.y + target.height / (ghost === undefined ? 2 : 1),
    ] as const;
    arrow(context, start, end, colours.accent);
  });
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
