// What tests of the metrics need besides the local stack: Prometheus with promtool. Installed by install.mjs, which hands over its tools. Plain
// JavaScript on Node's built-ins alone.
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** The components by name, as install.mjs has them. */
export function signalParts({ run, stamp, platform }) {
  return {
    // Debian's package, unpacked and not installed: that needs no root, and starts no service.
    prometheus: {
      needs: ['apt'],
      version: () => stamp('1', platform),
      async install(folder, { step }) {
        const scratch = join(folder, 'scratch');
        const lists = join(scratch, 'lists');
        mkdirSync(join(lists, 'partial'), { recursive: true });
        // Separate package lists: those of the machine may be missing or old, and are root's.
        const own = ['-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${scratch}`];
        const hint = 'apt-get must be able to reach a site that has the package prometheus.';
        await step('downloading Prometheus from the system’s packages', async () => {
          await run('apt-get', [...own, '-qq', 'update'], { hint });
          await run('apt-get', [...own, '-qq', 'download', 'prometheus'], { cwd: scratch, hint });
          const archive = readdirSync(scratch).find((name) => name.endsWith('.deb'));
          await run('dpkg-deb', ['--extract', archive, 'unpacked'], { cwd: scratch });
          cpSync(join(scratch, 'unpacked/usr/bin'), join(folder, 'bin'), { recursive: true });
        });
        rmSync(scratch, { recursive: true });
      },
      paths: (folder) => ({ prometheus: join(folder, 'bin/prometheus'), promtool: join(folder, 'bin/promtool') }),
    },
  };
}
