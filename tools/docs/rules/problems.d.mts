export interface Page {
  readonly page: string;
  readonly text: string;
}
export interface Citing {
  readonly file: string;
  readonly text: string;
}
export function rulesOf(page: Page): { readonly rule: string; readonly untested: string | undefined }[];
export function problemsOf(
  pages: readonly Page[],
  files: readonly Citing[],
  isTest: (file: string) => boolean,
): string[];
