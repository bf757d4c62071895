import type { KubeClient } from '../../kube/port.js';
import { failed, okCheck, warning } from './check.js';
import type { Check, CheckOutcome } from './check.js';
import { isOlder, versionIn } from '../../core/versions.js';

/** Same as kubeVersion of the chart. */
export const oldestKubernetes = '1.29.0';

/** Whether the API server responds and has a supported version. */
export function kubernetesCheck(kube: Pick<KubeClient, 'serverVersion'>): Check {
  return {
    name: 'kubernetes',
    unanswered: 'see KUBECONFIG (--kubeconfig), or in a pod its ServiceAccount and the NetworkPolicy',
    run: async () => kubernetesOutcome(await kube.serverVersion()),
  };
}

function kubernetesOutcome(version: string): CheckOutcome {
  const found = versionIn(version);
  if (found === undefined) return warning(`version ${version}, which cannot be compared`, 'see kubectl version');
  if (isOlder(found, oldestKubernetes)) {
    return failed(
      `version ${version}, older than ${oldestKubernetes}`,
      `upgrade the cluster to ${oldestKubernetes} or newer`,
    );
  }
  return okCheck(`version ${version}`);
}
