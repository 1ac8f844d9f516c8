/** TypeScript files as a graph of imports, read from their text: enough for rules about who may import whom. */
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path/posix'

export interface Import {
  /** The specifier, as it is written. */
  readonly from: string
  /** Path of the file from the root of the repository, for an import of ours; null for a package or a builtin. */
  readonly file: string | null
  /** Name of the package without a path into it; null for an import of ours and for a builtin. */
  readonly pack: string | null
  readonly typeOnly: boolean
}

export interface SourceFile {
  /** The path from the root of the repository, with slashes. */
  readonly path: string
  readonly text: string
  readonly imports: readonly Import[]
}

export function sourceFile(path: string, text: string): SourceFile {
  return { path, text, imports: importsOf(path, text) }
}

/** Reads all TypeScript files below these folders. */
export async function readSources(root: string, folders: readonly string[]): Promise<SourceFile[]> {
  const files: SourceFile[] = []
  for (const folder of folders) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true })
    for (const entry of entries) {
      if (!entry.isFile() || !/\.tsx?$/.test(entry.name)) continue
      const full = join(entry.parentPath.replaceAll('\\', '/'), entry.name)
      files.push(sourceFile(full.slice(root.length), await readFile(full, 'utf8')))
    }
  }
  return files.sort((a, b) => (a.path < b.path ? -1 : 1))
}

// Biome's format makes statements begin at the start of a line, and lets a clause hold names, braces, commas and `*` only.
const statement = /^(import|export)( type)?(?:\s[\w\s{},*$]*?\sfrom)?\s'([^']+)'/gm
/** `import('x')`, `typeof import('x')` and `import('x').Type`; comments are left out. */
const dynamic = /\bimport\('([^']+)'\)(\.)?/g

function importsOf(path: string, text: string): Import[] {
  const code = text.replace(/^\s*(\/\/|\/?\*).*$/gm, '')
  const found = [...code.matchAll(statement)].map(([all, , type, from]) =>
    toImport(path, from as string, type !== undefined || onlyTypes(all)),
  )
  // `import('x').Name` in a type position loads nothing; a value would be awaited first.
  const called = [...code.matchAll(dynamic)].map(([, from, dot]) => toImport(path, from as string, dot !== undefined))
  return [...found, ...called]
}

/** Every name in the braces is marked as a type. */
function onlyTypes(clause: string): boolean {
  const names = /^\w+\s*\{([^}]*)\}/.exec(clause)?.[1]
  if (names === undefined) return false
  return names
    .split(',')
    .filter((name) => name.trim())
    .every((name) => /^\s*type\s/.test(name))
}

function toImport(path: string, from: string, typeOnly: boolean): Import {
  if (from.startsWith('.')) return { from, file: normalize(join(dirname(path), from)), pack: null, typeOnly }
  if (from.startsWith('node:')) return { from, file: null, pack: null, typeOnly }
  const parts = from.split('/')
  return { from, file: null, pack: parts.slice(0, from.startsWith('@') ? 2 : 1).join('/'), typeOnly }
}
