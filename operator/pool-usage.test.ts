import { expect, test } from '@jest/globals';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node } from '../api/kubernetes.js';
import { labels } from '../api/labels.js';
import type { OperatorContext } from './context.js';
import { usage } from './pool-usage.js';

const claim = (name: string, pool: string, cpu: string, deletionTimestamp?: string): NodeClaim =>
  ({
    metadata: { name, labels: { [labels.nodePool]: pool }, ...(deletionTimestamp && { deletionTimestamp }) },
    spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } },
    status: { providerID: `aws:///${name}`, capacity: { cpu, pods: '10' } },
  }) as unknown as NodeClaim;

function clusterOf(
  claims: readonly NodeClaim[],
  nodes: readonly Node[] = [],
): Pick<OperatorContext, 'cache' | 'cloud'> {
  let listings = 0;
  const cache = {
    all: (kind: string) => (kind === 'Node' ? nodes : claims),
    nodeByProviderId: (id: string) => {
      listings += 1;
      return nodes.find(({ spec }) => spec?.providerID === id);
    },
    get lookedUp() {
      return listings;
    },
  };
  const cloud = { nodeClassKind: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass' } };
  return { cache, cloud } as unknown as Pick<OperatorContext, 'cache' | 'cloud'>;
}

const lookedUp = ({ cache }: Pick<OperatorContext, 'cache'>): number =>
  (cache as unknown as { lookedUp: number }).lookedUp;

test("a NodePool's status.resources counts its NodeClaims, except those being deleted", () => {
  const deps = clusterOf([
    claim('a', 'one', '2'),
    claim('b', 'one', '4'),
    claim('c', 'one', '8', '2026-01-01T00:00:00Z'),
    claim('d', '__proto__', '16'),
  ]);
  expect(usage(deps, 'one')).toMatchObject({ nodes: 2, resources: { cpu: '6', pods: '20', nodes: '2' } });
  expect(usage(deps, '__proto__')).toMatchObject({ nodes: 1, resources: { cpu: '16' } });
  expect(usage(deps, 'constructor')).toMatchObject({ nodes: 0, resources: { cpu: '0', nodes: '0' } });
});

test('all NodePools are counted at the start, and again when a NodeClaim or Node changes', () => {
  const claims = [claim('a', 'one', '2'), claim('b', 'two', '4')];
  const deps = clusterOf(claims);
  for (const pool of ['one', 'two', 'one', 'three']) usage(deps, pool);
  expect(lookedUp(deps)).toBe(claims.length);
  const gone = { metadata: { name: 'n', deletionTimestamp: '2026-01-01T00:00:00Z' }, spec: { providerID: 'aws:///a' } };
  expect(usage(clusterOf(claims, [gone as Node]), 'one').nodes).toBe(0);
  expect(usage(clusterOf([...claims, claim('c', 'one', '1')]), 'one').nodes).toBe(2);
});
