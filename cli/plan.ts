import { warn } from './output/print.js';
import { performance } from 'node:perf_hooks';
import { readCommitments, type Commitment } from '../api/stowage/commitments.js';
import { awsWellKnownLabels } from '../api/aws/labels.js';
import { coreWellKnownLabels } from '../api/labels.js';
import { CatalogueError, kwokWellKnownLabels, parseCatalogue } from '../cloud/kwok/catalogue.js';
import type { NodeClass } from '../cloud/port.js';
import type { InstanceType } from '../core/instance-type.js';
import { controllerOf, kindOf, type OwnerKind } from '../core/owners.js';
import { frontierOf } from './bound/frontier.js';
import { plan } from '../packing/plan.js';
import { withProvenBounds } from './bound/prove.js';
import type { ClusterObjects, PackingInput, PackingSettings, Plan } from '../packing/types.js';
import { UsageError } from './exit.js';
import { loadObjects } from './objects/load.js';
import { parseDocument, readText } from './objects/read-documents.js';
import { frontierDocument, frontierText, planText } from './output/plan-table.js';
import { planDocument } from './output/plan-json.js';
import { nameOf } from '../core/names.js';

export interface PlanOptions {
  readonly objects: readonly string[];
  readonly catalogue: string;
  readonly output: 'json' | 'table';
  /**
   * Number of solves, each from the parsed objects; reports the median time of the second half, when the code is
   * compiled.
   */
  readonly repeat: number;
  readonly preferencePolicy: PackingSettings['preferencePolicy'];
  readonly minValuesPolicy: PackingSettings['minValuesPolicy'];
  /** File with Savings Plans and reserved instances. */
  readonly commitments?: string;
  /** Show price against number of nodes instead of one plan. */
  readonly frontier?: boolean;
}

/** `stowage plan` on files: what would be launched for the pending pods, as text to print. Caveats go to `warn`. */
export function planOffline(options: PlanOptions, warn: (line: string) => void = toStderr): string {
  const input = packingInputOfFiles(options, warn);
  return options.frontier === true
    ? printFrontier(input, options.output)
    : printPlan(input, options.output, options.repeat);
}

export function printPlan(input: PackingInput, output: PlanOptions['output'], repeat = 1): string {
  const asked = { ...input, settings: { ...input.settings, explainTypes: output === 'json' } };
  const { result, solveMs } = timed(() => plan(asked), repeat);
  const proven = withProvenBounds(asked, result);
  return output === 'json' ? printed(planDocument(proven, solveMs)) : planText(proven, solveMs);
}

/** The plan with its lower bounds. */
export const provenPlan = (input: PackingInput): Plan => withProvenBounds(input, plan(input));

/** Price against number of nodes. */
export function printFrontier(input: PackingInput, output: PlanOptions['output']): string {
  const { result, solveMs } = timed(() => frontierOf(input), 1);
  return output === 'json' ? printed(frontierDocument(result, solveMs)) : frontierText(result, solveMs);
}

const printed = (document: object): string => `${JSON.stringify(document, null, 1)}\n`;

/** Input of packing for files: every pool uses the given catalogue. `nodeClasses`, if given, gets those of the files. */
export function packingInputOfFiles(
  options: Omit<PlanOptions, 'output' | 'repeat'>,
  warn: (line: string) => void = toStderr,
  nodeClasses?: NodeClass[],
): PackingInput {
  const catalogue = readCatalogue(options.catalogue);
  const objects = loadObjects(options.objects, warn, nodeClasses);
  missingOwners(objects).forEach(warn);
  missingLabels(objects, catalogue, options.catalogue).forEach(warn);
  // Nodes have their price even without a pool.
  const pools = objects.nodePools.length === 0 ? [''] : objects.nodePools.map(nameOf);
  return {
    objects,
    catalogues: new Map(pools.map((name) => [name, catalogue])),
    settings: {
      preferencePolicy: options.preferencePolicy,
      minValuesPolicy: options.minValuesPolicy,
      wellKnownLabels: labelsOf(catalogue),
      listedTypes: 60,
      ...(options.commitments === undefined ? {} : { commitments: commitmentsIn(options.commitments) }),
    },
    now: Date.now(),
  };
}

const ownerLists = {
  'DaemonSet.apps': 'daemonSets',
  'ReplicaSet.apps': 'replicaSets',
  'StatefulSet.apps': 'statefulSets',
  ReplicationController: 'replicationControllers',
} as const satisfies Partial<Record<OwnerKind, keyof ClusterObjects>>;

/** Kinds that own pods and that an export seems to lack completely. */
function missingOwners(objects: ClusterObjects): string[] {
  const owners = objects.pods.flatMap((pod) => controllerOf(pod) ?? []);
  const kinds = new Set(owners.map(kindOf));
  return Object.entries(ownerLists).flatMap(([owner, list]) =>
    kinds.has(owner) && (objects[list] ?? []).length === 0
      ? [
          `no ${owner.split('.')[0] ?? ''} among the objects, and pods have some as owners: the answer may differ from the cluster's`,
        ]
      : [],
  );
}

/** AWS labels that a NodePool or pod requires and no type of the catalogue has, except account-specific labels. */
function missingLabels(
  { nodePools, pods }: Pick<ClusterObjects, 'nodePools' | 'pods'>,
  catalogue: readonly InstanceType[],
  file: string,
): string[] {
  const required = new Set(
    [
      ...nodePools.flatMap(({ spec }) => spec.template.spec.requirements),
      ...pods.flatMap(({ spec }) => [
        ...Object.keys(spec.nodeSelector ?? {}).map((key) => ({ key, operator: 'In' })),
        ...(
          spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
        ).flatMap(({ matchExpressions }) => matchExpressions ?? []),
      ]),
    ].flatMap(({ key, operator }) => (operator === 'NotIn' || operator === 'DoesNotExist' ? [] : [key])),
  );
  const isThere = (key: string): boolean =>
    catalogue.some((type) =>
      [type, ...type.offerings].some(({ requirements }) =>
        requirements.some((each) => each.key === key && each.operator === 'In'),
      ),
    );
  return awsWellKnownLabels
    .filter((key) => required.has(key) && !/capacity-reservation|placement-group/.test(key) && !isThere(key))
    .map((key) => `${file} has no label ${key}, which is required: stowage catalogue prints those of a region of AWS`);
}

export function toStderr(line: string): void {
  warn(`stowage: ${line}\n`);
}

function commitmentsIn(file: string): readonly Commitment[] {
  const { commitments, problems } = readCommitments(parseDocument(readText(file), file), file);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return commitments;
}

function readCatalogue(file: string): InstanceType[] {
  try {
    return parseCatalogue(readText(file)).map(withoutUnsaidLabels);
  } catch (error) {
    if (error instanceof CatalogueError) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
}

/** Adds missing AWS labels of a type as absent, so that requirements on them are not satisfied. */
function withoutUnsaidLabels(type: InstanceType): InstanceType {
  const said = new Set([type, ...type.offerings].flatMap(({ requirements }) => requirements.map(({ key }) => key)));
  const unsaid = awsWellKnownLabels.filter((key) => !said.has(key));
  return { ...type, requirements: [...type.requirements, ...unsaid.map((key) => ({ key, operator: 'DoesNotExist' as const }))] }; // prettier-ignore
}

/**
 * The labels of a catalogue are well known: pods may require them even if a pool does not define them. AWS labels are
 * always well known: a type without one does not satisfy requirements on it.
 */
function labelsOf(catalogue: readonly InstanceType[]): string[] {
  const keys = new Set([...coreWellKnownLabels, ...kwokWellKnownLabels, ...awsWellKnownLabels]);
  for (const type of catalogue) {
    for (const { key } of type.requirements) keys.add(key);
    for (const offering of type.offerings) for (const { key } of offering.requirements) keys.add(key);
  }
  return [...keys].sort();
}

function timed<T>(solve: () => T, repeat: number): { result: T; solveMs: number } {
  const times: number[] = [];
  let result: T | undefined;
  for (let i = 0; i < repeat; i++) {
    const started = performance.now();
    result = solve();
    times.push(performance.now() - started);
  }
  const later = times.slice(Math.floor(times.length / 2)).sort((a, b) => a - b);
  return { result: result!, solveMs: later[Math.floor(later.length / 2)]! };
}
