import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/kubernetes.js';
import { compareText } from '../../core/text.js';
import { selects } from '../../core/labels.js';
import { lookUp } from '../../core/own.js';
import { QuantityError, parseResource } from '../../core/quantities.js';
import { impossibleKey, join, type Requirements } from '../requirements/requirements.js';
import { readTerm, requiredTerms } from './node-terms.js';
import { nameOf } from '../../core/names.js';

/** A pod with the claims that only existing volumes can satisfy. */
export interface StaticDemand {
  readonly pod: Pod;
  readonly claims: readonly { readonly key: string; readonly claim: PersistentVolumeClaim }[];
}

/** The possible volumes of a claim, or why there are none. */
export type StaticSupply = readonly PersistentVolume[] | string;

/** Where the volume is accessible; empty: anywhere. */
export function nodesOfVolumes({ spec }: PersistentVolume): readonly Requirements[] {
  const places = (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).map(readTerm);
  return places.some(({ size }) => size === 0) ? [] : places;
}

/**
 * The volumes to which claims of classes without provisioner bind (volumes/static-volumes), by key of the claim. A
 * volume that several claims could use is assigned to one of them; pods with the fewest alternatives come first.
 */
export function staticSupplies(
  demands: readonly StaticDemand[],
  volumes: Iterable<PersistentVolume>,
): ReadonlyMap<string, StaticSupply> {
  const all = [...volumes].sort((a, b) => sizeOf(a) - sizeOf(b) || compareText(nameOf(a), nameOf(b)));
  const supplies = new Map<string, StaticSupply>();
  const waiting = demands.map(({ pod, claims }) => {
    const terms = requiredTerms(pod.spec);
    return {
      pod,
      claims: claims.map(({ key, claim }) => {
        const fitting = all.filter((volume) => fits(volume, claim, key));
        const near = fitting.filter((volume) =>
          terms.some((term) => reaches(term, nodesOfVolumes(volume)) !== undefined),
        );
        if (fitting.length === 0) supplies.set(key, none(claim));
        return { key, claim, fitting: near.length > 0 ? near : fitting };
      }),
    };
  });
  const wanted = new Map<PersistentVolume, Set<string>>();
  for (const { claims } of waiting) {
    for (const { key, fitting } of claims) {
      for (const volume of fitting) wanted.set(volume, (wanted.get(volume) ?? new Set<string>()).add(key));
    }
  }
  const choices = ({ claims }: (typeof waiting)[number]): number =>
    Math.min(...claims.map(({ fitting }) => fitting.length));
  waiting.sort((a, b) => choices(a) - choices(b) || compareText(nameOf(a.pod), nameOf(b.pod)));
  const taken = new Set<PersistentVolume>();
  for (const { pod, claims } of waiting) {
    const open = claims.filter(({ key }) => !supplies.has(key));
    const given = choose(
      open.map(({ fitting }) => fitting.filter((volume) => !taken.has(volume))),
      requiredTerms(pod.spec),
    );
    open.forEach(({ key, claim, fitting }, i) => {
      const own = given?.[i];
      if (own !== undefined) taken.add(own);
      const isContested = fitting.some((volume) => wanted.get(volume)!.size > 1);
      supplies.set(key, own === undefined ? shortOf(claim) : isContested ? [own] : fitting);
    });
  }
  return supplies;
}

/** One volume for each claim, all accessible from a node that satisfies one of the terms. */
function choose(
  fitting: readonly (readonly PersistentVolume[])[],
  terms: readonly Requirements[],
  chosen: readonly PersistentVolume[] = [],
): readonly PersistentVolume[] | undefined {
  const [first, ...others] = fitting;
  if (first === undefined) return chosen;
  for (const volume of first) {
    if (chosen.includes(volume)) continue;
    const left = terms.flatMap((term) => reaches(term, nodesOfVolumes(volume)) ?? []);
    const all = left.length === 0 ? undefined : choose(others, left, [...chosen, volume]);
    if (all !== undefined) return all;
  }
  return undefined;
}

/** The term combined with each place compatible with it; undefined if there is none. */
function reaches(term: Requirements, places: readonly Requirements[]): readonly Requirements[] | undefined {
  if (places.length === 0) return [term];
  const both = places.map((place) => join(term, place)).filter((joint) => impossibleKey(joint) === undefined);
  return both.length === 0 ? undefined : both;
}

/** Whether kube-scheduler would bind the claim to the volume on a node that reaches it. */
function fits(volume: PersistentVolume, { spec: asked }: PersistentVolumeClaim, key: string): boolean {
  const { metadata, spec } = volume;
  const { accessModes = [], selector, resources } = asked;
  return (
    isFreeFor(volume, key) &&
    spec.storageClassName === asked.storageClassName &&
    modeOf(spec) === modeOf(asked) &&
    accessModes.every((mode) => spec.accessModes?.includes(mode) === true) &&
    (selector === undefined || selects(selector, metadata.labels)) &&
    bytesOf(lookUp(resources?.requests ?? {}, 'storage')) <= sizeOf(volume)
  );
}

const modeOf = ({ volumeMode = 'Filesystem' }: { readonly volumeMode?: string }): string => volumeMode;

/** Whether the volume is unclaimed, or reserved for this claim. */
function isFreeFor({ metadata, spec: { claimRef }, status }: PersistentVolume, key: string): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return claimRef === undefined
    ? status?.phase === 'Available'
    : `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}` === key;
}

const sizeOf = ({ spec }: PersistentVolume): number => bytesOf(lookUp(spec.capacity ?? {}, 'storage'));

function bytesOf(quantity: string | undefined): number {
  try {
    return quantity === undefined ? 0 : parseResource('storage', quantity);
  } catch (error) {
    if (error instanceof QuantityError) return 0;
    throw error;
  }
}

const none = ({ spec }: PersistentVolumeClaim): string =>
  `asks for storage class ${spec.storageClassName ?? ''}, which provisions nothing, and no PersistentVolume of that class is Available with the size, access modes, volume mode and labels that it asks for`;

const shortOf = ({ spec }: PersistentVolumeClaim): string =>
  `asks for storage class ${spec.storageClassName ?? ''}, which provisions nothing, and other claims take every PersistentVolume of that class that it could have, or no node reaches what is left`;
