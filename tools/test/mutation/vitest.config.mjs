// The tests that judge the mutated files, and no others, all in one process: tools/test/mutation/judge.mjs gives them the files with their mutants.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const { texts, tests } = JSON.parse(readFileSync(process.env.MUTATION_WORK, 'utf8'));

export default defineConfig({
  server: { watch: null },
  plugins: [{ name: 'mutants', enforce: 'pre', load: (id) => (Object.hasOwn(texts, id) ? texts[id] : undefined) }],
  test: {
    include: tests,
    runner: fileURLToPath(new URL('runner.mjs', import.meta.url)),
    pool: 'forks',
    isolate: false,
    fileParallelism: false,
    testTimeout: 0,
    hookTimeout: 0,
  },
});
