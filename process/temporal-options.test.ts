import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { describeSettings, readSettings, SettingsError } from './settings.js';
import { connectOptions } from './temporal-options.js';

let folder: string;
const path = (name: string): string => join(folder, name);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'stowage-tls-'));
  for (const name of ['cert', 'key', 'ca']) writeFileSync(path(name), `the ${name}\n`);
  writeFileSync(path('api-key'), 'secret\n');
  writeFileSync(path('empty'), '\n');
});

afterAll(() => rmSync(folder, { recursive: true }));

const options = (environment: Record<string, string>): ReturnType<typeof connectOptions> =>
  connectOptions(readSettings({ CLUSTER_NAME: 'c', TEMPORAL_ADDRESS: 'temporal:7233', ...environment }));

describe('connectOptions', () => {
  test('without any setting of TLS it is plain text', () => {
    expect(options({})).toEqual({ address: 'temporal:7233' });
  });

  test('a certificate and its key give mutual TLS', () => {
    const { tls } = options({ TEMPORAL_TLS_CERT: path('cert'), TEMPORAL_TLS_KEY: path('key') });

    expect(tls).toEqual({ clientCertPair: { crt: Buffer.from('the cert\n'), key: Buffer.from('the key\n') } });
  });

  test.each([
    ['TEMPORAL_TLS_CERT', 'TEMPORAL_TLS_KEY'],
    ['TEMPORAL_TLS_KEY', 'TEMPORAL_TLS_CERT'],
  ])('%s alone is an error, not plain text', (given, missing) => {
    const alone = (): unknown => options({ [given]: path('cert') });

    expect(alone).toThrow(SettingsError);
    expect(alone).toThrow(`${missing} (--${missing.toLowerCase().replaceAll('_', '-')}) is missing: ${given} is given`);
  });

  test.each(['TEMPORAL_TLS_CA', 'TEMPORAL_TLS_SERVER_NAME'])('%s alone gives TLS', (name) => {
    expect(options({ [name]: name.endsWith('CA') ? path('ca') : 'frontend' }).tls).toEqual(
      name.endsWith('CA') ? { serverRootCACertificate: Buffer.from('the ca\n') } : { serverNameOverride: 'frontend' },
    );
  });

  test('an API key gives TLS, from the environment or from a file', () => {
    const expected = { address: 'temporal:7233', tls: {}, apiKey: 'secret' };

    expect(options({ TEMPORAL_API_KEY: 'secret' })).toEqual(expected);
    expect(options({ TEMPORAL_API_KEY_FILE: path('api-key') })).toEqual(expected);
  });

  test('two API keys are refused', () => {
    expect(() => options({ TEMPORAL_API_KEY: 'a', TEMPORAL_API_KEY_FILE: path('api-key') })).toThrow(/both given/);
  });

  test.each(['TEMPORAL_TLS_CA', 'TEMPORAL_API_KEY_FILE'])('%s that is missing or empty is refused', (name) => {
    expect(() => options({ [name]: path('none') })).toThrow(new RegExp(`${name}.*none.*ENOENT`));
    expect(() => options({ [name]: path('empty') })).toThrow(/empty": the file is empty/);
  });

  test('the API key is no flag', () => {
    const { flag } = describeSettings().find(({ name }) => name === 'TEMPORAL_API_KEY')!;

    expect(flag).toBeUndefined();
  });
});
