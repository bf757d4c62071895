// Writes docs/disruption-policy.md from the definition: `npm run generate`, after crds.mjs.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { parse } from 'yaml';
import { policyPage } from './disruption-policy/page.mjs';
import { root } from '../root.mjs';

const manifest = parse(readFileSync(join(root, 'deploy/crds/disruptionpolicies.stowage.dev.yaml'), 'utf8'));
const file = join(root, 'docs/disruption-policy.md');
writeFileSync(file, await format(policyPage(manifest), { ...(await resolveConfig(file)), filepath: file }));
