import { UsageError } from '../exit.js';

/** No object of Kubernetes is nested that deep, and each level takes stack of whatever walks it. */
const deepest = 200;

/** Throws `UsageError`, naming `where`, for a value that is nested too deep to be an object of Kubernetes. */
export function expectShallow(value: unknown, where: string): void {
  if (isDeeperThan(deepest, value)) throw new UsageError(`${where}: it is nested more than ${deepest} levels deep`);
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (value === null || typeof value !== 'object') return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner));
}
