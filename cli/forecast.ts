import { isDeepStrictEqual } from 'node:util';
import type { KubernetesObject } from '../api/kubernetes.js';
import type { NodeClass } from '../cloud/port.js';
import { compareText } from '../core/text.js';
import { exitStatus, UsageError } from './exit.js';
import { applied, type RemovedObject, objectTitle } from './forecast/apply.js';
import { forecast } from './forecast/forecast.js';
import { forecastMarkdown, forecastText } from './forecast/render.js';
import type { AppliedObject, Forecast, RefusedObject, Skipped, ForecastSnapshot } from './forecast/types.js';
import { asAtRest } from './objects/at-rest.js';
import { InvalidObject, isOthers, kindAndName, readApplied } from './objects/load.js';
import { type FoundObject, isRecord, lineOf, readObjects } from './objects/read-documents.js';
import { pageFile } from './page/page-file.js';
import { planSnapshot } from './page/planned.js';
import { packingInputOfFiles, type PlanOptions, toStderr } from './plan.js';

export interface ForecastOptions {
  /** Files of objects that would be applied. */
  readonly with?: readonly string[];
  /** `KIND/NAME` or `KIND/NAMESPACE/NAME` of objects that would be removed. */
  readonly without?: readonly string[];
  readonly output: PlanOptions['output'] | 'markdown' | 'html';
}

/** `stowage plan --with` and `stowage consolidate --with` on files: text to print; sets the exit status. */
export async function forecastOfFiles(
  options: ForecastOptions & Omit<PlanOptions, 'output' | 'repeat'> & { readonly spotToSpot?: boolean },
  warn: (line: string) => void = toStderr,
): Promise<string> {
  const nodeClasses: NodeClass[] = [];
  const input = packingInputOfFiles(options, warn, nodeClasses);
  return printForecast({ input, nodeClasses, spotToSpot: options.spotToSpot ?? false }, options);
}

/** The forecast of a change of this cluster, as text to print; sets the exit status. */
export async function printForecast(cluster: ForecastSnapshot, options: ForecastOptions): Promise<string> {
  const { found, after } = await forecastOf(cluster, options);
  process.exitCode = { unchanged: exitStatus.ok, changed: exitStatus.changes, refused: exitStatus.failed }[
    found.outcome
  ];
  switch (options.output) {
    case 'json':
      return `${JSON.stringify(found, null, 1)}\n`;
    case 'markdown':
      return forecastMarkdown(found);
    case 'html':
      return forecastPage(found, after);
    case 'table':
      return forecastText(found);
  }
}

/** The forecast as data, and the cluster after the change. */
export async function forecastOf(
  cluster: ForecastSnapshot,
  options: Pick<ForecastOptions, 'with' | 'without'>,
): Promise<{ readonly found: Forecast; readonly after: ForecastSnapshot }> {
  const read = readFiles(options.with ?? []);
  const removed = (options.without ?? []).map(removedObject);
  const both = removed.find(({ kind, name }) => read.objects.some(({ object }) => object.kind === kind && object.metadata.name === name)); // prettier-ignore
  if (both !== undefined)
    throw new UsageError(`${both.kind} ${both.name} is in a file of --with, and --without removes it`);
  const rested = { ...cluster, input: { ...cluster.input, objects: withIds(asAtRest(cluster.input.objects)) } };
  const { before, after, objects, refused, notes } = applied(rested, read.objects, removed);
  const all = [...read.refused, ...refused].sort((a, b) => compareText(a.at, b.at) || compareText(a.field, b.field));
  return { found: await forecast(before, after, { objects, refused: all, skipped: read.skipped, notes }), after };
}

/** Claims of files may lack the UIDs that admission knows them by. */
const withIds = (objects: ForecastSnapshot['input']['objects']): ForecastSnapshot['input']['objects'] => ({
  ...objects,
  nodeClaims: (objects.nodeClaims ?? []).map((claim) =>
    claim.metadata.uid === undefined
      ? { ...claim, metadata: { ...claim.metadata, uid: claim.metadata.name ?? '' } }
      : claim,
  ),
});

function removedObject(text: string): RemovedObject {
  const [kind = '', ...path] = text.split('/');
  const [first, second] = path;
  if (kind === '' || first === undefined || first === '' || path.length > 2 || second === '')
    throw new UsageError(`--without ${text}: expected KIND/NAME or KIND/NAMESPACE/NAME, such as NodePool/default`);
  return second === undefined ? { kind, name: first } : { kind, namespace: first, name: second };
}

interface ReadFiles {
  readonly objects: readonly AppliedObject[];
  readonly refused: RefusedObject[];
  readonly skipped: Skipped[];
}

/** The objects of all files; those that the API server would refuse are named with line and field. */
function readFiles(files: readonly string[]): ReadFiles {
  const refused: RefusedObject[] = [];
  const skipped: Skipped[] = [];
  const read = new Map<string, { readonly list: string; readonly object: KubernetesObject; readonly at: string }[]>();
  for (const found of files.flatMap((file) => objectsOf(file, refused))) {
    const at = placeOf(found, '');
    const one = readOne(found, refused);
    if (one === undefined) continue;
    const { list, object } = one;
    let why = list === undefined ? whySkipped(object.kind) : '';
    if (list !== undefined) isOthers(object, (line) => void (why = line));
    if (list === undefined || why !== '') skipped.push({ at, object: objectTitle(object), why });
    else read.set(objectTitle(object), [...(read.get(objectTitle(object)) ?? []), { list, object, at }]);
  }
  const objects = [...read].flatMap(([title, all]) => {
    const [first, ...others] = all;
    if (others.every(({ object }) => isDeepStrictEqual(object, first!.object))) return [first!];
    const places = all.map(({ at }) => at).sort(compareText);
    for (const { at } of all)
      refused.push({
        at,
        object: title,
        field: '',
        why: `it is there ${all.length} times, and differs: ${places.join(', ')}`,
      });
    return [];
  });
  return { objects, refused, skipped: skipped.sort((a, b) => compareText(a.at, b.at)) };
}

const whySkipped = (kind: string): string =>
  kind === 'CronJob' ? 'when its Jobs run is not forecast' : `no decision depends on a ${kind}`;

function objectsOf(file: string, refused: RefusedObject[]): readonly FoundObject[] {
  try {
    return readObjects(file);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const line = /: line (\d+)/.exec(error.message)?.[1];
    const why = error.message.startsWith(`${file}: `) ? error.message.slice(file.length + 2) : error.message;
    refused.push({
      at: line === undefined ? file : `${file}:${line}`,
      object: '',
      field: '',
      why: why.split('\n')[0]!,
    });
    return [];
  }
}

const withoutField = (message: string, field: string): string =>
  field !== '' && message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message;

function placeOf(found: FoundObject, field: string): string {
  const line = lineOf(found, field);
  return line === undefined ? found.file : `${found.file}:${line}`;
}

function readOne(found: FoundObject, refused: RefusedObject[]): ReturnType<typeof readApplied> | undefined {
  try {
    return readApplied(found);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { value } = found;
    const kind = isRecord(value) && typeof value['kind'] === 'string' ? value['kind'] : '';
    const object = kindAndName(kind, value);
    const problems = error instanceof InvalidObject ? error.problems : [{ field: '', message: error.message }];
    refused.push(
      ...problems.map(({ field, message }) => ({
        at: placeOf(found, field),
        object,
        field,
        why: withoutField(message, field),
      })),
    );
    return undefined;
  }
}

/** The cluster after the change as a page, with the turns in which drifted nodes go. */
function forecastPage(found: Forecast, { input }: ForecastSnapshot): string {
  const { summary, refused, withoutPlace, turns } = found;
  const problem = (subject: string, text: string) => ({ kind: 'problem' as const, subject, text, orders: [] });
  return pageFile({
    ...planSnapshot(input),
    cluster: summary,
    needs: [
      ...refused.map(({ at, object, why }) => problem(`${at} ${object}`, why)),
      ...withoutPlace.map(({ pod, why }) => problem(pod, why)),
    ],
    commands: turns.map(({ pool, wave, from, nodes }, n) => ({
      ...{
        workflowId: `turn ${n + 1}`,
        reason: `drift of ${pool}${wave === undefined ? '' : `, wave ${wave}`}`,
        phase: from,
      },
      ...{ nodes, launches: [], moves: [], savesPerHour: 0 },
    })),
  });
}
