import { loadClientConfigProfile } from '@temporalio/envconfig';
import type { ClientConfigProfile } from '@temporalio/envconfig';
import { lookUp } from '../core/own.js';
import { messageOf, parserMessageOf } from '../core/error-message.js';
import { readSecretFile, readSettings, SettingsError, shownPath } from './settings.js';
import type { Settings } from './settings.js';

export type Environment = Readonly<Record<string, string | undefined>>;

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
export function temporalProfile(
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
