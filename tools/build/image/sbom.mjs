// The bill of materials of an image, as CycloneDX 1.6 and as the texts of its licences.
import { licenceFile } from './packages.mjs';

/** Neither times nor random numbers: the same packages give the same bytes. */
export function sbom({ name, version }, packages) {
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': `${name}@${version}`,
        name,
        version,
        licenses: licences('Apache-2.0'),
      },
    },
    components: packages.map(component),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function component({ name, version, license }) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return { type: 'library', 'bom-ref': purl, name, version, purl, licenses: licences(license) };
}

/** An expression as packages write it; older ones write an object. */
function licences(license) {
  const expression = typeof license === 'string' ? license : license?.type;
  return expression === undefined ? [] : [{ expression }];
}

export function licenceTexts(packages) {
  return packages
    .map((each) => {
      const text = licenceFile(each) ?? `Licence: ${JSON.stringify(each.license ?? 'not said')}`;
      return `${each.name} ${each.version}\n\n${text.trim()}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
