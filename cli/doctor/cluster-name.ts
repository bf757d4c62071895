import type { KubeClient } from '../../kube/port.js';
import { foreignName, kubeSystemUid } from '../../process/identity-gate.js';
import { failed, okCheck, warning } from './check.js';
import type { Check } from './check.js';
import type { EngineReader } from './ports.js';

/**
 * Whether the cluster's name is recorded for this cluster in this Temporal namespace, as every process checks at start.
 */
export function clusterNameCheck(
  kube: Pick<KubeClient, 'get'>,
  engine: Pick<EngineReader, 'recordedUid'>,
  cluster: string,
): Check {
  return {
    name: 'cluster-name',
    needs: ['kubernetes', 'temporal-namespace'],
    unanswered: 'see permissions (namespaces) and temporal',
    run: async () => {
      const [own, recorded] = await Promise.all([kubeSystemUid(kube), engine.recordedUid()]);
      if (recorded === own) return okCheck(`${cluster} is this cluster`);
      if (recorded === undefined) {
        const mend = 'the first process that starts records it: see its /readyz?verbose';
        return warning(`no process has recorded yet which cluster ${cluster} is`, mend);
      }
      const { found, mend } = foreignName(cluster, own, recorded);
      return failed(found, mend);
    },
  };
}
