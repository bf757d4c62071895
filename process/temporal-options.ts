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
 * Connection options for the frontend, with the current content of the files in settings and profile. A setting
 * overrides the same field of the profile; certificate and key are overridden together. If any TLS option is given, the
 * result uses TLS or throws: `SettingsError` for a certificate without key, a key without certificate, two API keys,
 * TLS that the profile both configures and disables, and unreadable or empty files.
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

/** An API key is never sent without TLS. */
function tlsOf(
  settings: TemporalSettings,
  profile: ClientConfigTLS | undefined,
  hasApiKey: boolean,
): TLSConfig | undefined {
  const parts = tlsParts(settings, profile ?? {});
  const isAsked = settings.TEMPORAL_TLS || hasApiKey || Object.keys(parts).length > 0;
  if (profile?.disabled === true && isAsked) {
    throw new SettingsError(
      'the profile of temporal.toml has tls.disabled, but an API key or a TLS option is given: remove one of them',
    );
  }
  // As in every SDK, a profile with the tls table uses TLS.
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

/** The content of the setting's file, otherwise the field of the profile. */
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
    throw new SettingsError('TEMPORAL_API_KEY and TEMPORAL_API_KEY_FILE are both given: only one is allowed');
  }
  return read(settingName('TEMPORAL_API_KEY_FILE'), file).toString('utf8').trim();
}

/** gRPC would quote the whole value in its error. */
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

/** Settings of Stowage, which override a profile (`readSettings`, `connectOptions`). */
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
 * The profile of `temporal.toml` that the settings name, with the other variables of Temporal's SDKs applied, such as
 * `TEMPORAL_TLS_CLIENT_CERT_PATH`; empty without either. Throws `SettingsError` for a missing file or profile, and
 * unknown keys.
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
      // Without a name the package treats a file without default profile as empty.
      ...(profile === undefined && file === undefined ? {} : { profile: profile ?? 'default' }),
      configFileStrict: true,
      overrideEnvVars: variablesOfSdks(environment),
    });
  } catch (error) {
    throw new SettingsError(`${named}: ${problemOf(error, profile ?? 'default')}`);
  }
}

function problemOf(error: unknown, profile: string): string {
  // How the package reports that a file has no profile.
  if (error instanceof TypeError) return `it has no [profile.${profile}]`;
  // The parser's message quotes the file, which contains API keys.
  return 'codeblock' in Object(error) ? parserMessageOf(error) : messageOf(error);
}

function variablesOfSdks(environment: Environment): Record<string, string> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && value !== '' && !ownVariables.has(name)) given[name] = value;
  }
  return given;
}

/** Like `readSettings`, with address and namespace from the profile if neither a flag nor the environment sets them. */
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
