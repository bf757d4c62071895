import { asText, present } from './fields.js';
import type { Fields } from './fields.js';
import type { BudgetReason } from '../../api/disruption-reasons.js';

/** The disruption settings of an older pool, in v1 terms. */
export interface OldDisruption {
  readonly disruption: object;
  readonly expireAfter: string | undefined;
  /** Budgets that limit a rate: these need a DisruptionPolicy. */
  readonly rates: readonly { readonly nodes: string; readonly per: string; readonly reasons?: readonly string[] }[];
}

/** Formats seconds as a duration. */
function secondsText(seconds: number): string {
  if (seconds > 0 && seconds % 3600 === 0) return `${seconds / 3600}h`;
  return seconds > 0 && seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}

const days = /^([0-9]+)d$/;

function durationOf(owner: Fields, name: string): string | undefined {
  const value = owner.take(name);
  if (value === undefined) return undefined;
  const text = asText(value, owner.at(name), owner.notes);
  const match = days.exec(text);
  if (match === null) return text;
  const hours = `${Number(match[1]) * 24}h`;
  owner.notes.changed(owner.at(name), `${text} becomes ${hours}: days are no unit of durations`);
  return hours;
}

/** `spec` may contain the fields of a Provisioner, `spec.disruption` those of a NodePool of v1beta1 or v1. */
export function convertDisruption(spec: Fields, version: 'v1alpha5' | 'v1beta1' | 'v1'): OldDisruption {
  const disruption = spec.object('disruption');
  const consolidation = consolidationOf(spec, disruption, version);
  const expireAfter = expiration(spec, disruption, version);
  const { budgets, rates } = budgetsOf(disruption);
  disruption?.finish();
  return { disruption: present({ ...consolidation, budgets }), expireAfter, rates };
}

function expiration(spec: Fields, disruption: Fields | undefined, version: string): string | undefined {
  const seconds = spec.whole('ttlSecondsUntilExpired');
  if (seconds !== undefined) {
    const after = secondsText(seconds);
    spec.notes.changed(spec.at('ttlSecondsUntilExpired'), `becomes spec.template.spec.expireAfter ${after}`);
    return after;
  }
  const after = disruption === undefined ? undefined : durationOf(disruption, 'expireAfter');
  if (after !== undefined) spec.notes.changed('spec.disruption.expireAfter', `moves to spec.template.spec.expireAfter`);
  if (after !== undefined || version !== 'v1alpha5') return after;
  spec.notes.changed('spec.template.spec.expireAfter', 'written as Never: nodes of this Provisioner did not expire');
  return 'Never';
}

interface Consolidation {
  readonly consolidationPolicy?: string;
  readonly consolidateAfter?: string;
}

/** The older settings for consolidation, from the most to the least explicit. */
function consolidationOf(spec: Fields, disruption: Fields | undefined, version: string): Consolidation {
  const enabled = (disruption?.object('consolidation') ?? spec.object('consolidation'))?.flag('enabled');
  const emptyAfter = spec.whole('ttlSecondsAfterEmpty');
  if (enabled === true) {
    spec.notes.changed('spec.consolidation.enabled', 'becomes consolidationPolicy WhenEmptyOrUnderutilized');
    if (emptyAfter !== undefined) spec.notes.lost(spec.at('ttlSecondsAfterEmpty'), 'consolidation removes empty nodes');
    reportOverruled(disruption, 'consolidation.enabled: true');
    return { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' };
  }
  if (emptyAfter !== undefined) {
    const after = secondsText(emptyAfter);
    spec.notes.changed(spec.at('ttlSecondsAfterEmpty'), `becomes WhenEmpty with consolidateAfter ${after}`);
    reportOverruled(disruption, 'ttlSecondsAfterEmpty');
    return { consolidationPolicy: 'WhenEmpty', consolidateAfter: after };
  }
  if (enabled === false || version === 'v1alpha5') {
    const why = enabled === false ? 'enabled: false becomes' : 'nothing asks for it:';
    spec.notes.changed('spec.consolidation', `${why} consolidateAfter Never`);
    reportOverruled(disruption, 'consolidation.enabled: false');
    return { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' };
  }
  return consolidationPolicy(disruption);
}

/** Reports newer fields that an older one overrides. */
function reportOverruled(disruption: Fields | undefined, by: string): void {
  for (const name of ['consolidationPolicy', 'consolidateAfter']) {
    const value = disruption?.take(name);
    if (value !== undefined) disruption?.notes.lost(disruption.at(name), `${JSON.stringify(value)}: ${by} decides`);
  }
}

function consolidationPolicy(disruption: Fields | undefined): Consolidation {
  const policy = disruption?.text('consolidationPolicy');
  const after = disruption === undefined ? undefined : durationOf(disruption, 'consolidateAfter');
  const renamed = policy === 'WhenUnderutilized' ? 'WhenEmptyOrUnderutilized' : policy;
  if (renamed !== policy) {
    disruption?.notes.changed('spec.disruption.consolidationPolicy', `${policy ?? ''} becomes ${renamed ?? ''}`);
  }
  if (disruption !== undefined && after === undefined)
    disruption.notes.changed(
      'spec.disruption.consolidateAfter',
      'written as 0s: v1 requires it, and nodes went at once',
    );
  return present({
    consolidationPolicy: renamed,
    consolidateAfter: after ?? (disruption === undefined ? undefined : '0s'),
  });
}

interface OldBudget {
  readonly nodes: string;
  readonly schedule?: string;
  readonly duration?: string;
  readonly reasons?: readonly string[];
}

function budgetsOf(disruption: Fields | undefined): { budgets?: readonly OldBudget[]; rates: OldDisruption['rates'] } {
  const given = disruption?.objects('budgets');
  if (disruption === undefined || given === undefined) return { rates: [] };
  const all = given.map((budget) => ({ field: budget.path, budget: readBudget(budget) }));
  const rates = all.filter(({ budget }) => budget.duration !== undefined && budget.schedule === undefined);
  for (const { field, budget } of rates) {
    const message = `a duration without a schedule is a rate: DisruptionPolicy.spec.rates ${budget.nodes} per ${budget.duration ?? ''}`;
    disruption.notes.changed(field, message);
  }
  const kept = all
    .filter((each) => !rates.includes(each))
    .map(({ field, budget }) => scheduled(field, budget, disruption));
  if (rates.length > 0 && kept.length === 0) {
    disruption.notes.changed('spec.disruption.budgets', 'written as 100%: the rate alone bounds what goes');
  }
  return {
    budgets: rates.length > 0 && kept.length === 0 ? [{ nodes: '100%' }] : kept,
    rates: rates.map(({ budget: { nodes, duration = '', reasons } }) => ({
      nodes,
      per: duration,
      ...present({ reasons }),
    })),
  };
}

function readBudget(budget: Fields): OldBudget {
  const nodes = budget.take('nodes') ?? budget.take('maxUnavailable') ?? '10%';
  const schedule = budget.text('schedule') ?? budget.text('crontab');
  const reasons = budget
    .list('reasons')
    ?.map((reason, i) => reasonOf(asText(reason, `${budget.at('reasons')}[${i}]`, budget.notes)));
  const read = {
    nodes: asText(nodes, budget.at('nodes'), budget.notes),
    ...present({ schedule, duration: budget.text('duration'), reasons }),
  };
  budget.finish();
  return read;
}

/** Older releases used lower-case reasons. */
function reasonOf(text: string): BudgetReason {
  return (text.charAt(0).toUpperCase() + text.slice(1)) as BudgetReason;
}

/** A schedule without duration: the budget then always applies, which is the safe interpretation. */
function scheduled(field: string, budget: OldBudget, { notes }: Fields): OldBudget {
  if (budget.schedule === undefined || budget.duration !== undefined) return budget;
  notes.check(field, `schedule ${budget.schedule} has no duration: the bound is made to hold always`);
  const { nodes, reasons } = budget;
  return { nodes, ...present({ reasons }) };
}
