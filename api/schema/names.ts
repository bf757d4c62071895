const namePart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const prefixPart = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Description of a qualified name. */
export const qualifiedNameRule =
  'an optional DNS prefix of at most 253 characters and a slash, then a name of at most 63';

/** Whether `text` is a name of a label, taint or annotation with its optional prefix, lengths included. */
export function isQualifiedName(text: string): boolean {
  const parts = text.split('/');
  const name = parts.pop() ?? '';
  if (parts.length > 1 || name.length > 63 || !namePart.test(name)) return false;
  const prefix = parts[0];
  return prefix === undefined || (prefix.length > 0 && prefix.length <= 253 && prefixPart.test(prefix));
}

/** Whether `domain` is `parent` or a subdomain of it. */
export function isWithinDomain(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`);
}
