import type { Workload } from '../../api/kubernetes.js';
import type { NewObject } from '../../kube/port.js';

/** A Deployment in `default` whose pods (label `app`) request this much and end at once. */
export function deploymentOf(name: string, replicas: number, requests: Record<string, string>): NewObject<Workload> {
  const labels = { app: name };
  return {
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [{ name: 'app', image: 'registry.example/app', resources: { requests } }],
        },
      },
    },
  };
}
