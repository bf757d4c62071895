import { readFileSync } from 'node:fs';
import type { TLSConfig } from '@temporalio/client';
import { SettingsError } from './settings.js';
import type { Settings } from './settings.js';
import { messageOf } from '../core/error-message.js';

export type TemporalSettings = Pick<Settings, Extract<keyof Settings, `TEMPORAL_${string}`>>;

export interface ConnectOptions {
  readonly address: string;
  /** Absent for plain text. */
  readonly tls?: TLSConfig;
  readonly apiKey?: string;
}

/**
 * How to reach the frontend that the settings name, with the files that they name as these are now. Whoever asks for anything of
 * TLS gets TLS or an error: throws `SettingsError` for a certificate without its key, a key without its certificate, two API keys,
 * and files that cannot be read or hold nothing.
 */
export function connectOptions(settings: TemporalSettings): ConnectOptions {
  const tls = tlsOf(settings);
  const apiKey = apiKeyOf(settings);
  return {
    address: settings.TEMPORAL_ADDRESS,
    // An API key is never sent in plain text.
    ...(tls === undefined && apiKey === undefined ? {} : { tls: tls ?? {} }),
    ...(apiKey === undefined ? {} : { apiKey }),
  };
}

function tlsOf(settings: TemporalSettings): TLSConfig | undefined {
  const { TEMPORAL_TLS_CA: ca, TEMPORAL_TLS_SERVER_NAME: serverName } = settings;
  const pair = certificatePair(settings);
  if (!settings.TEMPORAL_TLS && pair === undefined && ca === undefined && serverName === undefined) return undefined;
  return {
    ...(pair === undefined ? {} : { clientCertPair: pair }),
    ...(ca === undefined ? {} : { serverRootCACertificate: read('TEMPORAL_TLS_CA', ca) }),
    ...(serverName === undefined ? {} : { serverNameOverride: serverName }),
  };
}

function certificatePair({
  TEMPORAL_TLS_CERT: cert,
  TEMPORAL_TLS_KEY: key,
}: TemporalSettings): TLSConfig['clientCertPair'] {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined) {
    const [given, missing] = key === undefined ? ['CERT', 'KEY'] : ['KEY', 'CERT'];
    throw new SettingsError(
      `TEMPORAL_TLS_${missing} (--temporal-tls-${missing.toLowerCase()}) is missing: TEMPORAL_TLS_${given} is given, and a certificate is of no use without its key`,
    );
  }
  return { crt: read('TEMPORAL_TLS_CERT', cert), key: read('TEMPORAL_TLS_KEY', key) };
}

function apiKeyOf({ TEMPORAL_API_KEY: given, TEMPORAL_API_KEY_FILE: file }: TemporalSettings): string | undefined {
  if (file === undefined) return given;
  if (given !== undefined) {
    throw new SettingsError('TEMPORAL_API_KEY and TEMPORAL_API_KEY_FILE are both given: one of them is allowed');
  }
  return read('TEMPORAL_API_KEY_FILE', file).toString('utf8').trim();
}

function read(setting: keyof TemporalSettings, path: string): Buffer {
  const name = `${setting} (--${setting.toLowerCase().replaceAll('_', '-')}) "${path}"`;
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    throw new SettingsError(`${name}: ${messageOf(error)}`);
  }
  if (content.toString('utf8').trim() === '') throw new SettingsError(`${name}: the file is empty`);
  return content;
}
