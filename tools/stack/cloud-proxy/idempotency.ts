import { createHash } from 'node:crypto';
import { AwsError } from './aws-error.js';

/**
 * Client tokens, as EC2 keeps them: the same token with the same parameters gets the first answer and has no second
 * effect, also while the first call is still running; with other parameters it is an error. A call that failed as a
 * whole had no effect, so its token is free again.
 */
export class ClientTokens {
  readonly #seen = new Map<string, { question: string; answer: Promise<unknown> }>();

  async once<T>(action: string, token: string | undefined, parameters: unknown, run: () => Promise<T>): Promise<T> {
    if (token === undefined || token === '') return run();
    const key = `${action}/${token}`;
    const question = createHash('sha256').update(JSON.stringify(parameters)).digest('hex');
    const before = this.#seen.get(key);
    if (before !== undefined) {
      if (before.question === question) return before.answer as Promise<T>;
      throw new AwsError(
        'IdempotentParameterMismatch',
        `The client token ${token} was used with other parameters before.`,
      );
    }
    const answer = run();
    this.#seen.set(key, { question, answer });
    answer.catch(() => this.#seen.delete(key));
    return answer;
  }

  clear(): void {
    this.#seen.clear();
  }
}
