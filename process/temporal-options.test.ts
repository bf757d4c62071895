import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { describeSettings, readSettings, SettingsError } from './settings.js';
import { connectOptions, readSettingsWithProfile } from './temporal-options.js';

let folder: string;
const path = (name: string): string => join(folder, name);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'stowage-tls-'));
  for (const name of ['cert', 'key', 'ca']) writeFileSync(path(name), `the ${name}\n`);
  writeFileSync(path('api-key'), 'secret\n');
  writeFileSync(path('empty'), '\n');
});

afterAll(() => rmSync(folder, { recursive: true }));

const options = (given: Record<string, string>): ReturnType<typeof connectOptions> => {
  const environment = { CLUSTER_NAME: 'c', TEMPORAL_ADDRESS: 'temporal:7233', ...given };
  return connectOptions(readSettings(environment), environment);
};

describe('connectOptions', () => {
  test('without a TLS setting the connection is plain text', () => {
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

  test.each(['TEMPORAL_API_KEY_FILE', 'TEMPORAL_TLS_KEY', 'TEMPORAL_TLS_CERT', 'TEMPORAL_CONFIG_FILE'])(
    'a secret given in place of the file of %s is not shown',
    (name) => {
      for (const secret of ['eyJhbGciOi.hunter2.x-y_z', '-----BEGIN KEY-----\nhunter2/\n-----END KEY-----\n']) {
        const read = (): unknown => {
          const environment = { CLUSTER_NAME: 'c', [name]: secret };
          return connectOptions(readSettingsWithProfile(environment), environment);
        };
        expect(read).toThrow(new RegExp(`${name}.* \\(${secret.length} characters, not shown`));
        expect(read).not.toThrow(/hunter2/);
      }
    },
  );

  test('an API key that cannot be sent is refused without being shown, and surrounding white space is ignored', () => {
    expect(options({ TEMPORAL_API_KEY: ' secret\n' }).apiKey).toBe('secret');
    expect(() => options({ TEMPORAL_API_KEY: 'hunter2\nx' })).toThrow(/the API key .*character 8 of 9 cannot be sent/);
    expect(() => options({ TEMPORAL_API_KEY: 'hunter2\nx' })).not.toThrow(/hunter2/);
  });

  test('the API key has no flag', () => {
    const { flag } = describeSettings().find(({ name }) => name === 'TEMPORAL_API_KEY')!;

    expect(flag).toBeUndefined();
  });
});

describe('connectOptions with a profile', () => {
  const toml = (text: string): Record<string, string> => {
    writeFileSync(path('temporal.toml'), text);
    return { TEMPORAL_CONFIG_FILE: path('temporal.toml') };
  };
  const mutual = (): string =>
    `[profile.default.tls]\nclient_cert_path = "${path('cert')}"\nclient_key_data = "the other key"\n`;

  test('a profile gives certificates as files or text, and headers', () => {
    expect(options(toml(`[profile.default]\ngrpc_meta = { Team-Name = "a" }\n${mutual()}`))).toEqual({
      address: 'temporal:7233',
      tls: { clientCertPair: { crt: Buffer.from('the cert\n'), key: Buffer.from('the other key') } },
      metadata: { 'team-name': 'a' },
    });
  });

  test.each([
    ['[profile.default]\napi_key = "hunter2\n', /unfinished|control characters.* at line 2, column \d+/],
    ['[profile.default]\napi_key = hunter2\n', /invalid value at line 2, column 11/],
    ['[profile.default]\napi_key = "hunter2" x\n', / at line 2, column \d+/],
    ['[profile.default]\napi_key = "hunter2"\napi_key = "hunter2"\n', / at line 3, column \d+/],
    ['[profile.default]\napi_key = "hunter2"\n[profile', / at line 3, column \d+/],
    ['[profile.default]\napi_key = "hunter2"\napi_kex = "x"\n', /unrecognized in profile.default: api_kex/],
    ['[profile.default]\ngrpc_meta = { a = "hunter2\\u00e9" }\n', /^a for Temporal: character 8 of 8 cannot be sent/],
  ])('an unusable file is refused without showing its content: %j', (text, message) => {
    expect(() => options(toml(text))).toThrow(message);
    expect(() => options(toml(text))).not.toThrow(/hunter2/);
  });

  test('a setting comes before the profile, a certificate together with its key', () => {
    const own = { TEMPORAL_TLS_CERT: path('cert'), TEMPORAL_TLS_KEY: path('key'), TEMPORAL_API_KEY: 'own' };
    const { tls, apiKey } = options({ ...toml(`[profile.default]\napi_key = "theirs"\n${mutual()}`), ...own });

    expect(apiKey).toBe('own');
    expect(tls?.clientCertPair?.key).toEqual(Buffer.from('the key\n'));
    const half = { ...toml(mutual()), TEMPORAL_TLS_CERT: path('cert') };
    expect(() => options(half)).toThrow(/TEMPORAL_TLS_KEY .* is missing/);
  });

  test('environment variables of the SDKs come before the profile', () => {
    const given = { ...toml(mutual()), TEMPORAL_TLS_CLIENT_KEY_DATA: 'of the environment' };

    expect(options(given).tls?.clientCertPair?.key).toEqual(Buffer.from('of the environment'));
  });

  test('an empty tls table of a profile gives TLS, tls.disabled plain text, disabled with certificates an error', () => {
    expect(options(toml('[profile.default.tls]\n')).tls).toEqual({});
    expect(options(toml('[profile.default.tls]\ndisabled = true\n'))).toEqual({ address: 'temporal:7233' });
    expect(() => options(toml('[profile.default]\napi_key = "k"\ntls = { disabled = true }\n'))).toThrow(
      /tls\.disabled, but an API key/,
    );
  });

  test.each([
    [
      'a certificate without a key',
      '[profile.default.tls]\nclient_cert_data = "c"\n',
      /client_key of the profile .* is missing/,
    ],
    [
      'a file that is not there',
      '[profile.default.tls]\nserver_ca_cert_path = "/none"\n',
      /server_ca_cert_path .*ENOENT/,
    ],
    ['an unknown field', '[profile.default.tls]\nclient_crt_path = "c"\n', /unrecognized.*client_crt_path/],
    ['a file without the named profile', '[profile.other]\n', /'default' not found/],
    ['an empty file', '', /it has no \[profile\.default\]/],
    ['invalid TOML', '[profile', /temporal\.toml": /],
  ])('%s is refused', (_, text, message) => {
    const read = (): unknown => options(toml(text));

    expect(read).toThrow(SettingsError);
    expect(read).toThrow(message);
  });

  test('a missing TEMPORAL_CONFIG_FILE is refused', () => {
    expect(() => options({ TEMPORAL_CONFIG_FILE: path('none') })).toThrow(/TEMPORAL_CONFIG_FILE .*none.*ENOENT/);
  });

  test('a profile gives address and namespace unless environment or flag do', () => {
    const given = { CLUSTER_NAME: 'c', ...toml('[profile.prod]\naddress = "p:1"\nnamespace = "n"\n') };
    const read = (more: Record<string, string>, flags?: Record<string, string>): string => {
      const settings = readSettingsWithProfile({ ...given, TEMPORAL_PROFILE: 'prod', ...more }, flags);
      return `${settings.TEMPORAL_ADDRESS} ${settings.TEMPORAL_NAMESPACE}`;
    };

    expect(read({})).toBe('p:1 n');
    expect(read({ TEMPORAL_ADDRESS: '' })).toBe('p:1 n');
    expect(read({ TEMPORAL_ADDRESS: 'e:2' })).toBe('e:2 n');
    expect(read({ TEMPORAL_ADDRESS: 'e:2' }, { 'temporal-address': 'f:3', 'temporal-namespace': 'm' })).toBe('f:3 m');
  });

  test("the user's Temporal configuration file is used where none is named", () => {
    mkdirSync(join(folder, 'temporalio'));
    writeFileSync(join(folder, 'temporalio/temporal.toml'), '[profile.default]\napi_key = "k"\n');

    expect(options({ XDG_CONFIG_HOME: folder }).apiKey).toBe('k');
  });
});
