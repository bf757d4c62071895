import type { Pool } from '../compile/pools.js';
import { probableKey } from '../requirements/typo.js';

/** The label key that was probably meant, for a key that no NodePool and no instance type has. */
export function probableLabel(
  label: string,
  wellKnown: ReadonlySet<string>,
  pools: readonly Pool[],
): string | undefined {
  return keysOf(wellKnown, pools).meantBy(label);
}

const knownKeys = new WeakMap<readonly Pool[], KnownKeys>();

function keysOf(wellKnown: ReadonlySet<string>, pools: readonly Pool[]): KnownKeys {
  let keys = knownKeys.get(pools);
  if (keys?.wellKnown !== wellKnown) knownKeys.set(pools, (keys = new KnownKeys(wellKnown, pools)));
  return keys;
}

/** The existing label keys; caches what each unknown key was probably meant to be. */
class KnownKeys {
  private readonly keys: readonly string[];
  private readonly meant = new Map<string, string | undefined>();

  constructor(
    readonly wellKnown: ReadonlySet<string>,
    pools: readonly Pool[],
  ) {
    const keys = new Set(wellKnown);
    for (const { requirements } of pools) for (const key of requirements.keys()) keys.add(key);
    this.keys = [...keys];
  }

  meantBy(label: string): string | undefined {
    if (!this.meant.has(label)) this.meant.set(label, probableKey(label, this.keys));
    return this.meant.get(label);
  }
}
