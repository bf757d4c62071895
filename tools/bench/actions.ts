import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { pod } from '../../test/cases/objects.js';
import { inCalmCluster, type CalmCluster } from '../../test/simulation/cluster/calm-cluster.js';
import { defaultSpec } from '../../test/simulation/cluster/pools.js';
import { sandboxesOf } from '../../test/simulation/temporal/sandbox.js';
import { workflowBundle } from '../../worker/bundle.js';
import { repositoryRoot } from './repository.js';

/*
 * Counts what Temporal Cloud bills as actions: the workflows, the operator and the activities run by their own code on the simulated Kubernetes, cloud
 * and Temporal, where a day takes a minute. `npm run actions` writes the table of docs/running-temporal.md.
 */

const hour = 3_600_000;
const nodes = 5;
const lives = 10;

/** Actions by the type of their workflow, then by what they are. */
type Counts = Map<string, Map<string, number>>;

class Bill {
  private counts: Counts = new Map();

  add(workflowType: string, what: string): void {
    const own = this.counts.get(workflowType) ?? new Map<string, number>();
    this.counts.set(workflowType, own.set(what, (own.get(what) ?? 0) + 1));
  }

  /** What was counted since the last time, which begins again. */
  take(): Counts {
    const { counts } = this;
    this.counts = new Map();
    return counts;
  }
}

const sum = (counts: Counts): number => [...counts.values()].reduce((all, own) => all + ofType(own), 0);
const ofType = (own: ReadonlyMap<string, number>): number => [...own.values()].reduce((all, each) => all + each, 0);

interface Scene extends CalmCluster {
  readonly bill: Bill;
}

function inCluster<T>(code: string, act: (scene: Scene) => Promise<T>): Promise<T> {
  const bill = new Bill();
  const onAction = (action: string, type: string, name?: string): void =>
    bill.add(type, name === undefined ? action : `${action} ${name}`);
  return inCalmCluster({ sandboxes: sandboxesOf(code), pool: defaultSpec, onAction }, (scene) =>
    act({ ...scene, bill }),
  );
}

/** With the nodes, and at rest. */
async function settled({ set, pass, bill }: Scene): Promise<void> {
  void set.scaleUp(nodes, 10);
  await pass(hour);
  bill.take();
}

/** What one life costs in workflows of each type, most first. */
function byType(life: Counts, without: Counts): readonly (readonly [string, number])[] {
  return [...life]
    .map(([type, own]) => [type, (ofType(own) - ofType(without.get(type) ?? new Map())) / lives] as const)
    .sort(([, a], [, b]) => b - a);
}

interface Row {
  readonly what: string;
  readonly most: number;
  readonly actions: number;
  readonly counts: Counts;
}

interface Measured {
  readonly rows: readonly Row[];
  readonly ofLife: ReturnType<typeof byType>;
}

async function measure(code: string, hours: number): Promise<Measured> {
  const window = hours * hour;
  const aDay = (counts: Counts): number => Math.round((sum(counts) * 24) / hours);
  const [idle, chatty, unschedulable] = await inCluster(code, async (scene) => {
    await settled(scene);
    await scene.pass(window);
    const quiet = scene.bill.take();
    await annotate(scene, window);
    const annotated = scene.bill.take();
    scene.cluster.kube.put('Pod', pod('never', {}, { cpu: '1000' }));
    await scene.pass(window);
    return [quiet, annotated, scene.bill.take()];
  });
  const [life, without] = await inCluster(code, async (scene) => {
    await scene.pass(hour);
    scene.bill.take();
    await liveAndGo(scene);
    await scene.pass(25 * hour);
    const lived = scene.bill.take();
    await scene.pass(25 * hour + lives * hour);
    return [lived, scene.bill.take()];
  });
  const rows = [
    { what: `a day of ${nodes} nodes at rest`, most: 1000, actions: aDay(idle), counts: idle },
    {
      what: 'that day, where an agent annotates a Node every 10 seconds: more by',
      most: 10,
      actions: aDay(chatty) - aDay(idle),
      counts: chatty,
    },
    {
      what: 'that day, with a pod that no NodePool can hold: more by',
      most: 300,
      actions: aDay(unschedulable) - aDay(idle),
      counts: unschedulable,
    },
    {
      what: 'the life of a node, from its pod to its end as an empty node',
      most: 40,
      actions: Math.round((sum(life) - sum(without)) / lives),
      counts: life,
    },
  ];
  return { rows, ofLife: byType(life, without) };
}

/** An agent writes what time it is on a Node, again and again. */
async function annotate({ cluster: { kube }, pass }: Scene, forMs: number): Promise<void> {
  const name = kube.kept('Node')[0]?.metadata.name ?? '';
  for (let at = 0; at < forMs; at += 10_000) {
    await kube.patch('Node', { name }, { metadata: { annotations: { 'agent.example.com/seen-at': String(at) } } });
    await pass(10_000);
  }
}

/** Nodes come, one after the other, and go an hour later. */
async function liveAndGo({ set, pass }: Scene): Promise<void> {
  for (let life = 0; life < lives; life++) {
    void set.scaleUp(1, 10);
    await pass(hour / 2);
    void set.scaleDown(0);
    await pass(hour / 2);
  }
}

function text({ rows, ofLife }: Measured, hours: number): string {
  const lines = rows.map(({ what, actions, most }) => `| ${what} | ${actions} | ${most} |`);
  const table = ['| what | actions | at most |', '| --- | ---: | ---: |', ...lines].join('\n');
  const parts = ofLife.map(([type, actions]) => `\`${type}\` ${Math.round(actions)}`);
  return `${table}\n\nDays are extrapolated from ${hours} hours. Of a life: ${parts.join(', ')}.`;
}

function details({ counts }: Row): string {
  return [...counts]
    .sort(([, a], [, b]) => ofType(b) - ofType(a))
    .map(([type, own]) => {
      const parts = [...own].sort(([, a], [, b]) => b - a).map(([what, count]) => `${count} ${what}`);
      return `  ${type} ${ofType(own)}: ${parts.join(', ')}`;
    })
    .join('\n');
}

const page = join(repositoryRoot(), 'docs/running-temporal.md');
const between = /(<!-- actions: npm run actions -->\n)[^]*(<!-- end of actions -->)/;

function write(text: string): void {
  const before = readFileSync(page, 'utf8');
  if (!between.test(before)) throw new Error(`${page} has no lines <!-- actions --> and <!-- end of actions -->`);
  writeFileSync(
    page,
    before.replace(between, (_, begin: string, end: string) => `${begin}\n${text}\n\n${end}`),
  );
}

async function main(): Promise<void> {
  const { verbose, dryRun, hours } = new Command('actions')
    .description('Counts the actions that Temporal Cloud bills, and writes them into docs/running-temporal.md.')
    .option('--verbose', 'also what they are, by type of workflow')
    .option('--hours <number>', 'how long a day is watched; the rest is extrapolated', Number, 24)
    .option('--dry-run', 'write no page')
    .parse()
    .opts<{ verbose?: boolean; dryRun?: boolean; hours: number }>();
  const bundle = await workflowBundle();
  const measured = await measure('code' in bundle ? bundle.code : readFileSync(bundle.codePath, 'utf8'), hours);
  const { rows } = measured;
  for (const row of rows) {
    console.log(`${row.what}: ${row.actions} (at most ${row.most})`);
    if (verbose === true) console.log(details(row));
  }
  if (dryRun !== true) write(text(measured, hours));
  const over = rows.filter(({ actions, most }) => actions > most);
  for (const { what, actions, most } of over) console.error(`too many: ${what}: ${actions}, at most ${most}`);
  process.exitCode = over.length === 0 ? 0 : 1;
}

await main();
