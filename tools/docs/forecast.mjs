// Writes docs/forecast.schema.json, the schema of `stowage plan --with FILE -o json`.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { root } from '../root.mjs';

execFileSync(process.execPath, [join(root, 'tools/build/build.mjs')], { stdio: 'inherit' });
const { forecastSchema } = await import(join(root, 'dist', 'cli', 'forecast', 'types.js'));
const file = join(root, 'docs', 'forecast.schema.json');
writeFileSync(file, await format(JSON.stringify(forecastSchema()), { ...(await resolveConfig(file)), filepath: file }));
