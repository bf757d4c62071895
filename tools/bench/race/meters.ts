import { readFileSync, writeFileSync } from 'node:fs';
import { http } from '../../stack/http.js';
import { readTokens } from '../../stack/credentials.js';
import { readState } from '../../stack/stack-state.js';
import type { Stack } from '../../stack/stack.js';
import { join } from 'node:path';

/** What one process took: processor seconds, and its peak of memory in megabytes. */
export interface Usage {
  readonly cpu: number;
  readonly peakMb: number;
}

/** What a step took of everything. */
export interface Cost {
  readonly processes: Readonly<Record<string, Usage>>;
  /** Requests to the API server by all of its clients, such as `PATCH nodeclaims/status`. */
  readonly requests: Readonly<Record<string, number>>;
  /** Temporal's billable actions by kind. */
  readonly actions: Readonly<Record<string, number>>;
}

/** Of /proc: the kernel's USER_HZ. */
const ticksPerSecond = 100;

/** Reads what the processes of a stack and its engine have taken since the meter was made. */
export class Meter {
  private constructor(
    private readonly stack: Stack,
    private readonly pids: Readonly<Record<string, number>>,
    private readonly before: Cost,
  ) {}

  static async start(stack: Stack, enginePid: number): Promise<Meter> {
    const components = readState(stack.folder)?.components ?? [];
    const pids = { engine: enginePid, ...Object.fromEntries(components.map(({ name, pid }) => [name, pid])) };
    // The peaks of the step, not of what came before it.
    for (const pid of Object.values(pids)) writeFileSync(`/proc/${pid}/clear_refs`, '5');
    return new Meter(stack, pids, await costOf(stack, pids));
  }

  async read(): Promise<Cost> {
    const now = await costOf(this.stack, this.pids);
    const processes = Object.entries(now.processes).map(([name, { cpu, peakMb }]) => [
      name,
      { cpu: cpu - (this.before.processes[name]?.cpu ?? 0), peakMb },
    ]);
    return {
      processes: Object.fromEntries(processes) as Cost['processes'],
      requests: grown(this.before.requests, now.requests),
      actions: grown(this.before.actions, now.actions),
    };
  }
}

async function costOf(stack: Stack, pids: Readonly<Record<string, number>>): Promise<Cost> {
  const processes = Object.entries(pids).map(([name, pid]) => [name, usageOf(pid)]);
  return {
    processes: Object.fromEntries(processes) as Cost['processes'],
    requests: await apiRequests(stack),
    actions: stack.temporalMetricsUrl === undefined ? {} : await temporalActions(stack.temporalMetricsUrl),
  };
}

function usageOf(pid: number): Usage {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { cpu: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond, peakMb: Number(peak) / 1024 };
}

async function apiRequests({ folder, apiserver = '' }: Stack): Promise<Record<string, number>> {
  const { body } = await http(`${apiserver}/metrics`, {
    ca: false,
    headers: { authorization: `Bearer ${readTokens(join(folder, 'data')).admin}` },
  });
  return counters(body.toString('utf8'), 'apiserver_request_total', ({ verb = '', resource = '', subresource = '' }) =>
    resource === '' ? undefined : `${verb} ${resource}${subresource === '' ? '' : `/${subresource}`}`,
  );
}

async function temporalActions(url: string): Promise<Record<string, number>> {
  const { body } = await http(url);
  return counters(body.toString('utf8'), 'action', ({ action_type: type }) => type);
}

/** The samples of a counter, added up by the name that their labels give; those without one are left out. */
function counters(
  text: string,
  metric: string,
  nameOf: (labels: Readonly<Record<string, string>>) => string | undefined,
): Record<string, number> {
  const sums = new Map<string, number>();
  for (const [, all = '', value = ''] of text.matchAll(new RegExp(`^${metric}\\{(.*)\\} (\\S+)$`, 'gm'))) {
    const labels = Object.fromEntries([...all.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, of]) => [key, of]));
    const name = nameOf(labels as Record<string, string>);
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return Object.fromEntries(sums);
}

function grown(
  before: Readonly<Record<string, number>>,
  now: Readonly<Record<string, number>>,
): Record<string, number> {
  const all = Object.entries(now).map(([name, count]) => [name, count - (before[name] ?? 0)] as const);
  return Object.fromEntries(all.filter(([, count]) => count > 0).sort(([, a], [, b]) => b - a));
}
