import { labels } from '../../api/labels.js';
import { counted } from '../../core/text.js';
import type { KubeClient } from '../../kube/port.js';
import { failed, okCheck, skipped, type Check, type CheckOutcome } from './check.js';

/**
 * Whether instances are launched in the region of the cluster's nodes. Other checks may not notice a wrong region: it
 * may contain a queue, subnets and images with the same names and tags.
 */
export function regionCheck(kube: Pick<KubeClient, 'list'>, region: string | undefined): Check {
  return {
    name: 'cloud-region',
    needs: ['kubernetes', 'cloud'],
    unanswered: 'see permissions: nodes are read',
    run: async () => {
      const found = (await kube.list('Node')).flatMap(({ metadata }) => metadata.labels?.[labels.region] ?? []);
      return region === undefined ? skipped('no region is set') : regionOutcome(region, found);
    },
  };
}

function regionOutcome(region: string, found: readonly string[]): CheckOutcome {
  if (found.length === 0) return skipped('no node says in which region it is');
  const here = found.filter((each) => each === region).length;
  if (here > 0) return okCheck(`${region}, where ${counted(here, 'node')} of the cluster ${here === 1 ? 'is' : 'are'}`);
  return failed(
    `instances are launched in ${region}, and the nodes of the cluster are in ${[...new Set(found)].sort().join(', ')}`,
    'set AWS_REGION (cloud.region of the chart)',
  );
}
