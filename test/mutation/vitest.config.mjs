// The unit tests beside the mutated file, and no others (see scripts/mutation.mjs).
import { defineConfig } from 'vitest/config';

const file = process.env.MUTATED_FILE ?? 'packing/{requirements,topology}/*.ts';

export default defineConfig({ test: { include: [file.replace(/\.ts$/, '.test.ts')] } });
