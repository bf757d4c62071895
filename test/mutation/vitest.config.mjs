// The tests that judge the mutated file, and no others (see scripts/mutation.mjs).
import { defineConfig } from 'vitest/config';

export default defineConfig({ test: { include: (process.env.MUTATION_TESTS ?? '').split(',') } });
