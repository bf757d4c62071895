import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import type { PageNeed, PageNode, PageSnapshot } from '../snapshot.js';
import { ageText, clock, cores, count, csv, gibibytes, perHour, perMonth, podsOn, used } from './format.js';
import { coloursOf } from './colours.js';
import { Map } from './map';
import { brokenSince, found, isFile, selected, show, snapshot, view } from './state.js';
import { groupings, areas, views } from './view.js';

export function App() {
  const { value: page } = snapshot;
  const { view: shown, theme, node } = view.value;
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
  }, [theme]);
  useEffect(() => {
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  if (page === undefined)
    return (
      <p class="loading">
        {brokenSince.value === undefined ? 'Reading…' : 'The operator does not answer. The page tries again.'}
      </p>
    );
  return (
    <>
      <Problems page={page} />
      <Totals page={page} />
      <main class={node === '' ? '' : 'with-drawer'}>
        <div class="left">
          <Needs needs={page.needs} temporal={page.temporal} />
          <Controls page={page} />
          {shown === 'map' ? <Map /> : <NodeTable page={page} />}
          <Commands page={page} />
          <Waiting page={page} />
          <Cost page={page} />
          <Pools page={page} />
          <Decisions page={page} />
        </div>
        {node === '' ? null : <Drawer page={page} />}
      </main>
    </>
  );
}

function onKey(event: KeyboardEvent): void {
  if (event.target instanceof HTMLInputElement) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { j: 1, k: -1 }[event.key];
  if (step !== undefined) {
    const nodes = found.value;
    const at = nodes.findIndex(({ name }) => name === view.value.node);
    const next = nodes[(at + step + nodes.length) % Math.max(1, nodes.length)];
    if (next !== undefined) show({ node: next.name });
  } else if (event.key === '/') {
    event.preventDefault();
    document.getElementById('search')?.focus();
  } else if (event.key === 'Escape') show({ node: '', command: '' });
}

/** What this page lacks comes first, since all else may be old. */
function Problems({ page }: { readonly page: PageSnapshot }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5000);
    return () => clearInterval(timer);
  }, []);
  const broken = brokenSince.value;
  const lines = [
    ...(broken === undefined
      ? []
      : [{ what: 'the connection to the operator is broken: this is how it was', since: broken }]),
    ...(Math.abs(now - page.at) > 60_000 && broken === undefined && !isFile.value
      ? [{ what: 'this machine’s clock and the operator’s differ, or nothing has changed', since: page.at }]
      : []),
    ...page.problems,
  ];
  if (lines.length === 0) return null;
  return (
    <ul class="problems" role="alert">
      {lines.map(({ what, since }) => (
        <li key={what}>
          {what} (since {clock(since)} UTC)
        </li>
      ))}
    </ul>
  );
}

function Totals({ page }: { readonly page: PageSnapshot }) {
  const { pricePerHour, leastPossiblePerHour: least, nodes, waiting, needs } = page;
  const above = least === undefined || least <= 0 ? undefined : Math.max(0, pricePerHour / least - 1);
  const pods = nodes.reduce((sum, node) => sum + podsOn(node), 0);
  const waits = waiting.reduce((sum, each) => sum + each.count, 0);
  return (
    <header>
      <h1>{page.cluster}</h1>
      <Figure label="price" value={perHour(pricePerHour)} more={perMonth(pricePerHour)} />
      <Figure
        label="lower bound"
        value={least === undefined ? '–' : perHour(Math.min(least, pricePerHour))}
        more={above === undefined ? 'not known' : `price is ${(above * 100).toFixed(0)}% above`}
      />
      <Figure label="nodes" value={nodes.length.toLocaleString('en')} more={count(pods, 'pod')} />
      <Figure
        label="pods that wait"
        value={String(waits)}
        more={waits === 0 ? 'none' : count(waiting.length, 'reason')}
        isAlarm={waits > 0}
      />
      <Figure
        label="needs you"
        value={String(needs.length)}
        more={needs.length === 0 ? 'nothing' : 'see below'}
        isAlarm={needs.length > 0}
      />
    </header>
  );
}

function Figure({
  label,
  value,
  more,
  isAlarm = false,
}: {
  label: string;
  value: string;
  more: string;
  isAlarm?: boolean;
}) {
  return (
    <div class={isAlarm ? 'figure alarm' : 'figure'}>
      <span class="label">{label}</span>
      <span class="value">{value}</span>
      <span class="more">{more}</span>
    </div>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

const needTitles: Readonly<Record<PageNeed['kind'], string>> = {
  question: 'asks',
  drain: 'drain blocked',
  stuck: 'wrong',
  problem: 'problem',
  declined: 'declined',
};

function Needs({ needs, temporal }: { readonly needs: readonly PageNeed[]; readonly temporal: string }) {
  if (needs.length === 0) return null;
  return (
    <Section title="Needs you">
      <ul class="needs">
        {needs.map(({ kind, subject, text, yes, until, orders, workflowId }) => (
          <li key={`${kind} ${subject} ${text}`}>
            <span class={`tag ${kind}`}>{needTitles[kind]}</span> <b>{subject}</b> {text}
            {yes === undefined ? null : <div class="muted">{yes}</div>}
            {until === undefined ? null : <div class="muted">until {until.slice(0, 16).replace('T', ' ')} UTC</div>}
            <div class="orders">
              {orders.map((order) => (
                <Copy key={order} text={order} />
              ))}
              <WorkflowLink temporal={temporal} workflowId={workflowId} />
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function WorkflowLink({
  temporal,
  workflowId,
}: {
  readonly temporal: string;
  readonly workflowId: string | undefined;
}) {
  if (temporal === '' || workflowId === undefined) return null;
  return (
    <a href={`${temporal}/workflows/${encodeURIComponent(workflowId)}`} rel="noreferrer" target="_blank">
      in the Temporal UI
    </a>
  );
}

function Copy({ text }: { readonly text: string }) {
  const [done, setDone] = useState(false);
  return (
    <button
      class="copy"
      title="copy"
      onClick={() => {
        void navigator.clipboard.writeText(text).then(() => setDone(true));
      }}
    >
      <code>{text}</code> {done ? 'copied' : ''}
    </button>
  );
}

function Controls({ page }: { readonly page: PageSnapshot }) {
  const { group, resource, search, view: shown, theme } = view.value;
  return (
    <div class="controls">
      <input
        id="search"
        type="search"
        placeholder="search nodes and workloads ( / )"
        aria-label="search nodes and workloads"
        value={search}
        onInput={({ currentTarget }) => show({ search: currentTarget.value })}
      />
      <Choice label="group by" value={group} options={groupings} onChange={(value) => show({ group: value })} />
      <Choice label="area" value={resource} options={areas} onChange={(value) => show({ resource: value })} />
      <Choice label="show" value={shown} options={views} onChange={(value) => show({ view: value })} />
      <Choice
        label="theme"
        value={theme}
        options={['auto', 'light', 'dark']}
        onChange={(value) => show({ theme: value })}
      />
      <span class="muted">
        {found.value.length === page.nodes.length ? '' : `${found.value.length} of ${page.nodes.length} nodes`}
      </span>
      <button onClick={() => save('nodes.csv', 'text/csv', csv(rowsOf(found.value)))}>CSV</button>
      <button onClick={() => save('nodes.json', 'application/json', JSON.stringify(found.value, null, 1))}>JSON</button>
      {isFile.value ? null : (
        <a href="snapshot.html" download={`stowage-${page.cluster}.html`}>
          this page as a file
        </a>
      )}
      <span class="legend">
        <i class="spot" /> spot <i class="on-demand" /> on-demand <i class="reserved" /> reserved <i class="daemon" />{' '}
        DaemonSets
      </span>
    </div>
  );
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly options: readonly T[];
  readonly onChange: (value: T) => void;
}

function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value as T)}>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  );
}

function save(name: string, type: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

const columns = ['node', 'pool', 'type', 'zone', 'capacity', '$/h', 'age', 'state', 'pods', 'CPU', 'memory', 'marks'];

function rowsOf(nodes: readonly PageNode[]): (string | number)[][] {
  return [
    [
      'node',
      'pool',
      'type',
      'zone',
      'capacityType',
      'pricePerHour',
      'created',
      'state',
      'pods',
      'cpuUsed',
      'cpu',
      'memoryUsed',
      'memory',
      'marks',
    ],
    ...nodes.map((node) => [
      ...[
        node.name,
        node.pool,
        node.type,
        node.zone,
        node.capacityType,
        node.pricePerHour,
        new Date(node.created).toISOString(),
      ],
      ...[
        node.state,
        podsOn(node),
        used(node)[0],
        node.allocatable[0],
        used(node)[1],
        node.allocatable[1],
        node.marks.join(' '),
      ],
    ]),
  ];
}

function NodeTable({ page }: { readonly page: PageSnapshot }) {
  return (
    <div class="table">
      <table>
        <caption>{count(found.value.length, 'node')}</caption>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {found.value.map((node) => {
            const [cpu, memory] = used(node);
            return (
              <tr key={node.name} class={node.name === view.value.node ? 'selected' : ''}>
                <th scope="row">
                  <button class="link" onClick={() => show({ node: node.name })}>
                    {node.name}
                  </button>
                </th>
                <td>{node.pool}</td>
                <td>{node.type}</td>
                <td>{node.zone}</td>
                <td>{node.capacityType}</td>
                <td>{node.pricePerHour.toFixed(4)}</td>
                <td>{ageText(page.at - node.created)}</td>
                <td>{node.state}</td>
                <td>{podsOn(node)}</td>
                <td>
                  {cores(cpu)} / {cores(node.allocatable[0])}
                </td>
                <td>
                  {gibibytes(memory)} / {gibibytes(node.allocatable[1])}
                </td>
                <td>{node.marks.join(', ')}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Commands({ page }: { readonly page: PageSnapshot }) {
  if (page.commands.length === 0) return null;
  return (
    <Section title="About to move">
      <ul class="commands">
        {page.commands.map(({ workflowId, reason, phase, nodes, launches, moves, savesPerHour }) => (
          <li
            key={workflowId}
            class={workflowId === view.value.command ? 'selected' : ''}
            onMouseEnter={() => show({ command: workflowId })}
            onMouseLeave={() => show({ command: '' })}
          >
            <button class="link" onFocus={() => show({ command: workflowId })} onBlur={() => show({ command: '' })}>
              {reason}: {nodes.slice(0, 4).join(', ')}
              {nodes.length > 4 ? ` and ${nodes.length - 4} more` : ''}
            </button>{' '}
            {launches.length === 0 ? 'removed' : `replaced by ${launches.map(({ type }) => type).join(', ')}`}
            {moves.length === 0 ? '' : `, ${count(moves.length, 'pod')} move`}, saves {perHour(savesPerHour)}{' '}
            <span class="muted">{phase}</span> <WorkflowLink temporal={page.temporal} workflowId={workflowId} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Waiting({ page }: { readonly page: PageSnapshot }) {
  if (page.waiting.length === 0) return null;
  return (
    <Section title="Pods that wait">
      <ul>
        {page.waiting.map(({ why, pods, count: all }) => (
          <li key={why}>
            <b>{count(all, 'pod')}</b>: {why}
            <div class="muted">
              {pods.join(', ')}
              {all > pods.length ? ` and ${all - pods.length} more` : ''}
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Cost({ page }: { readonly page: PageSnapshot }) {
  const frame = useRef<HTMLDivElement>(null);
  const { series } = page;
  useEffect(() => {
    const { current } = frame;
    if (current === null || series.length < 2) return undefined;
    const { muted, line, accent } = coloursOf(current);
    const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const plot = new uPlot(
      {
        width: current.clientWidth,
        height: 180,
        legend: { live: true },
        axes: [axis, { ...axis, values: (_, ticks) => ticks.map((tick) => `$${tick}`) }],
        scales: { y: { range: (_, least, most) => [Math.min(0, least), most * 1.1] } },
        series: [
          {},
          { label: 'price per hour', stroke: accent, width: 2 },
          { label: 'lower bound', stroke: muted, width: 1, dash: [4, 3] },
        ],
      },
      [
        series.map(({ at }) => at / 1000),
        series.map(({ pricePerHour }) => pricePerHour),
        series.map(({ leastPossiblePerHour }) => leastPossiblePerHour ?? null),
      ],
      current,
    );
    return () => plot.destroy();
  }, [series, view.value.theme]);
  if (series.length < 2) return null;
  return (
    <Section title="Cost over time">
      <div ref={frame} />
    </Section>
  );
}

function Pools({ page }: { readonly page: PageSnapshot }) {
  return (
    <Section title="NodePools">
      <div class="table">
        <table>
          <thead>
            <tr>
              {['pool', 'ready', 'nodes', 'price', 'lower bound', 'drifted', 'limits', 'budgets'].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {page.pools.map((pool) => (
              <tr key={pool.name}>
                <th scope="row">{pool.name}</th>
                <td class={pool.ready === 'True' ? '' : 'alarm'}>
                  {pool.ready} {pool.ready === 'True' ? '' : pool.message}
                </td>
                <td>{pool.nodes}</td>
                <td>{perHour(pool.pricePerHour)}</td>
                <td>{pool.leastPossiblePerHour === undefined ? '–' : perHour(pool.leastPossiblePerHour)}</td>
                <td>{pool.drifted === 0 ? '' : pool.drifted}</td>
                <td>{pool.limits.join(', ')}</td>
                <td>
                  {pool.budgets.map((text) => (
                    <div key={text}>{text}</div>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {page.pauses.map(({ scope, because, by, until }) => (
        <p key={scope}>
          <span class="tag">paused</span> {scope} by {by}: {because}
          {until === undefined ? '' : ` (until ${new Date(until).toISOString().slice(0, 16).replace('T', ' ')} UTC)`}
        </p>
      ))}
      {page.nextWindow === '' ? null : <p class="muted">Next: {page.nextWindow}</p>}
    </Section>
  );
}

function Decisions({ page }: { readonly page: PageSnapshot }) {
  const words = view.value.search.toLowerCase();
  const shown = page.decisions.filter(({ what, subject, by }) =>
    `${what} ${subject} ${by}`.toLowerCase().includes(words),
  );
  return (
    <Section title="What happened">
      {shown.length === 0 ? (
        <p class="muted">Nothing since the operator leads; stowage report has what was before.</p>
      ) : null}
      <ol class="ticker">
        {shown.slice(0, 50).map(({ at, what, subject, by }) => (
          <li key={`${at} ${subject} ${what}`}>
            <time>{clock(at)}</time>{' '}
            <button class="link" onClick={() => show({ node: subject })}>
              {subject}
            </button>{' '}
            {what} {by === '' ? '' : `by ${by}`}
          </li>
        ))}
      </ol>
    </Section>
  );
}

interface NodePod {
  readonly name: string;
  readonly workload: string;
  readonly requests: readonly [number, number, number];
  readonly isDaemon: boolean;
}
interface Why {
  readonly answer: string;
  readonly details: readonly string[];
}
interface Life {
  readonly lines: readonly { readonly at: string; readonly what: string; readonly workflowId?: string }[];
}

/** An answer of the API for the node; undefined while it is read. */
function useAnswer<T>(node: string, what: string): { readonly value?: T; readonly problem?: string } {
  const [answer, setAnswer] = useState<{ readonly value?: T; readonly problem?: string }>({});
  useEffect(() => {
    setAnswer({});
    if (isFile.value) {
      setAnswer({ problem: 'not in this file' });
      return undefined;
    }
    const stop = new AbortController();
    const read = async (): Promise<void> => {
      const response = await fetch(`api/v1/nodes/${encodeURIComponent(node)}/${what}`, { signal: stop.signal });
      if (response.ok) setAnswer({ value: (await response.json()) as T });
      else setAnswer({ problem: await response.text() });
    };
    read().catch((error: unknown) => {
      if (!stop.signal.aborted) setAnswer({ problem: String(error) });
    });
    return () => stop.abort();
  }, [node, what]);
  return answer;
}

function Drawer({ page }: { readonly page: PageSnapshot }) {
  const name = view.value.node;
  const node = selected.value;
  return (
    <aside aria-label={`node ${name}`}>
      <button class="close" aria-label="close" onClick={() => show({ node: '' })}>
        ×
      </button>
      <h2>{name}</h2>
      {node === undefined ? <p>It is gone, or has no NodeClaim.</p> : <Facts node={node} page={page} />}
      <WhySection name={name} />
      <LifeSection name={name} temporal={page.temporal} />
      <PodsSection name={name} />
      <Section title="Orders">
        {[
          `stowage why node/${name}`,
          `stowage history node ${name}`,
          `stowage hold ${name} --because '...'`,
          `stowage pause --node ${name} --because '...'`,
        ].map((order) => (
          <Copy key={order} text={order} />
        ))}
      </Section>
    </aside>
  );
}

function Facts({ node, page }: { readonly node: PageNode; readonly page: PageSnapshot }) {
  const [cpu, memory, gpus] = used(node);
  const stays = page.stays.filter(({ nodes }) => nodes.includes(node.name));
  const rows: readonly (readonly [string, string])[] = [
    ['NodeClaim', node.claim],
    ['NodePool', node.pool],
    ['instance', `${node.type} ${node.capacityType} in ${node.zone}`],
    ['price', `${perHour(node.pricePerHour)}, ${perMonth(node.pricePerHour)}`],
    ['age', ageText(page.at - node.created)],
    ['state', [node.state, ...node.marks].join(', ')],
    ['CPU', `${cores(cpu)} of ${cores(node.allocatable[0])}`],
    ['memory', `${gibibytes(memory)} of ${gibibytes(node.allocatable[1])}`],
    ...(node.allocatable[2] === 0 ? [] : [['GPUs', `${gpus} of ${node.allocatable[2]}`] as const]),
    ...(node.waits === undefined ? [] : [['waits', node.waits] as const]),
    ...stays.map(({ why }) => ['stays', why] as const),
  ];
  return (
    <dl>
      {rows.map(([term, text]) => (
        <div key={`${term} ${text}`}>
          <dt>{term}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

function WhySection({ name }: { readonly name: string }) {
  const { value, problem } = useAnswer<Why>(name, 'why');
  return (
    <Section title="Why it is here">
      {value === undefined ? <p class="muted">{problem ?? 'Reading…'}</p> : <p>{value.answer}</p>}
      <ul>
        {value?.details.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </Section>
  );
}

function LifeSection({ name, temporal }: { readonly name: string; readonly temporal: string }) {
  const { value, problem } = useAnswer<Life>(name, 'history');
  return (
    <Section title="Its life">
      {value === undefined ? <p class="muted">{problem ?? 'Reading…'}</p> : null}
      <ol class="life">
        {value?.lines.map(({ at, what, workflowId }) => (
          <li key={`${at} ${what}`}>
            <time>{at.slice(0, 19).replace('T', ' ')}</time> {what}{' '}
            <WorkflowLink temporal={temporal} workflowId={workflowId} />
          </li>
        ))}
      </ol>
    </Section>
  );
}

function PodsSection({ name }: { readonly name: string }) {
  const { value, problem } = useAnswer<readonly NodePod[]>(name, 'pods');
  return (
    <Section title={value === undefined ? 'Pods' : count(value.length, 'pod')}>
      {value === undefined ? <p class="muted">{problem ?? 'Reading…'}</p> : null}
      <ul>
        {value?.map(({ name: pod, requests: [cpu, memory], isDaemon }) => (
          <li key={pod} class={isDaemon ? 'muted' : ''}>
            {pod}{' '}
            <span class="muted">
              {cores(cpu)} CPU, {gibibytes(memory)}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
