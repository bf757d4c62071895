import { describe, expect, test } from '@jest/globals';
import { defaultFeatureGates, parseFeatureGates } from './feature-gates.js';

// Rule `settings/feature-gates`.
describe('parseFeatureGates', () => {
  test('feature gates that are not named keep their defaults', () => {
    expect(parseFeatureGates('').gates).toEqual(defaultFeatureGates);
    expect(parseFeatureGates('NodeRepair=true, ReservedCapacity=False').gates).toEqual({
      ...defaultFeatureGates,
      NodeRepair: true,
      ReservedCapacity: false,
    });
  });

  test('an unknown feature gate has another error than a text that is no gate', () => {
    expect(parseFeatureGates('Drift=true,NodeRepair,StaticCapacity=yes')).toEqual({
      gates: defaultFeatureGates,
      unknown: ['Drift'],
      broken: ['NodeRepair', 'StaticCapacity=yes'],
    });
  });
});
