/** Control characters but tab and newline, and those that turn the direction of text: what users wrote is shown, never obeyed. */
const obeyed = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The text as a terminal may have it: what it would act on stands as its code, such as `\u001b`. */
export const printable = (text: string): string =>
  text.replace(obeyed, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
