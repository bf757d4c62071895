import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { lookUp } from '../../core/own.js';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Record<string, unknown>;
}
interface Workflow {
  readonly permissions: Record<string, string>;
  readonly jobs: Record<string, { readonly steps: readonly Step[]; readonly 'timeout-minutes'?: number }>;
}

const folder = '.github/workflows';
const files = readdirSync(folder).map((name) => [name, readFileSync(`${folder}/${name}`, 'utf8')] as const);

describe.each(files)('%s', (_, text) => {
  const workflow = parse(text) as Workflow;
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);
  const runs = steps.flatMap(({ run }) => run ?? []);

  test('takes actions by commit, with the version beside it', () => {
    const used = text.split('\n').filter((line) => /\buses:/.test(line));
    expect(used.length).toBeGreaterThan(0);
    for (const line of used) expect(line).toMatch(/uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test('may read and no more unless a job says so, keeps no credentials, and ends', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    for (const { uses, with: given } of steps) {
      if (uses?.startsWith('actions/checkout@')) expect(given).toMatchObject({ 'persist-credentials': false });
    }
    for (const job of Object.values(workflow.jobs)) expect(job['timeout-minutes']).toBeGreaterThan(0);
  });

  test('runs what there is', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
    const named = runs.flatMap((run) => [...run.matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, name = '']) => name));
    expect(named.filter((name) => lookUp(scripts, name) === undefined)).toEqual([]);
    const paths = runs.flatMap((run) =>
      [...run.matchAll(/\b((?:bin|deploy|examples)\/[\w./-]+)/g)].map(([, path = '']) => path),
    );
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
  });

  test('puts no text of an event into a command', () => {
    for (const run of runs) expect(run).not.toContain('${{');
  });
});
