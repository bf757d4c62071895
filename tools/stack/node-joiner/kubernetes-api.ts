import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { http } from '../http.js';

/** An answer of the API server that is no success. */
export class KubernetesError extends Error {
  override readonly name = 'KubernetesError';
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

interface Kubeconfig {
  clusters: { cluster: { server: string; 'certificate-authority-data': string } }[];
  users: { user: { token: string } }[];
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

/** The few calls that kubelets make, over plain HTTPS with a token. */
export class KubernetesApi {
  readonly server: string;
  readonly #token: string;
  readonly #ca: string;

  constructor(kubeconfig: string) {
    const config = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
    const { server, 'certificate-authority-data': authority } = config.clusters[0]!.cluster;
    this.server = server;
    this.#token = config.users[0]!.user.token;
    this.#ca = Buffer.from(authority, 'base64').toString();
  }

  async #send<T>(method: string, path: string, body?: unknown, contentType = 'application/json'): Promise<T> {
    const answer = await http(`${this.server}${path}`, {
      method,
      ca: this.#ca,
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': contentType },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = answer.body.toString('utf8');
    if (answer.status < 300) return JSON.parse(text) as T;
    throw new KubernetesError(answer.status, `${method} ${path}: ${answer.status} ${text.slice(0, 500)}`);
  }

  get<T>(path: string): Promise<T> {
    return this.#send('GET', path);
  }

  create<T>(path: string, object: unknown): Promise<T> {
    return this.#send('POST', path, object);
  }

  patch<T>(path: string, patch: unknown, type: keyof typeof patchTypes = 'merge'): Promise<T> {
    return this.#send('PATCH', path, patch, patchTypes[type]);
  }

  async delete(path: string): Promise<void> {
    await this.#send('DELETE', path);
  }
}
