import { readCommitments, type Commitment } from '../api/stowage/commitments.js';
import type { CloudProvider } from '../cloud/port.js';
import type { PackingSettings } from '../packing/types.js';
import { defaultSpreadOf } from './scheduler-config.js';
import { readDocument } from './settings-files.js';
import { SettingsError, type Settings } from './settings.js';

/** Karpenter lists up to 600 types in a claim; a launch takes 60. A plan's payload has to stay small. */
const listedTypes = 100;

/** How a process with these settings packs for the cloud. Throws `SettingsError` where a file of theirs does not work. */
export function packingSettings(
  settings: Pick<Settings, 'PREFERENCE_POLICY' | 'MIN_VALUES_POLICY' | 'COMMITMENTS_FILE' | 'SCHEDULER_CONFIG'>,
  { wellKnownLabels }: Pick<CloudProvider, 'wellKnownLabels'>,
): PackingSettings {
  const commitments = commitmentsIn(settings.COMMITMENTS_FILE);
  const defaultTopologySpread = defaultSpreadOf(settings.SCHEDULER_CONFIG);
  return {
    preferencePolicy: settings.PREFERENCE_POLICY,
    minValuesPolicy: settings.MIN_VALUES_POLICY,
    wellKnownLabels,
    listedTypes,
    ...(commitments.length === 0 ? {} : { commitments }),
    ...(defaultTopologySpread.length === 0 ? {} : { defaultTopologySpread }),
  };
}

/** Savings Plans and reserved instances (instance-types/commitments). */
function commitmentsIn(file: string | undefined): readonly Commitment[] {
  if (file === undefined) return [];
  const { commitments, problems } = readCommitments(readDocument('COMMITMENTS_FILE', file), file);
  if (problems.length > 0) throw new SettingsError(`COMMITMENTS_FILE: ${problems.join('\n  ')}`);
  return commitments;
}
