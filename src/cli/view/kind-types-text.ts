/** Duty: the declaration that tells the compiler of a project its kinds by name: each with the file that defines it. */
import { dirname, posix, relative, sep } from 'node:path'

/** The mark of a file that `troupe kinds --types` wrote, and may overwrite. */
export const kindTypesMark = '// Written by `troupe kinds --types`'

/** `from`: the file that will hold the declaration. Both paths are absolute. */
export function kindTypesText(
  files: readonly { readonly kind: string; readonly file: string }[],
  from: string,
): string {
  const lines = files.map(
    ({ kind, file }) => `    ${JSON.stringify(kind)}: typeof import(${JSON.stringify(specifier(file, from))}).default`,
  )
  return [
    `${kindTypesMark}. Write it again when a worker file was added, renamed or removed.`,
    'export {}',
    '',
    "declare module 'troupe' {",
    '  interface Kinds {',
    ...lines,
    '  }',
    '}',
    '',
  ].join('\n')
}

/** The name of a file as imports write it: with the ending of what a compiler would make of it. The compiler finds the source. */
function specifier(file: string, from: string): string {
  const path = relative(dirname(from), file)
    .split(sep)
    .join(posix.sep)
    .replace(/\.([cm]?)ts$/, '.$1js')
  return path.startsWith('.') ? path : `./${path}`
}
