import { UsageError } from '../exit.js';

/** No object of Kubernetes is nested that deep, and each level takes stack of whatever walks it. */
const deepest = 200;

/** Throws `UsageError`, naming `where`, for a value that is nested too deep to be an object of Kubernetes. */
export function expectShallow(value: unknown, where: string): void {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) throw new UsageError(`${where}: it is nested more than ${deepest} levels deep`);
    level = level.flatMap((each): unknown[] => (each !== null && typeof each === 'object' ? Object.values(each) : []));
  }
}
