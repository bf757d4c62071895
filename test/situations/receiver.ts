import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signatureOf } from '../../process/notifications/notifier.js';
import { listenLocally } from '../builders/local-server.js';

/** A receiver of notifications whose server fails at each first attempt. */
export interface Receiver {
  readonly settings: { readonly NOTIFY_URL: string; readonly NOTIFY_SECRET_FILE: string };
  /** Types of what was taken, after a failure each, with the right signature. */
  taken(): ReadonlySet<string>;
  /** How often a signature was not right. */
  forged(): number;
  stop(): Promise<void>;
}

const secret = 'known to both';

export async function startReceiver(folder: string): Promise<Receiver> {
  const file = join(folder, 'notify-secret');
  writeFileSync(file, secret);
  const refused = new Set<string>();
  const taken = new Set<string>();
  let forged = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += String(part)));
    request.on('end', () => {
      const { id, type } = JSON.parse(body) as { id: string; type: string };
      const signature = signatureOf(secret, body)['x-stowage-signature-256'];
      if (request.headers['x-stowage-signature-256'] !== signature) forged += 1;
      else if (refused.has(id)) taken.add(type);
      response.writeHead(refused.has(id) ? 204 : 503).end();
      refused.add(id);
    });
  });
  const url = await listenLocally(server);
  return {
    settings: { NOTIFY_URL: `${url}/hook`, NOTIFY_SECRET_FILE: file },
    taken: () => taken,
    forged: () => forged,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
