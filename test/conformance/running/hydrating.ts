import { unlabelled } from '../world.js';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import { about, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { foreign } from './claims.js';
import { runningNode } from './nodes.js';
import { running, second } from './stage.js';

const nodeClass = 'karpenter.k8s.aws/ec2nodeclass';

/** The label of the node class on a claim and its Node that came without it. */
const labelled = (expected: string | undefined, kind: 'Node' | 'NodeClaim', spec: object = {}): Check =>
  running(expected, async (it) => {
    runningNode(it, 'n1', { spec });
    it.kube.put('NodeClaim', unlabelled(it.get('NodeClaim', 'n1')!, nodeClass) as NodeClaim);
    it.kube.put('Node', unlabelled(it.get('Node', 'n1')!, nodeClass));
    await it.pass(10 * second);
    return it.get(kind, 'n1')?.metadata.labels?.[nodeClass];
  });

/** pkg/controllers/node/hydration/suite_test.go */
export const nodeHydrationCases: readonly ConformanceCase[] = about('hydration of Nodes', [
  same(96, 'adds the node class label (labels/of-the-node-class)', labelled('default', 'Node')),
  same(97, 'leaves Nodes of another provider', labelled(undefined, 'Node', foreign)),
]);

/** pkg/controllers/nodeclaim/hydration/suite_test.go */
export const claimHydrationCases: readonly ConformanceCase[] = about('hydration of claims', [
  same(95, 'adds the node class label (labels/of-the-node-class)', labelled('default', 'NodeClaim')),
  same(96, 'leaves claims of another provider', labelled(undefined, 'NodeClaim', foreign)),
]);
