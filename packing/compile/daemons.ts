import type { DaemonSet } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { compareText } from '../../core/compare-text.js';
import { QuantityError } from '../../core/quantities.js';
import { satisfiedBy } from '../requirements/requirement.js';
import type { Requirements } from '../requirements/requirements.js';
import type { Dimensions } from './dimensions.js';
import type { Constraint, KeySpace } from './key-space.js';
import { requiredTerms } from './node-terms.js';
import { hostPorts, type HostPort } from './pod-key.js';
import { podRequests, type QuantityReader } from './pod-requests.js';

/** A DaemonSet as overhead of the nodes that it runs on (section 2.4). */
export interface Daemon {
  readonly index: number;
  readonly name: string;
  readonly object: DaemonSet;
  readonly amounts: ReadonlyMap<string, number>;
  readonly hostPorts: readonly HostPort[];
  /** Required terms, of which one must hold. */
  readonly alternatives: readonly Constraint[];
  /** The same on nodes of NodePools, all of which are registered and initialized before long. */
  readonly onceReady: readonly Constraint[];
}

/** Reads the DaemonSets, by name; one whose quantities do not parse is left out. */
export function readDaemons(
  daemonSets: readonly DaemonSet[] | undefined,
  space: KeySpace,
  dimensions: Dimensions,
  quantities: QuantityReader,
): Daemon[] {
  const named = (daemonSets ?? []).map((object) => ({
    object,
    name: `${object.metadata.namespace ?? 'default'}/${object.metadata.name ?? ''}`,
  }));
  named.sort((a, b) => compareText(a.name, b.name));
  const daemons: Daemon[] = [];
  for (const { object, name } of named) {
    const { spec } = object.spec.template;
    if ((spec.resourceClaims?.length ?? 0) > 0) continue; // section 2.9
    const amounts = amountsOf(object, quantities);
    if (amounts === undefined) continue;
    dimensions.register(amounts);
    const terms = requiredTerms(spec);
    const alternatives = terms.map((term) => space.intern(term));
    const onceReady = terms.flatMap(whereReady).map((term) => space.intern(term));
    const index = daemons.length;
    daemons.push({ index, name, object, amounts, hostPorts: hostPorts({ spec }), alternatives, onceReady });
  }
  return daemons;
}

const readyLabels: readonly string[] = [labels.registered, labels.initialized];

/** What a term asks of a node besides being registered and initialized; nothing where it asks for a node that is not. */
function whereReady(term: Requirements): readonly Requirements[] {
  if (!readyLabels.some((key) => term.has(key))) return [term];
  const rest = new Map(term);
  for (const key of readyLabels) {
    const asked = rest.get(key);
    if (asked !== undefined && !satisfiedBy(asked, 'true')) return [];
    rest.delete(key);
  }
  return [rest];
}

function amountsOf(object: DaemonSet, quantities: QuantityReader): ReadonlyMap<string, number> | undefined {
  try {
    return podRequests(object.spec.template.spec, quantities);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}
