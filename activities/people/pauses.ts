import { activePauses, whyPaused } from '../../cluster/pauses.js';
import { ApplicationFailure } from '@temporalio/common';
import type { DisruptionPause } from '../../api/stowage/disruption-pause.js';
import { hashText } from '../../core/hash.js';
import { pauseScopeText } from '../../core/pause-scope.js';
import type { NewObject } from '../../kube/port.js';
import { refusals, type Pause, type PauseScope, type OrderRefusal } from '../../workflows/messages.js';
import type { PauseActivities } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { isPauseOver, pauseObjects, pausesInForce, scopeOfPause } from '../../cluster/pauses.js';
import { forEachBestEffort } from '../for-each-item.js';
import { withFailures } from '../to-failure.js';
import { nameOf } from '../../core/names.js';

type Deps = Pick<ActivityDeps, 'kube' | 'now' | 'log'>;

const kinds = { cluster: 'Cluster', nodePool: 'NodePool', node: 'Node', reason: 'Reason' } as const;

export function createPauseActivities(deps: Deps): PauseActivities {
  return withFailures<PauseActivities>({
    writePause: (pause) => write(deps, pause),
    endPause: ({ scope }) => end(deps, scope),
    findPause: async ({ reason, candidates }) => {
      const pauses = await activePauses(deps);
      return candidates.map((node) => whyPaused(pauses, reason, node)).find((why) => why !== undefined) ?? null;
    },
  });
}

/** Deletes pauses that are over. */
export async function deleteOverPauses(deps: Deps): Promise<void> {
  await remove(
    deps,
    ((await pauseObjects(deps)) ?? []).filter((object) => isPauseOver(object, deps.now())),
  );
}

/** There is one object for each scope: a later pause replaces the earlier one, even if its object has another name. */
async function write(deps: Deps, pause: Pause): Promise<readonly Pause[]> {
  const { kube } = deps;
  const { kind, name: pool = '' } = pause.scope;
  if (kind === 'nodePool' && (await kube.get('NodePool', { name: pool })) === undefined) {
    const names = (await kube.list('NodePool')).map(nameOf).sort();
    throw refusal(refusals.unknownScope, `there is no NodePool "${pool}"; known are ${names.join(', ')}`);
  }
  const present = await existing(deps);
  const wanted = objectOf(pause);
  const [first, ...others] = ofScope(present, pause.scope);
  const name = first?.metadata.name ?? nameOf(wanted);
  const { spec } = wanted;
  const patch = { spec: { ...spec, requestedBy: spec.requestedBy ?? null, until: spec.until ?? null } };
  const answer = await kube.patch('DisruptionPause', { name }, patch);
  if (answer.outcome === 'gone') await kube.create('DisruptionPause', wanted);
  await remove(deps, others);
  return activePauses(deps);
}

/** How long consolidation of a NodePool is paused after too many consecutive moves of its pods. */
const chainPauseMs = 24 * 3_600_000;

/** Pauses the consolidation of a NodePool after too many consecutive moves of its pods. */
export async function pausePool(deps: Deps, nodePool: string, why: string): Promise<void> {
  if ((await pauseObjects(deps)) === undefined) return;
  const scope = { kind: 'nodePool', name: nodePool, reason: 'Underutilized' } as const;
  await write(deps, { scope, reason: why, actor: 'stowage', until: deps.now() + chainPauseMs });
}

async function end(deps: Deps, scope: PauseScope): Promise<readonly Pause[]> {
  const present = await existing(deps);
  const ending = ofScope(present, scope);
  if (pausesInForce(ending, deps.now()).length === 0) {
    const there = pausesInForce(present, deps.now()).map((pause) => pauseScopeText(pause.scope));
    const others = there.length === 0 ? 'nothing' : there.join(', ');
    throw refusal(refusals.notPaused, `${pauseScopeText(scope)} is not paused; paused: ${others}`);
  }
  for (const { metadata } of ending) {
    await deps.kube.delete('DisruptionPause', { name: metadata.name ?? '' }, { uid: metadata.uid ?? '' });
  }
  return activePauses(deps);
}

async function remove(deps: Deps, objects: readonly DisruptionPause[]): Promise<void> {
  const end = async (object: DisruptionPause): Promise<void> => {
    await deps.kube.delete('DisruptionPause', { name: nameOf(object) }, { uid: object.metadata.uid ?? '' });
  };
  await forEachBestEffort(deps, objects, end, { what: 'the end of a pause', nameOf });
}

const ofScope = (objects: readonly DisruptionPause[], scope: PauseScope): readonly DisruptionPause[] =>
  objects.filter(({ spec }) => keyOf(scopeOfPause(spec.scope)) === keyOf(scope));

async function existing(deps: Deps): Promise<readonly DisruptionPause[]> {
  const present = await pauseObjects(deps);
  if (present !== undefined) return present;
  throw refusal(refusals.notInstalled, 'the cluster has no kind DisruptionPause: install it (stowage crds)');
}

const refusal = (type: OrderRefusal, message: string): ApplicationFailure =>
  ApplicationFailure.create({ type, message, nonRetryable: true });

function objectOf({ scope, reason, actor, until }: Pause): NewObject<DisruptionPause> {
  return {
    metadata: { name: `${scope.kind.toLowerCase()}-${hashText(keyOf(scope)).slice(0, 10)}` },
    spec: {
      scope: {
        kind: kinds[scope.kind],
        ...(scope.name === undefined ? {} : { name: scope.name }),
        ...(scope.reason === undefined ? {} : { reason: scope.reason as DisruptionPause['spec']['scope']['reason'] }),
      },
      message: reason,
      requestedBy: actor,
      ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
    },
  };
}

const keyOf = ({ kind, name, reason }: PauseScope): string => JSON.stringify([kind, name ?? '', reason ?? '']);
