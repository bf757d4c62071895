import { describe, expect, test } from 'vitest';
import { defaultFeatureGates, parseFeatureGates } from './feature-gates.js';

// Rule `settings/feature-gates`.
describe('parseFeatureGates', () => {
  test('keeps the defaults of what is not named', () => {
    expect(parseFeatureGates('').gates).toEqual(defaultFeatureGates);
    expect(parseFeatureGates('NodeRepair=true, ReservedCapacity=False').gates).toEqual({
      ...defaultFeatureGates,
      NodeRepair: true,
      ReservedCapacity: false,
    });
  });

  test('tells gates that there are none of from what is no gate', () => {
    expect(parseFeatureGates('Drift=true,NodeRepair,StaticCapacity=yes')).toEqual({
      gates: defaultFeatureGates,
      unknown: ['Drift'],
      broken: ['NodeRepair', 'StaticCapacity=yes'],
    });
  });
});
