// npm run suite -- install: Stowage as a user installs it, in containers of a real kubelet, from the project's own Dockerfile and chart; and
// docker-compose.yml on a Docker engine. Where this machine lacks what that needs, it says so, and the tests count as skipped.
import { spawnSync } from 'node:child_process';
import { lacks, lacksForCompose } from '../../test/install/machine.mjs';
import { root } from '../root.mjs';

const say = (line) => process.stderr.write(`install: ${line}\n`);
const run = (command, args, env = {}) =>
  spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } }).status ?? 1;

const parts = ['kubernetes', 'temporal', 'moto', 'kubelet', 'helm', 'node-image'];
const composeParts = ['compose', 'temporal-server', 'services-image'];
const lack = lacks(say);
if (lack !== undefined) say(`skipped: ${lack}`);
const composeLack = lack ?? lacksForCompose();
if (lack === undefined && composeLack !== undefined) say(`skipped, of docker-compose.yml: ${composeLack}`);
const needed = lack === undefined ? [...parts, ...(composeLack === undefined ? composeParts : [])] : ['helm'];
const steps = [
  [process.execPath, ['tools/stack/install.mjs', ...needed]],
  ['npm', ['run', '-s', 'build']],
  ['npx', ['jest', '--maxWorkers=1', ...process.argv.slice(2), '--selectProjects', 'install']],
];
const environment = { STOWAGE_INSTALL_LACKS: lack ?? '', STOWAGE_COMPOSE_LACKS: composeLack ?? '' };
process.exitCode = steps.reduce((failed, [command, args]) => failed || run(command, args, environment), 0);
