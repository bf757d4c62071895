// Writes deploy/iam-policy.json and deploy/iam-cloudformation.yaml from the table of calls that cloud/aws makes.
import { writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../root.mjs';

execFileSync(process.execPath, [join(root, 'tools/build/build.mjs')], { stdio: 'inherit' });
const { policyJson, cloudFormationYaml } = await import(join(root, 'dist', 'cloud', 'aws', 'iam-template.js'));
writeFileSync(join(root, 'deploy', 'iam-policy.json'), policyJson());
writeFileSync(join(root, 'deploy', 'iam-cloudformation.yaml'), cloudFormationYaml());
