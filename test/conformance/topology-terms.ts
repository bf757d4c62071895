import type { LabelSelector, PodAffinityTerm, TopologySpreadConstraint } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import type { PodOptions } from './world.js';

const selects = (app: string): LabelSelector => ({ matchLabels: { app } });

type Spread = Pick<PodOptions, 'topologySpreadConstraints'>;
export const constraint = (more: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint => ({
  maxSkew: 1,
  topologyKey: labels.zone,
  whenUnsatisfiable: 'DoNotSchedule',
  labelSelector: selects('x'),
  ...more,
});

/** Spread of pods of app `x` over zones, unless something else is said; several constraints where several are given. */
export const spread = (...each: Partial<TopologySpreadConstraint>[]): Spread => ({
  topologySpreadConstraints: (each.length === 0 ? [{}] : each).map(constraint),
});

type Terms = Pick<PodOptions, 'affinity'>;
const term = (app: string, topologyKey: string, more: Partial<PodAffinityTerm>): PodAffinityTerm => ({
  labelSelector: selects(app),
  topologyKey,
  ...more,
});
type Kind = 'podAffinity' | 'podAntiAffinity';
const required = (kind: Kind, terms: PodAffinityTerm[]): Terms => ({
  affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
});
const preferred = (kind: Kind, weight: number, podAffinityTerm: PodAffinityTerm): Terms => ({
  affinity: { [kind]: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight, podAffinityTerm }] } },
});

/** Follows pods of the app. */
export const affinity = (app: string, key: string = labels.zone, more: Partial<PodAffinityTerm> = {}): Terms =>
  required('podAffinity', [term(app, key, more)]);
/** Keeps away from pods of the app. */
export const antiAffinity = (app: string, key: string = labels.zone, more: Partial<PodAffinityTerm> = {}): Terms =>
  required('podAntiAffinity', [term(app, key, more)]);
export const likesAffinity = (app: string, key: string = labels.zone, weight = 50): Terms =>
  preferred('podAffinity', weight, term(app, key, {}));
export const likesAntiAffinity = (app: string, key: string = labels.zone, weight = 50): Terms =>
  preferred('podAntiAffinity', weight, term(app, key, {}));
