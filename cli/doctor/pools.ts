import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { Condition, KubernetesObject } from '../../api/kubernetes.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { kubeletAnnotation, kubeletInAnnotation } from '../../api/karpenter/node-pool-rules.js';
import { conditionOf, isTrue } from '../../core/conditions.js';
import { lookUp } from '../../core/own.js';
import { groupOf } from '../../core/owners.js';
import { counted } from '../../core/text.js';
import { resources } from '../../kube/kinds.js';
import type { KubeClient } from '../../kube/port.js';
import { lostPoolRemedy, lostPools } from '../../cluster/cluster.js';
import { failed, okCheck, skipped, someOf, warning, type Check, type CheckOutcome } from './check.js';
import { nameOf } from '../../core/names.js';

/** The node class kind of each CLOUD_PROVIDER. */
export const nodeClassKinds = { aws: 'EC2NodeClass', kwok: 'KWOKNodeClass' } as const;
type NodeClassKind = (typeof nodeClassKinds)[keyof typeof nodeClassKinds];

type Kube = Pick<KubeClient, 'list'>;
interface WithConditions extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const unlisted = 'see permissions and definitions';
const kubectl = (kind: string): string => `kubectl describe ${kind.toLowerCase()} has the conditions with their times`;

/** Whether there are NodePools, all are ready, and none was deleted without its nodes. */
export function nodePoolsCheck(kube: Kube): Check {
  return {
    name: 'node-pools',
    needs: ['kubernetes'],
    unanswered: unlisted,
    run: async () => {
      const [pools, claims] = await Promise.all([kube.list('NodePool'), kube.list('NodeClaim')]);
      const outcome = readyOutcome('NodePool', pools, 'examples/nodepools has some for common cases');
      if (outcome.state === 'failed') return outcome;
      const lost = [...lostPools(pools, claims)];
      if (lost.length > 0) {
        const texts = lost.map(
          ([name, nodes]) => `NodePool ${name} is gone, and ${counted(nodes, 'NodeClaim')} of it stayed`,
        );
        const remedies = lost.slice(0, 3).map(([name]) => lostPoolRemedy(name));
        return warning(someOf(texts, 3), remedies.join('; '));
      }
      const unread = pools.flatMap(({ metadata, spec }) => {
        const kubelet = lookUp(metadata.annotations, kubeletAnnotation);
        const text = kubeletInAnnotation(kubelet ?? '', spec.template.spec.nodeClassRef.name);
        return kubelet === undefined ? [] : [`NodePool ${metadata.name ?? ''}: ${text}`];
      });
      return unread.length === 0 || outcome.state !== 'ok'
        ? outcome
        : warning(someOf(unread, 3), `then take ${kubeletAnnotation} off`);
    },
  };
}

/** Other groups have node classes with the same names. */
export function isOfClassKind(
  { group, kind }: NodePool['spec']['template']['spec']['nodeClassRef'],
  of: NodeClassKind,
): boolean {
  return kind === of && group === groupOf(resources[of].apiVersion);
}

/** Whether the node classes of NodePools exist, and all are ready. */

export function nodeClassesCheck(kube: Kube, kind: NodeClassKind): Check {
  return {
    name: 'node-classes',
    needs: ['kubernetes'],
    unanswered: unlisted,
    run: async () => {
      const [classes, pools] = await Promise.all([kube.list(kind), kube.list('NodePool')]);
      const names = new Set(classes.map(({ metadata }) => metadata.name));
      const missing = pools.filter(({ spec }) => {
        const ref = spec.template.spec.nodeClassRef;
        return isOfClassKind(ref, kind) && !names.has(ref.name);
      });
      if (missing.length > 0) {
        const refs = missing.map(({ metadata, spec }) => {
          return `NodePool ${metadata.name ?? ''} names ${kind} ${spec.template.spec.nodeClassRef.name}`;
        });
        return failed(
          `${someOf(refs)}: there is no such object`,
          `make the ${kind}, or correct spec.template.spec.nodeClassRef`,
        );
      }
      return readyOutcome(kind, classes, 'a NodePool needs one: see examples/nodepools');
    },
  };
}

/** Whether images were found for every EC2NodeClass. */
export function imagesCheck(kube: Kube, kind: NodeClassKind): Check {
  return {
    name: 'images',
    needs: ['kubernetes'],
    unanswered: unlisted,
    run: async () =>
      kind === 'EC2NodeClass' ? imagesOutcome(await kube.list(kind)) : skipped(`${kind} has no images`),
  };
}

function imagesOutcome(classes: readonly EC2NodeClass[]): CheckOutcome {
  if (classes.length === 0) return skipped('there is no EC2NodeClass');
  const without = classes.filter(({ status }) => (status?.amis ?? []).length === 0);
  if (without.length > 0) {
    const texts = without.map(({ metadata, status }) => {
      const message = conditionOf(status?.conditions, 'AMIsReady')?.message ?? '';
      return `EC2NodeClass ${metadata.name ?? ''} has none${message === '' ? '' : `: ${message}`}`;
    });
    return failed(someOf(texts, 3), 'see spec.amiSelectorTerms, and whether the account may use these images');
  }
  return okCheck(`${counted(classes.length, 'node class', 'node classes')} with images`);
}

function readyOutcome(kind: string, objects: readonly WithConditions[], none: string): CheckOutcome {
  if (objects.length === 0) return warning(`there is no ${kind}: nothing is launched`, none);
  const unready = objects.filter(({ status }) => !isTrue(status?.conditions, 'Ready'));
  if (unready.length === 0) return okCheck(`${objects.length} ready`);
  const texts = unready.map((object) => `${kind} ${nameOf(object)} is not ready${whyOf(object)}`);
  return failed(someOf(texts, 3), kubectl(kind));
}

/** Messages of its other conditions; that of Ready only names them. */
function whyOf({ status }: WithConditions): string {
  const conditions = status?.conditions ?? [];
  if (conditions.length === 0) return ': it has no conditions, so no operator has looked at it';
  const bad = conditions.filter(({ type, status: value }) => type !== 'Ready' && value !== 'True');
  const texts = bad.map(({ type, status: value, reason = '', message = '' }) => {
    return `${type} is ${value} (${reason}${message === '' ? '' : `: ${message}`})`;
  });
  const ready = conditionOf(conditions, 'Ready')?.message ?? '';
  return `: ${texts.length > 0 ? texts.join('; ') : ready}`;
}
