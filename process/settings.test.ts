import { describe, expect, test } from '@jest/globals';
import { defaultFeatureGates } from '../core/feature-gates.js';
import { describeSettings, readSettings, SettingsError } from './settings.js';

describe('readSettings', () => {
  // Rule `settings/names`.
  test('absent settings have the documented defaults', () => {
    const settings = readSettings({ CLUSTER_NAME: 'c' });

    expect(settings).toMatchObject({
      CLUSTER_NAME: 'c',
      BATCH_IDLE_DURATION: 1000,
      BATCH_MAX_DURATION: 10_000,
      METRICS_PORT: 8080,
      HEALTH_PROBE_PORT: 8081,
      KUBE_CLIENT_QPS: 200,
      PREFERENCE_POLICY: 'Respect',
      VM_MEMORY_OVERHEAD_PERCENT: 0.075,
      FEATURE_GATES: { ...defaultFeatureGates, unknown: [] },
    });
  });

  test('flags come before the environment', () => {
    const settings = readSettings({ CLUSTER_NAME: 'c', BATCH_IDLE_DURATION: '5s' }, { 'batch-idle-duration': '2s' });

    expect(settings.BATCH_IDLE_DURATION).toBe(2000);
  });

  test('an empty variable counts as an absent setting', () => {
    expect(readSettings({ CLUSTER_NAME: 'c', CLUSTER_ENDPOINT: '' }).CLUSTER_ENDPOINT).toBeUndefined();
  });

  test('FEATURE_GATES is read as gates', () => {
    const { FEATURE_GATES } = readSettings({
      CLUSTER_NAME: 'c',
      FEATURE_GATES: 'NodeRepair=true, ReservedCapacity=false',
    });

    expect(FEATURE_GATES).toMatchObject({ NodeRepair: true, ReservedCapacity: false, StaticCapacity: false });
  });

  test('one error names every invalid setting', () => {
    const read = (): unknown =>
      readSettings({ BATCH_IDLE_DURATION: 'soon', METRICS_PORT: '99999', FEATURE_GATES: 'NodeRepair' });

    expect(read).toThrow(SettingsError);
    expect(read).toThrow(/CLUSTER_NAME \(--cluster-name\) is missing/);
    expect(read).toThrow(/BATCH_IDLE_DURATION \(--batch-idle-duration\) "soon": is not a duration/);
    expect(read).toThrow(/METRICS_PORT/);
    expect(read).toThrow(/FEATURE_GATES.*"NodeRepair" is not a feature gate/);
  });

  test.each(describeSettings().filter(({ name }) => /(URL|PROXY|ENDPOINT)$/.test(name) && name !== 'NO_PROXY'))(
    'reports an invalid $name, which may hold a password, without its value',
    ({ name }) => {
      const read = (): unknown => readSettings({ CLUSTER_NAME: 'c', [name]: 'http//user:hunter2@host' });

      expect(read).toThrow(new RegExp(`${name} .*\\(23 characters, not shown .*: `));
      expect(read).not.toThrow(/hunter2/);
    },
  );

  test.each(['prod', 'Prod-1_a', 'prod.k8s.example.com', '1', 'a'.repeat(100)])(
    'accepts the cluster name %s',
    (name) => {
      expect(readSettings({ CLUSTER_NAME: name }).CLUSTER_NAME).toBe(name);
    },
  );

  // Workflow ids are read by their slashes, and queries of Temporal quote the name.
  test.each(['team/prod', 'arn:aws:eks:eu-west-1:1:cluster/prod', 'it"s', "it's", '-prod', 'a b', 'a'.repeat(101)])(
    'refuses the cluster name %s',
    (name) => {
      expect(() => readSettings({ CLUSTER_NAME: name })).toThrow(
        /CLUSTER_NAME \(--cluster-name\) ".*": is not 1 to 100 letters, digits and \. _ -/,
      );
    },
  );

  test('each setting is described with its flag and default', () => {
    expect(describeSettings()).toContainEqual({
      name: 'METRICS_PORT',
      flag: '--metrics-port',
      default: '8080',
      description: 'port of /metrics',
    });
    expect(describeSettings().find(({ name }) => name === 'BATCH_IDLE_DURATION')?.default).toBe('1s');
  });
});
