import { performance } from 'node:perf_hooks';
import { readCommitments, type Commitment } from '../api/stowage/commitments.js';
import { coreWellKnownLabels } from '../api/labels.js';
import { CatalogueError, kwokWellKnownLabels, parseCatalogue } from '../cloud/kwok/catalogue.js';
import type { InstanceType } from '../core/instance-type.js';
import { plan } from '../packing/plan.js';
import type { PackingInput, PackingSettings, Plan } from '../packing/types.js';
import { UsageError } from './exit.js';
import { loadObjects } from './objects/load.js';
import { parseDocument, readText } from './objects/read-documents.js';
import { planDocument } from './output/plan-json.js';
import { planText } from './output/plan-table.js';

export interface PlanOptions {
  readonly objects: readonly string[];
  readonly catalogue: string;
  readonly output: 'json' | 'table';
  /** Solve so often, each time from the parsed objects, and report the median time of the later half: the code is compiled then. */
  readonly repeat: number;
  readonly preferencePolicy: PackingSettings['preferencePolicy'];
  readonly minValuesPolicy: PackingSettings['minValuesPolicy'];
  /** File with Savings Plans and reserved instances. */
  readonly commitments?: string;
}

/** `stowage plan` on files: what would be launched for the pending pods, as text to print. */
export function planOffline(options: PlanOptions): string {
  const { settings, ...rest } = packingInputOfFiles(options);
  const input = { ...rest, settings: { ...settings, explainTypes: options.output === 'json' } };
  const { result, solveMs } = timed(() => plan(input), options.repeat);
  return options.output === 'json'
    ? `${JSON.stringify(planDocument(result, solveMs), null, 1)}\n`
    : planText(result, solveMs);
}

/** What packing is given for files: every pool buys from the one catalogue. */
export function packingInputOfFiles(options: Omit<PlanOptions, 'output' | 'repeat'>): PackingInput {
  const catalogue = readCatalogue(options.catalogue);
  const objects = loadObjects(options.objects);
  // Nodes have their price without any pool too.
  const pools = objects.nodePools.length === 0 ? [''] : objects.nodePools.map(({ metadata }) => metadata.name ?? '');
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

function commitmentsIn(file: string): readonly Commitment[] {
  const { commitments, problems } = readCommitments(parseDocument(readText(file), file), file);
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return commitments;
}

function readCatalogue(file: string): InstanceType[] {
  try {
    return parseCatalogue(readText(file));
  } catch (error) {
    if (error instanceof CatalogueError) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
}

/** A catalogue's labels are well known to it: a pool need not name them for pods to ask for them. */
function labelsOf(catalogue: readonly InstanceType[]): string[] {
  const keys = new Set([...coreWellKnownLabels, ...kwokWellKnownLabels]);
  for (const type of catalogue) {
    for (const { key } of type.requirements) keys.add(key);
    for (const offering of type.offerings) for (const { key } of offering.requirements) keys.add(key);
  }
  return [...keys].sort();
}

function timed(solve: () => Plan, repeat: number): { result: Plan; solveMs: number } {
  const times: number[] = [];
  let result: Plan | undefined;
  for (let i = 0; i < repeat; i++) {
    const started = performance.now();
    result = solve();
    times.push(performance.now() - started);
  }
  const later = times.slice(Math.floor(times.length / 2)).sort((a, b) => a - b);
  return { result: result!, solveMs: later[Math.floor(later.length / 2)]! };
}
