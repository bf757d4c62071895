import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { stuckKinds } from '../../operator/stuck/findings.js';
import { createMetrics } from '../metrics.js';
import { registerProcessGauges } from './process.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const { groups } = parse(read('deploy/alerts.yaml')) as { groups: { name: string; rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const { registry } = createMetrics();
registerProcessGauges(registry, { role: 'operator' } as never);
const metrics = new Set(registry.getMetricsAsArray().map(({ name }) => name));
const named = ({ expr }: Rule): string[] =>
  [...expr.matchAll(/\b(?:stowage|karpenter|operator)_\w+/g)].map(([name]) => name);
const kinds = ({ expr }: Rule): string[] =>
  [...expr.matchAll(/kind=~?"([^"]+)"/g)].flatMap(([, text = '']) => text.split('|'));

describe('deploy/alerts.yaml', () => {
  test.each(rules.map((rule) => [rule.alert, rule] as const))('%s queries only metrics that exist', (_, rule) => {
    expect(named(rule).filter((name) => !metrics.has(name))).toEqual([]);
    expect(named(rule)).not.toEqual([]);
    expect(rule.for).toMatch(/^\d+m$/);
    expect(['critical', 'warning', 'info']).toContain(rule.labels.severity);
    expect(rule.annotations.summary).not.toBe('');
  });

  test('every kind of stuck work has an alert', () => {
    expect([...new Set(rules.flatMap(kinds))].sort()).toEqual([...stuckKinds].sort());
  });

  test('each alert has its section in docs/troubleshooting.md, and each section its alert', () => {
    const [, runbooks = ''] = read('docs/troubleshooting.md').split('\n## Alerts\n');
    const sections = [...runbooks.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);

    expect(sections).toEqual(rules.map(({ alert }) => alert));
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook_url).toBe(`docs/troubleshooting.md#${alert.toLowerCase()}`);
    }
  });

  test('docs/metrics.md names every metric and kind that alerts query', () => {
    const text = read('docs/metrics.md');
    for (const name of new Set(rules.flatMap(named))) expect(text).toContain(`\`${name}\``);
    for (const kind of stuckKinds) expect(text).toContain(`| \`${kind}\``);
  });
});
