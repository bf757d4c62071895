import { createHash } from 'node:crypto';
import { AwsError } from './aws-error.js';

const tokenOf = (question: string, offset: number): string =>
  Buffer.from(`${createHash('sha256').update(question).digest('hex').slice(0, 16)}:${offset}`).toString('base64url');

/**
 * One page of a list. `question` identifies the request without its token: a token is good for its own question
 * only. Throws InvalidNextToken (`code`) for another.
 */
export function page<T>(
  all: readonly T[],
  question: string,
  options: { token?: string | undefined; size: number; code?: string },
): { items: T[]; next?: string } {
  const { token, size, code = 'InvalidNextToken' } = options;
  let offset = 0;
  if (token !== undefined && token !== '') {
    offset = Number(Buffer.from(token, 'base64url').toString().split(':')[1]);
    if (!Number.isInteger(offset) || token !== tokenOf(question, offset)) {
      throw new AwsError(code, `Invalid value '${token}' for NextToken.`);
    }
  }
  const items = all.slice(offset, offset + size);
  return offset + size < all.length ? { items, next: tokenOf(question, offset + size) } : { items };
}

/** The page size of a request, checked against the action's bounds. */
export function pageSize(
  asked: string | undefined,
  bounds: { minimum: number; maximum: number; standard: number },
): number {
  if (asked === undefined) return bounds.standard;
  const size = Number(asked);
  if (!Number.isInteger(size) || size < bounds.minimum || size > bounds.maximum) {
    throw new AwsError(
      'InvalidParameterValue',
      `Value (${asked}) for parameter MaxResults is invalid. Expecting a value between ${bounds.minimum} and ${bounds.maximum}.`,
    );
  }
  return size;
}
