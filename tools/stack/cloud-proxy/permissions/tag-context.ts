import type { Context } from './conditions.js';

/** Tags of what is there already, as condition keys. */
export function resourceTags(tags: Readonly<Record<string, string>> = {}): Context {
  return Object.fromEntries(Object.entries(tags).map(([key, value]) => [`aws:ResourceTag/${key}`, value]));
}

/** Tags of the request, as condition keys. */
export function requestTags(tags: Readonly<Record<string, string>> | undefined): Context {
  if (tags === undefined) return {};
  return {
    'aws:TagKeys': Object.keys(tags),
    ...Object.fromEntries(Object.entries(tags).map(([key, value]) => [`aws:RequestTag/${key}`, value])),
  };
}
