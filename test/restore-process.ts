// Test files follow one another in one process: what a file did to its environment, timers and mocks ends with it.
import { afterAll, vi } from 'vitest';

const environment = { ...process.env };
const folder = process.cwd();

afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  const added = Object.keys(process.env).filter((name) => !(name in environment));
  for (const name of added) Reflect.deleteProperty(process.env, name);
  Object.assign(process.env, environment);
  process.chdir(folder);
  process.exitCode = undefined;
});
