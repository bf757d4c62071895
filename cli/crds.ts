import { stringify } from 'yaml';
import { crdManifests } from '../api/crds.js';

/** `stowage crds`: the manifests of every custom resource, as YAML documents for `kubectl apply -f -`. */
export function crdYaml(): string {
  return crdManifests()
    .map((manifest) => stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');
}
