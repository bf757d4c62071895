import type { CloudProvider } from '../cloud/port.js';
import type { PackingSettings } from '../packing/types.js';
import type { Settings } from './settings.js';

/** Karpenter lists up to 600 types in a claim; a launch takes 60. A plan's payload has to stay small. */
const listedTypes = 100;

/** How a process with these settings packs for the cloud. */
export function packingSettings(
  { PREFERENCE_POLICY: preferencePolicy, MIN_VALUES_POLICY: minValuesPolicy }: Settings,
  { wellKnownLabels }: Pick<CloudProvider, 'wellKnownLabels'>,
): PackingSettings {
  return { preferencePolicy, minValuesPolicy, wellKnownLabels, listedTypes };
}
