import { readFile, rename, writeFile } from 'node:fs/promises';
import type { PriceStore } from './prices.js';

/**
 * Keeps prices in a file: `{onDemand: {type: dollars}, spot: {type: {zone: dollars}}, onDemandAt, spotAt}`. In an
 * isolated network the file may be written by hand and mounted; one that cannot be written is only read.
 */
export function priceFile(path: string): PriceStore {
  return {
    load: async () => {
      try {
        return await readFile(path, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    },
    save: async (text) => {
      // Whole or not at all: a crash leaves the old prices.
      const next = `${path}.${process.pid}.tmp`;
      await writeFile(next, text);
      await rename(next, path);
    },
  };
}
