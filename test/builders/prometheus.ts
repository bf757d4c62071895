import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { repositoryRoot } from '../../tools/stack/paths.js';
import { freePorts } from '../../tools/stack/ports.js';
import { launch, stopProcess, waitUntilReady } from '../../tools/stack/processes.js';

/** Prometheus' programs where they are installed (`tools/stack/install.mjs`); nothing is installed for a test of one part. */
export function installedPrometheus(): { readonly prometheus?: string; readonly promtool?: string } {
  const args = ['tools/stack/install.mjs', '--installed', '--json', 'prometheus'];
  const said = execFileSync(process.execPath, args, { cwd: repositoryRoot(), encoding: 'utf8' });
  return JSON.parse(said) as ReturnType<typeof installedPrometheus>;
}

/** One series of an instant query. */
interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

interface Rule {
  readonly name: string;
  /** `ok` once it was evaluated without a problem. */
  readonly health: string;
  readonly lastError?: string;
}

/** A Prometheus of a test's own. */
export interface Prometheus {
  readonly url: string;
  /** Throws what Prometheus says of an expression that it cannot evaluate. */
  query(expr: string): Promise<readonly Sample[]>;
  rules(): Promise<readonly Rule[]>;
  stop(): Promise<void>;
}

interface Options {
  readonly program: string;
  /** The scrape job, which is a label of every series. */
  readonly job: string;
  /** Host and port of a `/metrics`. */
  readonly target: string;
  /** Files of alert and recording rules. */
  readonly rules: readonly string[];
}

/** Starts one that reads a `/metrics` and evaluates rules every second. */
export async function startPrometheus({ program, job, target, rules }: Options): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'stowage-prometheus-'));
  const [port = 0] = await freePorts(1);
  const often = { scrape_interval: '1s', evaluation_interval: '1s' };
  const config = {
    global: often,
    rule_files: rules,
    scrape_configs: [{ job_name: job, static_configs: [{ targets: [target] }] }],
  };
  writeFileSync(join(folder, 'prometheus.yml'), stringify(config));
  const log = join(folder, 'log');
  const record = launch(
    program,
    [
      '--config.file=prometheus.yml',
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { log, cwd: folder },
  );
  const ask = async <T>(path: string): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    const answer = (await response.json()) as { status: string; error?: string; data: T };
    if (answer.status !== 'success') throw new Error(answer.error);
    return answer.data;
  };
  await waitUntilReady('prometheus', record, log, async () => (await fetch(`http://127.0.0.1:${port}/-/ready`)).ok);
  return {
    url: `http://127.0.0.1:${port}`,
    query: async (expr) => {
      const { result } = await ask<{ result: { metric: Record<string, string>; value: [number, string] }[] }>(
        `/api/v1/query?query=${encodeURIComponent(expr)}`,
      );
      return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    rules: async () =>
      (await ask<{ groups: { rules: Rule[] }[] }>('/api/v1/rules')).groups.flatMap((each) => each.rules),
    stop: async () => {
      await stopProcess(record, 5000);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
