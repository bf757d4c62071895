import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { packingSettings, defaultSpreadOf } from './packing-settings.js';
import { readSettings, SettingsError } from './settings.js';

const zonal = { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' };
const scheduler = (args: object | undefined, schedulerName = 'default-scheduler'): string =>
  JSON.stringify({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    profiles: [{ schedulerName, pluginConfig: args === undefined ? [] : [{ name: 'PodTopologySpread', args }] }],
  });

function fileWith(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'stowage-')), 'config.yaml');
  writeFileSync(file, text);
  return file;
}

// Rule `provisioning/default-spread`.
describe("default spread constraints from kube-scheduler's configuration", () => {
  test.each([
    ['Karpenter takes', JSON.stringify({ podTopologySpread: { defaultConstraints: [zonal] } })],
    ['kube-scheduler takes', scheduler({ defaultConstraints: [zonal], defaultingType: 'List' })],
  ])('are read in the form that %s, from text and from a file', (_, text) => {
    expect(defaultSpreadOf(text)).toEqual([zonal]);
    expect(defaultSpreadOf(fileWith(text))).toEqual([zonal]);
  });

  test('are none where kube-scheduler keeps its own default, which is only preferred, or has another profile', () => {
    expect(defaultSpreadOf('')).toEqual([]);
    expect(defaultSpreadOf(scheduler({ defaultingType: 'System' }))).toEqual([]);
    expect(defaultSpreadOf(scheduler(undefined))).toEqual([]);
    expect(defaultSpreadOf(scheduler({ defaultConstraints: [zonal] }, 'other'))).toEqual([]);
  });

  test.each([
    [{ ...zonal, maxSkew: 0 }, 'podTopologySpread.defaultConstraints[0].maxSkew: found 0, must be at least 1'],
    [
      { ...zonal, whenUnsatisfiable: 'Never' },
      'podTopologySpread.defaultConstraints[0].whenUnsatisfiable: found "Never", must be one of DoNotSchedule, ScheduleAnyway',
    ],
    [
      { ...zonal, labelSelector: {} },
      'podTopologySpread.defaultConstraints[0]: found labelSelector, allowed are maxSkew, topologyKey and whenUnsatisfiable',
    ],
  ])('are refused when invalid, by field, with what was found and what is allowed: %#', (constraint, problem) => {
    const text = JSON.stringify({ podTopologySpread: { defaultConstraints: [constraint] } });
    expect(() => defaultSpreadOf(text)).toThrow(SettingsError);
    expect(() => defaultSpreadOf(text)).toThrow(`SCHEDULER_CONFIG: ${problem}`);
  });

  test('allow each pair of key and action once', () => {
    const text = JSON.stringify({ podTopologySpread: { defaultConstraints: [zonal, zonal] } });
    expect(() => defaultSpreadOf(text)).toThrow(/defaultConstraints\[1\]: found .* a second time/);
  });
});

describe('packing settings of a process', () => {
  const settings = (more: Record<string, string>) => readSettings({ CLUSTER_NAME: 'c', ...more });

  // Rules `provisioning/default-spread`, `instance-types/commitments`.
  test('have the default spread and the commitments of their files', () => {
    const file = fileWith(
      'commitments:\n  - { name: ri, kind: ReservedInstances, instanceType: m5.large, count: 2 }\n',
    );
    const spread = JSON.stringify({ podTopologySpread: { defaultConstraints: [zonal] } });
    const packing = packingSettings(settings({ COMMITMENTS_FILE: file, SCHEDULER_CONFIG: spread }), {
      wellKnownLabels: [],
    });
    expect(packing).toMatchObject({
      commitments: [{ name: 'ri', count: 2, sizeFlexible: true, usedElsewhere: 0 }],
      defaultTopologySpread: [zonal],
    });
  });

  test('name a file that cannot be used', () => {
    const packing = (file: string) => () =>
      packingSettings(settings({ COMMITMENTS_FILE: file }), { wellKnownLabels: [] });
    expect(packing('/nowhere')).toThrow(/COMMITMENTS_FILE "\/nowhere": cannot be read: .*ENOENT/);
    const file = fileWith('commitments: 5');
    expect(packing(file)).toThrow(`COMMITMENTS_FILE: ${file}: commitments: found 5, must be of type array`);
  });
});
