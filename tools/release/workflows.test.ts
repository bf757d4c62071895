import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { lookUp } from '../../core/own.js';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Record<string, unknown>;
}
interface Job {
  readonly steps: readonly Step[];
  readonly 'timeout-minutes'?: number;
  readonly permissions?: Record<string, string>;
  readonly env?: Record<string, string>;
}
interface Workflow {
  readonly permissions: Record<string, string>;
  readonly jobs: Record<string, Job>;
}

const folder = '.github/workflows';
const files = readdirSync(folder).map((name) => [name, readFileSync(`${folder}/${name}`, 'utf8')] as const);

describe.each(files)('the workflow %s', (_, text) => {
  const workflow = parse(text) as Workflow;
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);
  const runs = steps.flatMap(({ run }) => run ?? []);

  test('uses actions by commit, with the version beside it', () => {
    const used = text.split('\n').filter((line) => /\buses:/.test(line));
    expect(used.length).toBeGreaterThan(0);
    for (const line of used) expect(line).toMatch(/uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test('has read permissions unless a job says otherwise, keeps no credentials, and has timeouts', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    for (const { uses, with: given } of steps) {
      if (uses?.startsWith('actions/checkout@')) expect(given).toMatchObject({ 'persist-credentials': false });
    }
    for (const job of Object.values(workflow.jobs)) expect(job['timeout-minutes']).toBeGreaterThan(0);
  });

  test('runs no package code in jobs with more than read permissions', () => {
    for (const { permissions, env, steps: own } of Object.values(workflow.jobs)) {
      if (permissions === undefined) continue;
      expect(JSON.stringify(env ?? {})).not.toContain('github.token');
      for (const { run = '' } of own) expect(run).not.toMatch(/\b(npm|npx|pip|go|curl)\b/);
    }
  });

  test('runs only scripts that exist', () => {
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

test('a release signs image and chart by digest, and logs in to the registry after all that needs no login', () => {
  const [job] = Object.values((parse(readFileSync(`${folder}/release.yml`, 'utf8')) as Workflow).jobs);
  const does = job!.steps.map(({ uses = '', run = '' }) => `${uses}${run}`);
  const signed = does.flatMap((text) => (/^cosign sign --yes (.*)$/m.exec(text)?.[1] ?? '').match(/\S+/g) ?? []);

  expect(signed).toEqual(['"$REGISTRY/stowage@$IMAGE_DIGEST"', '"$REGISTRY/charts/stowage@$CHART_DIGEST"']);
  expect(does.findIndex((text) => text.startsWith('docker/login'))).toBe(
    does.findIndex((text) => text.includes('buildx build')) - 1,
  );
});
