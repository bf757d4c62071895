// The tests that judge the mutated files, and no others, all in one process, on the modules with mutants: tools/test/mutation/judge.mjs made them.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import configOf from '../../../jest.config.mjs';
import { root } from '../../root.mjs';

const { tests } = JSON.parse(readFileSync(process.env.MUTATION_WORK, 'utf8'));

export default async () => {
  const { projects, ...config } = await configOf();
  const unit = projects.find(({ displayName }) => displayName === 'unit');
  const judging = {
    ...unit,
    testMatch: tests.map((glob) => `${root}/${glob}`),
    setupFilesAfterEnv: [...unit.setupFilesAfterEnv, fileURLToPath(new URL('runner.mjs', import.meta.url))],
  };
  return { ...config, bail: 1, maxWorkers: 1, projects: [judging] };
};
