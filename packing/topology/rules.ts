import { labels } from '../../api/labels.js';
import type { Compiled } from '../compile/compiled.js';
import type { PodShape } from '../compile/classes.js';
import type { Level } from '../compile/relaxation-levels.js';
import { filtered, joined, mapped, emptyList } from '../lists.js';
import { DaemonPods } from './daemon-pods.js';
import type { Group, Groups, Identity } from './groups.js';

/** The topology rules that concern pods of one shape on one relaxation level. */
export interface Rules {
  readonly level: Level;
  readonly identity: Identity;
  /** Rules that the pods have, by kind; those with the host name as topology key apart. */
  readonly spread: readonly Group[];
  readonly affinity: readonly Group[];
  readonly antiAffinity: readonly Group[];
  readonly hostSpread: readonly Group[];
  readonly hostAffinity: readonly Group[];
  readonly hostAntiAffinity: readonly Group[];
  /**
   * Required anti-affinity of the pods. It also excludes the pods that it selects from their domains
   * (topology/running-anti-affinity).
   */
  readonly keepsOff: readonly Group[];
  /**
   * Affinity that DaemonSet pods satisfy on every new node of these pods, so that no other selected pod is needed there
   * (topology/daemon-pods).
   */
  readonly byDaemons: readonly Group[];
  /** Rules of any pod that select these pods. */
  readonly matched: readonly Group[];
  /**
   * Topology keys other than the host name that need one fixed value on the node of such a pod, so that it is known which domain
   * counts the pod.
   */
  readonly keys: readonly string[];
}

/** Whether the rules may exclude the pods from a domain. Rules of other pods that only count them do not. */
export const mayExcludeDomains = ({
  spread,
  affinity,
  antiAffinity,
  hostAffinity,
  matched,
}: Pick<Rules, 'spread' | 'affinity' | 'antiAffinity' | 'hostAffinity' | 'matched'>): boolean =>
  spread.length + affinity.length + antiAffinity.length + hostAffinity.length > 0 ||
  matched.some(({ kind, hostname }) => kind === 'antiAffinity' && !hostname);

/** Computes, once per shape, which rules concern the shape in this pass. */
export class RuleBook {
  private readonly identities: Identity[] = [];
  private readonly carried = new Map<Level, readonly Group[]>();
  private readonly books = new Map<Level, Rules>();
  /** By shape: the rules of its last level, which are the required ones. */
  private readonly required: (readonly Group[])[] = [];
  /** Rules that are required for some pod, so that they also bind the pods that they select. */
  private readonly binding = new Set<Group>();
  readonly daemonPods: DaemonPods;

  constructor(
    readonly groups: Groups,
    compiled: Compiled,
  ) {
    const { classes, levelsByShape } = compiled;
    for (const shape of classes.shapes) {
      const { namespace, exemplar } = shape;
      const identity = groups.identity(namespace, exemplar.metadata.labels);
      this.identities.push(identity);
      const levels = levelsByShape[shape.index]!;
      for (const level of levels) {
        const carried = isUnruled(level)
          ? emptyList
          : joined(
              mapped(level.spread, (each) => groups.spread(each, level, identity)),
              groups.affinity(level.affinity, identity),
              mapped(level.preferredAffinity, (each) => groups.term('affinity', each, identity)),
              mapped(level.antiAffinity, (each) => groups.term('antiAffinity', each, identity)),
            );
        this.carried.set(level, carried);
        if (level !== levels.at(-1)) continue;
        this.required[shape.index] = carried;
        for (const group of carried) this.binding.add(group);
      }
    }
    this.daemonPods = new DaemonPods(
      compiled,
      groups,
      (group) => this.binding.add(group),
      (group) => this.binding.has(group),
    );
  }

  /** Records a required rule of running pods. */
  bind(group: Group): void {
    this.binding.add(group);
  }

  /** Whether the rule is required for some pod, and not only preferred. */
  isBinding(group: Group): boolean {
    return this.binding.has(group);
  }

  identity(shape: PodShape): Identity {
    return this.identities[shape.index]!;
  }

  of(shape: PodShape, level: Level): Rules {
    let rules = this.books.get(level);
    if (rules === undefined) this.books.set(level, (rules = this.build(shape, level)));
    return rules;
  }

  private build(shape: PodShape, level: Level): Rules {
    const identity = this.identity(shape);
    const carried = this.carried.get(level)!;
    const matched = this.groups.matching(identity);
    const byDaemons = this.daemonPods.met(level, carried);
    const sought = byDaemons.length === 0 ? carried : filtered(carried, (group) => !byDaemons.includes(group));
    const pick = (kind: Group['kind'], hostname: boolean): readonly Group[] =>
      sought.length === 0 ? sought : filtered(sought, (group) => group.kind === kind && group.hostname === hostname);
    return {
      level,
      identity,
      spread: pick('spread', false),
      affinity: pick('affinity', false),
      antiAffinity: pick('antiAffinity', false),
      hostSpread: pick('spread', true),
      hostAffinity: pick('affinity', true),
      hostAntiAffinity: pick('antiAffinity', true),
      keepsOff: filtered(this.required[shape.index]!, ({ kind }) => kind === 'antiAffinity'),
      byDaemons,
      matched,
      keys: this.keysOf(sought, matched),
    };
  }

  private keysOf(carried: readonly Group[], matched: readonly Group[]): readonly string[] {
    const { keys: ofDaemons } = this.daemonPods;
    if (carried.length + matched.length === 0) return ofDaemons;
    const keys = new Set(ofDaemons);
    for (const group of carried) if (!group.hostname) keys.add(group.key);
    for (const group of matched) {
      if (group.hostname || !this.binding.has(group)) continue;
      keys.add(group.key);
      if (!carried.includes(group)) for (const key of filterKeys(group)) keys.add(key);
    }
    return keys.size > 1 ? [...keys].sort() : [...keys];
  }
}

const isUnruled = ({ spread, affinity, preferredAffinity, antiAffinity }: Level): boolean =>
  spread.length + affinity.length + preferredAffinity.length + antiAffinity.length === 0;

/** Label keys that decide whether a spread rule counts a node. Pods with the rule can only be on nodes that it counts. */
function filterKeys({ filter }: Group): Set<string> {
  const keys = new Set<string>();
  for (const { requirements } of filter?.terms ?? []) for (const key of requirements.keys()) keys.add(key);
  if (filter?.tolerations !== undefined) keys.add(labels.nodePool);
  return keys;
}

type OwnRules = Pick<Rules, 'affinity' | 'hostAffinity' | 'spread' | 'hostSpread'>;

/** Whether the pods have this affinity or spread rule. */
export const wants = ({ affinity, hostAffinity, spread, hostSpread }: OwnRules, group: Group): boolean =>
  affinity.includes(group) || hostAffinity.includes(group) || spread.includes(group) || hostSpread.includes(group);

/** Rules of this kind that select pods which do not have them. */
export function selectingOthers(kind: 'spread' | 'affinity', pods: readonly Rules[]): Set<Group> {
  const found = new Set<Group>();
  for (const rules of pods) {
    for (const group of rules.matched) if (group.kind === kind && !wants(rules, group)) found.add(group);
  }
  return found;
}
