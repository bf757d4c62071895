import type { DisruptionPause } from '../../api/stowage/disruption-pause.js';
import { isDomainError } from '../../core/failures.js';
import { hashText } from '../../core/hash.js';
import type { NewObject } from '../../kube/port.js';
import type { Pause, PauseScope } from '../../workflows/messages.js';
import type { PauseActivities } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { isPauseOver, pauseOf, scopeOfPause } from '../../cluster/pauses.js';
import { forEachBestEffort } from '../for-each-item.js';
import { withFailures } from '../to-failure.js';

type Deps = Pick<ActivityDeps, 'kube' | 'now' | 'log'>;
type Scope = DisruptionPause['spec']['scope'];

const kinds = { cluster: 'Cluster', nodePool: 'NodePool', node: 'Node', reason: 'Reason' } as const;

/** Pauses live in Kubernetes: orders by signal are written through, so that `disrupt` can be lost without losing them. */
export function createPauseActivities(deps: Deps): PauseActivities {
  return withFailures<PauseActivities>({ syncPauses: (input) => syncPauses(deps, input) });
}

async function syncPauses(
  deps: Deps,
  { write, remove }: Parameters<PauseActivities['syncPauses']>[0],
): ReturnType<PauseActivities['syncPauses']> {
  const present = await listed(deps);
  if (present === undefined) return { pauses: undefined };
  const gone = new Set(remove.map(keyOf));
  const ending = present.filter(
    (object) => isPauseOver(object, deps.now()) || gone.has(keyOf(scopeOfPause(object.spec.scope))),
  );
  const end = async ({ metadata: { name = '', uid = '' } }: DisruptionPause): Promise<void> => {
    await deps.kube.delete('DisruptionPause', { name }, { uid });
  };
  const kept = await forEachBestEffort(deps, ending, end, {
    what: 'the end of a pause',
    nameOf: ({ metadata }) => `DisruptionPause ${metadata.name ?? ''}`,
  });
  const unwritten = await forEachBestEffort(deps, write, (pause) => put(deps, present, pause), {
    what: 'the writing of a pause',
    nameOf: ({ scope }) => `DisruptionPause of ${scope.kind} ${scope.name ?? ''}`,
  });
  const [first] = [...unwritten, ...kept];
  return {
    pauses: (await activePauses(deps)) ?? [],
    unwritten: unwritten.map(({ item }) => item),
    unremoved: kept.map(({ item }) => scopeOfPause(item.spec.scope)).filter((scope) => gone.has(keyOf(scope))),
    ...(first === undefined ? {} : { why: first.why }),
  };
}

/** The pauses that the API server has now, those that are over apart; undefined where the kind is not installed. */
export async function activePauses(deps: Deps): Promise<readonly Pause[] | undefined> {
  return (await listed(deps))?.filter((object) => !isPauseOver(object, deps.now())).map(pauseOf);
}

/** One object a scope: a later pause takes the place of the one before, whoever named its object. */
async function put({ kube }: Deps, present: readonly DisruptionPause[], pause: Pause): Promise<void> {
  const wanted = objectOf(pause);
  const same = present.filter(({ spec }) => keyOf(scopeOfPause(spec.scope)) === keyOf(pause.scope));
  const name = same[0]?.metadata.name ?? wanted.metadata.name ?? '';
  const { spec } = wanted;
  const patch = { spec: { ...spec, requestedBy: spec.requestedBy ?? null, until: spec.until ?? null } };
  const answer = await kube.patch('DisruptionPause', { name }, patch);
  if (answer.outcome === 'gone') await kube.create('DisruptionPause', wanted);
  for (const { metadata } of same.slice(1)) {
    await kube.delete('DisruptionPause', { name: metadata.name ?? '' }, { uid: metadata.uid ?? '' });
  }
}

/** Undefined where the kind is not installed. */
async function listed({ kube, log }: Deps): Promise<readonly DisruptionPause[] | undefined> {
  try {
    return await kube.list('DisruptionPause');
  } catch (error) {
    if (!isDomainError(error, 'NotFound')) throw error;
    log.warn({ kind: 'DisruptionPause' }, 'the kind is not installed: pauses live in Temporal alone (stowage crds)');
    return undefined;
  }
}

function objectOf({ scope, reason, actor, until }: Pause): NewObject<DisruptionPause> {
  return {
    metadata: { name: `${scope.kind.toLowerCase()}-${hashText(keyOf(scope)).slice(0, 10)}` },
    spec: {
      scope: {
        kind: kinds[scope.kind],
        ...(scope.name === undefined ? {} : { name: scope.name }),
        ...(scope.reason === undefined ? {} : { reason: scope.reason as Scope['reason'] }),
      },
      message: reason,
      requestedBy: actor,
      ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
    },
  };
}

const keyOf = ({ kind, name, reason }: PauseScope): string => JSON.stringify([kind, name ?? '', reason ?? '']);
