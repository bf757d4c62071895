import { hasOwn } from './own.js';
/** Karpenter's feature gates with their defaults (settings/feature-gates). */
export const defaultFeatureGates = {
  NodeRepair: false,
  ReservedCapacity: true,
  SpotToSpotConsolidation: false,
  NodeOverlay: false,
  StaticCapacity: false,
  CapacityBuffer: false,
} as const;

type FeatureGate = keyof typeof defaultFeatureGates;
/** The condition of an object that needs a gate that is off. */
export const gateIsOff = (
  gate: FeatureGate,
  effect: string,
): { readonly status: 'False'; readonly reason: string; readonly message: string } => ({
  status: 'False',
  reason: 'FeatureGateOff',
  message: `feature gate ${gate} is off: ${effect}; set FEATURE_GATES=${gate}=true`,
});

export type FeatureGates = Readonly<Record<FeatureGate, boolean>>;

/**
 * Parses `Name=true,Other=false`; gates that are not named keep their default. `unknown`: names of gates that do not
 * exist, as in configurations of other versions; they are ignored. `broken`: entries that cannot be parsed.
 */
export function parseFeatureGates(text: string): {
  readonly gates: FeatureGates;
  readonly unknown: readonly string[];
  readonly broken: readonly string[];
} {
  const gates: Record<FeatureGate, boolean> = { ...defaultFeatureGates };
  const unknown: string[] = [];
  const broken: string[] = [];
  for (const pair of text.split(',').map((part) => part.trim())) {
    if (pair === '') continue;
    const [, name, value] = /^(\w+)=(true|false)$/i.exec(pair) ?? [];
    if (name === undefined) broken.push(pair);
    else if (hasOwn(gates, name)) gates[name as FeatureGate] = value?.toLowerCase() === 'true';
    else unknown.push(name);
  }
  return { gates, unknown, broken };
}
