import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { awsWellKnownLabels } from '../../api/aws/labels.js';
import { FakeCloud } from '../../test/simulation/cloud/fake.js';
import { catalogue, createActivityWorld } from '../../test/builders/activity-world.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { createMetrics } from '../metrics.js';
import { registerPackingGauges } from './packing.js';
import { registerGauges } from './register.js';

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number };
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}
interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly templating: { readonly list: readonly { readonly name: string }[] };
  readonly panels: readonly Panel[];
}

const folder = new URL('../../deploy/chart/files/dashboards/', import.meta.url);
const dashboards = readdirSync(folder).map((name) => {
  return [name, JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Dashboard] as const;
});
const expressions = dashboards.flatMap(([name, { panels }]) =>
  panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => ({ at: `${name}: ${title}`, expr, legendFormat })),
  ),
);

/** Metrics that an expression names, without what histograms add to a name. */
const namesIn = (expr: string): string[] =>
  [...expr.matchAll(/\b(?:stowage|karpenter|operator|process|nodejs)_\w+/g)].map(([name]) => name);
/** Labels that an expression groups by, joins by or selects. */
const labelsIn = (expr: string): string[] => [
  ...[...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/)),
  ...[...expr.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label = '']) => label),
];
/** What Prometheus adds to every series, and histograms to theirs. */
const everywhere = ['instance', 'le'];

describe('dashboards', () => {
  let world: ActivityWorld;
  /** Labels by metric. */
  let metrics: Map<string, readonly string[]>;
  beforeAll(async () => {
    world = await createActivityWorld();
    const cloud = new FakeCloud({ types: catalogue, now: () => world.clock.now, wellKnownLabels: awsWellKnownLabels });
    const { registry } = createMetrics();
    const state = new Registry();
    registerGauges(state, { ...world.deps, cloud }, { objects: true });
    registerPackingGauges(registry, () => []);
    metrics = new Map(
      [...registry.getMetricsAsArray(), ...state.getMetricsAsArray()].map((metric) => [
        metric.name,
        // prom-client keeps the names of a metric's labels to itself.
        (metric as unknown as { labelNames: readonly string[] }).labelNames,
      ]),
    );
  });
  afterAll(() => world.stop());

  const known = (name: string): string | undefined =>
    [name, name.replace(/_(bucket|sum|count)$/, '')].find((each) => metrics.has(each));

  test('dashboards query only metrics that exist', () => {
    const strange = expressions.flatMap(({ at, expr }) =>
      namesIn(expr)
        .filter((name) => known(name) === undefined)
        .map((name) => `${at}: ${name}`),
    );
    expect(strange).toEqual([]);
    expect(expressions.filter(({ expr }) => namesIn(expr).length === 0)).toEqual([]);
  });

  test('dashboards query and show only labels that the metrics have', () => {
    const strange = expressions.flatMap(({ at, expr, legendFormat }) => {
      const labels = new Set([...everywhere, ...namesIn(expr).flatMap((name) => metrics.get(known(name) ?? '') ?? [])]);
      const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
      const kept = labelsIn(expr);
      return [
        ...kept.filter((label) => !labels.has(label)).map((label) => `${at}: ${label}`),
        ...shown.filter((label) => !kept.includes(label)).map((label) => `${at}: legend ${label}`),
      ];
    });
    expect(strange).toEqual([]);
  });

  test.each(expressions.map(({ at, expr }) => [at, expr] as const))(
    'the brackets of the expression of %s match',
    (_, expr) => {
      for (const [open, close] of ['()', '{}', '[]']) expect(expr.split(open!).length).toBe(expr.split(close!).length);
    },
  );

  test.each(dashboards)(
    '%s has its own uid, panels with distinct ids and places, and only variables that are defined',
    (name, dashboard) => {
      expect(dashboard.uid).toBe(`stowage-${name.replace('.json', '')}`);
      const places = dashboard.panels.map(({ gridPos: { x, y } }) => `${x}/${y}`);
      expect(new Set(places).size).toBe(dashboard.panels.length);
      expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
      const variables = new Set(dashboard.templating.list.map((variable) => variable.name));
      const used = [...JSON.stringify(dashboard.panels).matchAll(/\$\{?([a-z]\w*)/g)].map(([, variable]) => variable);
      expect(used.filter((variable) => !variables.has(variable!))).toEqual([]);
    },
  );
});
