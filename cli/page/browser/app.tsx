import { useEffect, useState } from 'preact/hooks';
import type { PageNeed, PageNode, PageSnapshot } from '../snapshot.js';
import { Cost } from './cost';
import { Drawer } from './drawer';
import {
  ageText,
  cores,
  count,
  csv,
  gibibytes,
  minuteText,
  perHour,
  perMonth,
  podsOn,
  timeIn,
  used,
} from './format.js';
import { Legend, Map } from './map';
import { Back, Choice, Orders, Section, WorkflowLink } from './parts';
import {
  brokenSince,
  clockBehind,
  found,
  heardAt,
  hoveredCommand,
  isFile,
  isPrinting,
  past,
  show,
  snapshot,
  view,
} from './state.js';
import { areas, groupings, happenings, pasts, themes, views } from './view.js';

export function App() {
  const { value: page } = snapshot;
  const { view: shown, theme, node, pod } = view.value;
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
  }, [theme]);
  useEffect(() => {
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  if (page === undefined)
    return (
      <p class="loading" role="status">
        {brokenSince.value === undefined ? 'Reading…' : 'The operator does not answer. The page tries again.'}
      </p>
    );
  const hasDrawer = node !== '' || pod !== '';
  return (
    <>
      <Problems page={page} />
      <Totals page={page} />
      <main class={hasDrawer ? 'with-drawer' : ''}>
        <div class="left">
          <Needs needs={page.needs} />
          <Commands page={page} />
          <section class="cluster" aria-label="nodes">
            <Controls page={page} />
            {shown === 'map' ? <Map /> : null}
            {shown === 'table' || isPrinting.value ? <NodeTable page={page} /> : <Legend />}
          </section>
          <div class="pair">
            <Waiting page={page} />
            <Rollouts page={page} />
          </div>
          <Cost page={page} />
          <Pools page={page} />
          <Decisions page={page} />
          <Foot page={page} />
        </div>
        {hasDrawer ? <Drawer page={page} /> : null}
      </main>
    </>
  );
}

function onKey(event: KeyboardEvent): void {
  const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (isTyping) {
    if (event.key === 'Escape') (event.target as HTMLElement).blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { j: 1, k: -1 }[event.key];
  if (step !== undefined) {
    const nodes = found.value;
    const at = nodes.findIndex(({ name }) => name === view.value.node);
    const next = nodes.at(at < 0 && step < 0 ? -1 : (at + step) % Math.max(1, nodes.length));
    if (next !== undefined) show({ node: next.name, pod: '' });
  } else if (event.key === '/') {
    event.preventDefault();
    document.getElementById('search')?.focus();
  } else if (event.key === 'Escape') show({ node: '', pod: '', command: '' });
}

/** What this page lacks comes first, since all else may be old. A quiet cluster sends a point of the price each minute. */
function Problems({ page }: { readonly page: PageSnapshot }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5000);
    return () => clearInterval(timer);
  }, []);
  const { value: broken } = brokenSince;
  const { value: clock } = clockBehind;
  const lines = [
    ...(broken === undefined
      ? []
      : [{ what: 'the connection to the operator is broken: this is how it was', since: broken }]),
    ...(now - heardAt.value > 150_000 && broken === undefined && !isFile.value
      ? [{ what: 'the operator sends no changes: this is how it was', since: heardAt.value }]
      : []),
    ...(clock.ms === 0
      ? []
      : [
          {
            what: `the clock of the operator is ${ageText(Math.abs(clock.ms))} ${clock.ms > 0 ? 'behind' : 'ahead of'} that of this machine: times here are the operator's`,
            since: clock.since,
          },
        ]),
    ...page.problems,
  ];
  if (lines.length === 0) return null;
  return (
    <div role="alert">
      <ul class="problems">
        {lines.map(({ what, since }) => (
          <li key={what}>
            {what} (since {minuteText(since, 19)} UTC)
          </li>
        ))}
      </ul>
    </div>
  );
}

function Totals({ page }: { readonly page: PageSnapshot }) {
  const { pricePerHour, leastPossiblePerHour: least, nodes, waiting, needs, saved } = page;
  const above = least === undefined || least <= 0 ? undefined : Math.max(0, pricePerHour / least - 1);
  const pods = nodes.reduce((sum, node) => sum + podsOn(node), 0);
  const waits = waiting.reduce((sum, each) => sum + each.count, 0);
  return (
    <header>
      <div class="title">
        <h1>{page.cluster}</h1>
        <span class="muted">
          {isFile.value ? 'as it was on ' : ''}
          {minuteText(page.at)} UTC
        </span>
      </div>
      <div class="figures">
        <Figure
          label="needs you"
          value={String(needs.length)}
          more={needs.length === 0 ? 'nothing waits for an answer' : 'listed below'}
          isAlarm={needs.length > 0}
        />
        <Figure label="price" value={perHour(pricePerHour)} more={perMonth(pricePerHour)} />
        <Figure
          label="lower bound"
          value={least === undefined ? '–' : perHour(Math.min(least, pricePerHour))}
          more={above === undefined ? 'not known now' : `the price is ${(above * 100).toFixed(0)}% above it`}
        />
        {saved === undefined ? null : (
          <Figure
            label="saved in 24 hours"
            value={perHour(saved.predictedPerHour)}
            more={
              saved.measuredCommands === 0
                ? `by ${count(saved.commands, 'command')}, as predicted`
                : `measured: ${perHour(saved.measuredRealisedPerHour)} by ${saved.measuredCommands} of ${count(saved.commands, 'command')}`
            }
          />
        )}
        <Figure label="nodes" value={nodes.length.toLocaleString('en')} more={count(pods, 'pod')} />
        <Figure
          label="pods that wait"
          value={waits.toLocaleString('en')}
          more={waits === 0 ? 'all have a place' : `for ${count(waiting.length, 'reason')}`}
          isAlarm={waits > 0}
        />
      </div>
    </header>
  );
}

interface FigureProps {
  readonly label: string;
  readonly value: string;
  readonly more: string;
  readonly isAlarm?: boolean;
}

function Figure({ label, value, more, isAlarm = false }: FigureProps) {
  return (
    <div class={isAlarm ? 'figure alarm' : 'figure'}>
      <span class="label">{label}</span>
      <span class="value">{value}</span>
      <span class="more">{more}</span>
    </div>
  );
}

const needTitles: Readonly<Record<PageNeed['kind'], string>> = {
  question: 'question',
  drain: 'drain blocked',
  stuck: 'stuck',
  problem: 'not ready',
  declined: 'declined',
};

/** `unanswered` is unknown while no worker explains the question. */
function untilText(until: string, unanswered: string | undefined): string {
  const time = `${minuteText(until)} UTC`;
  return unanswered === undefined ? `asked until ${time}` : `without an answer until ${time}: ${unanswered}`;
}

function Needs({ needs }: { readonly needs: readonly PageNeed[] }) {
  if (needs.length === 0) return null;
  return (
    <Section title="Needs you">
      <ul class="list">
        {needs.map(({ kind, subject, text, yes, until, unanswered, orders, workflowId }) => (
          <li key={`${kind} ${subject} ${text}`}>
            <span class={`tag ${kind}`}>{needTitles[kind]}</span> <b>{subject}</b> {text}
            {yes === undefined && until === undefined ? null : (
              <div class="muted">
                {[
                  ...(yes === undefined ? [] : [yes]),
                  ...(until === undefined ? [] : [untilText(until, unanswered)]),
                ].join('; ')}
              </div>
            )}
            <Orders orders={orders} {...(workflowId === undefined ? {} : { workflowId })} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Pointing at one draws its moves on the map; a click keeps them there, and in the address. */
function Commands({ page }: { readonly page: PageSnapshot }) {
  if (page.commands.length === 0) return null;
  const pinned = view.value.command;
  return (
    <Section title="About to happen">
      <ul class="list">
        {page.commands.map(({ workflowId, reason, phase, nodes, launches, moves, savesPerHour }) => (
          <li
            key={workflowId}
            class={workflowId === pinned ? 'selected' : ''}
            onMouseEnter={() => (hoveredCommand.value = workflowId)}
            onMouseLeave={() => (hoveredCommand.value = '')}
          >
            <button
              class="link"
              aria-pressed={workflowId === pinned}
              onClick={() => show({ command: workflowId === pinned ? '' : workflowId })}
              onFocus={() => (hoveredCommand.value = workflowId)}
              onBlur={() => (hoveredCommand.value = '')}
            >
              {nodes.slice(0, 4).join(', ')}
              {nodes.length > 4 ? ` and ${nodes.length - 4} more` : ''}
            </button>{' '}
            {nodes.length === 1 ? 'goes' : 'go'} ({reason})
            {launches.length === 0 ? '' : `, replaced by ${launches.map(({ type }) => type).join(', ')}`}
            {moves.length === 0 ? '' : `; ${count(moves.length, 'pod')} ${moves.length === 1 ? 'moves' : 'move'}`}
            {savesPerHour > 0 ? `; saves ${perHour(savesPerHour)}` : ''}{' '}
            {phase === '' ? null : <span class="tag">{phase}</span>} <WorkflowLink workflowId={workflowId} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Controls({ page }: { readonly page: PageSnapshot }) {
  const { group, resource, search, view: shown } = view.value;
  return (
    <div class="controls">
      <input
        id="search"
        type="search"
        placeholder="Search nodes, workloads, states  ( / )"
        aria-label="search nodes, workloads, states"
        value={search}
        onInput={({ currentTarget }) => show({ search: currentTarget.value })}
      />
      <Choice label="by" value={group} options={groupings} onChange={(value) => show({ group: value })} />
      <Choice label="area" value={resource} options={areas} onChange={(value) => show({ resource: value })} />
      <Choice label="as" value={shown} options={views} onChange={(value) => show({ view: value })} />
      <span class="muted" role="status">
        {found.value.length === page.nodes.length ? '' : `${found.value.length} of ${page.nodes.length} nodes`}
      </span>
    </div>
  );
}

function Foot({ page }: { readonly page: PageSnapshot }) {
  return (
    <footer>
      <Choice label="Theme" value={view.value.theme} options={themes} onChange={(value) => show({ theme: value })} />
      <button onClick={() => save('nodes.csv', 'text/csv', csv(rowsOf(found.value)))}>Nodes as CSV</button>
      <button onClick={() => save('nodes.json', 'application/json', JSON.stringify(found.value, null, 1))}>
        Nodes as JSON
      </button>
      {isFile.value ? null : (
        <a href="snapshot.html" download={`stowage-${page.cluster}.html`}>
          This page as a file
        </a>
      )}
      <span class="muted keys">
        <kbd>/</kbd> search <kbd>j</kbd> <kbd>k</kbd> next and previous node <kbd>Esc</kbd> close
      </span>
    </footer>
  );
}

function save(name: string, type: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Names and values of a node in CSV. */
const fields: Readonly<Record<string, (node: PageNode) => string | number>> = {
  node: ({ name }) => name,
  pool: ({ pool }) => pool,
  type: ({ type }) => type,
  zone: ({ zone }) => zone,
  capacityType: ({ capacityType }) => capacityType,
  pricePerHour: ({ pricePerHour }) => pricePerHour,
  created: ({ created }) => new Date(created).toISOString(),
  state: ({ state }) => state,
  pods: podsOn,
  cpuUsed: (node) => used(node)[0],
  cpu: ({ allocatable }) => allocatable[0],
  memoryUsed: (node) => used(node)[1],
  memory: ({ allocatable }) => allocatable[1],
  marks: ({ marks }) => marks.join(' '),
};

const rowsOf = (nodes: readonly PageNode[]): (string | number)[][] => [
  Object.keys(fields),
  ...nodes.map((node) => Object.values(fields).map((field) => field(node))),
];

const columns = ['node', 'pool', 'type', 'zone', 'capacity', '$/h', 'age', 'pods', 'CPU', 'memory', 'state'];
const figures: ReadonlySet<string> = new Set(['$/h', 'age', 'pods', 'CPU', 'memory']);

function NodeTable({ page }: { readonly page: PageSnapshot }) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="table of nodes">
      <table>
        <caption>{count(found.value.length, 'node')}</caption>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col" class={figures.has(name) ? 'number' : ''}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {found.value.map((node) => (
            <NodeRow key={node.name} node={node} at={page.at} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NodeRow({ node, at }: { readonly node: PageNode; readonly at: number }) {
  const [cpu, memory] = used(node);
  return (
    <tr class={node.name === view.value.node ? 'selected' : ''}>
      <th scope="row">
        <button class="link" onClick={() => show({ node: node.name, pod: '' })}>
          {node.name}
        </button>
      </th>
      <td>{node.pool}</td>
      <td>{node.type}</td>
      <td>{node.zone}</td>
      <td>{node.capacityType}</td>
      <td class="number">{node.pricePerHour.toFixed(4)}</td>
      <td class="number">{ageText(at - node.created)}</td>
      <td class="number">{podsOn(node)}</td>
      <td class="number">
        {cores(cpu)} / {cores(node.allocatable[0])}
      </td>
      <td class="number">
        {gibibytes(memory)} / {gibibytes(node.allocatable[1])}
      </td>
      <td>{[node.state, ...node.marks].join(', ')}</td>
    </tr>
  );
}

function Waiting({ page }: { readonly page: PageSnapshot }) {
  const words = view.value.search.toLowerCase();
  const all = page.waiting.filter(({ why, pods }) => `${why} ${pods.join(' ')}`.toLowerCase().includes(words));
  // A search for nodes alone leaves all of them.
  const waiting = all.length === 0 ? page.waiting : all;
  if (waiting.length === 0) return null;
  return (
    <Section title="Pods that wait">
      <ul class="list">
        {waiting.map(({ why, pods, count: all }) => (
          <li key={why}>
            <b>{count(all, 'pod')}</b>: {why}
            <div class="names">
              {pods.map((pod) => (
                <button key={pod} class="link" onClick={() => show({ pod, node: '' })}>
                  {pod}
                </button>
              ))}
              {all > pods.length ? <span class="muted">and {all - pods.length} more</span> : null}
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Rollouts({ page }: { readonly page: PageSnapshot }) {
  if (page.rollouts.length === 0) return null;
  return (
    <Section title="Rollouts">
      <ul class="list">
        {page.rollouts.map(({ pool, nodes, drifted, disrupting, wave, phase, until, workflowId }) => (
          <li key={pool}>
            <b>{pool}</b> {nodes - drifted} of {count(nodes, 'node')} up to date, {disrupting} being replaced{' '}
            <WorkflowLink workflowId={workflowId} />
            <progress max={nodes} value={nodes - drifted} aria-label={`rollout of ${pool}`} />
            <div class="muted">
              {[wave, phase, until === undefined ? undefined : `until ${minuteText(until)} UTC`]
                .filter((each) => each !== undefined && each !== '')
                .join('; ')}
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Pools({ page }: { readonly page: PageSnapshot }) {
  if (page.pools.length === 0) return null;
  return (
    <Section title="NodePools">
      <div class="pools">
        {page.pools.map((pool) => (
          <Pool key={pool.name} pool={pool} page={page} />
        ))}
      </div>
      {page.pauses.map(({ scope, because, by, until }) => (
        <p key={scope}>
          <span class="tag">paused</span> <b>{scope}</b> by {by}: {because}
          {until === undefined ? '' : `, until ${minuteText(until)} UTC`}
        </p>
      ))}
      {page.nextWindow === '' ? null : <p class="muted">Next: {page.nextWindow}</p>}
    </Section>
  );
}

function Pool({ pool, page }: { readonly pool: PageSnapshot['pools'][number]; readonly page: PageSnapshot }) {
  const { name, ready, message, nodes, pricePerHour, leastPossiblePerHour: least, limits, budgets } = pool;
  const counted = page.nodes.filter(
    ({ pool: of, state, marks }) =>
      of === name && (state === 'draining' || state === 'not ready' || marks.includes('tainted')),
  );
  // Most budgets are the same for all reasons; without nodes none has anything to say.
  const byText = new globalThis.Map<string, (typeof budgets)[number][]>();
  for (const budget of nodes === 0 ? [] : budgets) {
    const text = budgetText(budget);
    byText.set(text, [...(byText.get(text) ?? []), budget]);
  }
  return (
    <article>
      <h3>
        {name} {ready === 'True' ? null : <span class="tag stuck">not ready</span>}
      </h3>
      {message === '' ? null : <p class="alarm">{message}</p>}
      <p>
        {count(nodes, 'node')}, {perHour(pricePerHour)}
        {least === undefined ? '' : `; lower bound ${perHour(least)}`}
        {limits.length === 0 ? '' : `; limits: ${limits.join(', ')}`}
      </p>
      <ul class="rows">
        {[...byText].map(([text, equal]) => (
          <li key={text} title={equal[0]!.ruledBy ?? ''}>
            <span>
              <i class={equal[0]!.allowed > 0 ? 'open' : 'closed'} />{' '}
              {equal.length > 1 && equal.length === budgets.length
                ? 'all reasons'
                : equal.map(({ reason }) => reason).join(', ')}
            </span>
            <span class="muted">{text}</span>
          </li>
        ))}
      </ul>
      {counted.length === 0 || budgets.length === 0 ? null : (
        <div class="names muted">
          Counted against budgets:
          {counted.slice(0, 5).map((node) => (
            <button key={node.name} class="link" onClick={() => show({ node: node.name, pod: '' })}>
              {node.name}
            </button>
          ))}
          {counted.length > 5 ? `and ${counted.length - 5} more` : ''}
        </div>
      )}
    </article>
  );
}

function budgetText({ allowed, total, ruledBy, changesAt }: PageSnapshot['pools'][number]['budgets'][number]): string {
  const now = allowed > 0 ? `open: ${allowed} of ${count(total, 'node')} may go` : (ruledBy ?? 'closed');
  return changesAt === undefined ? now : `${now}; ${allowed > 0 ? 'changes' : 'opens'} at ${minuteText(changesAt)} UTC`;
}

/** A month of a large cluster has more than anybody reads; the search finds among all. */
const mostHappenings = 1000;

function Decisions({ page }: { readonly page: PageSnapshot }) {
  if (isFile.value && page.decisions.length === 0) return null;
  const words = view.value.search.toLowerCase();
  const nodes = new Set(page.nodes.map(({ name }) => name));
  const happened = happenings(page.decisions, past.value.report);
  const shown = happened.filter(({ kind, what, subject, by }) =>
    `${kind} ${what} ${subject} ${by}`.toLowerCase().includes(words),
  );
  return (
    <Section title="What happened">
      <Back />
      {shown.length === 0 ? (
        <p class="muted">
          {happened.length > 0 ? 'Nothing that the search finds.' : `Nothing ${pasts[view.value.past]}.`}
        </p>
      ) : null}
      <ol class="ticker" tabIndex={0} aria-label="what happened">
        {shown.slice(0, mostHappenings).map(({ at, kind, what, subject, workflowId }) => (
          <li key={`${at} ${subject} ${what}`}>
            <time dateTime={new Date(at).toISOString()}>{timeIn(page.at, at, 19)}</time>
            <span class={`kind ${kind}`}>{kind}</span>
            <span>
              {kind === 'pause' || kind === 'resume' ? null : nodes.has(subject) ? (
                <button class="link" onClick={() => show({ node: subject, pod: '' })}>
                  {subject}
                </button>
              ) : (
                <b>{subject}</b>
              )}{' '}
              {what} <WorkflowLink workflowId={workflowId} />
            </span>
          </li>
        ))}
      </ol>
    </Section>
  );
}
