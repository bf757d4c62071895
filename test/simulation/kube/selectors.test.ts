import { describe, expect, test } from '@jest/globals';
import { selects } from '../../../core/labels.js';
import { matchesFields, parseLabelSelector } from './selectors.js';

const labels = { app: 'web', tier: 'front', 'example.com/zone': 'a' };

test.each([
  ['', true],
  ['app=web', true],
  ['app==web', true],
  ['app = api', false],
  ['app!=api', true],
  ['missing!=api', true],
  ['app in (api, web)', true],
  ['app in (api)', false],
  ['app notin (api,web)', false],
  ['missing notin (api)', true],
  ['example.com/zone', true],
  ['!example.com/zone', false],
  ['!missing', true],
  ['app in (api,web),tier=front,!missing', true],
  ['app in (api,web),tier=back', false],
])('the label selector "%s" matches: %s', (text, matches) => {
  expect(selects(parseLabelSelector(text), labels)).toBe(matches);
});

describe('selectors', () => {
  test('an absent label selector matches nothing, an empty one everything', () => {
    expect(selects(undefined, labels)).toBe(false);
    expect(selects({}, labels)).toBe(true);
    expect(selects({}, undefined)).toBe(true);
  });

  test.each([
    ['spec.nodeName=n', true],
    ['spec.nodeName!=n', false],
    ['spec.nodeName=', false],
    ['spec.missing=', true],
    ['spec.deeper.missing=x', false],
    ['spec.nodeName=n,status.phase!=Failed', true],
  ])('the field selector "%s" matches: %s', (selector, matches) => {
    expect(matchesFields(selector, { spec: { nodeName: 'n' }, status: { phase: 'Running' } })).toBe(matches);
  });
});
