import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import { installedPrometheus } from '../../test/builders/prometheus.js';

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
}

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const { promtool } = installedPrometheus();
const withPromtool = promtool === undefined ? describe.skip : describe;
const scratch = mkdtempSync(join(tmpdir(), 'stowage-promtool-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** What promtool says of a rule file; status 0 for a good one. */
function check(text: string): { readonly status: number | null; readonly said: string } {
  const file = join(scratch, 'rules.yaml');
  writeFileSync(file, text);
  const { status, stdout, stderr } = spawnSync(promtool ?? '', ['check', 'rules', file], { encoding: 'utf8' });
  return { status, said: status === 0 ? '' : `${stdout}${stderr}` };
}

/** Grafana puts something in place of its variables before it asks. */
const asGrafanaAsks = (expr: string): string =>
  expr.replaceAll(/\[\$\w+\]/g, '[5m]').replaceAll(/\$\{?\w+(:\w+)?\}?/g, 'x');

withPromtool(
  `Prometheus' own checker${promtool === undefined ? ' (skipped: run node tools/stack/install.mjs prometheus)' : ''}`,
  () => {
    test('promtool accepts deploy/alerts.yaml', () => {
      expect(check(read('deploy/alerts.yaml'))).toEqual({ status: 0, said: '' });
    });

    test('promtool accepts every expression of the dashboards', () => {
      const folder = 'deploy/chart/files/dashboards';
      const expressions = readdirSync(new URL(`../../${folder}/`, import.meta.url)).flatMap((name) =>
        (JSON.parse(read(`${folder}/${name}`)) as Dashboard).panels.flatMap(({ targets }) =>
          targets.map(({ expr }) => expr),
        ),
      );
      const rules = expressions.map((expr, at) => ({ record: `panel_${at}`, expr: asGrafanaAsks(expr) }));

      expect(rules.length).toBeGreaterThan(40);
      expect(check(stringify({ groups: [{ name: 'panels', rules }] }))).toEqual({ status: 0, said: '' });
    });

    test('promtool refuses an invalid expression', () => {
      expect(check(stringify({ groups: [{ name: 'g', rules: [{ record: 'a', expr: 'sum by (' }] }] })).status).not.toBe(
        0,
      );
    });
  },
);
