import type { DataConverter } from '@temporalio/common';
import type { TemporalSettings } from '../temporal-options.js';
import { encryptingCodec } from './codec.js';
import { KeyRing } from './key-ring.js';

export type OnProblem = (message: string) => void;

/** How clients write and read payloads: as the SDK does, and encrypted where a file of keys is named. Throws `SettingsError` for it. */
export function clientConverter(settings: TemporalSettings, onProblem: OnProblem): DataConverter {
  return converter(settings, onProblem, {});
}

/** The same for workers, which refuse what does not hold rather than fail for it. */
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
