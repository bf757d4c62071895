// Which packages the files of a bundle come from.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The packages of `node_modules` that these files are of, each with its folder and manifest, by name. */
export function packagesIn(root, files) {
  const found = new Map();
  for (const file of files) {
    const folder = packageFolder(root, file);
    if (folder === undefined || found.has(folder)) continue;
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    found.set(folder, { folder, name: manifest.name, version: manifest.version, license: manifest.license });
  }
  const byName = (left, right) => (`${left.name}@${left.version}` < `${right.name}@${right.version}` ? -1 : 1);
  const distinct = new Map([...found.values()].map((each) => [`${each.name}@${each.version}`, each]));
  return [...distinct.values()].sort(byName);
}

/** The folder of the package that a file is of: the deepest `node_modules/NAME` or `node_modules/@SCOPE/NAME` on its path. */
function packageFolder(root, file) {
  const at = file.lastIndexOf('node_modules/');
  if (at === -1) return undefined;
  const parts = file.slice(at + 'node_modules/'.length).split('/');
  const name = parts[0].startsWith('@') ? `${parts[0]}/${parts[1]}` : parts[0];
  const folder = join(root, file.slice(file.indexOf('node_modules/'), at), 'node_modules', name);
  return existsSync(join(folder, 'package.json')) ? folder : undefined;
}

/** What a package says about its licence. */
export function licenceFile({ folder }) {
  const name = readdirSync(folder).find((each) => /^(licen[cs]e|copying)(\.|$)/i.test(each));
  return name === undefined ? undefined : readFileSync(join(folder, name), 'utf8');
}
