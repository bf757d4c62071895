import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { labels } from '../../api/labels.js';
import type { Stack } from '../../tools/stack/stack.js';
import { makeCertificates } from '../workflow/certificates.js';

/** An admission webhook of the test: it refuses with the status that is the path of its address. */
export interface RefusingWebhook {
  /** Has it asked about new NodeClaims of the NodePool, which it refuses with this status. */
  refusesClaimsOf(pool: string, status: number): object;
  stop(): Promise<void>;
}

export const refusalText = (status: number): string => `the webhook says ${status}`;

export async function startRefusingWebhook({ folder }: Pick<Stack, 'folder'>): Promise<RefusingWebhook> {
  const { ca, cert, key } = await makeCertificates(folder, 'webhook');
  const server = createServer({ cert, key }, (request, response) => {
    void (async () => {
      const { request: asked } = (await json(request)) as { request: { uid: string } };
      // The API server adds a query.
      const code = Number.parseInt(request.url?.slice(1) ?? '', 10);
      const refusal = { uid: asked.uid, allowed: false, status: { code, message: refusalText(code) } };
      const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: refusal };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(review));
    })();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    refusesClaimsOf: (pool, status) => configurationOf(pool, `https://127.0.0.1:${port}/${status}`, ca),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const configurationOf = (pool: string, url: string, ca: Buffer): object => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: webhookOf(pool) },
  webhooks: [
    {
      name: 'refusing.example.com',
      clientConfig: { url, caBundle: ca.toString('base64') },
      rules: [{ apiGroups: ['karpenter.sh'], apiVersions: ['*'], operations: ['CREATE'], resources: ['nodeclaims'] }],
      objectSelector: { matchLabels: { [labels.nodePool]: pool } },
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Fail',
    },
  ],
});

export const webhookOf = (pool: string): string => `no-claims-of-${pool}`;
