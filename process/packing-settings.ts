import { showFound } from '../api/schema/issues.js';
import { readCommitments, type Commitment } from '../api/stowage/commitments.js';
import type { CloudProvider } from '../cloud/port.js';
import type { PackingSettings } from '../packing/types.js';
import { readDocument, parseSettings } from './settings-files.js';
import { SettingsError, type Settings } from './settings.js';
import { z } from 'zod';
import { parserMessageOf } from '../core/error-message.js';

/** Karpenter lists up to 600 types in a claim; a launch uses 60. The payload of a plan has to stay small. */
const listedTypes = 100;

/** Settings of packing. Throws `SettingsError` for an invalid file. */
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

type Constraints = NonNullable<PackingSettings['defaultTopologySpread']>;

const setting = 'SCHEDULER_CONFIG';

const constraint = z.strictObject({
  maxSkew: z.int('must be a whole number').min(1, 'must be at least 1'),
  topologyKey: z.string('must be a label key').min(1, 'must be a label key'),
  whenUnsatisfiable: z.enum(['DoNotSchedule', 'ScheduleAnyway'], 'must be one of DoNotSchedule, ScheduleAnyway'),
});

const spread = z.object({
  defaultConstraints: z.array(constraint, 'must be a list').default([]),
  defaultingType: z.enum(['List', 'System'], 'must be one of List, System').default('List'),
});

const ownForm = z.object({ podTopologySpread: spread });

const schedulersForm = z.object({
  profiles: z.array(
    z.object({
      schedulerName: z.string().default('default-scheduler'),
      pluginConfig: z.array(z.object({ name: z.string(), args: z.unknown() })).default([]),
    }),
    'must be a list',
  ),
});

/**
 * The default spread of pods without constraints (provisioning/default-spread): from `podTopologySpread`, as in
 * Karpenter, or from the kube-scheduler configuration, profile `default-scheduler`. The setting is a file path, or the
 * content itself if it is multi-line YAML or JSON. Throws `SettingsError` naming the field, what was found and what is
 * allowed.
 */
export function defaultSpreadOf(value: string): Constraints {
  if (value === '') return [];
  const isText = /[\n{]/.test(value);
  const where = isText ? setting : `${setting} "${value}"`;
  const document = isText ? textOf(value) : readDocument(setting, value);
  const { defaultConstraints, defaultingType } = spreadIn(document, where);
  // The built-in default of kube-scheduler only prefers spread.
  if (defaultingType === 'System') return [];
  const seen = new Set<string>();
  for (const [i, { topologyKey, whenUnsatisfiable }] of defaultConstraints.entries()) {
    const key = `${topologyKey} ${whenUnsatisfiable}`;
    if (!seen.has(key)) seen.add(key);
    else {
      const twice = `defaultConstraints[${i}]: found ${topologyKey} with ${whenUnsatisfiable} a second time`;
      throw new SettingsError(`${where}: ${twice}, each pair is allowed once`);
    }
  }
  return defaultConstraints;
}

function textOf(value: string): unknown {
  try {
    return parseSettings(value);
  } catch (error) {
    throw new SettingsError(`${setting}: is not YAML: ${parserMessageOf(error)}`);
  }
}

function spreadIn(document: unknown, where: string): z.output<typeof spread> {
  if (!isRecord(document)) throw new SettingsError(`${where}: found ${showFound(document)}, must be an object`);
  if ('podTopologySpread' in document) return parsed(ownForm, document, where, '').podTopologySpread;
  const { profiles } = parsed(schedulersForm, document, where, '');
  const at = profiles.findIndex(({ schedulerName }) => schedulerName === 'default-scheduler');
  const plugins = profiles[at]?.pluginConfig ?? [];
  const plugin = plugins.findIndex(({ name }) => name === 'PodTopologySpread');
  // Without configuration, kube-scheduler uses its built-in default.
  if (plugin < 0) return { defaultConstraints: [], defaultingType: 'System' };
  const path = `profiles[${at}].pluginConfig[${plugin}].args`;
  return parsed(spread, plugins[plugin]!.args, where, path);
}

function parsed<T extends z.ZodType>(schema: T, value: unknown, where: string, path: string): z.output<T> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => {
    const field = issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
    const unknown = issue.code === 'unrecognized_keys' ? issue.keys.join(', ') : undefined;
    const found = unknown ?? showFound(issue.input);
    const allowed = unknown === undefined ? issue.message : 'allowed are maxSkew, topologyKey and whenUnsatisfiable';
    return `${where}: ${`${path}${field}`.replace(/^\./, '')}: found ${found}, ${allowed}`;
  });
  throw new SettingsError(problems.join('\n  '));
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
