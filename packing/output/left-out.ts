import { compareText } from '../../core/text.js';
import type { Compiled } from '../compile/compiled.js';
import { honouredPreferences, ignoredPreferences } from '../compile/preferences.js';
import type { IgnoredPreferences, Plan } from '../types.js';
import { fullName } from '../../core/names.js';

/** What the plan omits: pods that are left for the next pass, and preferences beyond those that are honoured. */
export function leftOutOf({
  input,
  classes,
  deferred,
  ignored: others,
  gated,
  resume,
}: Compiled): Pick<Plan, 'deferred' | 'ignored' | 'gated' | 'resume' | 'ignoredPreferences'> {
  const ignored = input.settings.preferencePolicy === 'Ignore' ? [] : ignoredIn(classes);
  return {
    ...(deferred.length > 0 && { deferred: deferred.map(fullName).sort(compareText) }),
    ...(others.length > 0 && { ignored: others.map(fullName).sort(compareText) }),
    ...(gated.length > 0 && { gated: gated.map(fullName).sort(compareText) }),
    ...(resume !== undefined && { resume }),
    ...(ignored.length > 0 && { ignoredPreferences: ignored }),
  };
}

function ignoredIn({ all }: Compiled['classes']): IgnoredPreferences[] {
  const found: IgnoredPreferences[] = [];
  for (const { shape, pods } of all) {
    const ignored = ignoredPreferences(shape.exemplar.spec);
    if (ignored === 0) continue;
    for (const pod of pods) found.push({ pod: fullName(pod), honoured: honouredPreferences, ignored });
  }
  return found.sort((a, b) => compareText(a.pod, b.pod));
}
