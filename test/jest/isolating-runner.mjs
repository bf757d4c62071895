// Each file in a process that runs no other.
import SourceRunner from './runner.mjs';

class Pools extends Map {
  /** The runner is done with them. */
  clear() {
    for (const { pool } of this.values()) pool.destroy().catch(() => undefined);
    super.clear();
  }
}

class OneFile extends SourceRunner {
  _testRunners = new Pools();
}

export default class IsolatingRunner {
  constructor(globalConfig, ...more) {
    this.atOnce = globalConfig.maxWorkers;
    this.config = [{ ...globalConfig, maxWorkers: 1 }, ...more];
  }

  async runTests(tests, ...more) {
    const waiting = [...tests];
    const follow = async () => {
      for (let test = waiting.shift(); test !== undefined; test = waiting.shift())
        await new OneFile(...this.config).runTests([test], ...more);
    };
    await Promise.all(Array.from({ length: this.atOnce }, follow));
  }
}
