import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Client } from '@temporalio/client';
import { workflowIds } from '../../core/ids.js';
import { readState } from '../../tools/stack/stack-state.js';
import { explainQuery } from '../../workflows/messages.js';
import type { LiveWorld } from '../live/world.js';

type Running = Pick<LiveWorld, 'stack'>;

/** What `/readyz` answers, and why it does not where the process is only just starting or ends. */
export async function readiness({ stack }: Running): Promise<string> {
  const { stowageHealth } = readState(stack.folder)!.ports;
  return fetch(`http://127.0.0.1:${stowageHealth}/readyz`)
    .then((answer) => answer.text())
    .catch((error: unknown) => `no answer: ${String(error)}`);
}

/** Where Prometheus reads the metrics of the stack's own process. */
export function metricsAddress({ stack }: Running): string {
  return `http://127.0.0.1:${readState(stack.folder)!.ports.stowageMetrics}/metrics`;
}

/** The metrics of the stack's own process, as Prometheus reads them. */
export const metrics = async (world: Running): Promise<string> => (await fetch(metricsAddress(world))).text();

/** The value of a series of the process whose metrics are there. */
export async function valueOf(address: string, series: string): Promise<number | undefined> {
  const lines = (await (await fetch(address)).text()).split('\n');
  const line = lines.find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}

/** What `stowage status` prints. */
export async function status({ stack }: Running): Promise<string> {
  const env = { ...process.env, ...stack.environment };
  const { stdout } = await promisify(execFile)(process.execPath, ['bin/stowage', 'status'], { env });
  return stdout;
}

/** Whether a worker answers a query of `disrupt`. */
export async function workerAnswers(client: Client, { stack }: Running): Promise<boolean> {
  const handle = client.workflow.getHandle(workflowIds.disrupt(stack.cluster));
  return client.connection
    .withDeadline(Date.now() + 2000, () => handle.query(explainQuery))
    .then(() => true)
    .catch(() => false);
}
