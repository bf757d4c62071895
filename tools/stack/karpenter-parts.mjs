// Karpenter's own end-to-end suite, for `npm run suite -- karpenter`. Plain JavaScript on Node's built-ins alone; installed by install.mjs.
import { join } from 'node:path';

/** The release whose APIs Stowage has. */
const karpenterVersion = 'v1.14.1';

/** The component by name, as install.mjs has it. */
export function karpenterParts({ run, stamp, platform, go }) {
  return {
    'karpenter-suite': {
      needs: ['go'],
      version: () => `${karpenterVersion}-${stamp('1', platform, karpenterVersion)}`,
      async install(folder, { step }) {
        const module = `sigs.k8s.io/karpenter@${karpenterVersion}`;
        await step(`downloading and compiling the end-to-end suite of Karpenter ${karpenterVersion}`, async () => {
          const { Dir } = JSON.parse(await run('go', ['mod', 'download', '-json', module], { ...go, cwd: folder }));
          const args = [
            'test',
            '-c',
            '-ldflags',
            '-s -w',
            '-o',
            join(folder, 'regression'),
            './test/suites/regression',
          ];
          await run('go', args, { ...go, cwd: Dir });
        });
      },
      paths: (folder) => ({ karpenterSuite: join(folder, 'regression') }),
    },
  };
}
