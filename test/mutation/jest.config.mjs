// The unit tests beside the mutated file, and no others (see scripts/mutation.mjs).
import config from '../../jest.config.mjs';

const { displayName: _, ...unit } = config.projects.find(({ displayName }) => displayName === 'unit');
const file = process.env.MUTATED_FILE ?? 'packing/{requirements,topology}/*.ts';

export default {
  ...unit,
  rootDir: '../..',
  roots: ['api', 'core', 'packing', 'test/builders'].map((folder) => `<rootDir>/${folder}`),
  testMatch: [`<rootDir>/${file.replace(/\.ts$/, '.test.ts')}`],
};
