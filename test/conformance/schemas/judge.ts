import { customResourceOf } from '../../../api/crds.js';
import type { NodeOverlay } from '../../../api/karpenter/node-overlay.js';
import { nodeOverlayIssues } from '../../../api/karpenter/node-overlay-rules.js';
import type { NodePool } from '../../../api/karpenter/node-pool.js';
import { nodePoolIssues } from '../../../api/karpenter/node-pool-rules.js';
import type { KubernetesObject } from '../../../api/kubernetes.js';
import type { Issue } from '../../../api/schema/issues.js';
import type { Resource } from '../../../api/schema/resource.js';
import { baseObjects, build, type Patch } from '../../integration/crd-case-helpers.js';
import { gives, same, type Check, type ConformanceCase } from '../conformance-case.js';

/** `refused` is by the API server, `invalid` by the controller that looks at what was stored. */
export type Judgement = 'accepted' | 'refused' | 'invalid';

/** What a controller finds wrong with a stored object of the kind, beyond its schema. */
const later: Readonly<Record<string, (object: KubernetesObject) => readonly Issue[]>> = {
  NodePool: (object) => nodePoolIssues(object as NodePool),
  NodeOverlay: (object) => nodeOverlayIssues(object as NodeOverlay),
};

function resourceOf(kind: string): Resource<KubernetesObject> {
  const resource = customResourceOf(baseObjects[kind]?.apiVersion ?? '', kind);
  if (resource === undefined) throw new Error(`no resource of kind ${kind}`);
  return resource;
}

function judge(kind: string, patch: Patch): Judgement {
  const parsed = resourceOf(kind).parse(build(kind, patch));
  if (!parsed.ok) return 'refused';
  const wrong = (later[kind]?.(parsed.value) ?? []).filter(({ severity }) => severity === 'error');
  return wrong.length > 0 ? 'invalid' : 'accepted';
}

/** What comes of each of the patches, applied to the smallest valid object of the kind. */
export const judged = (kind: string, expected: Judgement, ...patches: readonly Patch[]): Check =>
  gives(
    () => patches.map((patch) => judge(kind, patch)),
    patches.map(() => expected),
  );

/** Whether the API server takes `to` in place of `from`, both as patches of the smallest valid object. */
export const changes = (kind: string, from: Patch, to: Patch, allowed: boolean): Check =>
  gives(() => resourceOf(kind).updateIssues(build(kind, from, to), build(kind, from)).length === 0, allowed);

/** One case for each line: values of one field. */
export const valuesOf =
  (kind: string, path: string) =>
  (title: string, expected: Judgement, values: Readonly<Record<number, unknown>>): readonly ConformanceCase[] =>
    Object.entries(values).map(([line, value]) =>
      same(Number(line), `${title}: ${JSON.stringify(value)}`, judged(kind, expected, { [path]: value })),
    );

/** Cases of one line, each a field with the values that it is given in turn. */
export const casesOf =
  (kind: string, path: string) =>
  (at: number, title: string, expected: Judgement, ...values: readonly unknown[]): ConformanceCase =>
    same(at, title, judged(kind, expected, ...values.map((value) => ({ [path]: value }))));
