import type { DataConverter } from '@temporalio/common';
import type { TemporalSettings } from '../temporal-options.js';
import { encryptingCodec } from './codec.js';
import { KeyRing } from './key-ring.js';

type OnProblem = (message: string) => void;

/**
 * The data converter of clients: the SDK's, with encryption if a key file is configured. Throws `SettingsError` for an
 * invalid file.
 */
export function clientConverter(settings: TemporalSettings, onProblem: OnProblem): DataConverter {
  return converter(settings, onProblem, {});
}

/** The data converter of workers, which refuse invalid payloads instead of failing. */
export function workerConverter(settings: TemporalSettings, onProblem: OnProblem): DataConverter {
  return converter(settings, onProblem, { passesOn: true });
}

function converter(
  { TEMPORAL_PAYLOAD_KEYS_FILE: file }: TemporalSettings,
  onProblem: OnProblem,
  options: { readonly passesOn?: boolean },
): DataConverter {
  if (file === undefined) return {};
  const ring = new KeyRing({ file, now: () => performance.now(), onProblem });
  return { payloadCodecs: [encryptingCodec(ring, options)] };
}
