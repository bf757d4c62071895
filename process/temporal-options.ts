import type { TLSConfig } from '@temporalio/client';
import {
  type ClientConfigTLS,
  type ConfigDataSource,
  loadClientConfigProfile,
  type ClientConfigProfile,
} from '@temporalio/envconfig';
import { readSecretFile, SettingsError, shownPath, type Settings, readSettings } from './settings.js';
import { lookUp } from '../core/own.js';
import { messageOf, parserMessageOf } from '../core/error-message.js';

export type TemporalSettings = Pick<Settings, Extract<keyof Settings, `TEMPORAL_${string}`>>;

export interface ConnectOptions {
  readonly address: string;
  /** Absent for plain text. */
  readonly tls?: TLSConfig;
  readonly apiKey?: string;
  /** Headers of every call. */
  readonly metadata?: Record<string, string>;
}

/**
 * How to reach the frontend, with the files that settings and profile name as these are now. A setting wins over its like of the
 * profile, a certificate together with its key. Whoever asks for anything of TLS gets TLS or an error: throws `SettingsError` for a
 * certificate without its key, a key without its certificate, two API keys, TLS that the profile both wants and disables, and files
 * that cannot be read or hold nothing.
 */
export function connectOptions(settings: TemporalSettings, environment: Environment = process.env): ConnectOptions {
  const profile = temporalProfile(settings, environment);
  const apiKey = apiKeyOf(settings) ?? profile.apiKey?.trim();
  for (const [name, value] of Object.entries({ 'the API key': apiKey, ...profile.grpcMeta }))
    refuseIllegal(name, value);
  const tls = tlsOf(settings, profile.tls, apiKey !== undefined);
  return {
    address: settings.TEMPORAL_ADDRESS,
    ...(tls === undefined ? {} : { tls }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(profile.grpcMeta === undefined ? {} : { metadata: profile.grpcMeta }),
  };
}

/** An API key is never sent in plain text. */
function tlsOf(
  settings: TemporalSettings,
  profile: ClientConfigTLS | undefined,
  hasApiKey: boolean,
): TLSConfig | undefined {
  const parts = tlsParts(settings, profile ?? {});
  const isAsked = settings.TEMPORAL_TLS || hasApiKey || Object.keys(parts).length > 0;
  if (profile?.disabled === true && isAsked) {
    throw new SettingsError(
      'the profile of temporal.toml has tls.disabled, but an API key or something of TLS is given: drop one of them',
    );
  }
  // As in every SDK, a profile that has the table wants TLS.
  const isWanted = profile !== undefined && profile.disabled !== true;
  return isAsked || isWanted ? parts : undefined;
}

function tlsParts(settings: TemporalSettings, profile: ClientConfigTLS): TLSConfig {
  const ca = content('TEMPORAL_TLS_CA', settings, 'server_ca_cert', profile.serverCACert);
  const serverName = settings.TEMPORAL_TLS_SERVER_NAME ?? profile.serverName;
  const pair = certificatePair(settings, profile);
  return {
    ...(pair === undefined ? {} : { clientCertPair: pair }),
    ...(ca === undefined ? {} : { serverRootCACertificate: ca }),
    ...(serverName === undefined ? {} : { serverNameOverride: serverName }),
  };
}

function certificatePair(settings: TemporalSettings, profile: ClientConfigTLS): TLSConfig['clientCertPair'] {
  const own = settings.TEMPORAL_TLS_CERT !== undefined || settings.TEMPORAL_TLS_KEY !== undefined;
  const source = own ? {} : profile;
  const crt = content('TEMPORAL_TLS_CERT', settings, 'client_cert', source.clientCert);
  const key = content('TEMPORAL_TLS_KEY', settings, 'client_key', source.clientKey);
  if (crt === undefined && key === undefined) return undefined;
  if (crt === undefined || key === undefined) throw new SettingsError(missingHalf(own, key === undefined));
  return { crt, key };
}

function missingHalf(own: boolean, isKey: boolean): string {
  const [given, missing] = isKey ? ['CERT', 'KEY'] : ['KEY', 'CERT'];
  const of = (half: string): string =>
    own ? `TEMPORAL_TLS_${half}` : `client_${half.toLowerCase()} of the profile of temporal.toml`;
  const flag = own ? ` (--temporal-tls-${missing.toLowerCase()})` : '';
  return `${of(missing)}${flag} is missing: ${of(given)} is given, and a certificate is of no use without its key`;
}

/** What the file of the setting holds, or else the field of the profile. */
function content(
  setting: 'TEMPORAL_TLS_CA' | 'TEMPORAL_TLS_CERT' | 'TEMPORAL_TLS_KEY',
  settings: TemporalSettings,
  field: string,
  source: ConfigDataSource | undefined,
): Buffer | undefined {
  const file = settings[setting];
  if (file !== undefined) return read(settingName(setting), file);
  if (source === undefined) return undefined;
  return 'path' in source
    ? read(`${field}_path of the profile of temporal.toml`, source.path)
    : Buffer.from(source.data);
}

function apiKeyOf({ TEMPORAL_API_KEY: given, TEMPORAL_API_KEY_FILE: file }: TemporalSettings): string | undefined {
  if (file === undefined) return given?.trim();
  if (given !== undefined) {
    throw new SettingsError('TEMPORAL_API_KEY and TEMPORAL_API_KEY_FILE are both given: one of them is allowed');
  }
  return read(settingName('TEMPORAL_API_KEY_FILE'), file).toString('utf8').trim();
}

/** gRPC would quote the whole value. */
function refuseIllegal(name: string, value: string | undefined): void {
  const at = value === undefined ? -1 : value.search(/[^\x20-\x7e]/);
  if (at >= 0)
    throw new SettingsError(
      `${name} for Temporal: character ${at + 1} of ${value?.length} cannot be sent; printable ASCII is allowed`,
    );
}

function settingName(setting: keyof TemporalSettings): string {
  return `${setting} (--${setting.toLowerCase().replaceAll('_', '-')})`;
}

function read(what: string, path: string): Buffer {
  const found = readSecretFile(what, path);
  if (found.toString('utf8').trim() === '') throw new SettingsError(`${what} ${shownPath(path)}: the file is empty`);
  return found;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** These are settings of Stowage, which wins over a profile by itself (`readSettings`, `connectOptions`). */
const ownVariables = new Set([
  'TEMPORAL_ADDRESS',
  'TEMPORAL_NAMESPACE',
  'TEMPORAL_API_KEY',
  'TEMPORAL_TLS',
  'TEMPORAL_TLS_SERVER_NAME',
  'TEMPORAL_CONFIG_FILE',
  'TEMPORAL_PROFILE',
]);

/**
 * The profile of `temporal.toml` that the settings name, under the other variables of Temporal's SDKs, such as
 * `TEMPORAL_TLS_CLIENT_CERT_PATH`; empty without either. Throws `SettingsError` for a file that is named and not there, a profile that it
 * does not have, and keys that mean nothing.
 */
function temporalProfile(
  {
    TEMPORAL_CONFIG_FILE: file,
    TEMPORAL_PROFILE: profile,
  }: Pick<Settings, 'TEMPORAL_CONFIG_FILE' | 'TEMPORAL_PROFILE'>,
  environment: Environment,
): ClientConfigProfile {
  const named =
    file === undefined ? 'temporal.toml' : `TEMPORAL_CONFIG_FILE (--temporal-config-file) ${shownPath(file)}`;
  const source =
    file === undefined
      ? {}
      : { configSource: { data: readSecretFile('TEMPORAL_CONFIG_FILE (--temporal-config-file)', file) } };
  try {
    return loadClientConfigProfile({
      ...source,
      // Without a name the package takes a file that has no default profile for an empty one.
      ...(profile === undefined && file === undefined ? {} : { profile: profile ?? 'default' }),
      configFileStrict: true,
      overrideEnvVars: variablesOfSdks(environment),
    });
  } catch (error) {
    throw new SettingsError(`${named}: ${problemOf(error, profile ?? 'default')}`);
  }
}

function problemOf(error: unknown, profile: string): string {
  // So it says that a file has no profile at all.
  if (error instanceof TypeError) return `it has no [profile.${profile}]`;
  // What the parser says quotes the file, which holds API keys.
  return 'codeblock' in Object(error) ? parserMessageOf(error) : messageOf(error);
}

function variablesOfSdks(environment: Environment): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && value !== '' && !ownVariables.has(name)) given[name] = value;
  }
  return given;
}

/** As `readSettings`, with the address and namespace of the profile where neither a flag nor the environment gives them. */
export function readSettingsWithProfile(
  environment: Environment,
  flags: Readonly<Record<string, string>> = {},
): Settings {
  const profile = temporalProfile(readSettings(environment, flags), environment);
  const unless = (name: string, value: string | undefined): Record<string, string | undefined> =>
    (lookUp(environment, name) ?? '') === '' && value !== undefined ? { [name]: value } : {};
  return readSettings(
    {
      ...environment,
      ...unless('TEMPORAL_ADDRESS', profile.address),
      ...unless('TEMPORAL_NAMESPACE', profile.namespace),
    },
    flags,
  );
}
