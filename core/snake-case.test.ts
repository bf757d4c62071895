import { expect, test } from 'vitest';
import { snakeCase } from './snake-case.js';

test.each([
  ['AcceleratedHardwareReady', 'accelerated_hardware_ready'],
  ['WhenEmptyOrUnderutilized', 'when_empty_or_underutilized'],
  ['Balanced', 'balanced'],
  ['DNSReady', 'dns_ready'],
  ['spot_interrupted', 'spot_interrupted'],
  ['', ''],
])('%s is %s', (text, expected) => {
  expect(snakeCase(text)).toBe(expected);
});
